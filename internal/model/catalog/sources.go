package catalog

import (
	"cmp"
	"slices"

	"github.com/burin-dev/burin/llm"
)

// sources are what is known of models before any server is asked: the table and
// models.yml. They never change. Models are made here.
type sources struct {
	table  table
	config config
	file   string // of config; "" = none
	getenv func(string) string

	settings, flags Tuning // models.yml stands between them
}

// provider is what models.yml says of a provider, or nil.
func (s *sources) provider(id string) *providerConfig {
	for _, p := range s.config.Providers {
		if p.id == id {
			return p
		}
	}
	return nil
}

// knows says whether the provider is built in, in models.yml, or a local server
// burin can look for.
func (s *sources) knows(provider string) bool {
	return s.table.hasProvider(provider) || s.provider(provider) != nil || localServers[provider].port != 0
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
func (s *sources) finish(m *Model) *Model {
	p := s.provider(m.Provider)
	if m.Origin != OriginConfig { // a model of the file has had them already
		p.fill(m)
	}
	if p != nil {
		if o := p.ModelOverrides[m.ID]; o != nil {
			o.lay(m)
		}
	}
	s.tune(m)
	m.BaseURL, m.Needs = expandURL(m.BaseURL, s.getenv)
	if m.Auth == "" {
		m.Auth = AuthKey
	}
	return m
}

// custom makes the model that models.yml describes. What it does not state
// comes from the built-in model of the same name, or else from the vendor's own
// model of that id.
func (s *sources) custom(p *providerConfig, mc *modelConfig, built Model, isBuilt bool, ref func(string) (*Model, bool)) *Model {
	m := Model{}
	if isBuilt {
		m = built
	} else {
		m.Provider, m.ID = p.id, mc.ID
		m.API = p.api(s.table.firstAPI(p.id))
		s.table.connect(&m)
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

// referenceFor finds the vendor's model of an id without reading all models.
func (s *sources) referenceFor(id string) (*Model, bool) {
	return s.table.referenceTable().find(id)
}

// fromServer makes a model that only its server lists.
func (s *sources) fromServer(provider string, f foundModel, ref func(string) (*Model, bool)) *Model {
	m := Model{Origin: OriginDiscovered}
	m.Provider, m.ID, m.Name = provider, f.ID, f.Name
	m.ContextWindow, m.MaxOutput, m.Price = f.Context, f.Output, f.price()
	m.Input = commonInput["text"]
	if f.Image {
		m.Input = commonInput["text,image"]
	}
	if t, err := s.target(provider); err == nil {
		m.API = t.api
		s.table.connect(&m)
		m.BaseURL, m.Auth, m.APIKeyEnv, m.Discovery = t.baseURL, t.auth, t.keyEnv, t.kind
		if t.kind != "" {
			m.BaseURL = openAIBase(m.BaseURL)
		}
	}
	if f.Thinking {
		m.Thinking = llm.ThinkingSupport{Mode: modeFor(m.API)}
	}
	borrow(&m, ref)
	if m.Name == "" {
		m.Name = m.ID
	}
	return &m
}

// unlisted makes a model that no source lists, of a known provider or of the server
// at baseURL: see [Registry.Unlisted].
func (s *sources) unlisted(provider, id string, api llm.API, baseURL string) *Model {
	m := Model{BaseURL: baseURL, Origin: OriginUnlisted}
	m.Provider, m.ID, m.Name, m.Input = provider, id, id, commonInput["text"]
	p := s.provider(provider)
	m.API = cmp.Or(api, p.api(s.table.firstAPI(provider)), llm.APICompletions)
	s.table.connect(&m)
	if local, ok := localServers[provider]; ok && baseURL == "" {
		m.BaseURL = openAIBase(local.address(s.getenv))
		m.Auth, m.APIKeyEnv = local.auth(s.getenv)
	}
	borrow(&m, s.referenceFor)
	out := s.finish(&m)
	if baseURL != "" {
		out.BaseURL, out.Needs = baseURL, nil
	}
	if isLoopback(out.BaseURL) && p == nil && out.APIKeyEnv == "" {
		out.Auth = AuthNone
	}
	return out
}

// canonicalID is the official id under which a model is grouped with the same
// model of other providers: what models.yml says, else the id itself if it is
// official, else the official id it is a gateway's form of, else its own id.
// ok is false for models that models.yml keeps out of groups.
func (s *sources) canonicalID(m *Model, ref *reference) (id string, ok bool) {
	if to, stated := s.config.Equivalence.Overrides[modelRef(m.Ref())]; stated {
		return to, true
	}
	if slices.Contains(s.config.Equivalence.Exclude, modelRef(m.Ref())) {
		return "", false
	}
	for _, form := range officialForms(m.ID) {
		if v := ref.official[form]; v != nil {
			return v.ID, true
		}
	}
	return m.ID, true
}
