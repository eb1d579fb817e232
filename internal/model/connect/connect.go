// Package connect is the front door of the models: it opens the catalogue and
// the credentials together, chooses a model, and makes the client that speaks
// its wire format with the right key.
//
// Opening is cheap: models.yml is read, the credential database is opened only
// when a key is needed and only if it exists, and the network is used only for
// requests and, when nothing else can be used, to look for servers on this
// machine.
package connect

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/llm"
)

// Options say where things are and what the user has set.
type Options struct {
	ConfigDir string // models.yml
	DataDir   string // burin.db
	CacheDir  string
	WorkDir   string // for lists that hold in some folders only
	UserHome  string
	LookupEnv func(string) (string, bool) // nil = os.LookupEnv

	ProviderOrder []string
	Enabled       catalog.ScopedList
	Disabled      catalog.ScopedList
	Roles         map[string]string
	RoleFlags     map[string]string
	OAuth         map[string]oauth.Provider

	// FirstEvent, Idle and NoContent are the timeouts of answers; see wire.Endpoint.
	// The environment wins: BURIN_STREAM_FIRST_EVENT_TIMEOUT_MS,
	// BURIN_STREAM_IDLE_TIMEOUT_MS and BURIN_STREAM_NO_CONTENT_TIMEOUT_MS, where 0
	// means no limit.
	FirstEvent, Idle, NoContent time.Duration
	// Keyring is where the key of the credential database is kept; nil = the
	// system's.
	Keyring credential.Keyring
	// Warn is told, in one line, of a stored credential that should have been used
	// for a request and could not; nil = nobody is. It may be called from several
	// goroutines.
	Warn func(string)
	// Dump writes down requests that someone wants to see; nil = none.
	Dump *Dump
}

// Models are the models a user has, and the keys to them. Close it at the end.
type Models struct {
	*catalog.Registry
	Keys *credential.Manager

	o         Options
	env       env
	network   *network
	available func() map[string]credential.Found
}

// Open opens the catalogue and the credentials. The Models are never nil: a
// models.yml that cannot be used leaves the built-in models, and err says what
// is wrong with it.
func Open(o Options) (*Models, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	m := &Models{o: o, env: env{o.LookupEnv}}
	m.network = &network{getenv: m.env.get}
	m.Keys = credential.New(credential.Options{
		Home: o.DataDir, LookupEnv: o.LookupEnv, Provider: m.settings, Keyring: o.Keyring, HTTP: m.network.late(),
	})
	// Which providers have a key is asked once, when a choice depends on it.
	m.available = sync.OnceValue(func() map[string]credential.Found {
		// A database that cannot be read is reported when a key is needed.
		found, _ := m.Keys.Available(context.Background(), m.Providers()...)
		return found
	})
	var err error
	m.Registry, err = catalog.Open(catalog.Options{
		Home: o.ConfigDir, Cache: o.CacheDir, Dir: o.WorkDir, UserHome: o.UserHome, Getenv: m.env.get,
		Available:     m.hasCredential,
		ProviderOrder: o.ProviderOrder, Enabled: o.Enabled, Disabled: o.Disabled,
		Roles: o.Roles, RoleFlags: o.RoleFlags,
		Key: m.key, Client: m.network.late(),
	})
	return m, err
}

// Close frees what the credentials hold and the connections that are kept.
// Answers that are still being read go on; their credentials are not switched.
func (m *Models) Close() error {
	err := m.Keys.Close()
	m.network.close()
	return err
}

// CacheRetention is how long the user wants vendors to keep the prefix of a
// conversation, for [llm.CacheHint]: BURIN_CACHE_RETENTION (or PI_ or OMP_) is
// short, the default, long or off.
func (m *Models) CacheRetention() (llm.CacheRetention, error) { return m.env.cacheRetention() }

func (m *Models) hasCredential(provider string) bool {
	if _, ok := m.available()[provider]; ok {
		return m.pinned(context.Background(), provider) == nil
	}
	return m.env.ambient(provider)
}

// key is the key of a provider for asking it which models it has.
func (m *Models) key(ctx context.Context, provider string) (string, error) {
	r, err := m.find(ctx, provider, "", anyKey)
	var none *credential.NotFoundError
	if errors.As(err, &none) {
		return "", nil
	}
	return r.Secret.Reveal(), err
}

// settings tells the credentials what models.yml says of a provider's key.
func (m *Models) settings(provider string) credential.Settings {
	var s credential.Settings
	if p, ok := m.o.OAuth[provider]; ok {
		s.OAuth = &p
	}
	if m.Registry == nil {
		return s
	}
	facts, ok := m.Registry.Provider(provider)
	if !ok {
		return s
	}
	s.APIKey = credential.Secret(facts.APIKey)
	s.APIKeyEnv = facts.APIKeyEnv
	s.Keyless = facts.Auth == catalog.AuthNone
	// A key written beside a provider's address belongs to that address: no other
	// key of the same name may be sent there.
	s.Pinned = facts.Configured && (facts.APIKey != "" || facts.APIKeyEnv != "")
	return s
}
