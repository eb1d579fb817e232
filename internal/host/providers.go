package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/config/edit"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/platform/outbound"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// OwnProvider is a provider of models.yml, as far as it can be changed here.
type OwnProvider struct {
	ID      string   `json:"id"`
	Name    string   `json:"name,omitempty"` // what people see; "" is the id
	Icon    string   `json:"icon,omitempty"` // an emoji or a letter
	API     string   `json:"api,omitempty"`  // the wire format
	Address string   `json:"address,omitempty"`
	NoKey   bool     `json:"no_key,omitempty"`
	Models  []string `json:"models"` // their ids
	// Keyed says that models.yml itself names a key or headers, which stay with the address that is there.
	Keyed bool `json:"keyed,omitempty"`
}

// SetProvider is a provider to add or change. What models.yml says besides stays.
type SetProvider struct {
	Name    string   `json:"name,omitempty"`
	Icon    string   `json:"icon,omitempty"`
	API     string   `json:"api"`
	Address string   `json:"address"`
	NoKey   bool     `json:"no_key,omitempty"`
	Models  []string `json:"models"`
	Key     string   `json:"key,omitempty"` // to store; "" keeps those that are stored
	New     bool     `json:"new,omitempty"` // it must not be there yet
	// Local allows an address of this machine or its network.
	Local bool `json:"local,omitempty"`
}

// SavedProvider says what became of models.yml.
type SavedProvider struct {
	Written bool `json:"written"`
	// Why it was left as it was, and Text what to write there by hand.
	Why  string `json:"why,omitempty"`
	Text string `json:"text,omitempty"`
}

// AskServer says which server to ask for its models.
type AskServer struct {
	API     string `json:"api"`
	Address string `json:"address"`
	Key     string `json:"key,omitempty"` // "" is the one that is stored for Provider, if that has this address
	// Provider is the id of one that is there; "" is none.
	Provider string `json:"provider,omitempty"`
	Local    bool   `json:"local,omitempty"` // as in SetProvider
}

// ServerModels are the models that a server says it has.
type ServerModels struct {
	Models  []catalog.Asked `json:"models"`
	Problem string          `json:"problem,omitempty"` // why there are none
}

// ErrProvider begins what is wrong with a provider that was given.
var ErrProvider = errors.New("not possible")

const (
	maxModels     = 500
	maxModelID    = 200 // bytes
	maxName       = 100 // bytes
	maxAddress    = 2000
	maxProviderID = 64
)

