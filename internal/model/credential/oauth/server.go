package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/model/credential/secret"
	"github.com/burin-dev/burin/llm/wire"
)

// Resource is a web service that takes tokens of an authorization server which it names, as
// servers of the Model Context Protocol do (RFC 9728).
type Resource struct {
	URL       string
	Refused   bool      // it has refused a request without a token
	Challenge Challenge // what it answered then
	// Issuer is the authorization server that the user has set; empty = the one that the
	// service names.
	Issuer string
	Client Registration // that the user has set; without an id one is registered
	Scopes []string     // to ask for; nil = those that the service wants
	Port   int          // of the callback; 0 = any
	Itself bool         // the client logs in by itself: there is no page, and nothing to renew with
}

// maxScopes is how many scopes a login asks for.
const maxScopes = 100

// Scopes are the words of a list of scopes.
func Scopes(list string) []string {
	all := strings.Fields(list)
	if len(all) > maxScopes || len(list) > 8<<10 {
		return nil
	}
	return slices.DeleteFunc(all, func(s string) bool { return !sendable(s) || strings.ContainsAny(s, `"\`) })
}

// Challenge is what a service says when it refuses a request (RFC 6750, RFC 9728).
type Challenge struct {
	Metadata string // address of what the service says of itself
	Error    string // such as insufficient_scope
	Scopes   []string
}

// ParseChallenge reads the WWW-Authenticate headers of a response. Only Bearer ones count.
func ParseChallenge(headers []string) Challenge {
	var c Challenge
	for _, h := range headers {
		scheme, rest, _ := strings.Cut(strings.TrimSpace(h), " ")
		if !strings.EqualFold(scheme, "Bearer") || len(rest) > 16<<10 {
			continue
		}
		for rest != "" {
			var name, value string
			name, rest, _ = strings.Cut(rest, "=")
			name = strings.ToLower(strings.Trim(name, " \t,"))
			if value, rest = word(rest); name == "" {
				break
			}
			switch name {
			case "resource_metadata":
				c.Metadata = value
			case "error":
				c.Error = value
			case "scope":
				c.Scopes = Scopes(value)
			}
		}
	}
	return c
}

// word is the value at the beginning of a list of parameters: a token or a quoted text.
func word(s string) (value, rest string) {
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, ", \t")
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// CheckService says why a token must not be sent to an address: others could read it on the way.
func CheckService(address string) error { return checkURL(address) }

// within checks an address that a service or its authorization server names: one that is safe to
// reach, and not on this machine unless who names it is.
func within(service *url.URL, address string) error {
	if err := checkURL(address); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err == nil && loopback(u.Hostname()) && !loopback(service.Hostname()) {
		return errors.New("is an address of this machine")
	}
	return err
}

// ErrNoLogin means that a service says nothing of a login.
var ErrNoLogin = errors.New("it names no authorization server")

// resourceMetadata is what a service says of itself.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// serverMetadata is what an authorization server says of itself (RFC 8414, OpenID Connect Discovery).
type serverMetadata struct {
	Issuer      string   `json:"issuer"`
	Authorize   string   `json:"authorization_endpoint"`
	Token       string   `json:"token_endpoint"`
	Register    string   `json:"registration_endpoint"`
	Revoke      string   `json:"revocation_endpoint"`
	PKCE        []string `json:"code_challenge_methods_supported"`
	Scopes      []string `json:"scopes_supported"`
	Auth        []string `json:"token_endpoint_auth_methods_supported"`
	NamesIssuer bool     `json:"authorization_response_iss_parameter_supported"`
}

// Discover finds out how to log in to a service. What the service and its authorization server say
// is checked: that the service speaks of itself, that the server is the one that was named, that it
// knows PKCE, and that all addresses are safe to reach.
func (c Client) Discover(ctx context.Context, r Resource) (Provider, error) {
	service, err := url.Parse(r.URL)
	if err == nil {
		err = checkURL(r.URL)
	}
	if err != nil {
		return Provider{}, fmt.Errorf("its address %w", err)
	}
	said, err := c.resource(ctx, service, r.Challenge.Metadata)
	if err != nil {
		return Provider{}, err
	}
	issuer, plain := r.Issuer, false
	if issuer == "" && said != nil && len(said.Servers) > 0 {
		issuer = said.Servers[0]
	}
	if issuer == "" { // as services had it in 2025-03-26: they are the authorization server
		issuer, plain = service.Scheme+"://"+service.Host, true
	}
	from := service
	if r.Issuer != "" {
		if from, err = url.Parse(issuer); err != nil {
			return Provider{}, errors.New("oauth.issuer is not a URL")
		}
	}
	if err := within(from, issuer); err != nil {
		return Provider{}, fmt.Errorf("its authorization server %w", err)
	}
	server, err := c.server(ctx, issuer, plain)
	switch {
	case err != nil && !errors.Is(err, errNothing):
		return Provider{}, err
	case err != nil && !plain:
		return Provider{}, fmt.Errorf("the authorization server %s says nothing of itself", hostOf(issuer))
	case err != nil && !r.Refused:
		return Provider{}, ErrNoLogin
	case err != nil:
		server = &serverMetadata{Authorize: issuer + "/authorize", Token: issuer + "/token", Register: issuer + "/register", PKCE: []string{"S256"}}
	}
	if !r.Itself && !slices.Contains(server.PKCE, "S256") {
		return Provider{}, fmt.Errorf("the authorization server %s does not say that it supports PKCE with S256, which a login needs", hostOf(issuer))
	}
	p := Provider{
		ID: service.Host, AuthURL: server.Authorize, TokenURL: server.Token, RevokeURL: server.Revoke,
		Issuer: server.Issuer, NamesIssuer: server.NamesIssuer, RedirectPort: r.Port, ClientID: r.Client.ID, Auth: r.Client.Auth,
	}
	if p.RevokeURL != "" && within(from, p.RevokeURL) != nil {
		p.RevokeURL = ""
	}
	for _, endpoint := range []struct{ what, url string }{{"page to log in", p.AuthURL}, {"token endpoint", p.TokenURL}} {
		if r.Itself && endpoint.url == p.AuthURL {
			continue
		}
		if err := within(from, endpoint.url); err != nil {
			return Provider{}, fmt.Errorf("the %s of %s %w", endpoint.what, hostOf(issuer), err)
		}
	}
	p.Scopes = r.scopes(said, server)
	resource := *service
	resource.RawQuery, resource.Fragment, resource.User = "", "", nil
	indicator := resource.String()
	if said != nil {
		indicator = said.Resource
	}
	p.AuthParams, p.TokenParams = map[string]string{"resource": indicator}, map[string]string{"resource": indicator}
	switch {
	case p.ClientID != "" && p.Auth.Secret != "":
		p.Auth.Basic = !slices.Contains(server.Auth, "client_secret_post")
	case p.ClientID == "" && server.Register == "":
		return Provider{}, fmt.Errorf("%s registers no clients by itself: register burin there as a public client with the callback http://127.0.0.1:PORT/callback, and set oauth.clientId and oauth.callbackPort of the server", hostOf(issuer))
	case p.ClientID == "":
		if err := within(from, server.Register); err != nil {
			return Provider{}, fmt.Errorf("the registration of %s %w", hostOf(issuer), err)
		}
		p.Register = func(ctx context.Context, redirect string) (Registration, error) {
			return c.register(ctx, server, redirect, p.Scopes)
		}
	}
	return p, nil
}

// scopes are what to ask for: what the user has set, what the service wants, or what it knows.
func (r Resource) scopes(said *resourceMetadata, server *serverMetadata) []string {
	var all []string
	switch {
	case r.Scopes != nil:
		all = slices.Clone(r.Scopes)
	case r.Challenge.Scopes != nil:
		all = slices.Clone(r.Challenge.Scopes)
	case said != nil:
		all = Scopes(strings.Join(said.Scopes, " "))
	}
	if !r.Itself && slices.Contains(server.Scopes, "offline_access") { // without it, some give nothing to renew with
		all = append(all, "offline_access")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// errNothing means that nothing is at an address.
var errNothing = errors.New("nothing is there")

// get reads the JSON at an address. Redirects are not followed: the address was checked.
func (c Client) get(ctx context.Context, address string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	host := hostOf(address)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("the address at %s is not usable", host)
	}
	req.Header.Set("Accept", jsonType)
	req.Header.Set("User-Agent", wire.UserAgent)
	resp, err := c.do(req)
	if err != nil {
		return broken(ctx, host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return &Error{Host: host, Status: resp.StatusCode}
	}
	if resp.StatusCode != http.StatusOK {
		return errNothing
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return broken(ctx, host, err)
	}
	if json.Unmarshal(data, out) != nil {
		return errNothing // a page for people
	}
	return nil
}

// resource asks a service what it says of itself; nil is nothing.
func (c Client) resource(ctx context.Context, service *url.URL, named string) (*resourceMetadata, error) {
	const known = "/.well-known/oauth-protected-resource"
	origin := service.Scheme + "://" + service.Host
	places := []string{origin + known + strings.TrimRight(service.EscapedPath(), "/"), origin + known}
	if named != "" {
		u, err := service.Parse(named)
		if err != nil || u.Host != service.Host || u.Scheme != service.Scheme {
			return nil, errors.New("it keeps what it says of its login at another host")
		}
		places = []string{u.String()}
	}
	for _, place := range slices.Compact(places) {
		var said resourceMetadata
		err := c.get(ctx, place, &said)
		if errors.Is(err, errNothing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(said.Resource)
		if err != nil || !strings.EqualFold(u.Host, service.Host) || u.Scheme != service.Scheme || !below(service.Path, u.Path) {
			return nil, errors.New("what it says of its login is about another service")
		}
		return &said, nil
	}
	return nil, nil
}

// below reports whether a path is another one or begins with it.
func below(path, of string) bool {
	path, of = strings.TrimRight(path, "/"), strings.TrimRight(of, "/")
	return path == of || strings.HasPrefix(path, of+"/")
}

// server asks an authorization server what it says of itself. plain says that it is the service
// itself, as in 2025-03-26: its name may then have any path, since the service's own host has answered.
func (c Client) server(ctx context.Context, issuer string, plain bool) (*serverMetadata, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, errors.New("its authorization server is not a URL")
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimRight(u.EscapedPath(), "/")
	places := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
		origin + path + "/.well-known/openid-configuration",
	}
	for _, place := range slices.Compact(places) {
		var said serverMetadata
		err := c.get(ctx, place, &said)
		if errors.Is(err, errNothing) || err == nil && said.Issuer == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimRight(said.Issuer, "/") != strings.TrimRight(issuer, "/") && !(plain && strings.HasPrefix(said.Issuer, origin+"/")) {
			return nil, fmt.Errorf("the authorization server %s says that it is another one", hostOf(issuer))
		}
		return &said, nil
	}
	return nil, errNothing
}

// register makes a client for a login (RFC 7591).
func (c Client) register(ctx context.Context, server *serverMetadata, redirect string, scopes []string) (Registration, error) {
	method := "none"
	if len(server.Auth) > 0 && !slices.Contains(server.Auth, method) {
		for _, m := range []string{"client_secret_basic", "client_secret_post"} {
			if slices.Contains(server.Auth, m) {
				method = m
				break
			}
		}
	}
	body, err := json.Marshal(struct {
		Name     string   `json:"client_name"`
		Site     string   `json:"client_uri"`
		Kind     string   `json:"application_type"`
		Redirect []string `json:"redirect_uris"`
		Grants   []string `json:"grant_types"`
		Answers  []string `json:"response_types"`
		Auth     string   `json:"token_endpoint_auth_method"`
		Scope    string   `json:"scope,omitempty"`
	}{
		"burin", "https://github.com/burin-dev/burin", "native",
		[]string{redirect},
		[]string{"authorization_code", "refresh_token"},
		[]string{"code"},
		method, strings.Join(scopes, " "),
	})
	if err != nil {
		return Registration{}, err
	}
	var a struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Auth   string `json:"token_endpoint_auth_method"`
	}
	if err := c.post(ctx, server.Register, jsonType, nil, body, &a); err != nil {
		return Registration{}, fmt.Errorf("register burin: %w", err)
	}
	if !plainWord(a.ID) {
		return Registration{}, fmt.Errorf("register burin: %s answered without a client id", hostOf(server.Register))
	}
	if a.Auth != "" {
		method = a.Auth
	}
	r := Registration{ID: a.ID}
	if method != "none" {
		r.Auth = ClientAuth{Secret: secret.Secret(a.Secret), Basic: method != "client_secret_post"}
	}
	return r, nil
}

// Revoke ends a login at its authorization server (RFC 7009).
func (c Client) Revoke(ctx context.Context, endpoint string, client Registration, token secret.Secret, refresh bool) error {
	form, header := url.Values{}, http.Header{}
	form.Set("token", token.Reveal())
	form.Set("token_type_hint", "access_token")
	if refresh {
		form.Set("token_type_hint", "refresh_token")
	}
	client.put(form, header)
	return c.post(ctx, endpoint, formType, header, []byte(form.Encode()), nil)
}
