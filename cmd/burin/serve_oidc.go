package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/burin-dev/burin/internal/chat/oidc"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/customize/config"
)

// providers are those of the setting server.oidc, by name.
func providers(set map[string]config.OIDC, getenv func(string) string) (all []*oidc.Provider, err error) {
	for _, id := range slices.Sorted(maps.Keys(set)) {
		is := set[id]
		p := &oidc.Provider{
			ID: id, Label: cmp.Or(is.Label, id), Issuer: is.Issuer, ClientID: is.ClientID,
			Scopes: is.Scopes, Domains: is.Domains, Groups: is.Groups,
			GroupsClaim: cmp.Or(is.GroupsClaim, "groups"), NameClaim: cmp.Or(is.NameClaim, "preferred_username"), Admit: is.Admit,
		}
		if p.Scopes == nil {
			p.Scopes = []string{"profile", "email"}
		}
		err := p.Check()
		if err == nil && is.ClientSecretEnv != "" {
			if p.Secret = getenv(is.ClientSecretEnv); p.Secret == "" {
				err = fmt.Errorf("clientSecretEnv: the variable %s is not set", is.ClientSecretEnv)
			}
		}
		if err == nil && p.Admit != "" && !people.Role(p.Admit).Known() {
			err = fmt.Errorf("admit: must be admin, member or viewer, not %q", p.Admit)
		}
		if err != nil {
			return nil, fmt.Errorf("config.yml: server.oidc.%s: %w", id, err)
		}
		all = append(all, p)
	}
	return all, nil
}
