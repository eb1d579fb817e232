package azureauth

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
)

// cloud is what a signer may reach.
type cloud struct {
	*httptest.Server
	asked atomic.Int32
}

func serve(t *testing.T, secure bool, answer func(w http.ResponseWriter, r *http.Request)) *cloud {
	t.Helper()
	c := new(cloud)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		answer(w, r)
	})
	if secure {
		c.Server = httptest.NewTLSServer(h)
	} else {
		c.Server = httptest.NewServer(h)
	}
	t.Cleanup(c.Close)
	return c
}

// gives answers with a token if the request has all that want says, name by name: of the query or the
// body, or, with a capital, of the head.
func gives(t *testing.T, text string, want map[string]string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		for name, value := range want {
			got := r.Form.Get(name)
			if strings.ToLower(name) != name {
				got = r.Header.Get(name)
			}
			if got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3599,"access_token":%q}`, text)
	}
}

// alone makes a signer that sees these variables only, on a machine that is nothing of Azure's.
func alone(t *testing.T, env map[string]string) *Signer {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	s := New(func(name string) string { return env[name] })
	closed := httptest.NewServer(nil)
	closed.Close()
	s.places = places{imds: closed.URL}
	return s
}

func sign(t *testing.T, s *Signer) (string, error) {
	t.Helper()
	r := httptest.NewRequest("POST", "https://res.openai.azure.com/openai/v1/responses", nil)
	err := s.Authorize(t.Context(), r, nil)
	got, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if err != nil {
		if got != "" {
			t.Error("a header was set")
		}
		if llm.KindOf(err) != llm.ErrAuth || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "az login") {
			t.Errorf("error %q of kind %s", err, llm.KindOf(err))
		}
	}
	return got, err
}

// expect signs, and wants a token.
func expect(t *testing.T, s *Signer, want string) {
	t.Helper()
	if got, err := sign(t, s); err != nil || got != want {
		t.Errorf("token %q (%v), want %q", got, err, want)
	}
}

// refuse signs, and wants an error that says why.
func refuse(t *testing.T, s *Signer, why string) {
	t.Helper()
	if _, err := sign(t, s); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("error %v, want %q", err, why)
	}
}

var application = map[string]string{"AZURE_TENANT_ID": "tenant-1", "AZURE_CLIENT_ID": "app-1"}

// of is the application with more variables.
func of(host string, more map[string]string) map[string]string {
	env := maps.Clone(application)
	env["AZURE_AUTHORITY_HOST"] = host
	maps.Copy(env, more)
	return env
}

func TestClientSecret(t *testing.T) {
	entra := serve(t, true, gives(t, "tok", map[string]string{
		"grant_type": "client_credentials", "client_id": "app-1", "client_secret": "s3cret", "scope": "https://cognitiveservices.azure.com/.default",
	}))
	s := alone(t, of(entra.URL, map[string]string{"AZURE_CLIENT_SECRET": "s3cret"}))
	s.public = entra.Client
	if entra.asked.Load() != 0 {
		t.Error("a token was asked for before it was needed")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { expect(t, s, "tok") })
	}
	all.Wait()
	if n := entra.asked.Load(); n != 1 {
		t.Errorf("%d tokens were asked for", n)
	}
	s.token.ends = time.Now().Add(early - time.Second)
	expect(t, s, "tok")
	if n := entra.asked.Load(); n != 2 {
		t.Errorf("a token that is about to expire was renewed %d times", n-1)
	}
	entra.Close() // the old token is good for a while
	s.token.ends = time.Now().Add(time.Minute)
	expect(t, s, "tok")
}

func TestClientSecretIsWrong(t *testing.T) {
	entra := serve(t, true, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided.\r\nTrace ID: 1"}`)
	})
	machine := serve(t, false, gives(t, "other", nil))
	s := alone(t, of(entra.URL, map[string]string{"AZURE_CLIENT_SECRET": "s3cret"}))
	s.public, s.places.imds = entra.Client, machine.URL
	refuse(t, s, "AADSTS7000215: Invalid client secret")
	if _, err := sign(t, s); strings.Contains(err.Error(), "Trace") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %q", err)
	}
	if machine.asked.Load() != 0 {
		t.Error("another identity was taken than the one that was set up")
	}
}

