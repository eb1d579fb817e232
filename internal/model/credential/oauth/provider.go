package oauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/model/credential/secret"
)

// Provider describes the logins of one model provider. The yaml keys are those
// of the "oauth:" block in config.yml.
type Provider struct {
	ID   string `yaml:"-"`              // of the model provider
	Name string `yaml:"name,omitempty"` // for people; empty = ID

	AuthURL   string   `yaml:"authUrl,omitempty"`   // authorization endpoint; empty = no browser login
	TokenURL  string   `yaml:"tokenUrl,omitempty"`  // token endpoint
	DeviceURL string   `yaml:"deviceUrl,omitempty"` // device authorization endpoint; empty = no device login
	ClientID  string   `yaml:"clientId,omitempty"`  // of a public client
	Scopes    []string `yaml:"scopes,omitempty"`

	// The callback is http://RedirectHost:RedirectPort/RedirectPath. It always
	// listens on 127.0.0.1; the host is only what the vendor is told.
	RedirectHost string `yaml:"redirectHost,omitempty"` // "127.0.0.1" (default) or "localhost"
	RedirectPort int    `yaml:"redirectPort,omitempty"` // 0 = any free port
	RedirectPath string `yaml:"redirectPath,omitempty"` // default "/callback"

	AuthParams  map[string]string `yaml:"authParams,omitempty"`  // added to the authorization URL
	TokenParams map[string]string `yaml:"tokenParams,omitempty"` // added to the body of token requests

	Exchange Exchange `yaml:"-"`

	// Issuer is the authorization server's name for itself, which an answer that names
	// another one is refused for (RFC 9207); empty = not known. NamesIssuer says that
	// answers without a name are refused too.
	Issuer      string `yaml:"-"`
	NamesIssuer bool   `yaml:"-"`
	RevokeURL   string `yaml:"-"` // empty = logins cannot be revoked
	// Register makes the client of this login, whose callback is redirect; nil = ClientID is it.
	Register func(ctx context.Context, redirect string) (Registration, error) `yaml:"-"`
	Auth     ClientAuth                                                       `yaml:"-"`
}

// Registration is a client of an authorization server.
type Registration struct {
	ID   string
	Auth ClientAuth
}

// ClientAuth is how a client shows that it is itself. Clients of people's machines have
// nothing to show it with; some authorization servers give or want a secret all the same.
type ClientAuth struct {
	Secret secret.Secret // empty = a public client
	Basic  bool          // in a header rather than in the body
}

// put puts the client into a token request.
func (r Registration) put(form url.Values, header http.Header) {
	switch {
	case r.Auth.Secret != "" && r.Auth.Basic:
		form.Del("client_id")
		plain := url.QueryEscape(r.ID) + ":" + url.QueryEscape(r.Auth.Secret.Reveal())
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(plain)))
	default:
		form.Set("client_id", r.ID)
		if r.Auth.Secret != "" {
			form.Set("client_secret", r.Auth.Secret.Reveal())
		}
	}
}

// Exchange is what an authorization code is exchanged for.
type Exchange uint8

const (
	// ForToken is the standard exchange for an access token.
	ForToken Exchange = iota
	// ForKey is OpenRouter's: no client id, the callback is named callback_url,
	// the code is posted as JSON, and what comes back is a lasting API key.
	// Source: https://openrouter.ai/docs/use-cases/oauth-pkce
	ForKey
)

// Builtin lists the logins that ship. OpenRouter documents its flow for any
// program, local ones on any port included, without registration. Logins that
// would need another program's client id (Claude, ChatGPT, Copilot, Gemini
// subscriptions) or a registration of ours (Hugging Face) are left out on
// purpose.
func Builtin() []Provider {
	return []Provider{{
		ID: "openrouter", Name: "OpenRouter",
		AuthURL: "https://openrouter.ai/auth", TokenURL: "https://openrouter.ai/api/v1/auth/keys",
		RedirectHost: "localhost", // the only callback host the vendor documents for local programs
		Exchange:     ForKey,
	}}
}

// Title is the name for people.
func (p *Provider) Title() string {
	if p.Name != "" {
		return p.Name
	}
	return p.ID
}

// Parameters that carry the protocol; configuration cannot set them.
var reserved = []string{
	"client_id", "client_secret", "response_type", "redirect_uri", "state", "scope", "code", "code_verifier",
	"code_challenge", "code_challenge_method", "grant_type", "refresh_token", "device_code", "callback_url",
}

// Validate says what is wrong with the first setting that is.
func (p *Provider) Validate() error {
	fail := func(key, format string, args ...any) error {
		return fmt.Errorf("oauth of %s: %s %s", p.ID, key, fmt.Sprintf(format, args...))
	}
	if p.AuthURL == "" && p.DeviceURL == "" {
		return fail("authUrl", "or deviceUrl must be set")
	}
	if p.TokenURL == "" {
		return fail("tokenUrl", "must be set")
	}
	for _, u := range []struct{ key, value string }{{"authUrl", p.AuthURL}, {"tokenUrl", p.TokenURL}, {"deviceUrl", p.DeviceURL}} {
		if u.value == "" {
			continue
		}
		if err := checkURL(u.value); err != nil {
			return fail(u.key, "%v", err)
		}
	}
	if p.Exchange == ForToken && p.Register == nil && !plainWord(p.ClientID) {
		return fail("clientId", "must be the id of a public client registered by you, without spaces")
	}
	for _, s := range p.Scopes {
		if !plainWord(s) {
			return fail("scopes", "must be a list of single words; %q is none", s)
		}
	}
	if p.RedirectHost != "" && p.RedirectHost != "localhost" && p.RedirectHost != "127.0.0.1" {
		return fail("redirectHost", "must be localhost or 127.0.0.1")
	}
	if p.RedirectPort < 0 || p.RedirectPort > 65535 {
		return fail("redirectPort", "must be between 0 and 65535")
	}
	if p.RedirectPath != "" {
		if u, err := url.Parse(p.RedirectPath); err != nil || !strings.HasPrefix(p.RedirectPath, "/") || u.Path != p.RedirectPath || strings.HasPrefix(p.RedirectPath, "//") {
			return fail("redirectPath", "must be a plain path that begins with /")
		}
	}
	for _, params := range []struct {
		key    string
		values map[string]string
	}{{"authParams", p.AuthParams}, {"tokenParams", p.TokenParams}} {
		for name := range params.values {
			if slices.Contains(reserved, name) || !plainWord(name) {
				return fail(params.key, "cannot set %q", name)
			}
		}
	}
	return nil
}

func plainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// checkURL accepts https anywhere and http on the loopback interface.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "":
		return errors.New("is not a URL")
	case u.User != nil:
		return errors.New("must not hold a user name or password")
	case u.Fragment != "":
		return errors.New("must not have a fragment")
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return errors.New("must begin with https://")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
