package sandbox

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// names answers for a few names without a network.
func names(_ context.Context, _, name string) ([]netip.Addr, error) {
	switch name {
	case "allowed.test", "www.wild.test", "localhost":
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case "mixed.test":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("127.0.0.1")}, nil
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	return nil, fmt.Errorf("lookup %s: no such host", name)
}

func basicAuth(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func direct(*url.URL) (*url.URL, error) { return nil, nil }

func proxyFor(t *testing.T, w way, rules ...string) *proxy {
	t.Helper()
	hosts, err := parseHosts(rules)
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProxy(hosts, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// client is one that uses p.
func client(t *testing.T, p *proxy) *http.Client {
	t.Helper()
	at, err := url.Parse(p.url())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// server gives a server's address with the name localhost.
func server(t *testing.T, start func(http.Handler) *httptest.Server, h http.HandlerFunc) (address, hostPort string) {
	t.Helper()
	s := start(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	hostPort = "localhost:" + u.Port()
	return u.Scheme + "://" + hostPort, hostPort
}

func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	answer, err := c.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(body))
}

func TestProxyForwards(t *testing.T) {
	var got http.Header
	var host string
	plain, plainHost := server(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		got, host = r.Header.Clone(), r.Host
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "yes")
		w.Header().Set("Keep-Alive", "timeout=1")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	})
	secure, secureHost := server(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "secure")
	})
	p := proxyFor(t, way{direct, names}, plainHost, secureHost)
	c := client(t, p)
	r, err := http.NewRequest(http.MethodPost, plain+"/a%2Fb?q=1", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Own": {"kept"}, "X-Hop": {"dropped"}, "Connection": {"X-Hop"}, "Te": {"trailers"}}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusTeapot || string(body) != "POST /a%2Fb?q=1 body" || answer.Header.Get("X-Answer") != "yes" {
		t.Errorf("%v: %d %s %v", err, answer.StatusCode, body, answer.Header)
	}
	if host != plainHost || got.Get("X-Own") != "kept" || got.Get("X-Hop")+got.Get("Proxy-Authorization")+got.Get("Te")+answer.Header.Get("Keep-Alive") != "" {
		t.Errorf("the server sees host %s and %v", host, got)
	}
	say(t, p, "GET "+plain+"/ HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: Basic "+basicAuth("burin", p.token)+"\r\n\r\n")
	if host != plainHost {
		t.Errorf("a Host header leads the server to %s", host)
	}
	if code, body := get(t, c, secure); code != 200 || body != "secure" {
		t.Errorf("through a tunnel: %d %s", code, body)
	}
}

func TestProxyRefuses(t *testing.T) {
	_, hostPort := server(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") })
	_, port, _ := net.SplitHostPort(hostPort)
	p := proxyFor(t, way{direct, names}, "localhost:1", "allowed.test:*", "*.wild.test:*", "mixed.test:*", "nowhere.test:*")
	c := client(t, p)
	for _, tt := range []struct {
		address, says string
		code          int
	}{
		{"http://" + hostPort, "does not allow " + hostPort, 403},
		{"http://127.0.0.1:" + port, "does not allow 127.0.0.1:" + port, 403},
		{"http://allowed.test:" + port, "leads to an address of this machine", 403},
		{"http://www.wild.test:" + port, "leads to an address of this machine", 403},
		{"http://mixed.test:" + port, "leads to an address of this machine", 403},
		{"http://169.254.169.254/latest", "does not allow 169.254.169.254:80", 403},
		{"http://nowhere.test/", "no such host", 502},
		{"http://localhost:1/", "connection refused", 502},
		{"https://" + hostPort, "Forbidden", 0},
		{"https://mixed.test", "Forbidden", 0},
		{"https://nowhere.test", "Bad Gateway", 0},
	} {
		if code, body := get(t, c, tt.address); code != tt.code || !strings.Contains(body, tt.says) || strings.Contains(body, "reached") {
			t.Errorf("%s: %d %q, want %d %q", tt.address, code, body, tt.code, tt.says)
		}
	}
	denied := strings.Join(p.lastDenied(), " ")
	for _, name := range []string{hostPort, "allowed.test:" + port, "169.254.169.254:80", "mixed.test:443"} {
		if strings.Count(denied+" ", name+" ") != 1 {
			t.Errorf("%s is not remembered once in %s", name, denied)
		}
	}
	for range 2 * deniedKept {
		get(t, c, fmt.Sprintf("http://h%d.test/", time.Now().UnixNano()))
	}
	if n := len(p.lastDenied()); n != deniedKept {
		t.Errorf("%d denied hosts are remembered", n)
	}
}

// say sends raw bytes to p and gives the first line of the answer.
func say(t *testing.T, p *proxy, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

func TestProxyWantsItsPassword(t *testing.T) {
	p := proxyFor(t, way{direct, names}, "localhost:*")
	at, err := url.Parse(p.url())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := at.User.Password()
	good := "Proxy-Authorization: Basic " + basicAuth("burin", password)
	for request, want := range map[string]string{
		"GET http://localhost:1/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                              "407",
		"CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic " + basicAuth("burin", "") + "\r\n\r\n":     "407",
		"CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic " + basicAuth("x", password) + "\r\n\r\n":   "407",
		"CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Bearer " + password + "\r\n\r\n":                  "407",
		"CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\n" + good + "\r\n\r\n":                                                  "502",
		"CONNECT localhost HTTP/1.1\r\nHost: x\r\n" + good + "\r\n\r\n":                                                    "400",
		"CONNECT localhost:99999 HTTP/1.1\r\nHost: x\r\n" + good + "\r\n\r\n":                                              "400",
		"GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n" + good + "\r\n\r\n":                                              "400",
		"GET https://localhost:1/ HTTP/1.1\r\nHost: localhost\r\n" + good + "\r\n\r\n":                                     "400",
		"GET http://localhost:1/ HTTP/1.1\r\nHost: x\r\n" + good + "\r\nX: " + strings.Repeat("x", 2*maxHead) + "\r\n\r\n": "431",
		"nonsense\r\n\r\n": "400",
	} {
		if got := say(t, p, request); !strings.Contains(got, " "+want+" ") {
			t.Errorf("%.60q: %s, want %s", request, got, want)
		}
	}
}

// Answers pass piece by piece, and closing the proxy ends what runs.
func TestProxyStreamsAndCloses(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(release) }) }
	plain, plainHost := server(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-release
	})
	t.Cleanup(free) // before the server closes
	p := proxyFor(t, way{direct, names}, plainHost)
	answer, err := client(t, p).Get(plain)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "first" {
		t.Errorf("%q, %v", first, err)
	}

	c, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\n\r\n", plainHost, basicAuth("burin", p.token))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%s %v", line, err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	free()
	if _, err := io.Copy(io.Discard, answer.Body); err == nil {
		t.Error("an answer goes on after the proxy has closed")
	}
	if n, err := c.Read(make([]byte, 100)); err == nil && n == 0 {
		t.Error("a tunnel stays")
	}
}

