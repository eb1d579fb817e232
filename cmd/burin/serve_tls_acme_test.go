package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/burin-dev/burin/internal/pacetest"
)

// freePorts are ports that nothing listens at, and that systems don't give to others by themselves.
func freePorts(t *testing.T, n int) (all []string) {
	t.Helper()
	for len(all) < n {
		port := strconv.Itoa(20000 + rand.N(12000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue // another program has it
		}
		defer l.Close()
		all = append(all, port)
	}
	return all
}

// pebble is Let's Encrypt's authority for tests, with a DNS server that knows one address for all names.
type pebble struct {
	t         *testing.T
	directory string
	trust     string         // file with the certificate of its HTTPS
	client    *http.Client   // for it
	roots     *x509.CertPool // what it issues
	tls, http string         // the ports of servers that it asks
	dns       string         // address of the control of the DNS server
}

func startPebble(t *testing.T) *pebble {
	t.Helper()
	dir := os.Getenv("BURIN_PEBBLE")
	if dir == "" {
		t.Skip("BURIN_PEBBLE is not set: .ci/run installs Let's Encrypt's server for tests there")
	}
	ports := freePorts(t, 6)
	p := &pebble{t: t, tls: ports[2], http: ports[3], dns: "http://127.0.0.1:" + ports[4]}
	home := t.TempDir()
	path := func(name string) string { return filepath.Join(home, name) }
	p.trust = path("cert.pem")
	pool := certify(t, p.trust, path("key.pem"), time.Now().Add(time.Hour), "localhost")
	config := fmt.Sprintf(`{"pebble":{"listenAddress":"127.0.0.1:%s","managementListenAddress":"127.0.0.1:%s","certificate":%q,"privateKey":%q,"tlsPort":%s,"httpPort":%s,
		"ocspResponderURL":"","externalAccountBindingRequired":false,"domainBlocklist":["blocked.example.org"],"retryAfter":{"authz":1,"order":1}}}`,
		ports[0], ports[1], p.trust, path("key.pem"), p.tls, p.http)
	writeFile(t, path("config.json"), []byte(config), 0o600)
	run := func(name string, args ...string) {
		c := exec.Command(filepath.Join(dir, name), args...)
		c.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=10", "PEBBLE_AUTHZREUSE=0")
		said := new(bytes.Buffer)
		c.Stdout, c.Stderr = said, said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = c.Process.Kill(), c.Wait() // it is killed
			if t.Failed() {
				t.Logf("%s: %s", name, said)
			}
		})
	}
	run("pebble-challtestsrv", "-defaultIPv6", "", "-defaultIPv4", "127.0.0.1", "-dnsserver", "127.0.0.1:"+ports[5], "-management", "127.0.0.1:"+ports[4], "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "")
	run("pebble", "-config", path("config.json"), "-dnsserver", "127.0.0.1:"+ports[5])
	p.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}}
	p.directory = "https://localhost:" + ports[0] + "/dir"
	p.roots = x509.NewCertPool()
	late := time.Now().Add(30 * time.Second)
	for {
		answer, err := p.client.Get("https://127.0.0.1:" + ports[1] + "/roots/0")
		if err == nil {
			root, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || !p.roots.AppendCertsFromPEM(root) {
				t.Fatalf("%v: %s", err, root)
			}
			return p
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
}

// serve starts a server that gets certificates from it. said is read as it comes.
func (p *pebble) serve(first *exec.Cmd, args ...string) (cmd *exec.Cmd, said *bufio.Reader, at string) {
	p.t.Helper()
	cmd = again(first)
	cmd.Args = append(append(cmd.Args, "serve", "--acme-directory", p.directory), args...)
	cmd.Env = append(slices.Clone(cmd.Env), tokenVariable+"="+testToken, "SSL_CERT_FILE="+p.trust)
	problems, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() }) // it may have ended
	said = bufio.NewReader(problems)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		rest, _ := io.ReadAll(said)
		p.t.Fatalf("%v: %s", err, rest)
	}
	return cmd, said, strings.TrimSpace(line)
}

