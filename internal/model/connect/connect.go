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
	"os"
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
	Tuning        catalog.Tuning // of the settings
	TuningFlags   catalog.Tuning // of the command line
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
	Catalog *catalog.Catalog
	Keys    *credential.Manager

	env      env
	accounts *accounts
	network  *network
	clients  *clients
}

// Open opens the catalogue and the credentials. The Models are never nil: a
// models.yml that cannot be used leaves the built-in models, and err says what
// is wrong with it.
func Open(o Options) (*Models, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	e := env{o.LookupEnv}
	n := &network{getenv: e.get}
	a := &accounts{env: e, logins: o.OAuth, warn: o.Warn}
	a.keys = credential.New(credential.Options{
		Home: o.DataDir, LookupEnv: o.LookupEnv, Provider: a.settings, Keyring: o.Keyring, HTTP: n.late(),
	})
	a.forget()
	all, err := catalog.Open(catalog.Options{
		Home: o.ConfigDir, Cache: o.CacheDir, Dir: o.WorkDir, UserHome: o.UserHome, Getenv: e.get,
		Available:     a.has,
		ProviderOrder: o.ProviderOrder, Enabled: o.Enabled, Disabled: o.Disabled,
		Roles: o.Roles, RoleFlags: o.RoleFlags, Tuning: o.Tuning, TuningFlags: o.TuningFlags,
		Key: a.key, Client: n.late(),
	})
	a.registry = all.Registry
	return &Models{
		Catalog: all, Keys: a.keys, env: e, accounts: a, network: n,
		clients: &clients{
			env: e, accounts: a, registry: all.Registry, network: n, dump: o.Dump,
			firstEvent: o.FirstEvent, idle: o.Idle, noContent: o.NoContent,
		},
	}, err
}

// Close frees what the credentials hold and the connections that are kept.
// Answers that are still being read go on; their credentials are not switched.
func (m *Models) Close() error {
	err := m.Keys.Close()
	m.network.close()
	return err
}

// KeysChanged says that keys may have been stored or removed, by this process or another one: which
// models can be used is found out again.
func (m *Models) KeysChanged() { m.accounts.forget() }

// CacheRetention is how long the user wants vendors to keep the prefix of a
// conversation, for [llm.CacheHint]: BURIN_CACHE_RETENTION (or PI_ or OMP_) is
// short, the default, long or off.
func (m *Models) CacheRetention() (llm.CacheRetention, error) { return m.env.cacheRetention() }
