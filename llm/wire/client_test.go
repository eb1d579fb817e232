package wire_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/google/go-cmp/cmp"
)

func TestClientCertificates(t *testing.T) {
	certPEM, keyPEM := selfSigned(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.String())
	}))
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	srv.StartTLS()
	defer srv.Close()
	caPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})

	keyFile := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(keyFile, keyPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"NODE_EXTRA_CA_CERTS":     strings.ReplaceAll(string(caPEM), "\n", `\n`),
		"CLAUDE_CODE_CLIENT_CERT": string(certPEM),
		"CLAUDE_CODE_CLIENT_KEY":  keyFile,
	}
	c, err := wire.NewClient(wire.OptionsFromEnv(func(k string) string { return env[k] }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	resp, err := c.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "burin test") {
		t.Errorf("server saw %q", body)
	}

	plain, _ := wire.NewClient(wire.ClientOptions{})
	if _, err := plain.Get(srv.URL); err == nil {
		t.Error("a client without the extra CA trusts the server")
	}
}

func TestClientOptionErrors(t *testing.T) {
	certPEM, _ := selfSigned(t)
	for _, o := range []wire.ClientOptions{
		{ExtraCA: filepath.Join(t.TempDir(), "missing.pem")},
		{ExtraCA: "-----BEGIN nothing"},
		{ClientCert: string(certPEM)},
		{ClientCert: string(certPEM), ClientKey: string(certPEM)},
	} {
		if _, err := wire.NewClient(o); err == nil {
			t.Errorf("%+v was accepted", o)
		} else if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("error shows PEM or has lines: %q", err)
		}
	}
}

func TestClientProxy(t *testing.T) {
	asked := make(chan string, 4)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked <- r.Method + " " + r.RequestURI }))
	defer proxy.Close()
	for name, tt := range map[string]struct {
		env  map[string]string
		url  string
		want string
	}{
		"http":            {map[string]string{"HTTP_PROXY": proxy.URL}, "http://model.example/v1", "GET http://model.example/v1"},
		"https":           {map[string]string{"https_proxy": proxy.URL}, "https://model.example/v1", "CONNECT model.example:443"},
		"all":             {map[string]string{"ALL_PROXY": proxy.URL}, "https://model.example/v1", "CONNECT model.example:443"},
		"none for a host": {map[string]string{"ALL_PROXY": proxy.URL, "NO_PROXY": "model.invalid"}, "http://model.invalid/", ""},
		"none for itself": {map[string]string{"ALL_PROXY": proxy.URL}, "http://127.0.0.1:1/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := wire.NewClient(wire.OptionsFromEnv(func(k string) string { return tt.env[k] }))
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			if resp, err := c.Get(tt.url); err == nil {
				resp.Body.Close()
			}
			got := ""
			select {
			case got = <-asked:
			default:
			}
			if got != tt.want {
				t.Errorf("the proxy was asked for %q, want %q", got, tt.want)
			}
		})
	}
}

func selfSigned(t *testing.T) (cert, key []byte) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	tmpl.Subject.CommonName = "burin test"
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func TestNewRequest(t *testing.T) {
	e := wire.Endpoint{
		Headers: map[string]string{"X-Team": "a", "X-Both": "endpoint", "X-Telemetry-Too": "1", "X-Gone": "1"},
		Transform: wire.Transform{
			StripHeaders: []string{"x-telemetry", "x-telemetry-too"},
			SetHeaders:   map[string]string{"User-Agent": "proxy", "Accept": "", "X-Gone": ""},
			ExtraBody:    map[string]any{"seed": 7, "model": "other", "both": "endpoint"},
		},
	}
	r := &llm.Request{
		Headers: map[string]string{"X-Both": "request"},
		Extra:   map[string]json.RawMessage{"top_k": json.RawMessage(`3`), "messages": json.RawMessage(`[]`), "both": json.RawMessage(`"request"`)},
	}
	req, err := e.NewRequest(context.Background(), r, "https://h.example/v1/", "/chat", []byte(`{"model":"m","messages":[1]}`),
		map[string]string{"X-Telemetry": "1", "X-Api-Key": "k"}, "model", "messages")
	if err != nil {
		t.Fatal(err)
	}
	if got := req.URL.String(); got != "https://h.example/v1/chat" {
		t.Errorf("url %s", got)
	}
	body, _ := io.ReadAll(req.Body)
	if diff := cmp.Diff(`{"both":"endpoint","messages":[1],"model":"m","seed":7,"top_k":3}`, string(bytes.TrimSpace(body))); diff != "" {
		t.Error(diff)
	}
	want := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"proxy"}, "X-Team": {"a"}, "X-Both": {"request"}, "X-Api-Key": {"k"}}
	if diff := cmp.Diff(want, req.Header); diff != "" {
		t.Error(diff)
	}
	for _, base := range []string{"", "h.example/v1", "ftp://h", "http://[::1"} {
		if _, err := e.NewRequest(context.Background(), r, base, "/chat", []byte(`{}`), nil); llm.KindOf(err) != llm.ErrInvalidRequest {
			t.Errorf("base URL %q: %v", base, err)
		}
	}
}
