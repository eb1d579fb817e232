package catalog

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/burin-dev/burin/llm"
)

// Options say what a catalog is opened with. The zero value of each field has
// a usable meaning.
type Options struct {
	Home     string // the folder of models.yml; "" = none
	Cache    string // the folder of what servers said and of a newer table; "" = none
	File     string // configuration file to read instead of the one in Home: .yml, .yaml, .json, .jsonc
	Dir      string // working directory, for lists that depend on it
	UserHome string // what "~" stands for in those lists
	Getenv   func(string) string
	// Available says whether there is a credential for the provider; nil = always.
	// Providers that need none, or whose key is in models.yml, are not asked about.
	Available func(provider string) bool

	ProviderOrder []string          // modelProviderOrder of the settings
	Enabled       ScopedList        // enabledModels of the settings
	Disabled      ScopedList        // disabledProviders of the settings
	Roles         map[string]string // modelRoles of the settings
	RoleFlags     map[string]string // roles set on the command line

	Tuning      Tuning // of the settings, for all models
	TuningFlags Tuning // set on the command line, over models.yml

	Client *http.Client // for discovery; nil = wire.DefaultClient
	// Key gives the key of a provider for asking it which models it has; nil = none.
	Key KeyFunc
}

// Catalog is the models of a user, by what is done with them.
type Catalog struct {
	Registry *Registry // which models and providers there are
	Resolver *Resolver // which model a selector or a role means
	Servers  *Servers  // asks servers which models they have
}

// Open reads the configuration. The catalog is never nil: when the file is bad its
// content is ignored as a whole and err says what is wrong with it ([*ConfigError]
// for its content).
func Open(o Options) (*Catalog, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	s := &sources{table: table{embedded}, getenv: o.Getenv, settings: o.Tuning, flags: o.TuningFlags}
	if t, ok := refreshed(o.Cache, s.table); ok {
		s.table = t
	}
	var err error
	s.config, s.file, err = readConfig(o.File, o.Home, s.table)
	a := &answers{sources: s, file: cacheFile(o.Cache, discoveredFile)}
	r := &Registry{sources: s, answers: a, order: o.ProviderOrder, disabled: map[string]bool{}, credential: o.Available}
	for _, p := range o.Disabled.For(o.Dir, o.UserHome) {
		r.disabled[p] = true
	}
	return &Catalog{
		Registry: r,
		Resolver: &Resolver{
			sources: s, registry: r, enabled: o.Enabled.For(o.Dir, o.UserHome), roles: o.Roles, roleFlags: o.RoleFlags,
		},
		Servers: &Servers{sources: s, registry: r, answers: a, client: o.Client, key: o.Key},
	}, err
}

// ResolveOrDiscover is [Resolver.Resolve] that asks the servers on this machine, and
// the provider the selector names, before it says that there is no such model.
func (c *Catalog) ResolveOrDiscover(ctx context.Context, selector string) (Choice, error) {
	choice, err := c.Resolver.Resolve(selector)
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		return choice, err
	}
	s := Search{Local: true}
	provider, _, _ := llm.SplitRef(selector)
	if _, local := localServers[provider]; local || c.Registry.usable(provider) {
		s.Providers = []string{provider} // a vendor is not asked without a key
	}
	reports := c.Servers.Discover(ctx, s)
	choice, err = c.Resolver.Resolve(selector)
	if errors.As(err, &missing) {
		for _, rep := range reports {
			if rep.Provider == provider && rep.Err != nil {
				missing.Hint = rep.Err.Error()
			}
		}
	}
	return choice, err
}

// cacheFile is a file in the cache folder, or "" where there is none.
func cacheFile(cache, name string) string {
	if cache == "" {
		return ""
	}
	return filepath.Join(cache, name)
}
