package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
)

// certify writes a certificate for names, which signs itself, and its key.
func certify(t *testing.T, cert, key string, until time.Time, names ...string) *x509.CertPool {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, DNSNames: names,
	}
	if len(names) > 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	writeFile(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600)
	writeFile(t, cert, text, 0o600)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// With a certificate the server listens for others, answers to the names of the certificate and
// of --host, and takes a renewed one while it runs. burin attach joins it over https.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	pool := certify(t, cert, key, time.Now().Add(time.Hour), "box.example.org", "localhost")
	server := again(cmd)
	server.Args = append(server.Args, "serve", "--addr", ":0", "--tls-cert", cert, "--tls-key", key, "--host", "proxy.example.org")
	server.Env = append(server.Env, tokenVariable+"="+testToken)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() }) // it may have ended
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimSpace(string(line[:n]))
	port, ok := strings.CutPrefix(at, "https://box.example.org:")
	if !ok {
		t.Fatalf("it serves at %q", at)
	}
	ask := func(pool *x509.CertPool, host, body string) (int, string, error) {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}
		defer transport.CloseIdleConnections()
		verb := http.MethodGet
		if body != "" {
			verb = http.MethodPost
		}
		r, err := http.NewRequestWithContext(t.Context(), verb, "https://127.0.0.1:"+port+"/v1/sessions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Authorization", "Bearer "+testToken)
		r.Header.Set("Content-Type", "application/json")
		answer, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(said), err
	}
	for host, want := range map[string]int{
		"box.example.org": 200, "BOX.example.org:4647": 200, "localhost": 200, "127.0.0.1": 200, "proxy.example.org": 200,
		"example.org": 421, "box.example.org.evil.example": 421, "192.0.2.1": 421,
	} {
		if got, said, err := ask(pool, host, ""); got != want || err != nil {
			t.Errorf("to %s: %d %s, %v", host, got, said, err)
		}
	}
	status, said, err := ask(pool, "localhost", `{"folder":"`+cmd.Dir+`"}`)
	var made struct{ ID string }
	if err := errors.Join(err, json.Unmarshal([]byte(said), &made)); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s, %v", status, said, err)
	}
	w := again(cmd)
	w.Args = append(w.Args, "attach", "https://localhost:"+port+"/"+made.ID, "--mode", "json")
	w.Env = append(w.Env, tokenVariable+"="+testToken, "SSL_CERT_FILE="+cert)
	seen, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := seen.Read(line); err != nil || !strings.Contains(string(line[:n]), `"type":"burin"`) {
		t.Errorf("attached: %q, %v", line[:n], err)
	}
	_, _ = w.Process.Kill(), w.Wait() // it watches for as long as there is a session

	if _, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{RootCAs: pool, ServerName: "localhost", MaxVersion: tls.VersionTLS11}); err == nil { //nolint:gosec // it must be refused
		t.Error("it speaks TLS 1.1")
	}
	renewed := certify(t, cert, key, time.Now().Add(2*time.Hour), "localhost", "new.example.org")
	late := time.Now().Add(30 * time.Second)
	for {
		status, _, err := ask(renewed, "new.example.org", "")
		if status == http.StatusOK {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the renewed certificate is not used: %d, %v", status, err)
		}
	}
}

// The server doesn't start where it would listen for others without TLS, or with files that
// can't be used; --check says so without a server.
func TestServeCheck(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	certify(t, path("cert"), path("key"), time.Now().Add(time.Hour), "localhost")
	certify(t, path("old"), path("oldkey"), time.Now().Add(-time.Hour), "localhost")
	certify(t, path("bare"), path("barekey"), time.Now().Add(time.Hour))
	check := func(args ...string) (string, int) {
		c := again(cmd)
		c.Args = append(append(c.Args, "serve", "--check"), args...)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return string(out), exit.ExitCode()
		}
		return string(out), 0
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--addr 127.0.0.1:0", 0, "burin can serve at http://127.0.0.1:"},
		{"--addr :0 --tls-cert cert --tls-key key", 0, "burin can serve at https://localhost:"},
		{"--addr 0.0.0.0:0", exitUsage, "the token would cross the network in the clear: give --tls-cert and --tls-key"},
		{"--addr :0 --tls-cert cert", exitUsage, "--tls-cert and --tls-key go together"},
		{"--addr :0 --tls-cert cert --tls-key oldkey", 1, "private key does not match"},
		{"--addr :0 --tls-cert none --tls-key key", 1, "no such file"},
		{"--addr :0 --tls-cert old --tls-key oldkey", 1, "has expired"},
		{"--addr :0 --tls-cert bare --tls-key barekey", 1, "names no host"},
		{"--addr " + busy.Addr().String(), 1, "something listens at " + busy.Addr().String() + " already"},
	} {
		args := strings.Fields(tt.args)
		for i, a := range args {
			if i > 0 && slices.Contains([]string{"--tls-cert", "--tls-key"}, args[i-1]) {
				args[i] = path(a)
			}
		}
		if out, code := check(args...); code != tt.code || !strings.Contains(out, tt.want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %d %s", tt.args, code, out)
		}
	}
	home := ""
	for _, v := range cmd.Env {
		if v, ok := strings.CutPrefix(v, "BURIN_HOME="); ok {
			home = v
		}
	}
	if _, err := os.Stat(filepath.Join(home, "server.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("--check left a token: %v", err)
	}
	writeFile(t, filepath.Join(home, "server.db"), []byte("this is not a database, it is only a text"), 0o600)
	if out, code := check("--addr", "127.0.0.1:0"); code != 1 || !strings.Contains(out, "server.db") {
		t.Errorf("with a broken database: %d %s", code, out)
	}
}

// Requests are counted and logged by what they are, without ids in the one and without content
// in the other.
func TestServeMetricsAndLog(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd, "--log")
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+made.ID+"/submit", saying("say canary-words"), nil)
	wrong := c.request("GET", "/v1/sessions", "")
	wrong.Header.Set("Authorization", "Bearer nobody's")
	c.do(wrong)
	status, body := c.do(c.request("GET", "/metrics", ""))
	for _, want := range []string{
		`burin_requests_total{route="POST /v1/sessions",status="201"} 1`, `burin_requests_total{route="POST /v1/sessions/{id}/submit",status="200"} 1`,
		"burin_wrong_tokens_total 1", "burin_sessions_open 1", `burin_info{version="`, "\ngo_goroutines ", "burin_streams 0",
	} {
		if status != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%d, without %s:\n%s", status, want, body)
		}
	}
	if strings.Contains(string(body), made.ID) {
		t.Errorf("the metrics name a session:\n%s", body)
	}
	c.end()
	said := c.said.String()
	found := false
	for line := range strings.Lines(said) {
		var e struct {
			Msg, Route, Token, Session string
			Status                     int
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Route == "POST /v1/sessions/{id}/submit" {
			found = e.Msg == "request" && e.Status == 200 && e.Token == "server" && e.Session == made.ID
		}
	}
	if !found || strings.Contains(said, "canary-words") || strings.Contains(said, testToken) || strings.Contains(said, "nobody's") {
		t.Errorf("the log:\n%s", said)
	}
}
