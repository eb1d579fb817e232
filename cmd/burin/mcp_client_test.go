package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
)

// A client that logs in by itself gets a token with its secret or what it signs, a new one where that
// has ended, and keeps none of it in a file.
func TestMCPClientCredentials(t *testing.T) {
	t.Parallel()
	const secret = "canary-of-a-client"
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	var issued atomic.Int64
	var url string
	signed := func(assertion string) bool {
		parts := strings.Split(assertion, ".")
		if len(parts) != 3 {
			return false
		}
		var claims struct{ Iss, Sub, Aud, Jti string }
		raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		if json.Unmarshal(raw, &claims) != nil || claims.Sub != claims.Iss || claims.Aud != url || claims.Jti == "" {
			return false
		}
		switch claims.Iss {
		case "ec":
			return len(signature) == 64 && ecdsa.Verify(&ec.PublicKey, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
		case "rsa":
			return rsa.VerifyPKCS1v15(&rs.PublicKey, crypto.SHA256, sum[:], signature) == nil
		}
		return false
	}
	inner := mcptest.HTTP(0, "")
	mux := http.NewServeMux()
	say := func(path string, v map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", issued.Load()) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		id, given, _ := r.BasicAuth()
		switch {
		case r.FormValue("grant_type") != "client_credentials", r.FormValue("resource") != url+"/mcp", r.FormValue("scope") != "read",
			!(id == "basic" && given == secret || signed(r.FormValue("client_assertion"))):
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, issued.Add(1))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	url = srv.URL
	say("/.well-known/oauth-protected-resource/mcp", map[string]any{"resource": url + "/mcp", "authorization_servers": []string{url}})
	say("/.well-known/oauth-authorization-server", map[string]any{"issuer": url, "token_endpoint": url + "/token", "scopes_supported": []string{"offline_access"}})

	c := configure(t, "approval: full\n", calls("mcp__basic__echo", `{"text":"herons"}`, 100), says("Done.", 100))
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	var entries []string
	for _, e := range []string{
		`"basic", "clientSecret": "${BOX_SECRET}"`, `"ec", "privateKey": "${BOX_EC}"`, `"rsa", "privateKey": "${BOX_RSA}"`,
		`"wrong", "clientSecret": "${BOX_SECRET}"`, `"none"`,
	} {
		name, _, _ := strings.Cut(e, ",")
		entries = append(entries, fmt.Sprintf(`%s: {"type": "http", "url": "%s/mcp", "oauth": {"grant": "client_credentials", "scopes": ["read"], "clientId": %s}}`, name, url, e))
	}
	c.put("burin/mcp.json", `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	burin := func(args ...string) string {
		cmd := command(t, args...)
		cmd.Dir = filepath.Join(c.dir, "work")
		cmd.Env = append(cmd.Env, "HOME="+c.dir, "BURIN_HOME="+filepath.Join(c.dir, "burin"), "BOX_SECRET="+secret,
			"BOX_EC="+inPEM(ec), "BOX_RSA="+strings.ReplaceAll(inPEM(rs), "\n", `\n`))
		out, _ := cmd.CombinedOutput() // what was said is looked at
		return string(out)
	}
	var said []string
	for name, want := range map[string]string{
		"basic": "basic: 7 tools", "ec": "ec: 7 tools", "rsa": "rsa: 7 tools",
		"wrong": "log in as the client wrong: ", "none": "set one of oauth.clientSecret and oauth.privateKey",
	} {
		out := burin("mcp", "test", name)
		if said = append(said, out); !strings.Contains(out, want) {
			t.Errorf("%q is missing: %s", want, out)
		}
	}
	if out := burin("mcp", "login", "basic"); !strings.Contains(out, "logs in by itself") {
		t.Errorf("a login: %s", out)
	}
	said = append(said, burin("mcp", "get", "basic"), burin("-p", "call it"))
	if !strings.Contains(c.body(1), "echo: herons") {
		t.Errorf("the call: %s", said[len(said)-1])
	}
	secretIn := func(where, text string) {
		for _, s := range []string{secret, "PRIVATE KEY", fmt.Sprintf("token-%d", issued.Load())} {
			if strings.Contains(text, s) {
				t.Errorf("%s is in %s", s, where)
			}
		}
	}
	secretIn("what was printed", strings.Join(said, "\n"))
	err = filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		secretIn(path, string(text))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
