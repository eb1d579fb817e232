package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/burin-dev/burin/internal/customize/config"
)

// listening is where a server listens, and how.
type listening struct {
	net.Listener
	at    string                    // its address for clients
	names func(host string) bool    // what it answers to by its certificate; nil: nothing
	begun func(ctx context.Context) // what to do once it serves, until ctx ends; nil: nothing
}

// listen listens as the flags say. The listener speaks TLS where they ask for it.
func listen(ctx context.Context, p *program, paths config.Paths, o serveOptions) (*listening, error) {
	files := o.cert != "" || o.key != ""
	switch {
	case o.lan && len(o.acme) > 0, o.lan && files, files && len(o.acme) > 0:
		return nil, usage("--lan, --acme and --tls-cert are three ways to a certificate: give one of them")
	case len(o.acme) == 0 && (o.acmeEmail != "" || o.acmeDirectory != "" || o.acmeHTTP != acmeHTTP):
		return nil, usage("--acme-email, --acme-directory and --acme-http go with --acme")
	case o.lan:
		return listenLAN(ctx, p, paths, o)
	case len(o.acme) > 0:
		return listenACME(ctx, p, paths, o)
	}
	cert, err := tlsFiles(o.cert, o.key)
	if err != nil {
		return nil, err
	}
	proxies, err := proxyList("--proxy", o.proxies)
	if err != nil {
		return nil, err
	}
	if wrong := onlyHere(o.address); cert == nil && wrong != nil && len(proxies) == 0 {
		return nil, wrong
	}
	l, err := listenAt(ctx, o.address)
	if err != nil {
		return nil, err
	}
	if cert == nil {
		at := l.Addr().String()
		if a, err := netip.ParseAddrPort(at); err == nil && a.Addr().IsUnspecified() { // proxies know theirs; this is for here
			at = fmt.Sprintf("127.0.0.1:%d", a.Port())
		}
		return &listening{Listener: proxiesOnly{l, proxies}, at: "http://" + at}, nil
	}
	return &listening{Listener: tls.NewListener(l, cert.config(p.warn)), at: "https://" + cert.address(l.Addr().String()), names: cert.names}, nil
}

func listenAt(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("something listens at %s already: burin serve --addr 127.0.0.1:0 takes a free port", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("only root may listen at %s: run setcap cap_net_bind_service=+ep on burin, or use AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd unit", address)
	case err != nil:
		return nil, fmt.Errorf("serve: %w", err)
	}
	return l, nil
}

// proxyList reads the addresses of proxies: networks, or single addresses.
func proxyList(name string, list []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if a, wrong := netip.ParseAddr(text); wrong == nil {
			prefix, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, usage("%s: %q is not an address or a network such as 10.0.0.0/8", name, text)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// proxiesOnly accepts connections of proxies and of this machine. Others would speak without TLS.
type proxiesOnly struct {
	net.Listener
	proxies []netip.Prefix
}

func (l proxiesOnly) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, err := netip.ParseAddrPort(c.RemoteAddr().String())
		a := from.Addr().Unmap().WithZone("")
		if err == nil && (a.IsLoopback() || slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(a) })) {
			return c, nil
		}
		_ = c.Close() // it has said nothing
	}
}
