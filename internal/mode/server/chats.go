package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// ProjectChange is what is different in a project; what isn't given stays as it is.
type ProjectChange struct {
	Revision int64 `json:"revision,omitempty"` // that it is made of; another one in between gets 409. 0 changes whatever is there
	project.Settings
}

// ChatChange is what is different about a chat; what isn't given stays as it is.
type ChatChange struct {
	Revision int64  `json:"revision,omitempty"` // as in a change of a project
	Project  string `json:"project,omitempty"`  // to move it there
	project.About
}

// NewChat says how a chat begins.
type NewChat struct {
	Project string `json:"project,omitempty"` // "" is the project that each person has without making one
	Title   string `json:"title,omitempty"`   // else its first words become it
	Model   string `json:"model,omitempty"`   // a selector, in place of the project's
	// Thinking is in place of the project's, and Instructions are added to those of the project.
	Thinking     string `json:"thinking,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Temporary: the chat is in no list and is not found, and is removed a day after its last use.
	Temporary bool           `json:"temporary,omitempty"`
	Message   *session.Input `json:"message,omitempty"` // is submitted at once
}

// ForkChat says where a chat is forked.
type ForkChat struct {
	Entry string `json:"entry,omitempty"` // of its tree, the last of what is copied; "" is the newest
}

// BegunChat is a chat that has begun.
type BegunChat struct {
	Chat    project.Chat     `json:"chat"`
	Receipt *session.Receipt `json:"receipt,omitempty"` // of the message
}

// chatRoutes are the operations on projects and chats. What happens in a chat is that of a
// session, under its id.
func (s *Server) chatRoutes() []route {
	trash := parameter{"trash", "true: those in the trash"}
	oneProject, oneChat := reflect.TypeFor[project.Project](), reflect.TypeFor[project.Chat]()
	return []route{
		{
			verb: "GET", path: "/v1/projects", needs: remote.Watch, about: "Lists your projects and those that are shared with you, the last used first.",
			query: []parameter{trash}, out: reflect.TypeFor[[]project.Project](), serve: s.listProjects,
		},
		{
			verb: "POST", path: "/v1/projects", needs: remote.Steer, about: "Makes a project.",
			in: reflect.TypeFor[project.Settings](), out: oneProject, created: true, serve: s.newProject,
		},
		{
			verb: "GET", path: "/v1/projects/{id}", needs: remote.Watch, about: "Gives a project.", out: oneProject,
			serve: one(s, s.o.Projects.Project),
		},
		{
			verb: "PATCH", path: "/v1/projects/{id}", needs: remote.Steer, about: "Changes the settings of a project. Chats take them up when they are opened next.",
			in: reflect.TypeFor[ProjectChange](), out: oneProject, serve: s.setProject,
		},
		{
			verb: "DELETE", path: "/v1/projects/{id}", needs: remote.Steer, about: "Moves a project to the trash, with its chats and files. One in whose chats something is done gets 409.",
			query: []parameter{{"purge", "true: removes one that is in the trash for good"}}, serve: s.remove(s.trashProject, s.o.Projects.PurgeProject),
		},
		{verb: "POST", path: "/v1/projects/{id}/restore", needs: remote.Steer, about: "Takes a project out of the trash.", serve: s.restore(s.o.Projects.TrashProject)},
		{
			verb: "GET", path: "/v1/chats", needs: remote.Watch, about: "Lists your chats, the last used first.",
			query: []parameter{
				{"project", "only those of the project with this id"},
				trash,
				{"archived", "true: those that are archived"},
				{"before", "only those last used before this time, as 2026-01-31T12:00:00Z"},
				{"limit", "how many at most, up to 1000. Without it 100"},
			},
			out: reflect.TypeFor[[]project.Chat](), serve: s.listChats,
		},
		{
			verb: "POST", path: "/v1/chats", needs: remote.Steer, about: "Begins a chat. It is also a session, with the same id.",
			in: reflect.TypeFor[NewChat](), out: reflect.TypeFor[BegunChat](), created: true, serve: s.newChat,
		},
		{
			verb: "GET", path: "/v1/chats/{id}", needs: remote.Watch, about: "Gives what stands around a chat; GET /v1/sessions/{id} opens it.", out: oneChat,
			serve: one(s, s.o.Projects.Chat),
		},
		{
			verb: "PATCH", path: "/v1/chats/{id}", needs: remote.Steer, about: "Changes what stands around a chat, or moves it to another project. Instructions, thinking and what comes from the project count from the next message, or from the turn after one that runs.",
			in: reflect.TypeFor[ChatChange](), out: oneChat, serve: s.setChat,
		},
		{
			verb: "DELETE", path: "/v1/chats/{id}", needs: remote.Steer, about: "Moves a chat to the trash. One in which something is done gets 409.",
			query: []parameter{{"purge", "true: removes one that is in the trash for good"}}, serve: s.remove(s.trashChat, s.o.Projects.PurgeChat),
		},
		{
			verb: "GET", path: "/v1/models", needs: remote.Watch, about: "Lists the models that you may use.",
			out: reflect.TypeFor[[]host.Usable](), serve: func(w http.ResponseWriter, r *http.Request) { listModels(s, w, r) },
		},
		{verb: "POST", path: "/v1/chats/{id}/restore", needs: remote.Steer, about: "Takes a chat out of the trash.", serve: s.restore(s.o.Projects.TrashChat)},
		{
			verb: "POST", path: "/v1/chats/{id}/fork", needs: remote.Steer, about: "Begins a chat with what was said in another one.",
			in: reflect.TypeFor[ForkChat](), out: oneChat, created: true, serve: s.forkChat,
		},
	}
}

// one serves what a function gives for the id of the path.
func one[T any](s *Server, get func(ctx context.Context, person, id string) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		is, err := get(r.Context(), person(r), r.PathValue("id"))
		if err != nil {
			failed(w, err)
			return
		}
		answer(w, http.StatusOK, is)
	}
}

func (s *Server) listProjects(w http.ResponseWriter, r *http.Request) {
	all, err := s.o.Projects.Projects(r.Context(), person(r), r.URL.Query().Get("trash") == "true")
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

func listModels(s *Server, w http.ResponseWriter, r *http.Request) {
	all, err := s.o.Models(r.Context(), person(r))
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

// mayUse answers who may not use a model that they choose; "" is none.
func mayUse(s *Server, w http.ResponseWriter, r *http.Request, selector string) bool {
	if selector == "" {
		return true
	}
	err := s.o.MayUse(r.Context(), person(r), selector)
	if err != nil {
		failed(w, err)
	}
	return err == nil
}

func (s *Server) newProject(w http.ResponseWriter, r *http.Request) {
	settings := project.Settings{Tools: project.StandardTools()}
	if !read(w, r, &settings) || !mayUse(s, w, r, settings.Model) {
		return
	}
	p, err := s.o.Projects.NewProject(r.Context(), person(r), settings)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Location", "/v1/projects/"+p.ID)
	answer(w, http.StatusCreated, p)
}

// change reads the body of a change, and gives its revision and what lays it over something.
func change(w http.ResponseWriter, r *http.Request, of any) (over func(any) error, ok bool) {
	var raw json.RawMessage
	if !read(w, r, &raw) {
		return nil, false
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(of); err != nil && !errors.Is(err, io.EOF) {
		fail(w, http.StatusBadRequest, "", fmt.Errorf("read the request: %w", err))
		return nil, false
	}
	return func(v any) error { return json.Unmarshal(raw, v) }, true
}

func (s *Server) setProject(w http.ResponseWriter, r *http.Request) {
	var c ProjectChange
	over, ok := change(w, r, &c)
	if !ok {
		return
	}
	if c.Model != "" { // one that somebody else has chosen may stay
		is, err := s.o.Projects.Project(r.Context(), person(r), r.PathValue("id"))
		if (err != nil || is.Model != c.Model) && !mayUse(s, w, r, c.Model) {
			return
		}
	}
	p, err := s.o.Projects.SetProject(r.Context(), person(r), r.PathValue("id"), c.Revision, func(s *project.Settings) error { return over(s) })
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, p)
}

// remove moves something to the trash, or removes it for good.
func (s *Server) remove(trash func(ctx context.Context, person, id string, trash bool) error, purge func(ctx context.Context, person, id string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var err error
		if r.URL.Query().Get("purge") == "true" {
			err = purge(r.Context(), person(r), r.PathValue("id"))
		} else {
			err = trash(r.Context(), person(r), r.PathValue("id"), true)
		}
		if err != nil {
			failed(w, err)
			return
		}
		answer(w, http.StatusOK, struct{}{})
	}
}

func (s *Server) restore(trash func(ctx context.Context, person, id string, trash bool) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := trash(r.Context(), person(r), r.PathValue("id"), false); err != nil {
			failed(w, err)
			return
		}
		answer(w, http.StatusOK, struct{}{})
	}
}

// busy says that something is done in one of several chats, here or at another server.
func busy(ctx context.Context, s *Server, chats ...string) (bool, error) {
	open, err := s.o.Projects.Unsettled(ctx)
	for _, id := range chats {
		if s.o.Busy(id) || open[id] != "" && s.o.Moved(ctx, id) {
			return true, nil
		}
	}
	return false, err
}

func (s *Server) trashChat(ctx context.Context, person, id string, trash bool) error {
	if is, err := busy(ctx, s, id); err != nil {
		return err
	} else if is {
		return fmt.Errorf("%w: stop what is done in the chat first", session.ErrBusy)
	}
	if err := s.o.Projects.TrashChat(ctx, person, id, trash); err != nil {
		return err
	}
	s.endChat(ctx, id)
	return nil
}

func (s *Server) trashProject(ctx context.Context, person, id string, trash bool) error {
	chats, err := project.ChatsOf(ctx, s.o.Projects, person, id)
	if err != nil {
		return err
	}
	others, err := project.MembersChats(ctx, s.o.Projects, person, id) // who moves out
	if err != nil {
		return err
	}
	if is, err := busy(ctx, s, chats...); err != nil {
		return err
	} else if is {
		return fmt.Errorf("%w: stop what is done in the project's chats first", session.ErrBusy)
	}
	if err := s.o.Projects.TrashProject(ctx, person, id, trash); err != nil {
		return err
	}
	for _, chat := range slices.Concat(chats, others) { // what is open would still write files
		s.endChat(ctx, chat)
	}
	return nil
}

// endChat ends a chat that is in the trash now, if it is open.
func (s *Server) endChat(ctx context.Context, id string) {
	s.o.End(ctx, id)
	Ended(s, id)
}

func (s *Server) listChats(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	l := project.Listing{Project: q.Get("project"), Trash: q.Get("trash") == "true", Archived: q.Get("archived") == "true", Limit: defaultListed}
	if given := q.Get("limit"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 || n > 1000 {
			fail(w, http.StatusBadRequest, "", fmt.Errorf("limit: %q is not a number from 1 to 1000", given))
			return
		}
		l.Limit = n
	}
	if given := q.Get("before"); given != "" {
		t, err := time.Parse(time.RFC3339, given)
		if err != nil {
			fail(w, http.StatusBadRequest, "", fmt.Errorf("before: %q is not a time such as 2026-01-31T12:00:00Z", given))
			return
		}
		l.Before = t
	}
	all, err := s.o.Projects.Chats(r.Context(), person(r), l)
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

func (s *Server) newChat(w http.ResponseWriter, r *http.Request) {
	var n NewChat
	if !read(w, r, &n) || !mayUse(s, w, r, n.Model) {
		return
	}
	begin := s.o.Projects.NewChat
	if n.Temporary {
		begin = func(ctx context.Context, person, in string, about project.About) (project.Chat, error) {
			return project.NewTemporaryChat(ctx, s.o.Projects, person, in, about)
		}
	}
	c, err := begin(r.Context(), person(r), n.Project, project.About{Title: n.Title, Model: n.Model, Thinking: n.Thinking, Instructions: n.Instructions})
	if err != nil {
		failed(w, err)
		return
	}
	begun := BegunChat{Chat: c}
	if n.Message != nil {
		h, err := s.handle(r, c.ID)
		if err == nil {
			var receipt session.Receipt
			receipt, err = h.Conversation().Submit(r.Context(), *n.Message)
			begun.Receipt = &receipt
		}
		if err != nil { // a chat that nothing was said in is nothing to keep
			_ = s.o.Projects.TrashChat(context.WithoutCancel(r.Context()), person(r), c.ID, true)
			failed(w, err)
			return
		}
	}
	w.Header().Set("Location", "/v1/chats/"+c.ID)
	answer(w, http.StatusCreated, begun)
}

func (s *Server) setChat(w http.ResponseWriter, r *http.Request) {
	var c ChatChange
	over, ok := change(w, r, &c)
	if !ok || !mayUse(s, w, r, c.Model) {
		return
	}
	fresh, moved := false, false // what an open session has read
	if c.Project != "" {
		was, err := s.o.Projects.Chat(r.Context(), person(r), r.PathValue("id"))
		moved = err == nil && was.Project != c.Project
	}
	is, err := s.o.Projects.SetChat(r.Context(), person(r), r.PathValue("id"), c.Revision, c.Project, func(a *project.About) error {
		was := *a
		if err := over(a); err != nil {
			return err
		}
		a.Origin, a.Entry, a.Source, a.Cost = was.Origin, was.Entry, was.Source, was.Cost // they are facts
		fresh = a.Instructions != was.Instructions || a.Thinking != was.Thinking
		return nil
	})
	if err != nil {
		failed(w, err)
		return
	}
	if (fresh || moved) && !s.o.Busy(is.ID) { // a turn that runs goes on as it began, and ends the chat then
		holder, err := s.o.Projects.Holder(r.Context(), is.ID)
		s.endChat(r.Context(), is.ID)
		if err == nil {
			_ = project.Free(r.Context(), s.o.Projects, is.ID, holder) // without it, another server ends the chat when it is idle
		}
	}
	answer(w, http.StatusOK, is)
}

func (s *Server) forkChat(w http.ResponseWriter, r *http.Request) {
	var f ForkChat
	if !read(w, r, &f) {
		return
	}
	c, err := s.o.Projects.Fork(r.Context(), person(r), r.PathValue("id"), f.Entry)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Location", "/v1/chats/"+c.ID)
	answer(w, http.StatusCreated, c)
}
