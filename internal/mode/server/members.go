package server

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/session/remote"
)

// MemberRight is what a member may do.
type MemberRight struct {
	Right project.Right `json:"right"` // read: sees settings and files, and has chats in the project; write: changes settings and files, too
}

// members are the operations on those with whom projects are shared.
type members struct{ s *Server }

func (m members) routes() []route {
	const at = "/v1/projects/{id}/members"
	all := reflect.TypeFor[[]project.Member]()
	return []route{
		{
			verb: "GET", path: at, needs: remote.Watch, about: "Lists with whom a project is shared, for its owner and its members.",
			out: all, serve: m.list,
		},
		{
			verb: "PUT", path: at + "/{name}", needs: remote.Steer, about: "Shares a project of yours with a person of this server, or changes what they may do.",
			in: reflect.TypeFor[MemberRight](), out: all, serve: m.put,
		},
		{
			verb: "DELETE", path: at + "/{name}", needs: remote.Steer,
			about: "Ends that a project is shared with somebody, who keeps their chats: its owner does that, or they themselves.",
			serve: m.remove,
		},
	}
}

func (m members) list(w http.ResponseWriter, r *http.Request) {
	all, err := project.MembersOf(r.Context(), m.s.o.Projects, person(r), r.PathValue("id"))
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

// noted says in the log who shares what with whom.
func (m members) noted(r *http.Request, what, target, detail string) func(store.Querier) error {
	return func(q store.Querier) error {
		return people.Noted(r.Context(), m.s.o.People, q, by(r), what, target, detail)
	}
}

func (m members) put(w http.ResponseWriter, r *http.Request) {
	var body MemberRight
	if !read(w, r, &body) {
		return
	}
	id := r.PathValue("id")
	is, err := m.s.o.People.Named(r.Context(), r.PathValue("name"))
	if err == nil && is.Disabled { // as if they weren't there
		err = fmt.Errorf("%w person %q", people.ErrUnknown, is.Name)
	}
	if err == nil {
		err = project.SetMember(r.Context(), m.s.o.Projects, person(r), id, is.ID, body.Right, m.noted(r, "member.set", is.ID, fmt.Sprintf("project %s: %s", id, body.Right)))
	}
	if err != nil {
		failed(w, err)
		return
	}
	m.list(w, r)
}

func (m members) remove(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	is, err := m.s.o.People.Named(r.Context(), r.PathValue("name"))
	var chats []string
	if err == nil {
		chats, err = project.RemoveMember(r.Context(), m.s.o.Projects, person(r), id, is.ID, m.noted(r, "member.remove", is.ID, "project "+id))
	}
	if err != nil {
		failed(w, err)
		return
	}
	for _, chat := range chats { // other servers end theirs by themselves
		m.s.endChat(r.Context(), chat)
	}
	answer(w, http.StatusOK, struct{}{})
}
