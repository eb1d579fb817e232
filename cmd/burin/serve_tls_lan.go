package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
	"rsc.io/qr"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/platform/certificate"
)

// lanLook is how often a server in the local network looks for new addresses of the machine.
const lanLook = 10 * time.Second

func authorityFile(paths config.Paths) string { return filepath.Join(paths.Data, "authority.pem") }

// listenLAN listens at all private addresses of this machine, by HTTPS with a certificate of the
// machine's own authority, and gives that authority's certificate to whoever asks, on the next port.
func listenLAN(ctx context.Context, p *program, paths config.Paths, o serveOptions) (*listening, error) {
	at, port, err := net.SplitHostPort(o.address)
	if err != nil || at != "" {
		return nil, usage("--lan listens at all private addresses: give --addr only a port, as in --addr :4647")
	}
	plain, err := nextPort(port)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("serve: find the name of this machine: %w", err)
	}
	if o.check { // it makes no authority
		if _, err := certificate.Read(authorityFile(paths)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	l, err := newLANListener(ctx, port, lanAddresses)
	if err != nil {
		return nil, err
	}
	on := &listening{Listener: l, at: "https://" + net.JoinHostPort(lanAddresses()[0].String(), strconv.Itoa(l.port))}
	if o.check {
		return on, nil
	}
	authority, err := certificate.Open(authorityFile(paths), host)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	leaf := &lanCertificate{authority: authority, host: host, find: lanAddresses, now: time.Now}
	if _, err := leaf.get(nil); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	open, err := newLANListener(ctx, plain, lanAddresses)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("give devices the certificate at the port after --addr: %w", err), l.Close())
	}
	on.Listener, on.names = tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: leaf.get, NextProtos: []string{"h2", "http/1.1"}}), leaf.names
	on.begun = func(ctx context.Context) {
		s := &http.Server{
			Handler: authorityPage(authority, on.at), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
			MaxHeaderBytes: 8 << 10,
		}
		defer context.AfterFunc(ctx, func() { _ = s.Close() })() // nothing of it matters any more
		go tellLAN(ctx, p, o, on.at, net.JoinHostPort(lanAddresses()[0].String(), strconv.Itoa(open.port)), authority)
		_ = s.Serve(open) // until it is closed
		_ = open.Close()  // it may not have been the server's yet
	}
	return on, nil
}

// attachClient is a client for servers that also trusts this machine's own authority.
func attachClient(paths config.Paths) (*http.Client, error) {
	own, err := certificate.Read(authorityFile(paths))
	if errors.Is(err, fs.ErrNotExist) {
		return http.DefaultClient, nil
	}
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the certificates of this machine: %w", err)
	}
	roots.AddCert(own)
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return &http.Client{Transport: t}, nil
}

// nextPort is the port after one, which gives the certificate. 0 is any free one.
func nextPort(port string) (string, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || n == 65535:
		return "", usage("--addr: %q is not a port from 0 to 65534", port)
	case n == 0:
		return "0", nil
	}
	return strconv.FormatUint(n+1, 10), nil
}

// lanAddresses are the private addresses of this machine, first that which others most likely reach,
// and last its own.
func lanAddresses() []netip.Addr {
	best := netip.Addr{}
	if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil { // it sends nothing
		best = netip.MustParseAddrPort(c.LocalAddr().String()).Addr()
		_ = c.Close() // nothing was written
	}
	found, err := net.InterfaceAddrs()
	if err != nil {
		found = nil // those of the machine itself are left
	}
	all := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	for _, a := range found {
		net, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		addr := net.Addr().Unmap()
		if certificate.Private(addr) && !(addr.Is6() && addr.IsLinkLocalUnicast()) { // those need a zone
			all = append(all, addr)
		}
	}
	order := func(a netip.Addr) int {
		switch {
		case a == best:
			return 0
		case a.IsLoopback():
			return 3
		case a.Is4():
			return 1
		}
		return 2
	}
	slices.SortFunc(all, func(a, b netip.Addr) int { return cmp.Or(cmp.Compare(order(a), order(b)), a.Compare(b)) })
	return slices.Compact(all)
}

