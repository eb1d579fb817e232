package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
)

// Connection is a provider, and whether burin can ask it. It has no secret.
type Connection struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"` // what models.yml calls it
	Icon   string `json:"icon,omitempty"` // an emoji or a letter
	Own    bool   `json:"own,omitempty"`  // it is in models.yml
	Models int    `json:"models"`         // that it has
	// Configured says that models.yml gives it an address.
	Configured bool `json:"configured,omitempty"`
	// Ready says that a credential is at hand, or none is needed, and Source where it comes from.
	Ready  bool   `json:"ready,omitempty"`
	Source string `json:"source,omitempty"`
	Keys   []Key  `json:"keys,omitempty"` // that are stored on this machine
}

// Key is a stored credential, without its secret.
type Key struct {
	ID    int64  `json:"id"`
	Login bool   `json:"login,omitempty"` // it is a login, not a key
	Name  string `json:"name,omitempty"`  // its label, its account, or the end of the key
	// State is why it isn't used now; "" is that it is.
	State string    `json:"state,omitempty"`
	Used  time.Time `json:"used,omitzero"` // last
}

// Tried says how a provider has answered.
type Tried struct {
	Model   string `json:"model"`             // that was asked
	Millis  int64  `json:"millis"`            // until the answer was complete
	Problem string `json:"problem,omitempty"` // why there is none
}

// Connections are the providers of a machine: their keys are stored and removed here, and never given out.
type Connections struct{ host *Host }

// NewConnections are those of a host.
func NewConnections(h *Host) *Connections { return &Connections{h} }

const (
	maxKey    = 64 << 10 // bytes of a key
	tryTime   = 30 * time.Second
	tryTokens = 16
)

var (
	// ErrUnknownProvider means that there is no such provider.
	ErrUnknownProvider = errors.New("unknown provider")
	// ErrUnknownKey means that no key is stored under an id.
	ErrUnknownKey = errors.New("no key has that id")
	// ErrNotKey means that a text can't be a key.
	ErrNotKey = errors.New("that is not a key: give one word of printable characters")
)

// List lists the providers, those that are ready first, then by name.
func (c *Connections) List(ctx context.Context) ([]Connection, error) {
	m, err := c.host.Models()
	if err != nil {
		return nil, err
	}
	m.KeysChanged()
	registry := m.Catalog.Registry
	stored, err := m.Keys.List(ctx)
	if err != nil {
		return nil, err
	}
	found, err := m.Keys.Available(ctx, registry.Providers()...)
	if err != nil {
		return nil, err
	}
	models, usable := map[string]int{}, map[string]bool{}
	for _, one := range registry.All() {
		models[one.Provider]++
		usable[one.Provider] = usable[one.Provider] || registry.Available(one)
	}
	all := []Connection{}
	for _, id := range registry.Providers() {
		p, _ := registry.Provider(id)
		_, own := registry.Own(id)
		one := Connection{ID: id, Name: p.Name, Icon: p.Icon, Own: own, Models: models[id], Configured: p.Configured, Ready: usable[id], Source: found[id].Source}
		for _, k := range stored {
			if k.Provider == id {
				one.Keys = append(one.Keys, keyOf(k))
			}
		}
		all = append(all, one)
	}
	sorting.Stable(all, func(a, b Connection) int {
		switch {
		case a.Ready == b.Ready:
			return strings.Compare(a.ID, b.ID)
		case a.Ready:
			return -1
		}
		return 1
	})
	return all, nil
}

func keyOf(k credential.Info) Key {
	one := Key{ID: k.ID, Login: k.Kind == credential.KindOAuth, State: k.Problem, Used: k.LastUsed}
	for _, name := range []string{k.Label, k.Account, k.Hint} {
		if one.Name == "" && name != "…" { // the end of a short key isn't shown
			one.Name = name
		}
	}
	switch {
	case one.State != "":
	case k.Disabled != "":
		one.State = "disabled: " + k.Disabled
	case time.Now().Before(k.Blocked):
		one.State = "blocked until " + k.Blocked.UTC().Format("2006-01-02 15:04 UTC")
	}
	return one
}

// Add stores a key, and gives its id. The error is [ErrUnknownProvider] or [ErrNotKey] for what can't be one.
func (c *Connections) Add(ctx context.Context, provider, label, key string) (int64, error) {
	m, err := c.host.Models()
	if err != nil {
		return 0, err
	}
	key = strings.TrimSpace(key)
	switch {
	case !m.Catalog.Registry.Knows(provider):
		return 0, ErrUnknownProvider
	case !wordOfKey(key):
		return 0, ErrNotKey
	}
	defer m.KeysChanged()
	id, _, err := m.Keys.Add(ctx, provider, label, credential.Secret(key))
	return id, err
}

// wordOfKey says whether a text can be a key.
func wordOfKey(key string) bool {
	return key != "" && len(key) <= maxKey && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Remove removes a stored key of a provider. The error is [ErrUnknownKey] if there is none.
func (c *Connections) Remove(ctx context.Context, id int64) error {
	m, err := c.host.Models()
	if err != nil {
		return err
	}
	defer m.KeysChanged()
	if err = m.Keys.Remove(ctx, id); errors.Is(err, credential.ErrNoCredential) {
		return ErrUnknownKey
	}
	return err
}

// Try has a model of a provider say a word, its cheapest one if none is named. What the provider
// answers instead is no error.
func (c *Connections) Try(ctx context.Context, provider, model string) (Tried, error) {
	m, err := c.host.Models()
	if err != nil {
		return Tried{}, err
	}
	if !m.Catalog.Registry.Knows(provider) {
		return Tried{}, ErrUnknownProvider
	}
	var is *catalog.Model
	if model != "" {
		is, _ = m.Catalog.Registry.Lookup(provider, strings.TrimPrefix(model, provider+"/"))
	} else {
		is = m.Catalog.Registry.Cheapest(provider)
	}
	if is == nil {
		return Tried{Model: model, Problem: "there is no such model"}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	began := time.Now()
	client, err := m.Client(is, "")
	if err == nil {
		_, err = llm.Collect(client.Stream(ctx, &llm.Request{Model: &is.Model, MaxTokens: tryTokens, Messages: []llm.Message{llm.UserText("Say yes.")}}))
	}
	tried := Tried{Model: is.Ref(), Millis: time.Since(began).Milliseconds()}
	if err != nil {
		tried.Problem = err.Error()
	}
	return tried, nil
}