func TestProxyBoundsItsWork(t *testing.T) {
	release, running := make(chan struct{}), make(chan struct{}, maxExchanges)
	plain, plainHost := server(t, httptest.NewServer, func(http.ResponseWriter, *http.Request) {
		running <- struct{}{}
		<-release
	})
	p := proxyFor(t, way{direct, names}, plainHost)
	c := client(t, p)
	var all sync.WaitGroup
	for range maxExchanges {
		all.Go(func() { get(t, c, plain) })
	}
	for range maxExchanges {
		<-running
	}
	code, _ := get(t, c, plain)
	close(release)
	all.Wait()
	if code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", code)
	}
}

// Where burin itself needs a proxy, the sandbox's goes through it.
func TestProxyBehindProxy(t *testing.T) {
	secure, secureHost := server(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "secure") })
	var mu sync.Mutex
	var asked []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		switch {
		case r.Method != http.MethodConnect:
			_, _ = io.WriteString(w, "plain")
		case r.Host != secureHost:
			w.WriteHeader(http.StatusTeapot)
		default:
			far, err := net.Dial("tcp", r.Host)
			if err != nil {
				t.Error(err)
				return
			}
			near, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
			go func() { _, _ = io.Copy(far, near); far.Close() }()
			_, _ = io.Copy(near, far)
			near.Close()
		}
	}))
	defer up.Close()
	at, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword("me", "pw")
	socks := &url.URL{Scheme: "socks5", Host: "127.0.0.1:1"}
	p := proxyFor(t, way{func(u *url.URL) (*url.URL, error) {
		if u.Hostname() == "socks.test" {
			return socks, nil
		}
		return at, nil
	}, func(context.Context, string, string) ([]netip.Addr, error) {
		return nil, errors.New("not to be resolved here")
	}},
		secureHost, "plain.test", "refused.test", "socks.test")
	c := client(t, p)
	var got []string
	for _, address := range []string{secure, "http://plain.test/x", "https://refused.test/", "https://socks.test/", "http://other.test/"} {
		_, body := get(t, c, address)
		got = append(got, body)
	}
	for i, want := range []string{"secure", "plain", "Bad Gateway", "Bad Gateway", "does not allow other.test:80"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%d: %q, want %q", i, got[i], want)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	auth := " Basic " + basicAuth("me", "pw")
	want := []string{"CONNECT " + secureHost + auth, "GET http://plain.test/x" + auth, "CONNECT refused.test:443" + auth}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkTunnel(b *testing.B) {
	hosts, err := parseHosts([]string{"localhost:*"})
	if err != nil {
		b.Fatal(err)
	}
	p, err := startProxy(hosts, way{direct, names})
	if err != nil {
		b.Fatal(err)
	}
	defer p.close()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	_, port, _ := net.SplitHostPort(echo.Addr().String())
	request := fmt.Sprintf("CONNECT localhost:%s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\n\r\n", port, basicAuth("burin", p.token))
	b.ReportAllocs()
	for b.Loop() {
		c, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(c, request); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
