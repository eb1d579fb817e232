package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/llm"
)

// Registry is the table of models and providers: which there are, and which of
// them can be used.
type Registry struct {
	sources    *sources
	answers    *answers
	order      []string        // of providers, as the user wants it
	disabled   map[string]bool // providers
	credential func(provider string) bool

	mu    sync.Mutex
	index *index // nil = not built
}

// index is everything that needs all models.
type index struct {
	found     *discoveries // what servers had said when it was built
	all       []*Model
	byRef     map[string]*Model
	byID      map[string][]*Model // lower-case id
	groups    func() groups       // made at the first call: most starts need no canonical ids
	rank      map[string]int      // place of a provider
	reference *reference
}

// groups are the models that are the same model.
type groups struct {
	variants map[string][]*Model // by canonical id, in order of preference
	of       map[*Model]string
}

// Date is the day of the built-in facts, YYYY-MM-DD.
func (r *Registry) Date() string { return r.sources.table.head("date") }

// Source says where the built-in facts are from.
func (r *Registry) Source() string { return r.sources.table.head("source") }

// Knows says whether there is a provider of that name: built in, in models.yml,
// or a local server burin can look for.
func (r *Registry) Knows(provider string) bool { return r.sources.knows(provider) }

// Providers lists the ids of all providers in the order of preference.
func (r *Registry) Providers() []string {
	ids := r.sources.table.providers()
	for _, p := range r.sources.config.Providers {
		ids = append(ids, p.id)
	}
	for id := range r.answers.get().Providers {
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
	for _, id := range r.order {
		add(id)
	}
	for _, d := range defaultModels {
		add(d.provider)
	}
	for _, p := range r.sources.config.Providers {
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
	if ix := r.fresh(); ix != nil {
		m, ok := ix.byRef[provider+"/"+id]
		return m, ok
	}
	s := r.sources
	built, ok, _ := s.table.model(provider, id)
	p := s.provider(provider)
	if p != nil {
		if mc := p.model(id); mc != nil {
			return s.finish(s.custom(p, mc, built, ok, s.referenceFor)), true
		}
	}
	found, isFound := r.answers.get().model(provider, id)
	switch {
	case ok:
		if isFound {
			found.refresh(&built)
		}
		return s.finish(&built), true
	case isFound:
		return s.finish(s.fromServer(provider, found, s.referenceFor)), true
	}
	return nil, false
}

// Nearest are up to three models whose ids are nearest to what was typed, the nearest first.
func (r *Registry) Nearest(typed string) []string {
	typed = strings.ToLower(strings.ReplaceAll(typed, " ", "-"))
	if typed == "" {
		return nil
	}
	ids := map[string]string{}
	var known []string
	for _, m := range r.All() {
		id := strings.ToLower(m.ID[strings.LastIndexByte(m.ID, '/')+1:])
		if _, ok := ids[id]; !ok {
			ids[id] = m.Ref()
			known = append(known, id)
		}
	}
	var refs []string
	for _, id := range nearest(typed, known, 3) {
		refs = append(refs, ids[id])
	}
	return refs
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
	return r.sources.unlisted(provider, id, api, baseURL), nil
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
	case m.APIKeyEnv != "" && r.sources.getenv(m.APIKeyEnv) != "",
		m.APIKey != "" && (r.sources.getenv(m.APIKey) != "" || !looksLikeVariable(m.APIKey)):
		return true
	}
	return r.credential == nil || r.credential(m.Provider)
}

// Cheapest is the model of a provider whose answers cost least; nil where it has none.
func (r *Registry) Cheapest(provider string) *Model {
	var best *Model
	for _, m := range r.All() {
		if m.Provider == provider && (best == nil || m.Price.Output.Known() && m.Price.Output.Dollars() < best.Price.Output.Dollars()) {
			best = m
		}
	}
	return best
}

// usable says whether some model of the provider can be used.
func (r *Registry) usable(provider string) bool {
	return slices.ContainsFunc(r.All(), func(m *Model) bool { return m.Provider == provider && r.Available(m) })
}

// enabled leaves out models of disabled providers.
func (r *Registry) enabled(models []*Model) []*Model {
	return slices.DeleteFunc(models, func(m *Model) bool { return r.disabled[m.Provider] })
}

// unserved are providers whose service wants headers that name another program.
// burin does not send them; whoever may can write them in models.yml.
var unserved = map[string]bool{"github-copilot": true}

// looksLikeVariable says whether a key is rather the name of a variable that is
// not set: sending the name itself as the key helps nobody.
func looksLikeVariable(key string) bool {
	return strings.Contains(key, "_") && strings.ToUpper(key) == key && !strings.ContainsAny(key, "-.+/= ")
}

// fresh is the index of all models if there is one that holds what servers have
// said so far, or nil.
func (r *Registry) fresh() *index {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil || r.index.found != r.answers.get() {
		return nil
	}
	return r.index
}

// indexed is the index of all models. It is built on first use, and after servers
// have said something new.
func (r *Registry) indexed() *index {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.answers.get(); r.index == nil || r.index.found != found {
		r.index = r.build(found)
	}
	return r.index
}

func (r *Registry) build(found *discoveries) *index {
	s := r.sources
	built, _ := s.table.all() // a defect was refused when the table was taken over
	ref := newReference(built)
	byProvider := map[string][]*Model{}
	for i := range built {
		m := &built[i]
		p := s.provider(m.Provider)
		if p != nil && p.model(m.ID) != nil {
			m = s.finish(s.custom(p, p.model(m.ID), *m, true, ref.find))
		} else {
			copied := *m
			if f, ok := found.model(m.Provider, m.ID); ok {
				f.refresh(&copied)
			}
			m = s.finish(&copied)
		}
		byProvider[m.Provider] = append(byProvider[m.Provider], m)
	}
	known := func(provider, id string) bool {
		return slices.ContainsFunc(byProvider[provider], func(m *Model) bool { return m.ID == id })
	}
	for _, p := range s.config.Providers {
		for _, mc := range p.Models {
			if !known(p.id, mc.ID) {
				byProvider[p.id] = append(byProvider[p.id], s.finish(s.custom(p, mc, Model{}, false, ref.find)))
			}
		}
	}
	for provider, server := range found.Providers {
		for _, f := range server.Models {
			if !known(provider, f.ID) && s.current(provider, server) {
				byProvider[provider] = append(byProvider[provider], s.finish(s.fromServer(provider, f, ref.find)))
			}
		}
	}
	return r.newIndex(byProvider, ref, found)
}

func (r *Registry) newIndex(byProvider map[string][]*Model, ref *reference, found *discoveries) *index {
	ix := &index{
		found: found,
		byRef: make(map[string]*Model, 1024), byID: make(map[string][]*Model, 1024),
		rank: r.providerRank(), reference: ref,
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
		}
	}
	ix.groups = sync.OnceValue(func() groups {
		g := groups{variants: make(map[string][]*Model, len(ix.all)), of: make(map[*Model]string, len(ix.all))}
		for _, m := range ix.all {
			if c, ok := r.sources.canonicalID(m, ref); ok {
				g.variants[c] = append(g.variants[c], m)
				g.of[m] = c
			}
		}
		return g
	})
	return ix
}
