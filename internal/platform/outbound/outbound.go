// Package outbound keeps requests that others cause away from this machine and its network: those
// of a page that a model wants to read, and those of people who use a server. Only addresses of the
// internet at large are reached, and what a list allows.
//
// A request is judged twice: its URL before it is sent, so that a proxy, which resolves names by
// itself, is never asked for what is private by its name; and the resolved address at the moment of
// connecting, so that neither a redirect nor a name that changes its address gets around it.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// ErrPrivate means that an address is not public, and that nothing allows it.
var ErrPrivate = errors.New("it is an address of this machine or its network, which is not reached from here")

// guard judges where requests go. Any goroutine may use it.
type guard struct {
	transport *http.Transport
	hosts     []string // allowed although they are not public: "wiki.internal", "localhost:8080", "::1"
	nets      []netip.Prefix
	proxy     func(*http.Request) (*url.URL, error)
	proxies   sync.Map // addresses of proxies in use: host:port → true
}

// Transport makes a transport that reaches public addresses and those allowed: hosts and addresses,
// with or without a port, whatever they resolve to, and networks such as 10.1.0.0/16. It has the
// proxies and authorities of base, nil is Go's default, and not its client certificates: they are
// not for whoever asks.
func Transport(base *http.Transport, allowed ...string) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport.(*http.Transport) //nolint:forcetypeassert // it is one
	}
	t := base.Clone()
	t.MaxResponseHeaderBytes = 256 << 10
	if c := t.TLSClientConfig; c != nil {
		t.TLSClientConfig = c.Clone()
		t.TLSClientConfig.Certificates, t.TLSClientConfig.GetClientCertificate = nil, nil
	}
	g := &guard{transport: t, proxy: t.Proxy}
	for _, a := range allowed {
		if net, err := netip.ParsePrefix(a); err == nil {
			g.nets = append(g.nets, net.Masked())
		} else {
			g.hosts = append(g.hosts, normal(a))
		}
	}
	t.Proxy = g.throughProxy
	//lint:ignore SA1019 no other way may stay
	t.DialContext, t.Dial, t.DialTLSContext, t.DialTLS = g.dial, nil, nil, nil //nolint:staticcheck // the same
	return g
}

// RoundTrip looks at each request before it is sent, the first one and those of redirects.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.check(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a transport does so even when it fails
		}
		return nil, err
	}
	return g.transport.RoundTrip(r)
}

// CloseIdleConnections is that of [http.Client].
func (g *guard) CloseIdleConnections() { g.transport.CloseIdleConnections() }

// check looks at an address before anything is sent.
func (g *guard) check(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: only http and https can be fetched", u.Redacted())
	}
	host := normal(u.Hostname())
	if host == "" {
		return fmt.Errorf("%s has no host", u.Redacted())
	}
	if g.allows(u.Host) {
		return nil
	}
	if _, ok := g.proxies.Load(canonical(u)); ok { // as a page: it is only there to be gone through
		return fmt.Errorf("%s: %w", u.Host, ErrPrivate)
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && g.reaches(addr) {
		return nil
	}
	if err == nil || local(host) && !g.resolved(u) {
		return fmt.Errorf("%s: %w", prose.Short(u.Host, 200), ErrPrivate)
	}
	return nil
}

// resolved reports whether a name is resolved here, so that what it resolves to is judged, and may
// be in a network that is allowed.
func (g *guard) resolved(u *url.URL) bool {
	if len(g.nets) == 0 {
		return false
	}
	if g.proxy == nil {
		return true
	}
	through, err := g.proxy(&http.Request{URL: u})
	return err == nil && through == nil
}

// local reports whether a name is one of this machine or its network by itself.
// That is also one without a dot, and one that ends in a number: resolvers, and
// proxies with them, take "127.1", "0x7f.1" and "2130706433" for addresses.
func local(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch last {
	case host, "localhost", "internal", "local", "localdomain", "home", "lan", "arpa":
		return true
	}
	digits, hex := strings.CutPrefix(last, "0x")
	return strings.Trim(last, "0123456789") == "" || hex && strings.Trim(digits, "0123456789abcdef") == ""
}

// normal is a host as it is compared.
func normal(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

func (g *guard) allows(hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	host = normal(host)
	return slices.Contains(g.hosts, host) || slices.Contains(g.hosts, net.JoinHostPort(host, port))
}

// reaches reports whether a resolved address may be connected to.
func (g *guard) reaches(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return public(a) || slices.ContainsFunc(g.nets, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Public reports with an [ErrPrivate] that an address is one of this machine or its network, also by its name. A name that
// can't be resolved now counts as public: what matters is looked at again when something is sent with a [Transport].
func Public(ctx context.Context, u *url.URL) error {
	g := &guard{}
	if err := g.check(u); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	for _, a := range all {
		if !g.reaches(a) {
			return fmt.Errorf("%s: %w", prose.Short(u.Host, 200), ErrPrivate)
		}
	}
	return nil
}

// resolveTime is how long the addresses of a name are looked for.
const resolveTime = 3 * time.Second

// throughProxy asks the user's settings for a proxy and notes its address, which
// may be dialled though it is hardly ever public.
func (g *guard) throughProxy(r *http.Request) (*url.URL, error) {
	if g.proxy == nil {
		return nil, nil
	}
	u, err := g.proxy(r)
	if u != nil {
		g.proxies.Store(canonical(u), true)
	}
	return u, err
}

// canonical is the host and port that a proxy's address means.
func canonical(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dial connects to public addresses, to those allowed, and to the proxy that the user set.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	if _, ok := g.proxies.Load(address); ok || g.allows(address) {
		return d.DialContext(ctx, network, address)
	}
	// Control sees the address that was resolved, right before it is used.
	d.Control = func(_, resolved string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(resolved)
		if err != nil || !g.reaches(ap.Addr()) {
			return ErrPrivate
		}
		return nil
	}
	return d.DialContext(ctx, network, address)
}

// public reports whether an address is one of the internet at large.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range reserved() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// reserved are ranges that are not public although they look it: the registries
// of special-purpose addresses (RFC 6890 and its successors). NAT64, 6to4, Teredo and their
// like carry other addresses within.
var reserved = sync.OnceValue(func() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
		"3fff::/20", "5f00::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
})
