package gcpauth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/gcpauth"
)

// tokens is a token endpoint on loopback.
type tokens struct {
	*httptest.Server
	issued  atomic.Int32
	lasts   int    // seconds
	refuse  string // answer with this body and status 400
	lastReq atomic.Pointer[http.Request]
}

func newTokens(t *testing.T, lasts int) *tokens {
	s := &tokens{lasts: lasts}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		_ = r.ParseForm()
		s.lastReq.Store(r)
		w.Header().Set("Content-Type", "application/json")
		if s.refuse != "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, s.refuse)
			return
		}
		n := s.issued.Add(1)
		if strings.HasSuffix(r.URL.Path, ":generateAccessToken") {
			fmt.Fprintf(w, `{"accessToken":"impersonated-%d","expireTime":%q}`, n, time.Now().Add(time.Hour).Format(time.RFC3339))
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, n, s.lasts)
	}))
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, dir string, fields map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "credentials.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var privateKey = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
})

func serviceAccount(uri string) map[string]any {
	return map[string]any{
		"type": "service_account", "project_id": "file-project", "client_email": "robot@example.com",
		"private_key_id": "k1", "private_key": privateKey(), "token_uri": uri,
	}
}

func user(uri string) map[string]any {
	return map[string]any{
		"type": "authorized_user", "client_id": "id", "client_secret": "very-secret", "refresh_token": "refresh-secret",
		"quota_project_id": "paying", "token_uri": uri,
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func authorize(t *testing.T, a *gcpauth.Auth) (http.Header, error) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "https://aiplatform.googleapis.com/", nil)
	err := a.Authorize(t.Context(), req, nil)
	return req.Header, err
}

func TestServiceAccountSignsForItsToken(t *testing.T) {
	s := newTokens(t, 3600)
	path := write(t, t.TempDir(), serviceAccount(s.URL))
	h, err := authorize(t, gcpauth.New(env("GOOGLE_APPLICATION_CREDENTIALS", path)))
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Get("Authorization"); got != "Bearer token-1" {
		t.Errorf("Authorization: %q", got)
	}
	form := s.lastReq.Load().PostForm
	parts := strings.Split(form.Get("assertion"), ".")
	if form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || len(parts) != 3 {
		t.Fatalf("the token was asked for with %v", form)
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"robot@example.com", "https://www.googleapis.com/auth/cloud-platform", s.URL} {
		if !strings.Contains(string(claims), want) {
			t.Errorf("claims %s lack %s", claims, want)
		}
	}
}

func TestTokenIsKeptUntilAMinuteBeforeItsEnd(t *testing.T) {
	for _, c := range []struct {
		name       string
		lasts      int
		skew       string
		wantTokens int32
	}{
		{"lasts", 300, "", 1},
		{"within the last minute", 55, "", 3},
		{"another skew", 55, "1000", 1},
		{"a longer skew", 300, "600000", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTokens(t, c.lasts)
			a := gcpauth.New(env(
				"GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), user(s.URL)),
				"GOOGLE_VERTEX_REFRESH_SKEW_MS", c.skew))
			for range 3 {
				if _, err := authorize(t, a); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.issued.Load(); got != c.wantTokens {
				t.Errorf("%d tokens were fetched, want %d", got, c.wantTokens)
			}
		})
	}
}

func TestConcurrentRequestsFetchOneToken(t *testing.T) {
	s := newTokens(t, 3600)
	a := gcpauth.New(env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), user(s.URL))))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			req := httptest.NewRequest(http.MethodPost, "/", nil)
			if err := a.Authorize(t.Context(), req, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := s.issued.Load(); got != 1 {
		t.Errorf("%d tokens were fetched", got)
	}
}

func TestUserCredentialsOfGcloud(t *testing.T) {
	s := newTokens(t, 3600)
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "gcloud")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(write(t, home, user(s.URL)), filepath.Join(dir, "application_default_credentials.json")); err != nil {
		t.Fatal(err)
	}
	for name, vars := range map[string][]string{
		"home":            {"HOME", home, "APPDATA", filepath.Join(home, ".config")},
		"CLOUDSDK_CONFIG": {"CLOUDSDK_CONFIG", dir},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := authorize(t, gcpauth.New(env(vars...)))
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Get("x-goog-user-project"); got != "paying" {
				t.Errorf("x-goog-user-project: %q", got)
			}
			if got := s.lastReq.Load().PostForm.Get("refresh_token"); got != "refresh-secret" {
				t.Errorf("refresh_token: %q", got)
			}
		})
	}
}

func TestImpersonation(t *testing.T) {
	s := newTokens(t, 3600)
	path := write(t, t.TempDir(), map[string]any{
		"type":                              "impersonated_service_account",
		"service_account_impersonation_url": s.URL + "/v1/projects/-/serviceAccounts/x:generateAccessToken",
		"source_credentials":                user(s.URL),
	})
	h, err := authorize(t, gcpauth.New(env("GOOGLE_APPLICATION_CREDENTIALS", path)))
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Get("Authorization"); got != "Bearer impersonated-2" {
		t.Errorf("Authorization: %q", got)
	}
	if got := s.lastReq.Load().Header.Get("Authorization"); got != "Bearer token-1" {
		t.Errorf("the account was impersonated with %q", got)
	}
}

