package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/certificate"
)

// lanServer is burin serve --lan, whose standard error is a terminal.
type lanServer struct {
	cmd  *exec.Cmd
	at   string // https
	open string // http
	said string
	code string // as it is drawn
}

var (
	openPort = regexp.MustCompile(`http://(\S+) says how`)
	sgr      = regexp.MustCompile(`\x1b\[[0-9;]*m`)
)

func serveLAN(t *testing.T, first *exec.Cmd) *lanServer {
	t.Helper()
	s := &lanServer{cmd: again(first)}
	s.cmd.Args = append(s.cmd.Args, "serve", "--lan", "--addr", ":0")
	s.cmd.Env = append(slices.Clone(s.cmd.Env), tokenVariable+"="+testToken)
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	s.cmd.Stderr = tty
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.cmd.Process.Kill(), s.cmd.Wait() }) // it may have ended
	tty.Close()
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	s.at = strings.TrimSpace(string(line[:n]))
	var said []byte
	rows := 0
	for rows < 3 || !bytes.HasSuffix(said, []byte("\x1b[0m\r\n")) || strings.Count(string(said), "\x1b[38;5;16;48;5;231m") < codeRows(said) {
		buf := make([]byte, 4096)
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		said = append(said, buf[:n]...)
		rows = strings.Count(string(said), "\x1b[0m\r\n")
	}
	s.said = strings.ReplaceAll(string(said), "\r\n", "\n")
	_, drawn, _ := strings.Cut(s.said, "with the device")
	_, s.code, _ = strings.Cut(drawn, "\n")
	m := openPort.FindStringSubmatch(s.said)
	if m == nil {
		t.Fatalf("it said %s", s.said)
	}
	s.open = "http://" + m[1]
	return s
}

// codeRows is how many lines a code has, by the width of its first one.
func codeRows(said []byte) int {
	_, code, ok := strings.Cut(string(said), "\x1b[38;5;16;48;5;231m")
	line, _, whole := strings.Cut(code, "\x1b[0m")
	if !ok || !whole {
		return 1000
	}
	return (len([]rune(line)) + 1) / 2
}

// modules are those of a drawn code: true is dark.
func modules(t *testing.T, code string) [][]bool {
	t.Helper()
	var all [][]bool
	for line := range strings.Lines(code) {
		var above, below []bool
		for _, c := range sgr.ReplaceAllString(strings.TrimSuffix(line, "\n"), "") {
			i := strings.IndexRune(" ▀▄█", c)
			if i < 0 {
				t.Fatalf("%q in the code", c)
			}
			above, below = append(above, c == '▀' || c == '█'), append(below, c == '▄' || c == '█')
		}
		all = append(all, above, below)
	}
	return all
}