func TestEnvironmentIsChecked(t *testing.T) {
	secret := map[string]string{"AZURE_CLIENT_SECRET": "s"}
	refuse(t, alone(t, of("http://login.example.com", secret)), "AZURE_AUTHORITY_HOST must be an https address")
	env := of("https://login.example.com", secret)
	env["AZURE_TENANT_ID"] = "a/b"
	refuse(t, alone(t, env), "AZURE_TENANT_ID must be")
	refuse(t, alone(t, of("", map[string]string{"AZURE_CLIENT_CERTIFICATE_PATH": "/nowhere"})), "AZURE_CLIENT_CERTIFICATE_PATH")
	refuse(t, alone(t, map[string]string{"AZURE_TOKEN_CREDENTIALS": "all"}), "it may be dev, prod, EnvironmentCredential")
}

// certificate makes a key and its certificate, as PEM.
func certificate(t *testing.T) (raw []byte, key *rsa.PrivateKey, cert []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	if cert, err = x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	raw = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return append(raw, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})...), key, cert
}

func TestClientCertificate(t *testing.T) {
	raw, key, cert := certificate(t)
	_, _, other := certificate(t)
	file := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(file, append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other}), raw...), 0o600); err != nil {
		t.Fatal(err)
	}
	var assertion string
	entra := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
		assertion = r.Form.Get("client_assertion")
		gives(t, "tok", map[string]string{"client_id": "app-1", "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"})(w, r)
	})
	s := alone(t, of(entra.URL, map[string]string{"AZURE_CLIENT_CERTIFICATE_PATH": file, "AZURE_CLIENT_SEND_CERTIFICATE_CHAIN": "true"}))
	s.public = entra.Client
	expect(t, s, "tok")
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		t.Fatalf("assertion %q", assertion)
	}
	var bytes [3][]byte
	for i, p := range parts {
		var err error
		if bytes[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPSS(&key.PublicKey, crypto.SHA256, sum[:], bytes[2], nil); err != nil {
		t.Error(err)
	}
	var head struct {
		Alg   string
		Print string   `json:"x5t#S256"`
		Chain [][]byte `json:"x5c"`
	}
	var claims struct {
		Aud, Iss, Sub, Jti string
		Nbf, Exp           int64
	}
	if err := errors.Join(json.Unmarshal(bytes[0], &head), json.Unmarshal(bytes[1], &claims)); err != nil {
		t.Fatal(err)
	}
	print := sha256.Sum256(cert)
	if head.Alg != "PS256" || head.Print != base64.RawURLEncoding.EncodeToString(print[:]) || len(head.Chain) != 2 || string(head.Chain[0]) != string(cert) {
		t.Errorf("head %+v", head)
	}
	now := time.Now().Unix()
	if claims.Aud != entra.URL+"/tenant-1/oauth2/v2.0/token" || claims.Iss != "app-1" || claims.Sub != "app-1" || claims.Jti == "" || claims.Nbf > now || claims.Exp < now {
		t.Errorf("claims %+v", claims)
	}
}

func TestCertificateFiles(t *testing.T) {
	raw, _, _ := certificate(t)
	key, _, _ := certificate(t)
	key = key[:strings.Index(string(key), "-----BEGIN CERTIFICATE")]
	for name, tt := range map[string]struct {
		raw      []byte
		password string
		why      string
	}{
		"good":                    {raw, "", ""},
		"nothing":                 {nil, "", "neither PEM nor PKCS #12"},
		"a password":              {raw, "x", "neither PEM nor PKCS #12"},
		"only a key":              {key, "", "no certificate of its key"},
		"two keys":                {append(key, raw...), "", "one private key"},
		"a key of something else": {append(key, raw[strings.Index(string(raw), "-----BEGIN CERTIFICATE"):]...), "", "no certificate of its key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readCertificate(tt.raw, tt.password)
			if tt.why == "" && err != nil || tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)) {
				t.Errorf("error %v, want %q", err, tt.why)
			}
		})
	}
}

