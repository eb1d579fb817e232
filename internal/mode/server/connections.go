package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/session/remote"
)

// Connections are the providers of models, whose keys can be set and never read.
type Connections interface {
	List(ctx context.Context) ([]host.Connection, error)
	Add(ctx context.Context, provider, label, key string) (id int64, err error)
	Remove(ctx context.Context, id int64) error
	Try(ctx context.Context, provider, model string) (host.Tried, error)
	Own(provider string) (host.OwnProvider, error)
	Ask(ctx context.Context, in host.AskServer) (host.ServerModels, error)
	SetOwn(ctx context.Context, provider string, in host.SetProvider) (host.SavedProvider, error)
	RemoveOwn(ctx context.Context, provider string) (host.SavedProvider, error)
}

// Bodies about providers.
type (
	// NewKey is a key to store.
	NewKey struct {
		Key   string `json:"key"`
		Label string `json:"label,omitempty"` // to tell it from others
	}
	// KeyID names a stored key.
	KeyID struct {
		ID int64 `json:"id"`
	}
	// TryModel says what to ask.
	TryModel struct {
		Model string `json:"model,omitempty"` // of the provider; "" is its cheapest one
	}
)

// connectionRoutes are the operations of admins on providers.
func connectionRoutes(s *Server) []route {
	a, c := s.accounts(), s.o.Connections
	all := []route{
		about(a, "GET", "/v1/admin/providers", "Lists the providers of models, without secrets.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]host.Connection, error) {
			return c.List(r.Context())
		}),
		about(a, "POST", "/v1/admin/providers/{id}/keys", "Stores a key of a provider, sealed. It is never given out.", func(_ http.ResponseWriter, r *http.Request, in NewKey) (KeyID, error) {
			id, err := c.Add(r.Context(), r.PathValue("id"), in.Label, in.Key)
			if errors.Is(err, host.ErrUnknownProvider) || errors.Is(err, host.ErrNotKey) {
				err = people.InputError{Field: "key", Wrong: err.Error()}
			}
			if err == nil {
				err = people.Note(r.Context(), a.people, by(r), "key.add", person(r), "provider "+r.PathValue("id"))
			}
			return KeyID{id}, err
		}),
		about(a, "POST", "/v1/admin/providers/{id}/try", "Asks a provider for a word, which costs next to nothing, and says how it answers.", func(_ http.ResponseWriter, r *http.Request, in TryModel) (host.Tried, error) {
			tried, err := c.Try(r.Context(), r.PathValue("id"), in.Model)
			if errors.Is(err, host.ErrUnknownProvider) {
				err = people.InputError{Field: "id", Wrong: err.Error()}
			}
			return tried, err
		}),
		about(a, "POST", "/v1/admin/keys/{id}/remove", "Removes a stored key.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
			id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // what is no number is no key's
			err = c.Remove(r.Context(), id)
			if errors.Is(err, host.ErrUnknownKey) {
				err = people.InputError{Field: "id", Wrong: err.Error()}
			}
			if err != nil {
				return none, err
			}
			return none, people.Note(r.Context(), a.people, by(r), "key.remove", person(r), "key "+strconv.FormatInt(id, 10))
		}),
	}
	all = append(all, ownProviderRoutes(a, c)...)
	for i := range all {
		all[i].role, all[i].needs = people.Admin, remote.Own
	}
	return all
}

// ownProviderRoutes are the operations on providers of models.yml.
func ownProviderRoutes(a accounts, c Connections) []route {
	// wrong is an error as somebody reads it who has given something.
	wrong := func(err error) error {
		if errors.Is(err, host.ErrProvider) || errors.Is(err, host.ErrUnknownProvider) {
			field, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), host.ErrProvider.Error()+": "), ": ")
			return people.InputError{Field: field, Wrong: text}
		}
		return err
	}
	note := func(r *http.Request, what string, is host.SavedProvider, err error) (host.SavedProvider, error) {
		if err == nil && is.Written {
			err = people.Note(r.Context(), a.people, by(r), what, person(r), "provider "+r.PathValue("id"))
		}
		return is, wrong(err)
	}
	return []route{
		about(a, "GET", "/v1/admin/providers/{id}", "Gives a provider of models.yml, without keys and headers.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (host.OwnProvider, error) {
			is, err := c.Own(r.PathValue("id"))
			return is, wrong(err)
		}),
		about(a, "POST", "/v1/admin/providers/{id}", "Adds a provider to models.yml, or changes it there; comments and what isn't named stay. Where the file can't be changed, the answer says why, and has what to write by hand.", func(_ http.ResponseWriter, r *http.Request, in host.SetProvider) (host.SavedProvider, error) {
			is, err := c.SetOwn(r.Context(), r.PathValue("id"), in)
			return note(r, "provider.set", is, err)
		}),
		about(a, "POST", "/v1/admin/providers/{id}/remove", "Removes a provider from models.yml, with its stored keys if burin doesn't know it by itself.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (host.SavedProvider, error) {
			is, err := c.RemoveOwn(r.Context(), r.PathValue("id"))
			return note(r, "provider.remove", is, err)
		}),
		about(a, "POST", "/v1/admin/models", "Asks a server which models it has, within 15 seconds. Addresses of this machine and its network only with local.", func(_ http.ResponseWriter, r *http.Request, in host.AskServer) (host.ServerModels, error) {
			return c.Ask(r.Context(), in)
		}),
	}
}
