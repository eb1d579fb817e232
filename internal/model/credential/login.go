package credential

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/burin-dev/burin/internal/model/credential/oauth"
)

// LoginOptions shape a login.
type LoginOptions struct {
	Label  string
	Device bool // type a code on another device instead of using a browser on this one
}

// Logins lists the providers that ship with a login. Others have one by their
// settings.
func Logins() []string {
	var ids []string
	for _, p := range oauth.Builtin() {
		ids = append(ids, p.ID)
	}
	return ids
}

// Login logs in to a provider and stores what came of it. A second login of the
// same account takes the place of the first.
func (m *Manager) Login(ctx context.Context, provider string, o LoginOptions, ui oauth.UI) (Info, error) {
	p, ok := m.login(provider)
	if !ok {
		return Info{}, fmt.Errorf("%s has no login: run \"burin keys add %s\", or add an oauth block for it to config.yml", provider, provider)
	}
	run := m.auth.Authorize
	if o.Device || p.AuthURL == "" {
		run = m.auth.Device
	}
	token, err := run(ctx, p, ui)
	if err != nil {
		return Info{}, fmt.Errorf("log in to %s: %w", p.Title(), err)
	}
	kept := &payload{TokenURL: p.TokenURL, ClientID: p.ClientID, Params: p.TokenParams, Account: token.Account}
	kind := KindOAuth
	if token.APIKey {
		kind = KindAPIKey
		kept.Key = token.Access.Reveal()
	} else {
		// Counted from the end of the login, most of which was waiting for a person;
		// a renewal is a minute early.
		kept.setToken(token, m.now())
	}
	id, _, err := m.keep(ctx, provider, kind, o.Label, kept, func(have *payload) bool {
		return have.TokenURL == kept.TokenURL && have.Account != "" && have.Account == kept.Account
	})
	if err != nil {
		return Info{}, err
	}
	s, err := m.store(ctx, false)
	if err != nil {
		return Info{}, err
	}
	r, err := s.get(ctx, id)
	if err != nil {
		return Info{}, err
	}
	return m.describe(ctx, &r), nil
}

// Imported is what became of one line of an import.
type Imported struct {
	Variable string
	Provider string // empty = no provider takes this variable
	ID       int64
	Added    bool  // false with an id = it was stored already
	Err      error // why it was not stored
}

// Import stores the API keys of a text with lines NAME=value, as .env files have
// them, under the providers their variables are meant for. known, if not nil,
// says which providers count. Access tokens are left out: without their refresh token
// they would only expire.
func (m *Manager) Import(ctx context.Context, r io.Reader, known func(provider string) bool) ([]Imported, error) {
	var out []Imported
	for _, pair := range parseEnv(r) {
		name, value := pair[0], pair[1]
		if value == "" {
			continue
		}
		providers := providersOf(name)
		if known != nil {
			providers = slices.DeleteFunc(providers, func(p string) bool { return !known(p) })
		}
		if len(providers) == 0 {
			out = append(out, Imported{Variable: name})
		}
		for _, provider := range providers {
			id, added, err := m.Add(ctx, provider, "", Secret(value))
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			out = append(out, Imported{Variable: name, Provider: provider, ID: id, Added: added, Err: err})
		}
	}
	return out, nil
}