// A file of openssl pkcs12 -legacy, whose password is "word".
func TestPKCS12(t *testing.T) {
	raw, err := os.ReadFile("testdata/app.p12")
	if err != nil {
		t.Fatal(err)
	}
	if _, chain, err := readCertificate(raw, "word"); err != nil || len(chain) != 1 || chain[0].Subject.CommonName != "app" {
		t.Errorf("%v, %v", chain, err)
	}
	if _, _, err := readCertificate(raw, "other"); err == nil {
		t.Error("another password opens it")
	}
}

func TestWorkloadIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("ey.jwt.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	entra := serve(t, true, gives(t, "tok", map[string]string{"client_id": "app-1", "client_assertion": "ey.jwt.1"}))
	s := alone(t, of(entra.URL, map[string]string{"AZURE_FEDERATED_TOKEN_FILE": file}))
	s.public = entra.Client
	expect(t, s, "tok")
}

func TestManagedIdentities(t *testing.T) {
	for name, tt := range map[string]struct {
		env  func(url string) map[string]string
		want map[string]string
	}{
		"a machine": {
			func(string) map[string]string { return nil },
			map[string]string{"Metadata": "true", "resource": Audience, "api-version": "2018-02-01", "client_id": ""},
		},
		"an identity of several": {
			func(string) map[string]string { return map[string]string{"AZURE_CLIENT_ID": "id-1"} },
			map[string]string{"Metadata": "true", "client_id": "id-1"},
		},
		"App Service": {
			func(url string) map[string]string {
				return map[string]string{"IDENTITY_ENDPOINT": url + "/msi/token", "IDENTITY_HEADER": "head"}
			},
			map[string]string{"X-Identity-Header": "head", "resource": Audience, "api-version": "2019-08-01"},
		},
		"Machine Learning": {
			func(url string) map[string]string {
				return map[string]string{"MSI_ENDPOINT": url + "/?x=1", "MSI_SECRET": "sec", "DEFAULT_IDENTITY_CLIENT_ID": "id-2"}
			},
			map[string]string{"Secret": "sec", "resource": Audience, "api-version": "2017-09-01", "clientid": "id-2", "x": "1"},
		},
		"Cloud Shell": {
			func(url string) map[string]string { return map[string]string{"MSI_ENDPOINT": url} },
			map[string]string{"Metadata": "true", "resource": Audience},
		},
	} {
		t.Run(name, func(t *testing.T) {
			machine := serve(t, false, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "" && r.Method == http.MethodGet { // to see who is there
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				gives(t, "tok", tt.want)(w, r)
			})
			s := alone(t, tt.env(machine.URL))
			s.places.imds = machine.URL
			expect(t, s, "tok")
		})
	}
}

// A service that has just started is asked again, and one that has no identity leaves it to the next.
func TestManagedIdentityIsNotReady(t *testing.T) {
	var n atomic.Int32
	machine := serve(t, false, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 2 {
			w.WriteHeader(http.StatusGone)
			return
		}
		fmt.Fprint(w, `{"access_token":"tok","expires_on":"99999999999","expires_in":"1"}`)
	})
	s := alone(t, nil)
	s.places.imds = machine.URL
	expect(t, s, "tok")
	if s.token.left() < time.Hour || n.Load() != 3 {
		t.Errorf("%v left after %d requests", s.token.left(), n.Load())
	}
	none := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_request","error_description":"Identity not found"}`)
	})
	s = alone(t, nil)
	s.places.imds = none.URL
	refuse(t, s, "HTTP 400: Identity not found")
	refuse(t, alone(t, nil), "neither az nor azd") // there is nothing at all
}

func TestServiceFabric(t *testing.T) {
	node := serve(t, true, gives(t, "tok", map[string]string{"Secret": "head", "api-version": "2019-07-01-preview"}))
	sum := sha1.Sum(node.Certificate().Raw)
	env := map[string]string{"IDENTITY_ENDPOINT": node.URL, "IDENTITY_HEADER": "head", "IDENTITY_SERVER_THUMBPRINT": strings.ToUpper(hex.EncodeToString(sum[:]))}
	expect(t, alone(t, env), "tok")
	env["IDENTITY_SERVER_THUMBPRINT"] = strings.Repeat("00", 20)
	refuse(t, alone(t, env), "not the one of IDENTITY_SERVER_THUMBPRINT")
	env["IDENTITY_SERVER_THUMBPRINT"] = "12"
	refuse(t, alone(t, env), "40 hexadecimal digits")
}

