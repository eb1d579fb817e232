// Package oauthtest is an authorization server for tests: strict where real
// ones are (PKCE is checked, codes count once, refresh tokens rotate and a
// second use of one revokes the login) and faulty where told to be.
package oauthtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
)

// Server is the authorization server. Set the exported fields before it serves.
type Server struct {
	ClientID  string // the one public client
	ExpiresIn int    // seconds an access token lives; 0 = not said
	// KeepRefresh leaves refresh tokens as they are instead of rotating them.
	KeepRefresh bool
	// Intercept answers a request itself if it returns true. path is that of
	// the endpoint.
	Intercept func(w http.ResponseWriter, r *http.Request, path string) bool
	Device    Device

	mu       sync.Mutex
	serial   int
	codes    map[string]grant
	refresh  map[string]bool // live refresh tokens
	spent    map[string]bool
	requests map[string]int
	replays  int
	bodies   []url.Values
	live     map[string]string // access tokens → scopes
	scope    string            // of the last login
}

// Device is how the device endpoint behaves.
type Device struct {
	Interval, ExpiresIn int      // seconds; 0 = not said
	Answers             []string // error codes of the polls in order; then the token
	URI                 string
}

type grant struct{ challenge, redirect, client string }

// Requests is how many requests the endpoint of that path has seen.
func (s *Server) Requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// Replays is how often a spent refresh token was used again.
func (s *Server) Replays() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replays
}

// Forms are the bodies of all token requests in order.
func (s *Server) Forms() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]url.Values(nil), s.bodies...)
}

// Issue makes a live refresh token, as an earlier login would have.
func (s *Server) Issue() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issue()
}

// Revoke ends all logins.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh = nil
}

func (s *Server) issue() string {
	s.serial++
	t := fmt.Sprintf("refresh-canary-%04d", s.serial)
	if s.refresh == nil {
		s.refresh = map[string]bool{}
	}
	s.refresh[t] = true
	return t
}

// ServeHTTP serves /authorize, /token, /device and the key exchange's /auth and
// /keys.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.requests == nil {
		s.requests = map[string]int{}
	}
	s.requests[r.URL.Path]++
	s.mu.Unlock()
	if s.Intercept != nil && s.Intercept(w, r, r.URL.Path) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/authorize":
		s.authorize(w, r, "redirect_uri")
	case "/auth":
		s.authorize(w, r, "callback_url")
	case "/token":
		s.token(w, r)
	case "/keys":
		s.key(w, r)
	case "/device":
		s.device(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request, redirect string) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get(redirect))
	if err != nil || back.Host == "" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 ||
		redirect == "redirect_uri" && (q.Get("client_id") != s.ClientID || q.Get("response_type") != "code" || q.Get("state") == "") {
		http.Error(w, "bad authorization request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	s.serial++
	code := fmt.Sprintf("code-canary-%04d", s.serial)
	if s.codes == nil {
		s.codes = map[string]grant{}
	}
	s.scope = q.Get("scope")
	s.codes[code] = grant{q.Get("code_challenge"), q.Get(redirect), q.Get("client_id")}
	v := back.Query()
	v.Set("code", code)
	if redirect == "redirect_uri" {
		v.Set("state", q.Get("state"))
	}
	back.RawQuery = v.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// take spends a code and says whether the verifier is its own.
func (s *Server) take(code, verifier string) (grant, bool) {
	g, ok := s.codes[code]
	delete(s.codes, code)
	sum := sha256.Sum256([]byte(verifier))
	return g, ok && base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
		Refuse(w, http.StatusBadRequest, "invalid_request", "")
		return
	}
	f := r.PostForm
	s.bodies = append(s.bodies, f)
	if f.Get("client_id") != s.ClientID {
		Refuse(w, http.StatusUnauthorized, "invalid_client", "")
		return
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		g, ok := s.take(f.Get("code"), f.Get("code_verifier"))
		if !ok || g.redirect != f.Get("redirect_uri") || g.client != f.Get("client_id") {
			Refuse(w, http.StatusBadRequest, "invalid_grant", "the code does not fit")
			return
		}
		s.give(w, s.issue())
	case "refresh_token":
		old := f.Get("refresh_token")
		switch {
		case s.spent[old]:
			s.replays++
			s.refresh = nil
			Refuse(w, http.StatusBadRequest, "invalid_grant", "this refresh token was used before")
		case !s.refresh[old]:
			Refuse(w, http.StatusBadRequest, "invalid_grant", "this login was revoked")
		case s.KeepRefresh:
			s.give(w, "")
		default:
			delete(s.refresh, old)
			if s.spent == nil {
				s.spent = map[string]bool{}
			}
			s.spent[old] = true
			s.give(w, s.issue())
		}
	case "urn:ietf:params:oauth:grant-type:device_code":
		if f.Get("device_code") != "device-canary" {
			Refuse(w, http.StatusBadRequest, "invalid_grant", "")
			return
		}
		if len(s.Device.Answers) > 0 {
			code := s.Device.Answers[0]
			s.Device.Answers = s.Device.Answers[1:]
			Refuse(w, http.StatusBadRequest, code, "")
			return
		}
		s.give(w, s.issue())
	default:
		Refuse(w, http.StatusBadRequest, "unsupported_grant_type", "")
	}
}

func (s *Server) give(w http.ResponseWriter, refresh string) {
	s.serial++
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"email":"kim@example.com"}`))
	access := fmt.Sprintf("access-canary-%04d", s.serial)
	if s.live == nil {
		s.live = map[string]string{}
	}
	s.live[access] = s.scope
	a := map[string]any{
		"access_token": access, "token_type": "Bearer",
		"id_token": "e30." + claims + ".c2ln",
	}
	if refresh != "" {
		a["refresh_token"] = refresh
	}
	if s.ExpiresIn != 0 {
		a["expires_in"] = s.ExpiresIn
	}
	answer(w, http.StatusOK, a)
}

func (s *Server) key(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code     string `json:"code"`
		Verifier string `json:"code_verifier"`
		Method   string `json:"code_challenge_method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Method != "S256" {
		answer(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "bad request", "code": 400}})
		return
	}
	if _, ok := s.take(in.Code, in.Verifier); !ok {
		answer(w, http.StatusForbidden, map[string]any{"error": map[string]any{"message": "Invalid code or code_verifier", "code": 403}})
		return
	}
	s.serial++
	answer(w, http.StatusOK, map[string]any{"key": fmt.Sprintf("sk-or-canary-%04d", s.serial), "user_id": "user_1"})
}

func (s *Server) device(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.PostForm.Get("client_id") != s.ClientID {
		Refuse(w, http.StatusUnauthorized, "invalid_client", "")
		return
	}
	a := map[string]any{"device_code": "device-canary", "user_code": "WDJB-MJHT", "verification_uri": s.Device.URI}
	if s.Device.Interval != 0 {
		a["interval"] = s.Device.Interval
	}
	if s.Device.ExpiresIn != 0 {
		a["expires_in"] = s.Device.ExpiresIn
	}
	answer(w, http.StatusOK, a)
}

// Refuse answers with an error of RFC 6749.
func Refuse(w http.ResponseWriter, status int, code, description string) {
	a := map[string]any{"error": code}
	if description != "" {
		a["error_description"] = description
	}
	answer(w, status, a)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