func TestNewLoginTakesEffect(t *testing.T) {
	s := newTokens(t, 3600)
	dir := t.TempDir()
	path := filepath.Join(dir, "credentials.json")
	a := gcpauth.New(env("GOOGLE_APPLICATION_CREDENTIALS", path))
	if _, err := authorize(t, a); err == nil {
		t.Fatal("authorized without a file")
	}
	write(t, dir, user(s.URL))
	if _, err := authorize(t, a); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsAreOneLineAndNameTheFile(t *testing.T) {
	dir := t.TempDir()
	refusing := newTokens(t, 0)
	refusing.refuse = `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"private_key": SECRET`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  func(string) string
		kind llm.ErrorKind
		want []string
	}{
		{
			"named file missing", env("GOOGLE_APPLICATION_CREDENTIALS", dir+"/none.json"), llm.ErrAuth,
			[]string{"GOOGLE_APPLICATION_CREDENTIALS", dir + "/none.json"},
		},
		{
			"nothing", env("HOME", dir, "APPDATA", dir), llm.ErrAuth,
			[]string{"gcloud auth application-default login", "application_default_credentials.json"},
		},
		{"broken", env("GOOGLE_APPLICATION_CREDENTIALS", broken), llm.ErrAuth, []string{broken}},
		{
			"refused", env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), user(refusing.URL))), llm.ErrAuth,
			[]string{"credentials.json", "expired or revoked", "gcloud auth application-default login"},
		},
		{
			"refused robot", env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), serviceAccount(refusing.URL))), llm.ErrAuth,
			[]string{"credentials.json", "expired or revoked"},
		},
		{
			"unknown type", env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), map[string]any{"type": "gdch_service_account"})), llm.ErrAuth,
			[]string{"credentials.json", "gdch_service_account"},
		},
		{
			"bad key", env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), map[string]any{"type": "service_account"})), llm.ErrAuth,
			[]string{"credentials.json", "private_key"},
		},
		{
			"no endpoint", env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), user("http://127.0.0.1:1/"))), llm.ErrTransport,
			[]string{"127.0.0.1:1"},
		},
		{
			"no endpoint for a robot", env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), serviceAccount("http://127.0.0.1:1/"))), llm.ErrTransport,
			[]string{"127.0.0.1:1"},
		},
		{
			"not a token", env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), user(empty.URL))), llm.ErrAuth,
			[]string{"credentials.json"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := authorize(t, gcpauth.New(c.env))
			if llm.KindOf(err) != c.kind {
				t.Errorf("kind %q, want %q", llm.KindOf(err), c.kind)
			}
			text := fmt.Sprint(err)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not name %q", text, want)
				}
			}
			for _, never := range []string{"\n", "SECRET", "very-secret", "refresh-secret"} {
				if strings.Contains(text, never) {
					t.Errorf("%q holds %q", text, never)
				}
			}
		})
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-release
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"late","expires_in":3600}`)
	}))
	defer slow.Close()
	a := gcpauth.New(env("GOOGLE_APPLICATION_CREDENTIALS", write(t, t.TempDir(), user(slow.URL))))
	first := make(chan error, 1)
	go func() {
		first <- a.Authorize(context.Background(), httptest.NewRequest(http.MethodPost, "/", nil), nil)
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := a.Authorize(ctx, httptest.NewRequest(http.MethodPost, "/", nil), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request ended with %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the other request failed: %v", err)
	}
}

func TestProjectAndLocation(t *testing.T) {
	robot := write(t, t.TempDir(), serviceAccount("http://127.0.0.1:1"))
	person := write(t, t.TempDir(), user("http://127.0.0.1:1"))
	for _, c := range []struct {
		name              string
		vars              []string
		project, location string
	}{
		{"first wins", []string{
			"GOOGLE_CLOUD_PROJECT", "a", "GCP_PROJECT", "b", "GCLOUD_PROJECT", "c",
			"GOOGLE_VERTEX_LOCATION", "x", "GOOGLE_CLOUD_LOCATION", "y", "VERTEX_LOCATION", "z",
		}, "a", "x"},
		{"second", []string{"GCP_PROJECT", "b", "GCLOUD_PROJECT", "c", "GOOGLE_CLOUD_LOCATION", "y", "VERTEX_LOCATION", "z"}, "b", "y"},
		{"third", []string{"GCLOUD_PROJECT", "c", "VERTEX_LOCATION", "z"}, "c", "z"},
		{"file", []string{"GOOGLE_APPLICATION_CREDENTIALS", robot}, "file-project", ""},
		{"file of a person", []string{"GOOGLE_APPLICATION_CREDENTIALS", person}, "paying", ""},
		{"nothing", nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := gcpauth.New(env(c.vars...))
			if a.Project() != c.project || a.Location() != c.location {
				t.Errorf("project %q, location %q; want %q, %q", a.Project(), a.Location(), c.project, c.location)
			}
		})
	}
}
