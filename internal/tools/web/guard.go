package web

import (
	"context"
	"crypto/tls"
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

// maxRedirects is how often a page may send us elsewhere.
const maxRedirects = 10

// client sends requests, past the guard.
type client struct {
	http  *http.Client
	guard *guard
}

// do sends a request after a look at where it goes. The errors do not repeat the
// request.
func (c *client) do(r *http.Request) (*http.Response, error) {
	if err := c.guard.check(r.URL); err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (compatible; burin)")
	r.Header.Set("Accept-Language", "en, *;q=0.5")
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, plain(err)
	}
	return resp, nil
}

// plain is the error without the request that it repeats.
func plain(err error) error {
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	if u.Timeout() {
		return errors.New("no answer in time")
	}
	return u.Err
}

// newClient makes the client of all requests.
func newClient(o Options) *client {
	base, ok := o.Transport.(*http.Transport)
	if !ok {
		base = http.DefaultTransport.(*http.Transport) //nolint:forcetypeassert // it is one
	}
	g := &guard{private: o.Private}
	if o.SearXNG.URL != "" { // the user named it
		if u, err := url.Parse(o.SearXNG.URL); err == nil {
			g.private = append(slices.Clone(g.private), u.Host)
		}
	}
	t := base.Clone()
	t.DisableCompression = false // pages are read as a whole
	t.MaxResponseHeaderBytes = 256 << 10
	t.TLSClientConfig = withoutCertificates(t.TLSClientConfig)
	g.proxy, t.Proxy = t.Proxy, g.throughProxy
	t.DialContext = g.dial
	return &client{guard: g, http: &http.Client{
		Transport: t,
		Timeout:   timeout,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return g.check(r.URL)
		},
	}}
}

// withoutCertificates takes the client's certificates out: they are for the
// servers of models, not for whoever asks.
func withoutCertificates(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.Certificates, c.GetClientCertificate = nil, nil
	return c
}

// guard keeps requests away from what is not public.
type guard struct {
	private []string // allowed although it is not public
	proxy   func(*http.Request) (*url.URL, error)
	proxies sync.Map // addresses of proxies in use: host:port → true
}

var errPrivate = errors.New("it is an address of this machine or its network, which the web tools do not reach")

// check looks at an address before anything is sent: also a proxy, which resolves
// names by itself, must not be asked for what is private by its very name.
func (g *guard) check(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: only http and https can be fetched", u.Redacted())
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "" {
		return fmt.Errorf("%s has no host", u.Redacted())
	}
	if g.allowed(u.Host) {
		return nil
	}
	if _, ok := g.proxies.Load(canonical(u)); ok { // as a page: it is only there to be gone through
		return fmt.Errorf("%s: %w", u.Host, errPrivate)
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && public(addr) {
		return nil
	}
	if err == nil || local(host) {
		return fmt.Errorf("%s: %w", prose.Short(u.Host, 200), errPrivate)
	}
	return nil
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

func (g *guard) allowed(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return slices.Contains(g.private, hostport) || slices.Contains(g.private, host)
}

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

// dial connects to public addresses, and to the proxy that the user set.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	if _, ok := g.proxies.Load(address); ok || g.allowed(address) {
		return d.DialContext(ctx, network, address)
	}
	// Control sees the address that was resolved, right before it is used.
	d.Control = func(_, resolved string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(resolved)
		if err != nil || !public(ap.Addr()) {
			return errPrivate
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
// of special-purpose addresses (RFC 6890 and its successors). NAT64, 6to4 and their
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