// lanListener accepts connections at all addresses that find gives, and keeps up with them. It
// does not listen at all addresses of the machine: one of the internet would be among them.
type lanListener struct {
	find  func() []netip.Addr
	port  int
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
	work  sync.WaitGroup

	mu   sync.Mutex
	open map[netip.Addr]net.Listener
}

// newLANListener listens at a port; "0" is any free one.
func newLANListener(ctx context.Context, port string, find func() []netip.Addr) (*lanListener, error) {
	l := &lanListener{find: find, conns: make(chan net.Conn), ended: make(chan struct{}), open: map[netip.Addr]net.Listener{}}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	l.port = n
	if err := l.look(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.work.Go(func() {
		tick := time.NewTicker(lanLook)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = l.look(ctx) // an address that can't be used yet is tried again
			case <-l.ended:
				return
			}
		}
	})
	return l, nil
}

// look listens at new addresses, and no more at those that have gone.
func (l *lanListener) look(ctx context.Context) error {
	now := l.find()
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.ended:
		return nil
	default:
	}
	for a, one := range l.open {
		if !slices.Contains(now, a) {
			_ = one.Close() // its address has gone
			delete(l.open, a)
		}
	}
	var problems error
	for _, a := range now {
		if l.open[a] != nil {
			continue
		}
		one, err := listenAt(ctx, netip.AddrPortFrom(a, uint16(l.port)).String()) //nolint:gosec // it is a port
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			continue // not yet, as while the network is asked whether anybody has it
		}
		if err != nil {
			problems = cmp.Or(problems, err)
			continue
		}
		l.open[a] = one
		if l.port == 0 {
			l.port = one.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it is one
		}
		l.work.Go(func() { l.accept(a, one) })
	}
	return problems
}

func (l *lanListener) accept(a netip.Addr, one net.Listener) {
	for {
		c, err := one.Accept()
		if err != nil {
			_ = one.Close() // look opens it again
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.open[a] == one {
				delete(l.open, a)
			}
			return
		}
		select {
		case l.conns <- c:
		case <-l.ended:
			_ = c.Close() // nobody serves it
			return
		}
	}
}

func (l *lanListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *lanListener) Close() error {
	l.once.Do(func() {
		close(l.ended)
		l.mu.Lock()
		for _, one := range l.open {
			_ = one.Close() // nothing was written to it
		}
		l.mu.Unlock()
		l.work.Wait()
	})
	return nil
}

func (l *lanListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: l.port} }

// lanCertificate is that of this machine in the local network, made again when the machine's
// addresses change or it comes near its end.
type lanCertificate struct {
	authority *certificate.Authority
	host      string
	find      func() []netip.Addr
	now       func() time.Time

	mu     sync.Mutex
	leaf   *tls.Certificate
	of     []netip.Addr
	looked time.Time
}

func (c *lanCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.leaf != nil && now.Sub(c.looked) < lookAgain {
		return c.leaf, nil
	}
	c.looked = now
	addrs := c.find()
	if c.leaf != nil && slices.Equal(addrs, c.of) && now.Add(certificate.Renew).Before(c.leaf.Leaf.NotAfter) {
		return c.leaf, nil
	}
	leaf, err := c.authority.Issue(c.host, addrs, now)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", c.host, err)
	}
	c.leaf, c.of = leaf, addrs
	return leaf, nil
}

// names reports whether the certificate is for a name.
func (c *lanCertificate) names(host string) bool {
	leaf, err := c.get(nil)
	return err == nil && leaf.Leaf.VerifyHostname(host) == nil
}

