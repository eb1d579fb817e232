package connect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/llm"
)

// reach says which of a provider's keys may be sent to a host.
type reach uint8

const (
	// anyKey: the host is the provider's.
	anyKey reach = iota
	// writtenKey: one of the command line or of models.yml, which were written
	// for this host. Stored keys and variables are the vendor's.
	writtenKey
	// givenKey: one of the command line.
	givenKey
)

// allows says whether a key from there is within reach.
func (r reach) allows(from credential.Origin) bool {
	return r == anyKey || from == credential.FromCommandLine || r == writtenKey && from == credential.FromModelsYAML
}

// accounts know the credentials of providers, and which of them may go where.
type accounts struct {
	env      env
	keys     *credential.Manager
	logins   map[string]oauth.Provider // of the settings
	warn     func(string)              // nil = nobody is told
	registry *catalog.Registry         // nil while it is opened
	// available is which providers have a key. It is asked once, when a choice
	// depends on it, and again after keys have changed.
	available atomic.Pointer[func() map[string]credential.Found]
}

// find gives the credential of a provider for a host within reach. Where there
// is none, nothing was renewed or marked as used in vain.
func (a *accounts) find(ctx context.Context, provider, session string, r reach) (credential.Resolved, error) {
	if r == anyKey {
		if err := a.pinned(ctx, provider); err != nil {
			return credential.Resolved{}, err
		}
	} else {
		sources, err := a.keys.Available(ctx, provider)
		if err != nil && ctx.Err() != nil {
			return credential.Resolved{}, ctx.Err()
		}
		if !r.allows(sources[provider].From) {
			return credential.Resolved{}, &credential.NotFoundError{Providers: []string{provider}}
		}
	}
	return a.keys.Key(ctx, provider, session)
}

// errWithheld says that there is a key, but for another address.
var errWithheld = errors.New("the key is not for this address")

// pinned refuses a provider whose address was changed in models.yml and whose
// key there is a variable that is not set: the vendor's key, which would be the
// next in order, must not be sent to that address. Of a provider that only
// models.yml knows, stored keys cannot be meant for anyone else.
func (a *accounts) pinned(ctx context.Context, provider string) error {
	s := a.settings(provider)
	if !s.Pinned {
		return nil
	}
	sources, _ := a.keys.Available(ctx, provider) // an error of the database is one of the key, too
	from := sources[provider].From
	if from == credential.FromNowhere || writtenKey.allows(from) || from == credential.FromStore && !a.shipped(provider) {
		return nil
	}
	return &llm.Error{
		Kind: llm.ErrAuth, Provider: provider, Err: errWithheld,
		Message: fmt.Sprintf("the variable %s, which models.yml names for its key, is not set; keys of the vendor itself are not sent to the address given there", s.APIKeyEnv),
	}
}

// shipped says whether burin knows the provider without models.yml.
func (a *accounts) shipped(provider string) bool {
	plain, _ := catalog.Open(catalog.Options{Getenv: a.env.get})
	return plain.Registry.Knows(provider)
}

// look asks which providers have a key.
func (a *accounts) look() map[string]credential.Found {
	// A database that cannot be read is reported when a key is needed.
	found, _ := a.keys.Available(context.Background(), a.registry.Providers()...)
	return found
}

// forget has available asked again.
func (a *accounts) forget() {
	look := sync.OnceValue(a.look)
	a.available.Store(&look)
}

// has says whether there is a credential for the provider that may be used.
func (a *accounts) has(provider string) bool {
	if _, ok := (*a.available.Load())()[provider]; ok {
		return a.pinned(context.Background(), provider) == nil
	}
	return a.env.ambient(provider)
}

// key is the key of a provider for asking it which models it has.
func (a *accounts) key(ctx context.Context, provider string) (string, error) {
	r, err := a.find(ctx, provider, "", anyKey)
	var none *credential.NotFoundError
	if errors.As(err, &none) {
		return "", nil
	}
	return r.Secret.Reveal(), err
}

// settings tells the credentials what models.yml says of a provider's key.
func (a *accounts) settings(provider string) credential.Settings {
	var s credential.Settings
	if p, ok := a.logins[provider]; ok {
		s.OAuth = &p
	}
	if a.registry == nil {
		return s
	}
	facts, ok := a.registry.Provider(provider)
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

// keyring gives the key of each request of a client.
type keyring struct {
	accounts *accounts
	provider string
	session  string
	reach    reach
	optional bool // the host can be reached with another credential, or none
	// foreign says that the host is not where the provider's keys come from: that
	// it refuses one says nothing against the key.
	foreign bool
}

func (k *keyring) find(ctx context.Context) (credential.Resolved, error) {
	r, err := k.accounts.find(ctx, k.provider, k.session, k.reach)
	var none *credential.NotFoundError
	if k.optional && (errors.As(err, &none) || errors.Is(err, errWithheld)) {
		return credential.Resolved{Kind: credential.KindNone, Provider: k.provider}, nil
	}
	return r, err
}

// get is the key function of an endpoint.
func (k *keyring) get(ctx context.Context) (string, error) {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	if a != nil && a.given != nil {
		a.used.Store(a.given)
		return a.given.Secret.Reveal(), nil
	}
	r, err := k.find(ctx)
	if err != nil {
		return "", err
	}
	if r.Warning != "" && k.accounts.warn != nil {
		k.accounts.warn(r.Warning)
	}
	if a != nil {
		a.used.Store(&r)
	}
	return r.Secret.Reveal(), nil
}

// attempt is one try of a request: the credential it has to use, if that is
// decided, and the one it was sent with. The context of the exchange holds it.
type attempt struct {
	given *credential.Resolved
	used  atomic.Pointer[credential.Resolved]
}

type attemptKey struct{}

// usedBy is the credential of the request that ctx belongs to, or nil.
func usedBy(ctx context.Context) *credential.Resolved {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a.used.Load()
	}
	return nil
}