// reach asks a server at a port for its sessions, by a name.
func (p *pebble) reach(name, port string) (*x509.Certificate, error) {
	conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{RootCAs: p.roots, ServerName: name, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/sessions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", name, testToken)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	return conn.ConnectionState().PeerCertificates[0], nil
}

// A real authority issues certificates, by a question to the port of HTTPS or of HTTP. They are
// kept, with the key of the account, where only their owner reads them.
func TestServeACME(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	p := startPebble(t)
	for _, tt := range []struct {
		by   string
		args []string
		port string
	}{
		{"tls-alpn-01", []string{"--addr", "127.0.0.1:" + p.tls, "--acme-http", ""}, p.tls},
		{"http-01", []string{"--addr", "127.0.0.1:0", "--acme-http", "127.0.0.1:" + p.http}, ""},
	} {
		first := machine(t, newBrain(t), rpcConfig)
		args := append(tt.args, "--acme", "Burin.example.org", "--acme", "two.example.org", "--acme-email", "admin@example.org")
		cmd, said, at := p.serve(first, args...)
		port := at[strings.LastIndexByte(at, ':')+1:]
		if at != "https://burin.example.org:"+port {
			t.Errorf("%s: it serves at %s", tt.by, at)
		}
		var cert *x509.Certificate
		late := time.Now().Add(30 * time.Second)
		for name := range strings.FieldsSeq("burin.example.org two.example.org") {
			for {
				var err error
				if cert, err = p.reach(name, port); err == nil {
					break
				}
				if time.Now().After(late) {
					_, _ = cmd.Process.Kill(), cmd.Wait()
					rest, _ := io.ReadAll(said)
					t.Fatalf("%s of %s: %v: %s", tt.by, name, err, rest)
				}
			}
			if cert.VerifyHostname(name) != nil {
				t.Errorf("%s: the certificate of %s is for %v", tt.by, name, cert.DNSNames)
			}
		}
		for _, other := range []string{"three.example.org", "localhost"} {
			if _, err := p.reach(other, port); err == nil {
				t.Errorf("%s: it answers to %s", tt.by, other)
			}
		}
		var home string
		for _, v := range first.Env {
			if v, ok := strings.CutPrefix(v, "BURIN_HOME="); ok {
				home = v
			}
		}
		for { // a certificate is used a moment before it is kept
			kept, _ := os.ReadDir(filepath.Join(home, "acme"))
			if slices.ContainsFunc(kept, func(f os.DirEntry) bool { return f.Name() == "two.example.org" }) || time.Now().After(late) {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		_, _ = cmd.Process.Kill(), cmd.Wait()
		kept, err := os.ReadDir(filepath.Join(home, "acme"))
		if err != nil || len(kept) < 3 {
			t.Errorf("%s kept %v, %v", tt.by, kept, err)
		}
		for _, f := range kept {
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
			}
		}
		_, _, at = p.serve(first, args...)
		if again, err := p.reach("two.example.org", at[strings.LastIndexByte(at, ':')+1:]); err != nil || again.SerialNumber.Cmp(cert.SerialNumber) != 0 {
			t.Errorf("%s: the next server has another certificate: %v", tt.by, err)
		}
	}
}

// What an authority refuses is said in one line with what to do, at once.
func TestServeACMERefused(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	p := startPebble(t)
	for _, tt := range []struct {
		name, addr, want string
	}{
		{"blocked.example.org", "127.0.0.1:0", "the authority refuses the name"},
		{"far.example.org", "127.0.0.1:0", "the authority could not reach this server"}, // it asks at another port
	} {
		_, said, _ := p.serve(machine(t, newBrain(t), rpcConfig), "--acme", tt.name, "--addr", tt.addr, "--acme-http", "")
		line, err := said.ReadString('\n')
		for err == nil && !strings.Contains(line, "certificate") { // where it is, and a link
			line, err = said.ReadString('\n')
		}
		if err != nil || !strings.Contains(line, "no certificate for "+tt.name+": "+tt.want) || !strings.Contains(line, "burin tries again at") {
			t.Errorf("%s: %q, %v", tt.name, line, err)
		}
	}
}

// What no authority certifies is refused before one is asked; problems of authorities are put in words.
func TestACMEFlags(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	for _, tt := range []struct{ args, want string }{
		{"--acme 192.0.2.1", "it is an address; use --lan"},
		{"--acme *.example.org", "it has a wildcard"},
		{"--acme box.local", "it is a name of a local network; use --lan"},
		{"--acme box", "it is a name of a local network"},
		{"--acme bücher.example.org", "xn-- form"},
		{"--acme a.example.org --acme-directory http://ca.example.org", "begins with https://"},
		{"--acme-email me@example.org", "go with --acme"},
	} {
		c := again(cmd)
		c.Args = append(append(c.Args, "serve", "--check"), strings.Fields(tt.args)...)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitUsage || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v %s", tt.args, err, out)
		}
	}
	for kind, want := range map[string]string{
		"rateLimited": "has given out too many", "rejectedIdentifier": "refuses the name", "caa": "refuses the name", "connection": "could not reach this server",
		"invalidContact": "--acme-email", "externalAccountRequired": "an account that burin can't make", "serverInternal": "no certificate for x: detail",
	} {
		one := &acme.Error{ProblemType: "urn:ietf:params:acme:error:" + kind, Detail: "detail"}
		for _, err := range []error{one, fmt.Errorf("get: %w", one), &acme.AuthorizationError{Errors: []error{one}}} {
			if got := acmeProblem("x", err).Error(); !strings.Contains(got, want) || !strings.Contains(got, "detail") {
				t.Errorf("%s: %s", kind, got)
			}
		}
	}
	limited := &acme.Error{ProblemType: "urn:ietf:params:acme:error:rateLimited", Header: http.Header{"Retry-After": {"7200"}}}
	if got := retryAfter(limited); got < 7000*time.Second || got > 7300*time.Second {
		t.Errorf("after a limit it waits %v", got)
	}
}