func ask(t *testing.T, client *http.Client, verb, address, token string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), verb, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// A device gets the authority's certificate without TLS, nothing else there, and reaches the
// server by HTTPS with it; only with a token. The authority stays the same. burin attach trusts it.
func TestServeLAN(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	s := serveLAN(t, cmd)
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, ca := ask(t, plain, "GET", s.open+"/ca.crt", "")
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) || answer.Header.Get("Content-Type") != "application/x-x509-ca-cert" {
		t.Fatalf("%v: %s", answer.Header, ca)
	}
	_, page := ask(t, plain, "GET", s.open+"/", "")
	print := regexp.MustCompile(`(?:[0-9A-F]{2}:){31}[0-9A-F]{2}`)
	if said := print.FindString(s.said); said == "" || !strings.Contains(page, said) || !strings.Contains(page, s.at) {
		t.Errorf("it said %q, the page %s", said, page)
	}
	for _, name := range []string{"iPhone", "Android", "macOS", "Windows", "Linux", "/ca.mobileconfig"} {
		if !strings.Contains(page, name) {
			t.Errorf("the page has nothing about %s", name)
		}
	}
	if answer, profile := ask(t, plain, "GET", s.open+"/ca.mobileconfig", ""); answer.Header.Get("Content-Type") != "application/x-apple-aspen-config" || !strings.Contains(profile, "com.apple.security.root") {
		t.Errorf("the profile: %v", answer.Header)
	}
	for _, path := range []string{"/v1/sessions", "/open/secret", "/healthz", "/metrics", "/index.html", "/ca.crt/x", "/..%2fserver.json", "//x", "/?next=/open/secret"} {
		answer, body := ask(t, plain, "GET", s.open+path, testToken)
		if path == "/?next=/open/secret" {
			if body != page {
				t.Errorf("%s changes the page", path)
			}
			continue
		}
		if answer.StatusCode != http.StatusNotFound && answer.StatusCode != http.StatusTemporaryRedirect || strings.Contains(body, "secret") {
			t.Errorf("%s without TLS: %s %s", path, answer.Status, body)
		}
		if at := answer.Header.Get("Location"); strings.Contains(at, "secret") || strings.Contains(at, "https") {
			t.Errorf("%s without TLS sends to %s", path, at)
		}
	}
	if answer, _ := ask(t, plain, "POST", s.open+"/", ""); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST without TLS: %s", answer.Status)
	}

	secure := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	if answer, _ := ask(t, secure, "GET", s.at+"/v1/sessions", ""); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", answer.Status)
	}
	if answer, _ := ask(t, secure, "GET", s.at+"/v1/sessions", testToken); answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("with a token: %s, %s", answer.Status, answer.Proto)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	names := answeredNames(t, s.at, roots)
	if first, _, _ := strings.Cut(strings.ToLower(host), "."); !slices.Contains(names, first+".local") || !slices.Contains(names, "localhost") {
		t.Errorf("the certificate is for %v, the machine is %s", names, host)
	}
	var home string
	for _, v := range cmd.Env {
		if v, ok := strings.CutPrefix(v, "BURIN_HOME="); ok {
			home = v
		}
	}
	if info, err := os.Stat(filepath.Join(home, "authority.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	c := &httpClient{t: t, url: s.at}
	status, body := secureDo(t, secure, c.request("POST", "/v1/sessions", `{"folder":"`+cmd.Dir+`"}`))
	var made struct{ ID string }
	if err := json.Unmarshal(body, &made); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s, %v", status, body, err)
	}
	w := again(cmd)
	w.Args = append(w.Args, "attach", s.at, "--mode", "json")
	w.Env = append(w.Env, tokenVariable+"="+testToken)
	var problem bytes.Buffer
	w.Stderr = &problem
	seen, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 1000)
	if n, err := seen.Read(line); err != nil || !strings.Contains(string(line[:n]), `"type":"burin"`) {
		t.Errorf("attached: %q, %v, %s", line[:n], err, &problem)
	}
	_, _ = w.Process.Kill(), w.Wait() // it watches for as long as there is a session
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // a signal ends it
	if later := serveLAN(t, cmd); print.FindString(later.said) != print.FindString(s.said) {
		t.Error("the next server has another authority")
	}
}

func secureDo(t *testing.T, client *http.Client, r *http.Request) (int, []byte) {
	t.Helper()
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body
}

// answeredNames are the names in the certificate of a server.
func answeredNames(t *testing.T, at string, roots *x509.CertPool) []string {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(at, "https://"), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].DNSNames
}

// The code has its margin, and a decoder reads the address from it, also from a dark picture of it.
func TestServeCode(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"https://192.168.1.7:4647", "https://[fd12:3456:789a::1]:4647/open/ABCDEFGHIJKLMNOPQRSTUVWXYZ", "https://box.local/" + strings.Repeat("x", 150),
	} {
		drawn, err := qrCode(text)
		if err != nil {
			t.Fatal(err)
		}
		all := modules(t, drawn)
		for i, row := range all {
			if len(row) != len(all[0]) {
				t.Fatalf("row %d has %d modules, the first one %d", i, len(row), len(all[0]))
			}
			for j, dark := range row {
				if margin := i < 4 || j < 4 || i >= len(row)-4 || j >= len(row)-4; dark && margin {
					t.Fatalf("%s: the margin is dark at %d, %d", text, i, j)
				}
			}
		}
		if !all[4][4] || !all[4][10] || all[5][5] || !all[6][6] {
			t.Errorf("%s: no finder pattern in the corner", text)
		}
		for line := range strings.Lines(drawn) {
			if !strings.HasPrefix(line, "\x1b[38;5;16;48;5;231m") || !strings.HasSuffix(line, "\x1b[0m\n") {
				t.Errorf("a line has not its own colors: %q", line)
			}
		}
		if got := readCode(t, all); got != text {
			t.Errorf("a camera reads %q, not %q", got, text)
		}
	}
}

// What the terminal shows leads to the server, and signs in there.
func TestServeLANCode(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := serveLAN(t, machine(t, newBrain(t), rpcConfig))
	link := readCode(t, modules(t, s.code))
	if !strings.HasPrefix(link, s.at+"/open/") {
		t.Fatalf("a camera reads %q, the server is at %s", link, s.at)
	}
	visit := http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, //nolint:gosec // other tests look at the certificate
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", s.at)
	answer, err := visit.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) == 0 {
		t.Errorf("%s: %s %v", link, answer.Status, answer.Cookies())
	}
}