// apiChoices are the wire formats of providers that can be added.
var apiChoices = []string{"openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "ollama-chat"}

var providerID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`) })

func wrongProvider(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProvider, fmt.Sprintf(format, args...))
}

// Own gives a provider of models.yml.
func (c *Connections) Own(id string) (OwnProvider, error) {
	m, err := c.host.Models()
	if err != nil {
		return OwnProvider{}, err
	}
	is, ok := m.Catalog.Registry.Own(id)
	if !ok {
		return OwnProvider{}, fmt.Errorf("%w: %s is not in models.yml", ErrUnknownProvider, id)
	}
	return OwnProvider{id, is.Name, is.Icon, is.API, is.Address, is.Auth == catalog.AuthNone, append([]string{}, is.Models...), is.Keyed}, nil
}

// Ask asks a server which models it has. What it answers instead is no error.
func (c *Connections) Ask(ctx context.Context, in AskServer) (is ServerModels, err error) {
	is.Models = []catalog.Asked{}
	m, err := c.host.Models()
	if err != nil {
		return is, err
	}
	at, err := address(ctx, in.Address, in.Local)
	if err != nil {
		is.Problem = strings.TrimPrefix(err.Error(), ErrProvider.Error()+": ")
		return is, nil
	}
	key := strings.TrimSpace(in.Key)
	if is, ok := m.Catalog.Registry.Own(in.Provider); key == "" && ok && origin(is.Address) == origin(in.Address) {
		if found, err := m.Keys.Key(ctx, in.Provider, ""); err == nil {
			key = found.Secret.Reveal()
		}
	}
	client := http.DefaultClient
	if !in.Local {
		client = &http.Client{Transport: outbound.Transport(nil)}
		defer client.CloseIdleConnections()
	}
	if is.Models, err = catalog.AskList(ctx, client, in.API, at.String(), key); err != nil {
		is.Problem = err.Error()
	}
	return is, nil
}

// address is one that a provider may have.
func address(ctx context.Context, text string, local bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, wrongProvider("address: it begins with https:// or http://")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, wrongProvider("address: without a password, a query and a fragment")
	case strings.ContainsAny(text, "{}"):
		return nil, wrongProvider("address: variables can only be written in models.yml itself")
	case len(text) > maxAddress:
		return nil, wrongProvider("address: at most %d bytes", maxAddress)
	}
	if local {
		return u, nil
	}
	if err := outbound.Public(ctx, u); err != nil {
		return nil, wrongProvider("address: %v. Say that it is in this machine's network if you mean that", err)
	}
	return u, nil
}

func origin(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// check looks at what was given.
func (in *SetProvider) check(id string, was catalog.Own) error {
	in.Name, in.Icon, in.Address = strings.TrimSpace(in.Name), strings.TrimSpace(in.Icon), strings.TrimRight(strings.TrimSpace(in.Address), "/")
	seen := map[string]bool{}
	for i, m := range in.Models {
		m = strings.TrimSpace(m)
		switch {
		case m == "" || len(m) > maxModelID || strings.ContainsFunc(m, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return wrongProvider("models: %.40q is not an id", m)
		case seen[m]:
			return wrongProvider("models: %s is there twice", m)
		}
		in.Models[i], seen[m] = m, true
	}
	switch {
	case len(id) > maxProviderID || !providerID().MatchString(id):
		return wrongProvider("id: %.40q has something else than small letters, digits, \".\", \"_\" and \"-\"", id)
	case len(in.Name) > maxName:
		return wrongProvider("name: at most %d bytes, not %d", maxName, len(in.Name))
	case len(in.Models) == 0:
		return wrongProvider("models: give at least one id")
	case len(in.Models) > maxModels:
		return wrongProvider("models: at most %d, not %d", maxModels, len(in.Models))
	case in.API != was.API && !slices.Contains(apiChoices, in.API):
		return wrongProvider("api: one of %s, not %.40q", strings.Join(apiChoices, ", "), in.API)
	}
	return nil
}

// SetOwn adds a provider to models.yml, or changes it there, and stores a key for it. Keys go to no other host than the one
// that they were given for: where the address becomes another host's, those that are stored are removed, and if
// models.yml itself names a key it is an error.
func (c *Connections) SetOwn(ctx context.Context, id string, in SetProvider) (SavedProvider, error) {
	m, err := c.host.Models()
	if err != nil {
		return SavedProvider{}, err
	}
	registry := m.Catalog.Registry
	was, there := registry.Own(id)
	if err := in.check(id, was); err != nil {
		return SavedProvider{}, err
	}
	moved := there && origin(was.Address) != origin(in.Address)
	switch {
	case in.New && registry.Knows(id):
		return SavedProvider{}, wrongProvider("id: there is a provider %s already", id)
	case !in.New && !there:
		return SavedProvider{}, fmt.Errorf("%w: %s is not in models.yml", ErrUnknownProvider, id)
	case moved && was.Keyed, moved && registry.BuiltIn(id):
		return SavedProvider{}, wrongProvider("address: the key of %s is not one that was stored here, and would go to another host: change the address in models.yml", id)
	}
	if in.Address != was.Address {
		if _, err := address(ctx, in.Address, in.Local); err != nil {
			return SavedProvider{}, err
		}
	}
	if key := strings.TrimSpace(in.Key); key != "" && !wordOfKey(key) {
		return SavedProvider{}, wrongProvider("key: %v", ErrNotKey)
	}
	edited := func(text []byte) ([]byte, error) { return in.write(text, id, was) }
	saved, err := c.rewrite(registry, edited, func() error {
		if !moved {
			return nil
		}
		return forgetKeys(ctx, m, id)
	})
	if err != nil || !saved.Written || strings.TrimSpace(in.Key) == "" {
		return saved, err
	}
	_, err = c.Add(ctx, id, "", in.Key)
	return saved, err
}

// write makes the changes in the text of models.yml.
func (in *SetProvider) write(text []byte, id string, was catalog.Own) ([]byte, error) {
	path := func(key string) []string { return []string{"providers", id, key} }
	auth := was.Auth
	switch {
	case in.NoKey:
		auth = catalog.AuthNone
	case auth == catalog.AuthNone, auth == "" && !was.Keyed:
		auth = catalog.AuthKey
	}
	var err error
	for _, f := range []struct{ key, was, is string }{
		{"name", was.Name, in.Name}, {"icon", was.Icon, in.Icon}, {"baseUrl", was.Address, in.Address}, {"api", was.API, in.API}, {"auth", string(was.Auth), string(auth)},
	} {
		if f.was == f.is || err != nil {
			continue
		}
		if f.is == "" {
			text, err = edit.Unset(text, path(f.key))
		} else {
			text, err = edit.Set(text, path(f.key), f.is)
		}
	}
	if err == nil && !slices.Equal(was.Models, in.Models) {
		text, err = edit.SetEntries(text, path("models"), "id", in.Models)
	}
	return text, err
}

// rewrite changes models.yml. What it would write is tried before first is done, and then written. Where the file can't be
// changed, the answer has what to write by hand.
func (c *Connections) rewrite(r *catalog.Registry, edited func([]byte) ([]byte, error), first func() error) (SavedProvider, error) {
	file := cmp.Or(r.File(), filepath.Join(c.host.o.Paths.Config, "models.yml"))
	left := func(why error) (SavedProvider, error) {
		text, err := edited(nil)
		if err != nil {
			text = nil // it is about what is there
		}
		return SavedProvider{Why: why.Error(), Text: string(text)}, nil
	}
	if ext := filepath.Ext(file); ext == ".json" || ext == ".jsonc" {
		return left(fmt.Errorf("%s is not YAML, and is changed by hand only", file))
	}
	check := func(file string, text []byte) error { return r.Check(file, text) }
	if r.File() != "" {
		text, err := smallfile.Read(file, smallfile.Settings)
		if err == nil {
			text, err = edited(text)
		}
		if err == nil {
			err = check(file, text)
		}
		if err != nil {
			return left(fmt.Errorf("%s can't be changed from here: %w", file, err))
		}
	}
	if err := first(); err != nil {
		return SavedProvider{}, err
	}
	if err := config.Rewrite(file, func(_ string, text []byte) ([]byte, error) { return edited(text) }, check); err != nil {
		return left(err)
	}
	c.host.Reload()
	return SavedProvider{Written: true}, nil
}

// RemoveOwn removes a provider from models.yml, with the keys that are stored for it. One that burin knows by itself is then
// as it was without the file, and keeps its keys.
func (c *Connections) RemoveOwn(ctx context.Context, id string) (SavedProvider, error) {
	m, err := c.host.Models()
	if err != nil {
		return SavedProvider{}, err
	}
	registry := m.Catalog.Registry
	if _, there := registry.Own(id); !there {
		return SavedProvider{}, fmt.Errorf("%w: %s is not in models.yml", ErrUnknownProvider, id)
	}
	return c.rewrite(registry, func(text []byte) ([]byte, error) { return edit.Unset(text, []string{"providers", id}) }, func() error {
		if registry.BuiltIn(id) {
			return nil
		}
		return forgetKeys(ctx, m, id)
	})
}

// forgetKeys removes the stored keys of a provider.
func forgetKeys(ctx context.Context, m *connect.Models, provider string) error {
	defer m.KeysChanged()
	stored, err := m.Keys.List(ctx)
	for _, k := range stored {
		if k.Provider == provider && err == nil {
			err = m.Keys.Remove(ctx, k.ID)
		}
	}
	return err
}
