package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/outbound"
)

// serverTokens gives MCP servers the tokens of the logins that the user has there.
type serverTokens struct {
	h        *Host
	machines *machines
}

var _ mcp.Tokens = serverTokens{}

// Token is that of the login at a server.
func (t serverTokens) Token(ctx context.Context, s *mcp.Server) (string, error) {
	if ofItself(s) {
		return t.machines.of(s).token(), nil
	}
	r, err := t.find(ctx, s)
	return r.Secret.Reveal(), err
}

// find gives the login at a server; none is no error.
func (t serverTokens) find(ctx context.Context, s *mcp.Server) (credential.Resolved, error) {
	id, err := credential.Service(s.URL)
	if err != nil {
		return credential.Resolved{}, nil //nolint:nilerr // an address that gets no token
	}
	models, err := t.h.Models()
	if err != nil {
		return credential.Resolved{}, err
	}
	r, err := models.Keys.Key(ctx, id, "")
	var none *credential.NotFoundError
	var ended *credential.UnusableError
	if errors.As(err, &none) || errors.As(err, &ended) && !ended.Transient {
		return credential.Resolved{}, nil // the server says whether it needs one
	}
	return r, err
}

// Refused renews the token, or notes what the next login has to ask for.
func (t serverTokens) Refused(ctx context.Context, s *mcp.Server, token string, status int, challenges []string) (string, []string, error) {
	if ofItself(s) {
		next, err := t.machines.of(s).refused(ctx, t.h, s, token, status, challenges)
		return next, nil, err
	}
	r, err := t.find(ctx, s)
	if err != nil || r.Secret == "" || token == "" || r.Secret.Reveal() != token {
		return r.Secret.Reveal(), nil, err
	}
	models, err := t.h.Models()
	if err != nil {
		return "", nil, err
	}
	if c := oauth.ParseChallenge(challenges); status == http.StatusForbidden || c.Error == "insufficient_scope" {
		return "", c.Scopes, models.Keys.WantScopes(ctx, s.URL, c.Scopes)
	}
	r, err = models.Keys.Renew(ctx, r)
	if ended := (*credential.UnusableError)(nil); err != nil && (!errors.As(err, &ended) || !ended.Transient) && ctx.Err() == nil {
		return "", nil, nil //nolint:nilerr // that the login has ended is told as that it is needed
	}
	return r.Secret.Reveal(), nil, err
}

// LoginServer logs in to an MCP server, which says where. scopes are asked for besides those that
// it wants.
func LoginServer(ctx context.Context, h *Host, d mcpserver.Definition, scopes []string, ui oauth.UI) (credential.Info, error) {
	s, err := mcpserver.Expand(d.Server, h.o.Getenv, h.o.Dir)
	if err != nil {
		return credential.Info{}, err
	}
	wrong := func(err error) (credential.Info, error) {
		return credential.Info{}, fmt.Errorf("log in to MCP server %s: %w", s.Name, err)
	}
	if !s.Logins() {
		return wrong(errors.New("it is a program, has a header Authorization, or its oauth is false"))
	}
	if ofItself(&s) {
		return wrong(errors.New("its client logs in by itself, as its oauth.grant says: burin mcp test tries it"))
	}
	models, err := h.Models()
	if err != nil {
		return credential.Info{}, err
	}
	transport, err := webOf(h)
	if err != nil {
		return credential.Info{}, err
	}
	status, challenges, err := mcp.Ask(ctx, s, transport)
	if err != nil {
		return wrong(err)
	}
	r := oauth.Resource{URL: s.URL, Refused: status == http.StatusUnauthorized, Challenge: oauth.ParseChallenge(challenges)}
	allowed := []string{hostOf(s.URL)}
	if o := s.OAuth; o != nil {
		r.Issuer, r.Client, r.Scopes, r.Port = o.Issuer, oauth.Registration{ID: o.ClientID, Auth: oauth.ClientAuth{Secret: credential.Secret(o.ClientSecret)}}, o.Scopes, o.CallbackPort
		if o.Issuer != "" {
			allowed = append(allowed, hostOf(o.Issuer))
		}
	}
	if len(scopes) > 0 {
		r.Scopes = scopes
	}
	// What a service names must not make burin reach the network that it is in; the service itself
	// and what the user has named may be there.
	base, _ := transport.(*http.Transport)
	guarded := &http.Client{Transport: outbound.Transport(base, allowed...)}
	defer guarded.CloseIdleConnections()
	info, err := models.Keys.LoginService(ctx, s.Name, r, guarded, ui)
	if err != nil {
		if errors.Is(err, oauth.ErrNoLogin) && status/100 == 2 {
			err = errors.New("it needs none: it answers without")
		}
		return wrong(err)
	}
	return info, nil
}

// hostOf is the host of an address, without its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// LogoutServer removes the login at an MCP server and revokes it where its authorization server
// offers that; why says that it could not be revoked.
func LogoutServer(ctx context.Context, h *Host, d mcpserver.Definition) (found, revoked bool, why, err error) {
	s, err := mcpserver.Expand(d.Server, h.o.Getenv, h.o.Dir)
	if err != nil {
		return false, false, nil, err
	}
	models, err := h.Models()
	if err != nil {
		return false, false, nil, err
	}
	return models.Keys.LogoutService(ctx, s.URL)
}