// readCode reads a code with a decoder from npm.
func readCode(t *testing.T, code [][]bool) string {
	t.Helper()
	npm := npmFolder(t)
	script, err := filepath.Abs(filepath.Join("testdata", "npm", "qr.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", script)
	c.Env = append(os.Environ(), "BURIN_NPM="+npm)
	c.Stdin = bytes.NewReader(raw)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// The server listens where the machine has addresses, and nowhere else, as they come and go.
func TestLANListener(t *testing.T) {
	t.Parallel()
	one, two := netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")
	var now atomic.Pointer[[]netip.Addr]
	now.Store(&[]netip.Addr{one})
	l, err := newLANListener(t.Context(), "0", func() []netip.Addr { return *now.Load() })
	if err != nil {
		t.Skipf("this system has only one loopback address: %v", err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "here") // the test sees when it isn't
			_ = c.Close()
		}
	}()
	reach := func(a netip.Addr) bool {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", netip.AddrPortFrom(a, uint16(l.port)).String())
		if err != nil {
			return false
		}
		defer c.Close()
		said, err := io.ReadAll(c)
		return err == nil && string(said) == "here"
	}
	if !reach(one) || reach(two) || reach(netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("at first: %v %v", reach(one), reach(two))
	}
	now.Store(&[]netip.Addr{one, two})
	if err := l.look(t.Context()); err != nil || !reach(one) || !reach(two) {
		t.Errorf("with a second address: %v %v %v", err, reach(one), reach(two))
	}
	now.Store(&[]netip.Addr{two})
	if err := l.look(t.Context()); err != nil || reach(one) || !reach(two) {
		t.Errorf("without the first: %v %v %v", err, reach(one), reach(two))
	}
	busy, err := net.Listen("tcp", netip.AddrPortFrom(one, uint16(l.port)).String())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	now.Store(&[]netip.Addr{one, two})
	if err := l.look(t.Context()); err == nil || !reach(two) {
		t.Errorf("where another listens: %v", err)
	}
	if err := l.Close(); err != nil || reach(two) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after its end, Accept gives %v", err)
	}
}

// The certificate is made again for new addresses and before its end, and only then.
func TestLANCertificate(t *testing.T) {
	t.Parallel()
	a, err := certificate.Open(filepath.Join(t.TempDir(), "authority.pem"), "box")
	if err != nil {
		t.Fatal(err)
	}
	addrs, now := []netip.Addr{netip.MustParseAddr("192.168.1.7")}, time.Now()
	c := &lanCertificate{authority: a, host: "box", find: func() []netip.Addr { return addrs }, now: func() time.Time { return now }}
	get := func() string {
		t.Helper()
		leaf, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Leaf.SerialNumber.String()
	}
	first := get()
	if now = now.Add(time.Hour); get() != first || !c.names("192.168.1.7") || c.names("10.0.0.7") {
		t.Error("it is made again for nothing")
	}
	addrs = []netip.Addr{netip.MustParseAddr("10.0.0.7")}
	now = now.Add(time.Hour)
	second := get()
	if second == first || !c.names("10.0.0.7") || c.names("192.168.1.7") || !c.names("box.local") {
		t.Error("it is not made again for another address")
	}
	if now = now.Add(365 * 24 * time.Hour); get() != second {
		t.Error("it is made again too early")
	}
	if now = now.Add(5 * 24 * time.Hour); get() == second {
		t.Error("it is not made again before its end")
	}
}

// What can't be served is said in one line.
func TestServeLANRefuses(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, port, err := net.SplitHostPort(busy.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--check --lan --addr :0", 0, "burin can serve at https://"},
		{"--check --lan --addr 192.168.1.1:4647", exitUsage, "give --addr only a port"},
		{"--check --lan --addr :65535", exitUsage, "not a port from 0 to 65534"},
		{"--check --lan --tls-cert x --tls-key y", exitUsage, "give one of them"},
		{"--check --lan --acme burin.example.org", exitUsage, "give one of them"},
		{"--lan --addr :" + port, 1, "already"},
		{"--check --proxy 10.0.0.0/40", exitUsage, "not an address or a network"},
		{"--check --drain -1", exitUsage, "--drain"},
	} {
		c := again(cmd)
		c.Args = append(append(c.Args, "serve"), strings.Fields(tt.args)...)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		code := 0
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != tt.code || !strings.Contains(string(out), tt.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %d %s", tt.args, code, out)
		}
	}
	var home string
	for _, v := range cmd.Env {
		if v, ok := strings.CutPrefix(v, "BURIN_HOME="); ok {
			home = v
		}
	}
	if _, err := os.Stat(filepath.Join(home, "authority.pem")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("--check left an authority: %v", err)
	}
}
