package connect

import (
	"context"
	"errors"
	"slices"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
)

// Choose finds the model to begin with: the one asked for, or the first that
// can be used. Where none can, servers on this machine are looked for, and the
// error says what was looked for in vain.
func (m *Models) Choose(ctx context.Context, w catalog.Wish) (catalog.Choice, error) {
	if w.Selector != "" {
		return m.Catalog.ResolveOrDiscover(ctx, w.Selector)
	}
	choice, err := m.Catalog.Resolver.Initial(w)
	if !errors.Is(err, catalog.ErrNoModel) {
		return choice, err
	}
	asked := m.Catalog.Servers.Discover(ctx, catalog.Search{Local: true, Providers: localServers(m.env)})
	if choice, err = m.Catalog.Resolver.Initial(w); !errors.Is(err, catalog.ErrNoModel) {
		return choice, err
	}
	return choice, m.accounts.nothing(ctx, asked)
}

// localServers are the servers on this machine to look for by name, so that the
// error can say so. vLLM's port is used by too many other programs to be asked
// without a hint.
func localServers(e env) []string {
	return slices.DeleteFunc(catalog.LocalProviders(), func(id string) bool {
		return id == "vllm" && e.get("VLLM_BASE_URL") == "" && e.get("VLLM_API_KEY") == ""
	})
}

// nothing is the error of a user who has neither key nor server.
func (a *accounts) nothing(ctx context.Context, asked []catalog.Report) error {
	none := new(credential.NotFoundError)
	for _, provider := range a.registry.Providers() {
		if a.has(provider) {
			continue // its key is not what is missing, and need not be renewed to say so
		}
		_, err := a.keys.Key(ctx, provider, "")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var e *credential.NotFoundError
		if errors.As(err, &e) {
			none.Merge(e)
		}
	}
	for _, r := range asked {
		switch {
		case r.BaseURL == "": // not a server
		case r.Err == nil:
			none.Servers = append(none.Servers, r.Provider+" ("+r.BaseURL+", which has no models)")
		default:
			none.Servers = append(none.Servers, r.Provider+" ("+r.BaseURL+")")
		}
	}
	return none
}

// Logins lists the providers that have a login: those burin ships with and
// those of the settings.
func (m *Models) Logins() []string {
	logins := credential.Logins()
	for id := range m.accounts.logins {
		if !slices.Contains(logins, id) {
			logins = append(logins, id)
		}
	}
	slices.Sort(logins)
	return logins
}
