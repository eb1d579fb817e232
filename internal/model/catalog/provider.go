package catalog

import (
	"cmp"
	"context"
	"errors"
	"net/http"
)

// Provider is what is known of a provider as a whole.
type Provider struct {
	ID string
	// APIKey and APIKeyEnv are references as in [Model].
	APIKey, APIKeyEnv string
	Auth              Auth
	// Configured says that models.yml gives the provider an address of its own.
	Configured bool
	// Name and Icon are what people see instead of the id, if models.yml says so.
	Name, Icon string
}

// Own is a provider as models.yml has it, without keys and headers.
type Own struct {
	API, Address, Name, Icon string
	Auth                     Auth
	// Keyed says that the file names a key, or headers, which may have one: of the provider or of one of its models.
	Keyed  bool
	Models []string // their ids
}

// Own is what models.yml says of a provider, if it does.
func (r *Registry) Own(id string) (Own, bool) {
	p := r.sources.provider(id)
	if p == nil {
		return Own{}, false
	}
	is := Own{API: string(p.API), Address: string(p.BaseURL), Name: p.Name, Icon: string(p.Icon), Auth: p.Auth, Keyed: p.APIKey != "" || p.APIKeyEnv != "" || headed(p.Headers, p.RequestTransform)}
	for _, m := range p.Models {
		is.Models = append(is.Models, m.ID)
		is.Keyed = is.Keyed || headed(m.Headers, m.RequestTransform)
	}
	for _, o := range p.ModelOverrides {
		is.Keyed = is.Keyed || headed(o.Headers, o.RequestTransform)
	}
	return is, true
}

// headed says that requests get headers.
func headed(headers map[headerName]string, t *transformConfig) bool {
	return len(headers) > 0 || t != nil && len(t.SetHeaders) > 0
}

// BuiltIn says whether burin knows a provider without models.yml.
func (r *Registry) BuiltIn(id string) bool {
	return r.sources.table.hasProvider(id) || localServers[id].port != 0
}

// File is the file that the providers come from: models.yml, or one with another name. "" is none.
func (r *Registry) File() string { return r.sources.file }

// Check reports what is wrong with the text of a models.yml.
func (r *Registry) Check(file string, text []byte) error {
	_, err := parseConfig(file, text, r.sources.table)
	return err
}

// Asked is a model that a server says it has.
type Asked struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Window int    `json:"window,omitempty"` // tokens
}

// AskList asks a server that may be in no file yet which models it has, with a key or "". It takes 15 seconds at most.
func AskList(ctx context.Context, client *http.Client, api, address, key string) ([]Asked, error) {
	p := &providerConfig{API: apiName(api)}
	t := target{provider: "server", api: p.api(""), baseURL: address, limit: remoteLimit}
	if err := cmp.Or(p.API.check(), baseURL(address).check()); err != nil {
		return nil, err
	}
	if api == apiOllama {
		t.kind = DiscoverOllama
	} else if !listable[t.api.Family()] {
		return nil, errors.New("servers of this wire format have no list of models that can be asked for: type the ids")
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	s := &Servers{client: client, key: func(context.Context, string) (string, error) { return key, nil }}
	found, err := s.ask(ctx, t)
	all := []Asked{}
	for _, m := range found {
		all = append(all, Asked{m.ID, m.Name, m.Context})
	}
	return all, err
}

// Provider describes a provider that is known: see [Registry.Knows].
func (r *Registry) Provider(id string) (Provider, bool) {
	if !r.Knows(id) {
		return Provider{}, false
	}
	out := Provider{ID: id, Auth: AuthKey}
	if s, ok := localServers[id]; ok {
		out.Auth, out.APIKeyEnv = s.auth(r.sources.getenv)
	}
	if p := r.sources.provider(id); p != nil {
		out.APIKey, out.APIKeyEnv = p.APIKey, p.APIKeyEnv
		out.Configured, out.Name, out.Icon = p.BaseURL != "", p.Name, string(p.Icon)
		if p.Auth != "" {
			out.Auth = p.Auth
		}
	}
	return out, true
}
