package oauthtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Service is a web service at /mcp that wants tokens, with its authorization server at the same
// address: it has metadata of both, registers clients, and revokes tokens. Set the exported fields
// before it serves.
type Service struct {
	Server
	URL   string       // of the service
	Inner http.Handler // gets what has a token
	// Scope says which scope a request needs; nil is none.
	Scope func(body []byte) string
	// Change changes a document before it is sent: "resource", "server" or "client".
	Change func(what string, doc map[string]any)
}

// Expire ends all access tokens; refresh tokens stay.
func (s *Service) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = nil
}

func (s *Service) origin() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (s *Service) document(w http.ResponseWriter, what string, doc map[string]any) {
	if s.Change != nil {
		s.Change(what, doc)
	}
	answer(w, http.StatusOK, doc)
}

// ServeHTTP serves the service and its authorization server.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch at := s.origin(); r.URL.Path {
	case "/mcp":
		s.service(w, r)
	case "/.well-known/oauth-protected-resource/mcp":
		s.document(w, "resource", map[string]any{"resource": s.URL, "authorization_servers": []string{at}, "scopes_supported": []string{"read"}})
	case "/.well-known/oauth-authorization-server":
		s.document(w, "server", map[string]any{
			"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "registration_endpoint": at + "/register",
			"revocation_endpoint": at + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		})
	case "/register":
		s.register(w, r)
	case "/revoke":
		s.revoke(w, r)
	default:
		s.Server.ServeHTTP(w, r)
	}
}

func (s *Service) register(w http.ResponseWriter, r *http.Request) {
	var doc struct {
		Redirects []string `json:"redirect_uris"`
	}
	if err := json.NewDecoder(r.Body).Decode(&doc); err != nil || len(doc.Redirects) != 1 || !strings.HasPrefix(doc.Redirects[0], "http://127.0.0.1:") {
		Refuse(w, http.StatusBadRequest, "invalid_redirect_uri", "")
		return
	}
	s.mu.Lock()
	s.serial++
	s.ClientID = fmt.Sprintf("client-%04d", s.serial)
	id := s.ClientID
	s.mu.Unlock()
	s.document(w, "client", map[string]any{"client_id": id, "token_endpoint_auth_method": "none", "redirect_uris": doc.Redirects})
}

func (s *Service) revoke(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.PostForm.Get("token") == "" {
		Refuse(w, http.StatusBadRequest, "invalid_request", "")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, r.PostForm.Get("token"))
	delete(s.refresh, r.PostForm.Get("token"))
}

// Live is how many tokens count now, of both kinds.
func (s *Service) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live) + len(s.refresh)
}

func (s *Service) service(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	scope, ok := s.live[token]
	s.mu.Unlock()
	metadata := fmt.Sprintf(`resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.origin())
	need := ""
	if s.Scope != nil {
		need = s.Scope(body)
	}
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", `+metadata)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case need != "" && !slices.Contains(strings.Fields(scope), need):
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q, %s`, need, metadata))
		http.Error(w, "not allowed", http.StatusForbidden)
	default:
		s.Inner.ServeHTTP(w, r)
	}
}
