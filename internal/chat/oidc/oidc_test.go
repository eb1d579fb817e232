package oidc_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/oidc"
	"github.com/burin-dev/burin/internal/chat/oidc/oidctest"
)

const back = "https://burin.example.org/signin/with/box/back"

// visit is a provider and its issuer, with one clock.
type visit struct {
	*oidc.Provider
	t   *testing.T
	is  *oidctest.Issuer
	now atomic.Int64
}

func start(t *testing.T) *visit {
	t.Helper()
	v := &visit{t: t, is: oidctest.New(t)}
	v.now.Store(1_800_000_000)
	clock := func() time.Time { return time.Unix(v.now.Load(), 0) }
	v.is.Clock(clock)
	v.Provider = &oidc.Provider{
		ID: "box", Label: "Box", Issuer: v.is.URL, ClientID: oidctest.ClientID, Secret: oidctest.Secret, Scopes: []string{"email"},
		GroupsClaim: "groups", NameClaim: "preferred_username", Now: clock,
	}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	return v
}

// code is what a browser comes back with.
func (v *visit) code(nonce, verifier string) (string, error) {
	to, err := v.Begin(v.t.Context(), back, "a state", nonce, verifier)
	if err != nil {
		return "", err
	}
	if q, err := url.Parse(to); err != nil || q.Query().Get("scope") != "openid email" || strings.Contains(to, verifier) {
		v.t.Errorf("%s, %v", to, err)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), "GET", to, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		v.t.Fatal(err)
	}
	_ = answer.Body.Close()
	at, err := answer.Location()
	if err != nil || at.Query().Get("state") != "a state" || !strings.HasPrefix(at.String(), back) {
		v.t.Fatalf("%v, %v", at, err)
	}
	return at.Query().Get("code"), nil
}

// signIn goes all the way.
func (v *visit) signIn() (oidc.Claims, error) {
	code, err := v.code("a nonce", "a verifier")
	if err != nil {
		return oidc.Claims{}, err
	}
	return v.Finish(v.t.Context(), back, code, "a nonce", "a verifier")
}

// Whoever signs in is who the issuer says, by both algorithms and both ways to show the secret.
func TestSignIn(t *testing.T) {
	t.Parallel()
	v := start(t)
	v.is.Person(map[string]any{"sub": "42", "email": "ann@example.org", "email_verified": true, "name": "Ann Other", "preferred_username": "ann", "groups": []string{"staff", "admins"}})
	for _, alg := range []string{"RS256", "ES256"} {
		v.is.Sign(alg)
		c, err := v.signIn()
		if err != nil || c.Subject != "42" || c.Email != "ann@example.org" || !c.EmailVerified || c.Display != "Ann Other" || !slices.Equal(c.Names, []string{"ann", "ann@example.org"}) || !slices.Equal(c.Groups, []string{"staff", "admins"}) {
			t.Errorf("%s: %+v, %v", alg, c, err)
		}
	}
	if n := v.is.Asked("/keys"); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
	if n := v.is.Asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("the addresses were asked for %d times", n)
	}
	v.is.Lie(map[string]any{"aud": []string{"other", oidctest.ClientID}, "azp": oidctest.ClientID, "email_verified": "true", "groups": "staff"}, nil)
	if c, err := v.signIn(); err != nil || !c.EmailVerified || !slices.Equal(c.Groups, []string{"staff"}) {
		t.Errorf("%+v, %v", c, err)
	}
	v = start(t)
	v.is.Post()
	if _, err := v.signIn(); err != nil {
		t.Error(err)
	}
	v.Secret = "another"
	if _, err := v.signIn(); !errors.Is(err, oidc.ErrRefused) || strings.Contains(err.Error(), "another") {
		t.Errorf("with another secret: %v", err)
	}
}

