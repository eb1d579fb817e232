package catalog

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/llm"
)

// Options say what a registry is opened with. The zero value of each field has
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

	Client *http.Client // for discovery; nil = wire.DefaultClient
	// Key gives the key of a provider for asking it which models it has; nil = none.
	Key KeyFunc
}

// Registry answers which models there are and which one is meant.
type Registry struct {
	opt      Options
	table    table
	config   config
	file     string
	disabled map[string]bool

	mu         sync.Mutex
	discovered *discoveries // nil = the cache has not been read
	index      *index       // nil = not built, or out of date
}

// index is everything that needs all models.
type index struct {
	all       []*Model
	byRef     map[string]*Model
	byID      map[string][]*Model // lower-case id
	canonical map[string][]*Model // canonical id → variants, in order of preference
	canonOf   map[*Model]string
	rank      map[string]int // place of a provider
	reference *reference
}

// Open reads the configuration. The registry is never nil: when the file is bad
// its content is ignored as a whole and err says what is wrong with it
// ([*ConfigError] for its content).
func Open(o Options) (*Registry, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	r := &Registry{opt: o, table: table{embedded}, disabled: map[string]bool{}}
	if t, ok := refreshed(o.Cache, r.table); ok {
		r.table = t
	}
	for _, p := range o.Disabled.For(o.Dir, o.UserHome) {
		r.disabled[p] = true
	}
	var err error
	r.config, r.file, err = readConfig(o.File, o.Home, r.table)
	return r, err
}

// Date is the day of the built-in facts, YYYY-MM-DD.
func (r *Registry) Date() string { return r.table.head("date") }

// Source says where the built-in facts are from.
func (r *Registry) Source() string { return r.table.head("source") }

// ConfigFile is the configuration file in use, or "".
func (r *Registry) ConfigFile() string { return r.file }

// provider is what models.yml says of a provider, or nil.
func (r *Registry) provider(id string) *providerConfig {
	for _, p := range r.config.Providers {
		if p.id == id {
			return p
		}
	}
	return nil
}

// Knows says whether there is a provider of that name: built in, in models.yml,
// or a local server burin can look for.
func (r *Registry) Knows(provider string) bool {
	return r.table.hasProvider(provider) || r.provider(provider) != nil || localServers[provider].port != 0
}

// Providers lists the ids of all providers in the order of preference.
func (r *Registry) Providers() []string {
	ids := r.table.providers()
	for _, p := range r.config.Providers {
		ids = append(ids, p.id)
	}
	for id := range r.found().Providers {
		ids = append(ids, id)
	}
	rank := r.providerRank()
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(place(rank, a), place(rank, b)), strings.Compare(a, b))
	})
	return slices.Compact(ids)
}

// providerRank gives each provider its place: the user's own order, then the
// vendors themselves and the gateways in the order of the default models, then
// those of models.yml as they stand there.
func (r *Registry) providerRank() map[string]int {
	rank := map[string]int{}
	add := func(id string) {
		if _, ok := rank[id]; !ok {
			rank[id] = len(rank)
		}
	}
	for _, id := range r.opt.ProviderOrder {
		add(id)
	}
	for _, d := range defaultModels {
		add(d.provider)
	}
	for _, p := range r.config.Providers {
		add(p.id)
	}
	return rank
}

func place(rank map[string]int, provider string) int {
	if n, ok := rank[provider]; ok {
		return n
	}
	return len(rank)
}

// Lookup finds a model by provider and id, as they are written. It does not
// look at availability.
func (r *Registry) Lookup(provider, id string) (*Model, bool) {
	r.mu.Lock()
	ix := r.index
	r.mu.Unlock()
	if ix != nil {
		m, ok := ix.byRef[provider+"/"+id]
		return m, ok
	}
	built, ok, _ := r.table.model(provider, id)
	p := r.provider(provider)
	if p != nil {
		if mc := p.model(id); mc != nil {
			return r.finish(r.custom(p, mc, built, ok, r.referenceFor)), true
		}
	}
	found, isFound := r.found().model(provider, id)
	switch {
	case ok:
		if isFound {
			found.refresh(&built)
		}
		return r.finish(&built), true
	case isFound:
		return r.finish(r.fromServer(provider, found, r.referenceFor)), true
	}
	return nil, false
}

