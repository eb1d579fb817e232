package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/session/remote"
)

// PreferencesChange is what is different in the preferences; what isn't given stays as it is.
type PreferencesChange struct {
	Revision     int64             `json:"revision,omitempty"` // as in a change of a project
	Instructions string            `json:"instructions,omitempty"`
	Prompts      []project.Prompt  `json:"prompts,omitempty"`  // all of them
	Personas     []project.Persona `json:"personas,omitempty"` // all of them
}

// NewShare is a link to make.
type NewShare struct {
	Days int `json:"days,omitempty"` // for which it is valid; missing: until it is removed
}

// MadeShare is a link that was made. Its secret is shown once.
type MadeShare struct {
	Share project.Share `json:"share"`
	Path  string        `json:"path"` // of the page, on this server
}

// ShareSecret opens a share.
type ShareSecret struct {
	Secret string `json:"secret"`
}

const (
	usageDays    = 30
	maxUsageDays = 400
)

// own are operations on what a person has around their projects: preferences, what they have spent, and links.
type own struct{ s *Server }

func (o own) routes() []route {
	return []route{
		{
			verb: "GET", path: "/v1/preferences", needs: remote.Watch, about: "Gives what you have set for all of your projects.",
			out: reflect.TypeFor[project.Preferences](), serve: o.preferences,
		},
		{
			verb: "PATCH", path: "/v1/preferences", needs: remote.Steer, about: "Changes what you have set for all of your projects. Chats take it up when they are opened next.",
			in: reflect.TypeFor[PreferencesChange](), out: reflect.TypeFor[project.Preferences](), serve: o.setPreferences,
		},
		{verb: "DELETE", path: "/v1/preferences", needs: remote.Steer, about: "Removes what you have set for all of your projects, if it can't be opened.", serve: o.resetPreferences},
		{
			verb: "GET", path: "/v1/usage", needs: remote.Watch, about: "Says what your chats have cost, by day (in UTC), project and model.",
			query: []parameter{{"days", "of how many days, today among them, up to 400. Without it 30"}},
			out:   reflect.TypeFor[[]quota.Spent](), serve: o.usage,
		},
		{
			verb: "GET", path: "/v1/shares", needs: remote.Watch, about: "Lists the links with which others read copies of your chats.",
			query: []parameter{{"chat", "only those of the chat with this id"}},
			out:   reflect.TypeFor[[]project.Share](), serve: o.shares,
		},
		{
			verb: "POST", path: "/v1/chats/{id}/shares", needs: remote.Steer, about: "Makes a link with which anybody reads a copy of the chat as it is now. It is shown once.",
			in: reflect.TypeFor[NewShare](), out: reflect.TypeFor[MadeShare](), created: true, serve: o.share,
		},
		{verb: "DELETE", path: "/v1/shares/{id}", needs: remote.Steer, about: "Removes a link; nobody reads the copy any more.", serve: o.unshare},
		{
			verb: "POST", path: "/v1/shared/{id}", open: true, about: "Gives the copy of a chat to who has the link.",
			in: reflect.TypeFor[ShareSecret](), out: reflect.TypeFor[project.Shared](), serve: o.shared,
		},
	}
}

func (o own) preferences(w http.ResponseWriter, r *http.Request) {
	is, err := project.PreferencesOf(r.Context(), o.s.o.Projects, person(r))
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, is)
}

func (o own) setPreferences(w http.ResponseWriter, r *http.Request) {
	var c PreferencesChange
	over, ok := change(w, r, &c)
	if !ok {
		return
	}
	for _, p := range c.Personas {
		if !mayUse(o.s, w, r, p.Model) {
			return
		}
	}
	is, err := project.SetPreferences(r.Context(), o.s.o.Projects, person(r), c.Revision, func(p *project.Preferences) error {
		// JSON would lay new elements over old ones.
		was := *p
		p.Prompts, p.Personas = nil, nil
		err := over(p)
		if p.Prompts == nil && c.Prompts == nil {
			p.Prompts = was.Prompts
		}
		if p.Personas == nil && c.Personas == nil {
			p.Personas = was.Personas
		}
		p.Revision = was.Revision
		return err
	})
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, is)
}

func (o own) resetPreferences(w http.ResponseWriter, r *http.Request) {
	if err := project.ResetPreferences(r.Context(), o.s.o.Projects, person(r)); err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, struct{}{})
}

func (o own) usage(w http.ResponseWriter, r *http.Request) {
	n := usageDays
	if given := r.URL.Query().Get("days"); given != "" {
		var err error
		if n, err = strconv.Atoi(given); err != nil || n < 1 || n > maxUsageDays {
			fail(w, http.StatusBadRequest, "", fmt.Errorf("days: %q is not a number from 1 to %d", given, maxUsageDays))
			return
		}
	}
	all, err := o.s.o.Spent(r.Context(), person(r), n)
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

func (o own) shares(w http.ResponseWriter, r *http.Request) {
	all, err := project.Shares(r.Context(), o.s.o.Projects, person(r), r.URL.Query().Get("chat"))
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

// noted says in the log who shares what.
func (o own) noted(r *http.Request, what, detail string) func(store.Querier) error {
	return func(q store.Querier) error {
		return people.Noted(r.Context(), o.s.o.People, q, by(r), what, person(r), detail)
	}
}

func (o own) share(w http.ResponseWriter, r *http.Request) {
	var n NewShare
	if !read(w, r, &n) {
		return
	}
	until, err := days(n.Days)
	if err != nil {
		fail(w, http.StatusBadRequest, "", err)
		return
	}
	id := r.PathValue("id")
	is, secret, err := project.NewShare(r.Context(), o.s.o.Projects, person(r), id, until, o.noted(r, "share.add", "chat "+id))
	if err != nil {
		failed(w, err)
		return
	}
	// What is behind # reaches no server and no log.
	answer(w, http.StatusCreated, MadeShare{is, "/share/" + is.ID + "#" + secret})
}

func (o own) unshare(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if err := project.RemoveShare(r.Context(), o.s.o.Projects, person(r), id, o.noted(r, "share.remove", "link "+id)); err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, struct{}{})
}

func (o own) shared(w http.ResponseWriter, r *http.Request) {
	var given ShareSecret
	if !read(w, r, &given) {
		return
	}
	is, whose, err := project.OpenShare(r.Context(), o.s.o.Projects, r.PathValue("id"), given.Secret)
	if err == nil {
		err = o.shows(r.Context(), whose)
	}
	if errors.Is(err, project.ErrUnknown) {
		fail(w, http.StatusNotFound, "", errors.New("the link isn't complete, has expired, or was removed: ask for a new one"))
		return
	}
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, json.RawMessage(is))
}

// shows says why nothing of a person is shown: they may not use the server any more.
func (o own) shows(ctx context.Context, person string) error {
	is, err := o.s.o.People.Get(ctx, person)
	if err == nil && is.Disabled || errors.Is(err, people.ErrUnknown) {
		return project.ErrUnknown
	}
	return err
}
