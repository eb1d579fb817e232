package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server on this machine that counts who reaches it.
func serve(t *testing.T) (port string, reached *atomic.Int32) {
	t.Helper()
	reached = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, "inside")
	}))
	t.Cleanup(s.Close)
	return s.URL[strings.LastIndexByte(s.URL, ':')+1:], reached
}

// get asks for an address with a client of its own.
func get(t *testing.T, base *http.Transport, address string, allowed ...string) (string, error) {
	t.Helper()
	c := &http.Client{Transport: Transport(base, allowed...)}
	defer c.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// Nothing of this machine and its network is reached, in whatever form it is written.
func TestPrivateIsRefused(t *testing.T) {
	port, reached := serve(t)
	for _, host := range []string{
		"127.0.0.1", "127.8.8.8", "[::1]", "0.0.0.0", "[::]", "localhost", "LOCALHOST.", "a.localhost", "127.1", "2130706433", "0x7f.1", "0177.0.0.1",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.254", "224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1",
		"[fd00::1]", "[fc00::1]", "[fe80::1]", "[fe80::1%25lo]", "[ff02::1]", "[fec0::1]",
		"[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[::ffff:0:7f00:1]", // mapped, compatible, translated
		"[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", // NAT64
		"[2002:7f00:1::]", "[2002:a00:1::1]", // 6to4
		"[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[2001::1]", // Teredo
		"[2001:db8::1]", "192.0.2.1", "198.18.0.1", "metadata.google.internal", "router.lan", "intranet",
	} {
		if got, err := get(t, nil, "http://"+host+":"+port); !errors.Is(err, ErrPrivate) {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
	for _, address := range []string{"file:///etc/passwd", "ftp://example.com/", "http:///x"} {
		if _, err := get(t, nil, address); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
}

// Public addresses are. That is looked at without a network.
func TestPublicIsReached(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "::ffff:8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1", "192.0.1.1"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as private", a)
		}
	}
}

// What is allowed is reached, with its port alone where it has one, and nothing else.
func TestAllowed(t *testing.T) {
	port, _ := serve(t)
	for _, tt := range []struct {
		host, allowed string
		ok            bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.1:" + port, true},
		{"127.0.0.1", "127.0.0.1:1", false},
		{"127.0.0.1", "127.0.0.0/8", true},
		{"127.0.0.1", "127.9.9.9/8", true},
		{"127.0.0.1", "10.0.0.0/8", false},
		{"[::ffff:127.0.0.1]", "127.0.0.0/8", true},
		{"localhost", "Localhost.", true},
		{"LOCALHOST", "localhost:" + port, true},
		{"localhost", "127.0.0.0/8", true}, // its address is in the network
		{"localhost", "10.0.0.0/8", false},
		{"localhost", "127.0.0.1", false}, // the name may lead elsewhere tomorrow
		{"127.0.0.1", "localhost", false},
	} {
		got, err := get(t, &http.Transport{}, "http://"+tt.host+":"+port, tt.allowed)
		if tt.ok && (err != nil || got != "inside") || !tt.ok && !errors.Is(err, ErrPrivate) {
			t.Errorf("%s with %s: %q, %v", tt.host, tt.allowed, got, err)
		}
	}
}

// A public name that resolves to this machine is refused when it is dialled, also when it had a
// public address the time before.
func TestRebinding(t *testing.T) {
	port, reached := serve(t)
	resolver := answerDNS(t, netip.MustParseAddr("127.0.0.1"))
	was := net.DefaultResolver
	net.DefaultResolver = resolver
	defer func() { net.DefaultResolver = was }()
	if _, err := get(t, nil, "http://rebound.example.org:"+port); !errors.Is(err, ErrPrivate) {
		t.Errorf("%v", err)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
	if got, err := get(t, nil, "http://rebound.example.org:"+port, "rebound.example.org"); err != nil || got != "inside" {
		t.Errorf("allowed: %q, %v", got, err)
	}
}

// answerDNS gives a resolver that knows one address for all names.
func answerDNS(t *testing.T, is netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { server.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: is.As4()}}}
			}
			if raw, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(raw, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// A redirect is a request like the first one. A proxy is gone through, and neither asked for what
// is private nor reached as a page.
func TestRedirectAndProxy(t *testing.T) {
	port, reached := serve(t)
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		http.Redirect(w, r, "http://127.0.0.1:"+port+"/", http.StatusFound)
	}))
	defer proxy.Close()
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{Proxy: http.ProxyURL(u)}
	for _, address := range []string{"http://example.org/", "http://router.lan/", proxy.URL} {
		if got, err := get(t, base, address); !errors.Is(err, ErrPrivate) {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	if _, err := get(t, base, "http://router.lan/", "10.0.0.0/8"); !errors.Is(err, ErrPrivate) {
		t.Errorf("a proxy resolves a name of the network: %v", err)
	}
	if len(asked) != 1 || asked[0] != "http://example.org/" || reached.Load() != 0 {
		t.Errorf("the proxy was asked for %q, the server %d times", asked, reached.Load())
	}
}