// Tokens that lie sign nobody in.
func TestTokens(t *testing.T) {
	t.Parallel()
	v := start(t)
	type claims = map[string]any
	now := time.Unix(v.now.Load(), 0)
	for what, lie := range map[string]claims{
		"another issuer":           {"iss": "https://evil.example"},
		"no issuer":                {"iss": nil},
		"another audience":         {"aud": "other"},
		"no audience":              {"aud": nil},
		"two audiences":            {"aud": []string{"other", oidctest.ClientID}},
		"for another of two":       {"aud": []string{"other", oidctest.ClientID}, "azp": "other"},
		"azp of another":           {"azp": "other"},
		"expired":                  {"exp": now.Add(-2 * time.Minute).Unix()},
		"never expires":            {"exp": nil},
		"expires at a word":        {"exp": "tomorrow"},
		"of the future":            {"iat": now.Add(time.Hour).Unix()},
		"old":                      {"iat": now.Add(-time.Hour).Unix()},
		"issued never":             {"iat": nil},
		"not yet":                  {"nbf": now.Add(time.Hour).Unix()},
		"another nonce":            {"nonce": "other"},
		"no nonce":                 {"nonce": nil},
		"nobody":                   {"sub": nil},
		"a long subject":           {"sub": strings.Repeat("x", 256)},
		"a subject that is a list": {"sub": []string{"1"}},
	} {
		v.is.Lie(lie, nil)
		if c, err := v.signIn(); !errors.Is(err, oidc.ErrRefused) {
			t.Errorf("%s: %+v, %v", what, c, err)
		}
	}
	for what, head := range map[string]claims{
		"an extension": {"crit": []string{"b64"}}, "another key": {"kid": "other"}, "alg none": {"alg": "none"}, "HS256": {"alg": "HS256"},
		"ES256, and isn't": {"alg": "ES256"}, "RS512": {"alg": "RS512"}, "a key of its own": {"kid": "x", "jwk": claims{"kty": "oct"}},
	} {
		v.is.Lie(nil, head)
		if c, err := v.signIn(); !errors.Is(err, oidc.ErrRefused) {
			t.Errorf("%s: %+v, %v", what, c, err)
		}
	}
	v.is.Lie(nil, nil)
	for _, alg := range []string{"HS256", "none"} {
		v.is.Sign(alg)
		if c, err := v.signIn(); !errors.Is(err, oidc.ErrRefused) || !strings.Contains(err.Error(), "not by RS256 or ES256") {
			t.Errorf("%s: %+v, %v", alg, c, err)
		}
	}
	v.is.Sign("RS256")
	for _, token := range []string{"", "a.b", "a.b.c", "e30.e30.e30", "e30.e30.e30.e30", "eyJhbGciOiJSUzI1NiJ9.e30.=", strings.Repeat("a", 70_000) + ".b.c"} {
		v.is.Answer(func(path string) (int, string) {
			if path != "/token" {
				return 0, ""
			}
			return 200, `{"id_token":"` + token + `"}`
		})
		if c, err := v.signIn(); !errors.Is(err, oidc.ErrRefused) {
			t.Errorf("%.20q: %+v, %v", token, c, err)
		}
	}
	v.is.Answer(nil)
	if _, err := v.signIn(); err != nil {
		t.Errorf("the truth: %v", err)
	}
}

// A code is for who began, and once.
func TestCodes(t *testing.T) {
	t.Parallel()
	v := start(t)
	code, err := v.code("a nonce", "a verifier")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Finish(t.Context(), back, code, "a nonce", "another verifier"); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("another verifier: %v", err)
	}
	if code, err = v.code("a nonce", "a verifier"); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Finish(t.Context(), back, code, "another nonce", "a verifier"); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("another nonce: %v", err)
	}
	_, err = v.Finish(t.Context(), back, code, "a nonce", "a verifier")
	if !errors.Is(err, oidc.ErrRefused) || strings.Contains(err.Error(), code) {
		t.Errorf("again: %v", err)
	}
}

// Keys that are replaced are found at once, those that went are worth nothing, and nobody has the
// issuer asked all the time.
func TestRotation(t *testing.T) {
	t.Parallel()
	v := start(t)
	if _, err := v.signIn(); err != nil {
		t.Fatal(err)
	}
	v.now.Add(60)
	v.is.Rotate("two")
	if _, err := v.signIn(); err != nil {
		t.Fatalf("with a new key: %v", err)
	}
	if n := v.is.Asked("/keys"); n != 2 {
		t.Errorf("asked %d times", n)
	}
	v.is.Lie(nil, map[string]any{"kid": "one"})
	for range 5 {
		if _, err := v.signIn(); !errors.Is(err, oidc.ErrRefused) {
			t.Errorf("with the name of the old key: %v", err)
		}
	}
	if n := v.is.Asked("/keys"); n != 2 {
		t.Errorf("asked %d times for a key that isn't there", n)
	}
	v.is.Lie(nil, nil)
	// A key of the same name is another one: the old one isn't used for longer than an hour.
	v.is.Rotate("two")
	if _, err := v.signIn(); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("another key of the same name: %v", err)
	}
	v.now.Add(3601)
	if _, err := v.signIn(); err != nil {
		t.Errorf("after an hour: %v", err)
	}
	v.is.Lie(nil, map[string]any{"kid": nil})
	if _, err := v.signIn(); err != nil {
		t.Errorf("a token that names no key: %v", err)
	}
}

