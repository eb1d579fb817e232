package catalog

// Provider is what is known of a provider as a whole.
type Provider struct {
	ID string
	// APIKey and APIKeyEnv are references as in [Model].
	APIKey, APIKeyEnv string
	Auth              Auth
	// Configured says that models.yml gives the provider an address of its own.
	Configured bool
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
		out.Configured = p.BaseURL != ""
		if p.Auth != "" {
			out.Auth = p.Auth
		}
	}
	return out, true
}