// tellLAN says how devices reach the server. Where a person sees it, that is a code for their cameras,
// which signs in whoever scans it first.
func tellLAN(ctx context.Context, p *program, o serveOptions, at, plain string, a *certificate.Authority) {
	if lanAddresses()[0].IsLoopback() {
		p.warn("this machine has no private address; burin listens at those that it gets")
	}
	fmt.Fprintf(p.err, "Each device needs this machine's certificate once: http://%s says how to install it. Its SHA-256 fingerprint is\n%s\n", plain, a.Fingerprint())
	to, ok := p.err.(*os.File)
	if !ok || !term.IsTerminal(int(to.Fd())) { //nolint:gosec // a file descriptor is an int
		return
	}
	link, once := at, ""
	if o.pair != nil {
		path, err := o.pair(ctx)
		if err != nil {
			p.warn("no link to sign in with: " + err.Error())
		} else {
			link, once = at+path, ", which signs in the first one that opens it"
		}
	}
	code, err := qrCode(link)
	if err != nil {
		p.warn("no code for cameras: " + err.Error())
		return
	}
	fmt.Fprintf(p.err, "Then scan this code with the device%s:\n%s", once, code)
}

// qrCode draws a code with half blocks, two rows of modules on a line. Its colors are set, so that it
// is dark on light in every theme; around it is the margin of four modules that readers need.
func qrCode(text string) (string, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", err
	}
	const margin = 4
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		b.WriteString("\x1b[38;5;16;48;5;231m")
		for x := -margin; x < code.Size+margin; x++ {
			switch above, below := code.Black(x, y), code.Black(x, y+1); {
			case above && below:
				b.WriteString("█")
			case above:
				b.WriteString("▀")
			case below:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}

// authorityPage serves the authority's certificate, and how devices install it, without TLS: they
// don't trust the server yet. It serves nothing else and sends nobody anywhere: what is asked for
// here has crossed the network in the clear.
func authorityPage(a *certificate.Authority, at string) http.Handler {
	mux := http.NewServeMux()
	give := func(path, kind string, content []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Content-Type", kind)
			h.Set("Cache-Control", "no-store")
			h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("X-Content-Type-Options", "nosniff")
			_, _ = w.Write(content) // who has gone reads nothing
		})
	}
	give("/ca.crt", "application/x-x509-ca-cert", a.PEM())
	give("/ca.mobileconfig", "application/x-apple-aspen-config", a.Profile())
	give("/{$}", "text/html; charset=utf-8", fmt.Appendf(nil, installPage, html.EscapeString(a.Certificate().Subject.CommonName), a.Fingerprint(), html.EscapeString(at)))
	return mux
}

// installPage says how to install the certificate.
const installPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%[1]s</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:2em auto;padding:0 1em;color-scheme:light dark}code{overflow-wrap:anywhere}dt{font-weight:bold;margin-top:1em}</style>
<h1>%[1]s</h1>
<p>Install this certificate once, and this device reaches burin over HTTPS. It is valid only for private addresses and local names.</p>
<p>Anybody in your network could have changed this page. Compare the SHA-256 fingerprint that your device shows with the one in the terminal where burin runs; do not trust the one here alone:<br><code>%[2]s</code></p>
<dl>
<dt>iPhone and iPad</dt>
<dd>Open <a href="/ca.mobileconfig">the profile</a> in Safari and allow it. In Settings, open Profile Downloaded and install it. Then switch the certificate on under General, About, Certificate Trust Settings.</dd>
<dt>Android</dt>
<dd>Download <a href="/ca.crt">the certificate</a>. In Settings, search for “CA certificate”, choose Install anyway and the file.</dd>
<dt>macOS</dt>
<dd>Download <a href="/ca.crt">the certificate</a> and open it with Keychain Access. Double-click it there, and under Trust choose Always Trust.</dd>
<dt>Windows</dt>
<dd>Download <a href="/ca.crt">the certificate</a> and open it. Choose Install Certificate, Current User, and the store Trusted Root Certification Authorities.</dd>
<dt>Linux</dt>
<dd>Download <a href="/ca.crt">the certificate</a>. On Debian and Ubuntu: <code>sudo cp ca.crt /usr/local/share/ca-certificates/burin.crt &amp;&amp; sudo update-ca-certificates</code>. On Fedora: <code>sudo trust anchor ca.crt</code>.</dd>
<dt>Firefox</dt>
<dd>Open <a href="/ca.crt">the certificate</a> in Firefox, and trust it for websites.</dd>
</dl>
<p>Then open <a href="%[3]s">%[3]s</a>.</p>
</html>
`
