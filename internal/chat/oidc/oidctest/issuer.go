// Package oidctest is an issuer of OpenID Connect for tests, over real HTTP. It does what an honest one
// does, unless a test has it lie.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// What an issuer knows the server by.
const (
	ClientID = "burin"
	Secret   = "a secret with +/%: in it"
)

// Issuer signs in whoever comes, as the person that Claims say.
type Issuer struct {
	*httptest.Server

	t      testing.TB
	mu     sync.Mutex
	claims map[string]any
	lies   map[string]any // in place of what is right in a token; nil values are left out
	head   map[string]any
	down   bool
	now    func() time.Time
	kid    string
	rsa    *rsa.PrivateKey
	ec     *ecdsa.PrivateKey
	alg    string
	codes  map[string]url.Values // what the browser came with
	asked  map[string]int        // requests, by path
	answer func(path string) (status int, body string)
	basic  bool
}

// New starts an issuer that signs with RS256.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, claims: map[string]any{"sub": "1"}, now: time.Now, alg: "RS256", codes: map[string]url.Values{}, asked: map[string]int{}, basic: true}
	i.Rotate("one")
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

// Set changes the issuer while it runs.
func (i *Issuer) set(do func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	do()
}

// Person has it sign in the person of these claims from now on.
func (i *Issuer) Person(claims map[string]any) { i.set(func() { i.claims = claims }) }

// Lie has its tokens say something else; nil is the truth.
func (i *Issuer) Lie(lies, head map[string]any) { i.set(func() { i.lies, i.head = lies, head }) }

// Clock gives it a clock.
func (i *Issuer) Clock(now func() time.Time) { i.set(func() { i.now = now }) }

// Down has it answer with errors, or not any more.
func (i *Issuer) Down(is bool) { i.set(func() { i.down = is }) }

// Answer has it answer with something else where the status isn't 0; nil is not.
func (i *Issuer) Answer(with func(path string) (status int, body string)) {
	i.set(func() { i.answer = with })
}

// Post has it take the secret in the form, and not in the head.
func (i *Issuer) Post() { i.set(func() { i.basic = false }) }

// Asked is how often a path was asked for.
func (i *Issuer) Asked(path string) (n int) {
	i.set(func() { n = i.asked[path] })
	return n
}

// Rotate gives it new keys, and takes the old ones away.
func (i *Issuer) Rotate(kid string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		i.t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.set(func() { i.kid, i.rsa, i.ec = kid, key, curve })
}

// Sign has it sign with another algorithm: RS256, ES256, HS256 (with its public key) or none.
func (i *Issuer) Sign(alg string) { i.set(func() { i.alg = alg }) }

var b64 = base64.RawURLEncoding

// ServeHTTP implements [http.Handler].
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked[r.URL.Path]++
	if i.answer != nil {
		if status, body := i.answer(r.URL.Path); status != 0 {
			if status == http.StatusFound {
				w.Header().Set("Location", body)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return
		}
	}
	if i.down {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	say := func(is any) { _ = json.NewEncoder(w).Encode(is) }
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		ways := []string{"client_secret_post"}
		if i.basic {
			ways = []string{"client_secret_basic", "client_secret_post"}
		}
		say(map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize?tenant=a", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"token_endpoint_auth_methods_supported": ways,
		})
	case "/keys":
		point, err := i.ec.PublicKey.Bytes()
		if err != nil {
			i.t.Error(err)
		}
		say(map[string]any{"keys": []map[string]any{
			{"kty": "oct", "kid": i.kid, "k": "AAAA"},
			{"kty": "RSA", "kid": i.kid, "use": "enc", "n": "AAAA", "e": "AQAB"},
			{"kty": "RSA", "kid": i.kid, "use": "sig", "alg": "RS256", "n": b64.EncodeToString(i.rsa.N.Bytes()), "e": "AQAB"},
			{"kty": "EC", "kid": i.kid, "crv": "P-256", "x": b64.EncodeToString(point[1:33]), "y": b64.EncodeToString(point[33:])},
		}})
	case "/authorize":
		q := r.URL.Query()
		back, err := url.Parse(q.Get("redirect_uri"))
		if err != nil || q.Get("response_type") != "code" || q.Get("client_id") != ClientID || q.Get("code_challenge_method") != "S256" || q.Get("tenant") != "a" {
			http.Error(w, "a wrong request", http.StatusBadRequest)
			return
		}
		code := rand.Text()
		i.codes[code] = q
		back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	case "/token":
		code := r.PostFormValue("code")
		q := i.codes[code]
		delete(i.codes, code)
		name, secret, _ := r.BasicAuth()
		if name, secret = unescape(name), unescape(secret); !i.basic {
			name, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
		}
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if q == nil || r.PostFormValue("redirect_uri") != q.Get("redirect_uri") || b64.EncodeToString(sum[:]) != q.Get("code_challenge") || name != ClientID || secret != Secret {
			w.WriteHeader(http.StatusBadRequest)
			say(map[string]any{"error": "invalid_grant"})
			return
		}
		say(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": i.token(q.Get("nonce"))})
	default:
		http.NotFound(w, r)
	}
}

func unescape(text string) string {
	text, _ = url.QueryUnescape(text)
	return text
}

func (i *Issuer) token(nonce string) string {
	now := i.now()
	claims := map[string]any{"iss": i.URL, "aud": ClientID, "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "nonce": nonce}
	maps.Copy(claims, i.claims)
	maps.Copy(claims, i.lies)
	head := map[string]any{"alg": i.alg, "kid": i.kid, "typ": "JWT"}
	maps.Copy(head, i.head)
	for _, m := range []map[string]any{claims, head} {
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	}
	part := func(is any) string {
		data, err := json.Marshal(is)
		if err != nil {
			i.t.Error(err)
		}
		return b64.EncodeToString(data)
	}
	said := part(head) + "." + part(claims)
	sum := sha256.Sum256([]byte(said))
	var signature []byte
	var err error
	switch i.alg {
	case "RS256":
		signature, err = rsa.SignPKCS1v15(rand.Reader, i.rsa, crypto.SHA256, sum[:])
	case "ES256":
		r, s, wrong := ecdsa.Sign(rand.Reader, i.ec, sum[:])
		if err = wrong; err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case "HS256":
		mac := hmac.New(sha256.New, []byte(b64.EncodeToString(i.rsa.N.Bytes())))
		mac.Write([]byte(said))
		signature = mac.Sum(nil)
	}
	if err != nil {
		i.t.Error(err)
	}
	return said + "." + b64.EncodeToString(signature)
}
