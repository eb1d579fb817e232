package host

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/outbound"
	"github.com/burin-dev/burin/internal/prose"
)

// machines has the tokens of clients that log in by themselves, in memory only: a new one costs a request.
type machines struct {
	mu  sync.Mutex
	all map[string]*machine
}

// machine is the login of one client at one server.
type machine struct {
	mu     sync.Mutex
	access credential.Secret
	until  time.Time // zero: not known
	scopes []string  // that the server has asked for since
}

// ofItself reports whether the client of a server logs in without a person.
func ofItself(s *mcp.Server) bool { return s.OAuth != nil && s.OAuth.Grant == mcp.ClientCredentials }

func (ms *machines) of(s *mcp.Server) *machine {
	key, _ := json.Marshal([]any{s.URL, s.OAuth}) // of texts: it cannot fail
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.all[string(key)]
	if m == nil {
		if ms.all == nil {
			ms.all = map[string]*machine{}
		}
		m = &machine{}
		ms.all[string(key)] = m
	}
	return m
}

// token is what is known; "" if there is none, or it has ended.
func (m *machine) token() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.until.IsZero() && time.Now().After(m.until) {
		m.access = ""
	}
	return m.access.Reveal()
}

// refused gets a token in the place of one that a server has refused.
func (m *machine) refused(ctx context.Context, h *Host, s *mcp.Server, token string, status int, challenges []string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := oauth.ParseChallenge(challenges)
	more := slices.DeleteFunc(slices.Clone(c.Scopes), func(scope string) bool { return slices.Contains(m.scopes, scope) })
	switch {
	case m.access != "" && m.access.Reveal() != token:
		return m.access.Reveal(), nil
	case token != "" && (status == http.StatusForbidden || c.Error == "insufficient_scope") && len(more) == 0:
		return "", fmt.Errorf("the client %s may not do this", prose.Short(prose.Inline(s.OAuth.ClientID), 60))
	}
	m.access, m.scopes = "", append(m.scopes, more...)
	t, err := logInItself(ctx, h, s, status, c, m.scopes)
	if err != nil {
		return "", fmt.Errorf("log in as the client %s: %w", prose.Short(prose.Inline(s.OAuth.ClientID), 60), err)
	}
	m.access, m.until = t.Access, time.Time{}
	if t.Lifetime > 0 {
		m.until = time.Now().Add(t.Lifetime)
	}
	return m.access.Reveal(), nil
}

// logInItself gets a token for the client of a server.
func logInItself(ctx context.Context, h *Host, s *mcp.Server, status int, c oauth.Challenge, scopes []string) (oauth.Token, error) {
	o := s.OAuth
	var key crypto.Signer
	switch {
	case o.ClientID == "":
		return oauth.Token{}, errors.New("oauth.clientId is missing")
	case (o.ClientSecret == "") == (o.PrivateKey == ""):
		return oauth.Token{}, errors.New("set one of oauth.clientSecret and oauth.privateKey")
	case o.PrivateKey != "":
		var err error
		// In one line, as some keep it in a variable.
		if key, err = oauth.ParseKey(strings.ReplaceAll(o.PrivateKey, `\n`, "\n")); err != nil {
			return oauth.Token{}, fmt.Errorf("oauth.privateKey: %w", err)
		}
	}
	if _, err := credential.Service(s.URL); err != nil {
		return oauth.Token{}, err
	}
	transport, err := webOf(h)
	if err != nil {
		return oauth.Token{}, err
	}
	allowed := []string{hostOf(s.URL)}
	if o.Issuer != "" {
		allowed = append(allowed, hostOf(o.Issuer))
	}
	base, _ := transport.(*http.Transport) // what a service names must not make burin reach the network that it is in
	guarded := &http.Client{Transport: outbound.Transport(base, allowed...)}
	defer guarded.CloseIdleConnections()
	client := oauth.Client{HTTP: guarded}
	p, err := client.Discover(ctx, oauth.Resource{
		URL: s.URL, Refused: status == http.StatusUnauthorized, Challenge: c, Issuer: o.Issuer, Itself: true,
		Client: oauth.Registration{ID: o.ClientID, Auth: oauth.ClientAuth{Secret: credential.Secret(o.ClientSecret)}}, Scopes: o.Scopes,
	})
	if err != nil {
		return oauth.Token{}, err
	}
	for _, scope := range scopes {
		if !slices.Contains(p.Scopes, scope) {
			p.Scopes = append(p.Scopes, scope)
		}
	}
	return client.ClientCredentials(ctx, p, key)
}