// An issuer that doesn't answer, or with what it shouldn't, is down; it is asked again later.
func TestDown(t *testing.T) {
	t.Parallel()
	v := start(t)
	v.is.Down(true)
	for range 3 {
		if _, err := v.signIn(); !errors.Is(err, oidc.ErrDown) {
			t.Errorf("down: %v", err)
		}
	}
	if n := v.is.Asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	v.is.Down(false)
	v.now.Add(11)
	if _, err := v.signIn(); err != nil {
		t.Errorf("up again: %v", err)
	}
	config := func(change string) string {
		c := `{"issuer":"ISSUER","authorization_endpoint":"https://a.example/a","token_endpoint":"https://a.example/t","jwks_uri":"https://a.example/k"}`
		old, fresh, _ := strings.Cut(change, "→")
		return strings.ReplaceAll(strings.Replace(c, old, fresh, 1), "ISSUER", v.is.URL)
	}
	for what, body := range map[string]string{
		"another issuer":         config("ISSUER→https://evil.example"),
		"an endpoint in clear":   config("https://a.example/t→http://a.example/t"),
		"no keys":                config("https://a.example/k→"),
		"a script":               config("https://a.example/a→javascript:alert(1)"),
		"a password in the host": config("https://a.example/a→https://a:b@a.example/a"),
		"no JSON":                "<html>",
		"a long answer":          `{"issuer":"` + strings.Repeat("x", 600<<10) + `"}`,
	} {
		v.now.Add(3601)
		v.is.Answer(func(string) (int, string) { return 200, body })
		if _, err := v.signIn(); !errors.Is(err, oidc.ErrDown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// No redirect is followed.
	v.now.Add(3601)
	v.is.Answer(func(path string) (int, string) {
		if strings.HasSuffix(path, "/openid-configuration") {
			return http.StatusFound, v.is.URL + "/elsewhere"
		}
		return 0, ""
	})
	if _, err := v.signIn(); !errors.Is(err, oidc.ErrDown) || v.is.Asked("/elsewhere") != 0 {
		t.Errorf("a redirect: %v", err)
	}
	v.now.Add(3601)
	for _, path := range []string{"/token", "/keys"} {
		v.is.Answer(func(at string) (int, string) { return map[bool]int{true: 500}[at == path], "x" })
		if _, err := v.signIn(); !errors.Is(err, oidc.ErrDown) {
			t.Errorf("%s is down: %v", path, err)
		}
		v.now.Add(11)
	}
	v.is.Close()
	v.now.Add(3601)
	if _, err := v.signIn(); !errors.Is(err, oidc.ErrDown) {
		t.Errorf("nothing listens: %v", err)
	}
}

// Only addresses that nobody can listen to are those of an issuer.
func TestCheck(t *testing.T) {
	t.Parallel()
	for issuer, good := range map[string]bool{
		"https://login.example.org": true, "https://login.example.org/realms/a": true, "http://127.0.0.1:1": true, "http://localhost": true,
		"http://login.example.org": false, "login.example.org": false, "": false, "https://a:b@login.example.org": false, "ftp://a": false, "http://127.0.0.1.evil.example": false,
	} {
		if err := (&oidc.Provider{ID: "box", Issuer: issuer, ClientID: "x"}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", issuer, err)
		}
	}
	for _, id := range []string{"", "a/b", "A", "a b", strings.Repeat("x", 41)} {
		if (&oidc.Provider{ID: id, Issuer: "https://a", ClientID: "x"}).Check() == nil {
			t.Errorf("%q is a name", id)
		}
	}
	if (&oidc.Provider{ID: "a", Issuer: "https://a"}).Check() == nil {
		t.Error("no client is one")
	}
}

// Domains and groups say who may sign in.
func TestAllows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		domains, groups []string
		is              oidc.Claims
		good            bool
	}{
		{nil, nil, oidc.Claims{}, true},
		{[]string{"example.org"}, nil, oidc.Claims{Email: "ann@Example.org", EmailVerified: true}, true},
		{[]string{"example.org"}, nil, oidc.Claims{Email: "ann@example.org"}, false},
		{[]string{"example.org"}, nil, oidc.Claims{Email: "ann@evil.example.org", EmailVerified: true}, false},
		{[]string{"example.org"}, nil, oidc.Claims{Email: "ann@evil.example@example.org", EmailVerified: true}, false},
		{[]string{"example.org"}, nil, oidc.Claims{Email: "example.org", EmailVerified: true}, false},
		{[]string{"example.org"}, nil, oidc.Claims{EmailVerified: true}, false},
		{nil, []string{"staff"}, oidc.Claims{Groups: []string{"x", "staff"}}, true},
		{nil, []string{"staff"}, oidc.Claims{Groups: []string{"Staff"}}, false},
		{nil, []string{"staff"}, oidc.Claims{}, false},
		{[]string{"example.org"}, []string{"staff"}, oidc.Claims{Groups: []string{"staff"}}, false},
	} {
		p := &oidc.Provider{Domains: tt.domains, Groups: tt.groups}
		if err := p.Allows(tt.is); (err == nil) != tt.good {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