func TestArc(t *testing.T) {
	keys := t.TempDir()
	if err := os.WriteFile(filepath.Join(keys, "a.key"), []byte("k3y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(keys, "large.key"), make([]byte, maxArcKey+1), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(keys, "a.key")
	agent := serve(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", "Basic realm="+file)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		gives(t, "tok", map[string]string{"Authorization": "Basic k3y", "Metadata": "true", "resource": Audience})(w, r)
	})
	env := map[string]string{"IDENTITY_ENDPOINT": agent.URL, "IMDS_ENDPOINT": agent.URL}
	here := func() *Signer {
		s := alone(t, env)
		s.places.arcKeys = keys
		return s
	}
	expect(t, here(), "tok")
	s := alone(t, nil)
	s.places = places{arc: agent.URL, arcAgent: file, arcKeys: keys}
	expect(t, s, "tok") // what says where it is is its program
	for _, file = range []string{"/etc/shadow", filepath.Join(keys, "x", "a.key"), filepath.Join(keys, "a.pem"), ""} {
		refuse(t, here(), "isn't one of its secrets")
	}
	file = filepath.Join(keys, "large.key")
	refuse(t, here(), "can't be read")
	file = filepath.Join(keys, "a.key")
	env["AZURE_CLIENT_ID"] = "id-1" // which this agent doesn't know
	refuse(t, here(), "unset AZURE_CLIENT_ID")
}

// A program that prints what az prints.
func TestCommandLineTools(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	for name, tt := range map[string]struct{ tool, prints, want, why string }{
		"az":          {"az", `echo '{"accessToken":"'"$*"'","expires_on":99999999999}'`, "account get-access-token -o json --resource " + Audience, ""},
		"an older az": {"az", `echo '{"accessToken":"tok","expiresOn":"2099-01-02 15:04:05.123456"}'`, "tok", ""},
		"azd":         {"azd", `echo '{"token":"'"$*"'","expiresOn":"2099-01-02T15:04:05Z"}'`, "auth token -o json --no-prompt --scope " + Audience + "/.default", ""},
		"no login":    {"az", `echo 'WARNING: x' >&2; echo "ERROR: Please run 'az login'" >&2; exit 1`, "", "az failed: ERROR: Please run 'az login'"},
		"no JSON":     {"az", `echo tok3n`, "", "the answer holds no token"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", t.TempDir()) // programs in the temporary folder are not started
			if err := os.WriteFile(filepath.Join(dir, tt.tool), []byte("#!/bin/sh\n"+tt.prints+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			s := alone(t, map[string]string{"AZURE_TOKEN_CREDENTIALS": "dev"})
			t.Setenv("PATH", dir)
			if tt.why != "" {
				refuse(t, s, tt.why)
				return
			}
			expect(t, s, tt.want)
		})
	}
}

func TestAuthorizeCanceled(t *testing.T) {
	came := make(chan struct{})
	entra := serve(t, true, func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
	})
	s := alone(t, of(entra.URL, map[string]string{"AZURE_CLIENT_SECRET": "s3cret"}))
	s.public = entra.Client
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for range 2 { // one asks, the other waits for it
		go func() { done <- s.Authorize(ctx, httptest.NewRequest("POST", "https://x/", nil), nil) }()
	}
	<-came
	cancel()
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

func TestDecode(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{"access_token":"t","expires_in":3600}`:                           true,
		`{"access_token":"t","expires_in":"3600"}`:                         true,
		`{"access_token":"t","expires_on":"11/05/2099 15:18:31 +00:00"}`:   true,
		`{"access_token":"t","expires_on":"11/05/2099 3:18:31 PM +00:00"}`: true,
		`{"access_token":"t","expires_on":"","expires_in":3600}`:           true,
		`{"access_token":"t"}`:                                             false,
		`{"expires_in":3600}`:                                              false,
		`<html>`:                                                           false,
		``:                                                                 false,
		`{"access_token":"t","expires_on":"tomorrow"}`:                     false,
	} {
		got, _, err := decode([]byte(raw))
		if (err == nil) != ok || ok && got.left() <= 0 {
			t.Errorf("%s: %v left, %v", raw, got.left(), err)
		}
	}
}