// referenceFor finds the vendor's model of an id without reading all models.
func (r *Registry) referenceFor(id string) (*Model, bool) {
	return r.table.referenceTable().find(id)
}

func (p *providerConfig) model(id string) *modelConfig {
	for _, m := range p.Models {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// finish lays the provider's settings, then the override of models.yml, over a
// model and completes its base URL.
func (r *Registry) finish(m *Model) *Model {
	p := r.provider(m.Provider)
	if m.Origin != OriginConfig { // a model of the file has had them already
		p.fill(m)
	}
	if p != nil {
		if o := p.ModelOverrides[m.ID]; o != nil {
			o.lay(m)
		}
	}
	m.BaseURL, m.Needs = expandURL(m.BaseURL, r.opt.Getenv)
	if m.Auth == "" {
		m.Auth = AuthKey
	}
	return m
}

// custom makes the model that models.yml describes. What it does not state
// comes from the built-in model of the same name, or else from the vendor's own
// model of that id.
func (r *Registry) custom(p *providerConfig, mc *modelConfig, built Model, isBuilt bool, ref func(string) (*Model, bool)) *Model {
	m := Model{}
	if isBuilt {
		m = built
	} else {
		m.Provider, m.ID = p.id, mc.ID
		m.API = p.api(r.table.firstAPI(p.id))
		r.table.connect(&m)
	}
	m.Origin = OriginConfig
	m.API = p.api(m.API)
	if mc.API != "" {
		m.API = (&providerConfig{API: mc.API}).api("")
	}
	p.fill(&m)
	if !isBuilt {
		borrow(&m, ref)
	}
	mc.lay(&m)
	if m.Name == "" {
		m.Name = m.ID
	}
	if len(m.Input) == 0 {
		m.Input = commonInput["text"]
	}
	return &m
}

// Unlisted makes a model that no source lists, of a known provider or, with
// baseURL, of any server. api may be empty: the provider's own, or Chat
// Completions. What is known of the vendor's model of that id is taken over.
func (r *Registry) Unlisted(provider, id string, api llm.API, baseURL string) (*Model, error) {
	if provider == "" || id == "" {
		return nil, fmt.Errorf("a model needs a provider and an id: provider/id")
	}
	if !r.Knows(provider) && baseURL == "" {
		return nil, r.unknownProvider(provider)
	}
	m := Model{BaseURL: baseURL, Origin: OriginUnlisted}
	m.Provider, m.ID, m.Name, m.Input = provider, id, id, commonInput["text"]
	p := r.provider(provider)
	m.API = cmp.Or(api, p.api(r.table.firstAPI(provider)), llm.APICompletions)
	r.table.connect(&m)
	if s, ok := localServers[provider]; ok && baseURL == "" {
		m.BaseURL = openAIBase(s.address(r.opt.Getenv))
		m.Auth, m.APIKeyEnv = s.auth(r.opt.Getenv)
	}
	borrow(&m, r.referenceFor)
	out := r.finish(&m)
	if baseURL != "" {
		out.BaseURL, out.Needs = baseURL, nil
	}
	if isLoopback(out.BaseURL) && p == nil && out.APIKeyEnv == "" {
		out.Auth = AuthNone
	}
	return out, nil
}

func (r *Registry) unknownProvider(id string) error {
	return &NotFoundError{Selector: id, What: "provider", Similar: nearest(id, r.Providers(), 3)}
}

// All lists every model: built in, of models.yml and discovered, by provider in
// order of preference, then as the sources list them.
func (r *Registry) All() []*Model { return r.indexed().all }

// Available says whether the model can be used: its provider is not disabled
// here, its base URL is complete and there is a credential or none is needed.
func (r *Registry) Available(m *Model) bool {
	if r.disabled[m.Provider] || len(m.Needs) > 0 || unserved[m.Provider] && len(m.Headers) == 0 {
		return false
	}
	switch {
	case m.Auth == AuthNone:
		return true
	case m.APIKeyEnv != "" && r.opt.Getenv(m.APIKeyEnv) != "",
		m.APIKey != "" && (r.opt.Getenv(m.APIKey) != "" || !looksLikeVariable(m.APIKey)):
		return true
	}
	return r.opt.Available == nil || r.opt.Available(m.Provider)
}

// unserved are providers whose service wants headers that name another program.
// burin does not send them; whoever may can write them in models.yml.
var unserved = map[string]bool{"github-copilot": true}

// looksLikeVariable says whether a key is rather the name of a variable that is
// not set: sending the name itself as the key helps nobody.
func looksLikeVariable(key string) bool {
	return strings.Contains(key, "_") && strings.ToUpper(key) == key && !strings.ContainsAny(key, "-.+/= ")
}

// indexed builds the index of all models on first use.
func (r *Registry) indexed() *index {
	found := r.found()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil {
		r.index = r.build(found)
	}
	return r.index
}

func (r *Registry) build(found *discoveries) *index {
	built, _ := r.table.all() // a defect was refused when the table was taken over
	ref := newReference(built)
	byProvider := map[string][]*Model{}
	for i := range built {
		m := &built[i]
		p := r.provider(m.Provider)
		if p != nil && p.model(m.ID) != nil {
			m = r.finish(r.custom(p, p.model(m.ID), *m, true, ref.find))
		} else {
			copied := *m
			if f, ok := found.model(m.Provider, m.ID); ok {
				f.refresh(&copied)
			}
			m = r.finish(&copied)
		}
		byProvider[m.Provider] = append(byProvider[m.Provider], m)
	}
	known := func(provider, id string) bool {
		return slices.ContainsFunc(byProvider[provider], func(m *Model) bool { return m.ID == id })
	}
	for _, p := range r.config.Providers {
		for _, mc := range p.Models {
			if !known(p.id, mc.ID) {
				byProvider[p.id] = append(byProvider[p.id], r.finish(r.custom(p, mc, Model{}, false, ref.find)))
			}
		}
	}
	for provider, server := range found.Providers {
		for _, f := range server.Models {
			if !known(provider, f.ID) && r.current(provider, server) {
				byProvider[provider] = append(byProvider[provider], r.finish(r.fromServer(provider, f, ref.find)))
			}
		}
	}
	return r.newIndex(byProvider, ref)
}

func (r *Registry) newIndex(byProvider map[string][]*Model, ref *reference) *index {
	ix := &index{
		byRef: make(map[string]*Model, 1024), byID: make(map[string][]*Model, 1024), canonical: make(map[string][]*Model, 1024),
		canonOf: make(map[*Model]string, 1024), rank: r.providerRank(), reference: ref,
	}
	providers := make([]string, 0, len(byProvider))
	for p := range byProvider {
		providers = append(providers, p)
	}
	slices.SortFunc(providers, func(a, b string) int {
		return cmp.Or(cmp.Compare(place(ix.rank, a), place(ix.rank, b)), strings.Compare(a, b))
	})
	for _, p := range providers {
		for _, m := range byProvider[p] {
			ix.all = append(ix.all, m)
			ix.byRef[m.Ref()] = m
			id := strings.ToLower(m.ID)
			ix.byID[id] = append(ix.byID[id], m)
			if c, ok := r.canonicalID(m, ref); ok {
				ix.canonical[c] = append(ix.canonical[c], m)
				ix.canonOf[m] = c
			}
		}
	}
	return ix
}

// cacheFile is a file in the cache folder, or "" where there is none.
func cacheFile(cache, name string) string {
	if cache == "" {
		return ""
	}
	return filepath.Join(cache, name)
}
