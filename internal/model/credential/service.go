package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/model/credential/oauth"
)

// servicePrefix begins the provider of a login at a web service, which is its address.
const servicePrefix = "mcp:"

// Service is the provider under which the login at a web service is kept: its address without
// what may be secret. So a token goes nowhere else, whatever a service is called later. An
// address that a token must not be sent to is an error.
func Service(address string) (string, error) {
	if err := oauth.CheckService(address); err != nil {
		return "", fmt.Errorf("its address %w", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("its address is not a URL")
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return servicePrefix + u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// LoginService logs in to a web service that names its authorization server, and stores what
// came of it in the place of an earlier login. It asks for what the service wanted since then,
// too. guarded makes the requests that are caused by what the service says; nil is any.
func (m *Manager) LoginService(ctx context.Context, name string, r oauth.Resource, guarded *http.Client, ui oauth.UI) (Info, error) {
	id, err := Service(r.URL)
	if err != nil {
		return Info{}, err
	}
	auth := m.auth
	if guarded != nil {
		auth.HTTP = guarded
	}
	p, err := auth.Discover(ctx, r)
	if err != nil {
		return Info{}, err
	}
	if _, before, err := m.service(ctx, id); err == nil && before != nil {
		p.Scopes = union(p.Scopes, before.Wanted)
	}
	token, err := auth.Authorize(ctx, p, ui)
	if err != nil {
		return Info{}, err
	}
	kept := &payload{
		TokenURL: p.TokenURL, ClientID: token.Client.ID, ClientSecret: token.Client.Auth.Secret.Reveal(), Basic: token.Client.Auth.Basic,
		Params: p.TokenParams, RevokeURL: p.RevokeURL, Scopes: token.Scopes,
	}
	if kept.Scopes == nil {
		kept.Scopes = p.Scopes
	}
	kept.setToken(token, m.now())
	row, _, err := m.keep(ctx, id, KindOAuth, name, kept, func(*payload) bool { return true })
	if err != nil {
		return Info{}, err
	}
	return Info{ID: row, Provider: id, Kind: KindOAuth, Label: name, Account: kept.Account}, nil
}

// union is a and what is only in b.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// service is the login at a service; nil if there is none.
func (m *Manager) service(ctx context.Context, id string) (*row, *payload, error) {
	s, err := m.store(ctx, false)
	if err != nil || s == nil {
		return nil, nil, err
	}
	rows, err := s.list(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	for i := range rows {
		if rows[i].kind == KindOAuth {
			p, err := m.open(ctx, s, &rows[i])
			return &rows[i], p, err
		}
	}
	return nil, nil, nil
}

// WantScopes notes that a service wants more scopes than its login has. The next login asks for
// them, and for those that were granted.
func (m *Manager) WantScopes(ctx context.Context, address string, scopes []string) error {
	id, err := Service(address)
	if err != nil {
		return err
	}
	r, _, err := m.service(ctx, id)
	if err != nil || r == nil {
		return err
	}
	// A renewal at the same time would find another row than it began with, and lose its token.
	unlock, err := lockFile(ctx, m.o.Home, fmt.Sprintf("credential-%d", r.id))
	if err != nil {
		return err
	}
	defer unlock()
	r, p, err := m.service(ctx, id)
	if err != nil || r == nil {
		return err
	}
	wanted := *p
	wanted.Wanted = union(union(slices.Clone(p.Wanted), p.Scopes), scopes)
	if len(wanted.Wanted) == len(p.Wanted) {
		return nil
	}
	s, err := m.store(ctx, false)
	if err != nil {
		return err
	}
	m.save(ctx, s, r, &wanted)
	return nil
}

// LogoutService revokes the login at a service where its authorization server offers that, and
// removes it. revoked says whether the server has taken it back; why is the reason if that failed.
func (m *Manager) LogoutService(ctx context.Context, address string) (found, revoked bool, why, err error) {
	id, err := Service(address)
	if err != nil {
		return false, false, nil, err
	}
	r, p, err := m.service(ctx, id)
	if r == nil {
		return false, false, nil, err
	}
	if err == nil && p.RevokeURL != "" {
		client := oauth.Registration{ID: p.ClientID, Auth: p.auth()}
		if p.Refresh != "" {
			why = m.auth.Revoke(ctx, p.RevokeURL, client, Secret(p.Refresh), true)
		}
		why = errors.Join(why, m.auth.Revoke(ctx, p.RevokeURL, client, Secret(p.Access), false))
		revoked = why == nil
	}
	return true, revoked, why, m.Remove(ctx, r.id)
}
