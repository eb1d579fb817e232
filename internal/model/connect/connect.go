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
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/llm/wire"
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

	// FirstEvent and Idle are the time-outs of answers; see wire.Endpoint. The
	// environment wins: BURIN_STREAM_FIRST_EVENT_TIMEOUT_MS and
	// BURIN_STREAM_IDLE_TIMEOUT_MS, where 0 means no limit.
	FirstEvent, Idle time.Duration
	// Keyring is where the key of the credential database is kept; nil = the
	// system's.
	Keyring credential.Keyring
}

// Models are the models a user has, and the keys to them. Close it at the end.
type Models struct {
	*catalog.Registry
	Keys *credential.Manager

	o         Options
	env       env
	client    func() (*http.Client, error)
	available func() map[string]string
}

// Open opens the catalogue and the credentials. The Models are never nil: a
// models.yml that cannot be used leaves the built-in models, and err says what
// is wrong with it.
func Open(o Options) (*Models, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	m := &Models{o: o, env: env{o.LookupEnv}}
	m.client = sync.OnceValues(func() (*http.Client, error) {
		return wire.NewClient(wire.OptionsFromEnv(m.env.get))
	})
	m.Keys = credential.New(credential.Options{
		Home: o.DataDir, LookupEnv: o.LookupEnv, Provider: m.settings, Keyring: o.Keyring,
	})
	// Which providers have a key is asked once, when a choice depends on it.
	m.available = sync.OnceValue(func() map[string]string {
		found, err := m.Keys.Available(context.Background(), m.Providers()...)
		if err != nil && found == nil {
			return map[string]string{}
		}
		return found
	})
	var err error
	m.Registry, err = catalog.Open(catalog.Options{
		Home: o.ConfigDir, Cache: o.CacheDir, Dir: o.WorkDir, UserHome: o.UserHome, Getenv: m.env.get,
		Available:     m.hasCredential,
		ProviderOrder: o.ProviderOrder, Enabled: o.Enabled, Disabled: o.Disabled,
		Roles: o.Roles, RoleFlags: o.RoleFlags,
		Key: m.key,
	})
	return m, err
}

// Close frees what the credentials hold.
func (m *Models) Close() error { return m.Keys.Close() }

func (m *Models) hasCredential(provider string) bool {
	if _, ok := m.available()[provider]; ok {
		return true
	}
	return m.env.ambient(provider) != ""
}

// key is the key of a provider for asking it which models it has.
func (m *Models) key(ctx context.Context, provider string) (string, error) {
	r, err := m.Keys.Key(ctx, provider, "")
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

// env reads variables of the environment by burin's name or by those of its
// forerunners.
type env struct {
	lookup func(string) (string, bool)
}

func (e env) get(name string) string {
	v, _ := e.lookup(name)
	return v
}

// own is BURIN_name, or PI_name or OMP_name where that is not set.
func (e env) own(name string) string {
	for _, prefix := range []string{"BURIN_", "PI_", "OMP_"} {
		if v := e.get(prefix + name); v != "" {
			return v
		}
	}
	return ""
}

// on says whether a flag variable of ours is on.
func (e env) on(name string) bool { return isOn(e.own(name)) }

func isOn(v string) bool {
	switch v {
	case "1", "Y", "y", "true", "TRUE", "yes", "YES", "on", "ON":
		return true
	}
	return false
}

// timeout is a number of milliseconds of the environment, 0 being no limit, or
// d where it is not set.
func (e env) timeout(d time.Duration, names ...string) time.Duration {
	for _, name := range names {
		v := e.own(name)
		if v == "" {
			continue
		}
		if ms, err := time.ParseDuration(strings.TrimSpace(v) + "ms"); err == nil && ms > 0 {
			return ms
		} else if err == nil {
			return -1
		}
	}
	return d
}

// ambient names the credential that the tools of a cloud would find for a
// provider without a key of ours, or is "". Nothing is read but variables.
func (e env) ambient(provider string) string {
	var names []string
	switch provider {
	case "amazon-bedrock":
		names = []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"}
	case "google-vertex":
		names = []string{"GOOGLE_APPLICATION_CREDENTIALS"}
	}
	for _, name := range names {
		if e.get(name) != "" {
			return name
		}
	}
	return ""
}
