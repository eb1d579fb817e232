package server

import (
	"net/http"
	"reflect"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/session/remote"
)

// Folders are those in which a browser may begin sessions: the ones that the settings allow, or
// those in one of them.
type Folders struct {
	Path    string   `json:"path,omitempty"`  // whose folders they are; "": they are the allowed ones
	Above   string   `json:"above,omitempty"` // the folder above that may be looked at, too
	Folders []Folder `json:"folders"`
	More    bool     `json:"more,omitempty"` // there are more than are listed
}

// Folder is one of them.
type Folder struct {
	Name       string `json:"name"`
	Path       string `json:"path"`                 // absolute
	Repository bool   `json:"repository,omitempty"` // of git
}

// ForkSession says where a session is forked.
type ForkSession struct {
	Entry string `json:"entry,omitempty"` // the last one that the copy has; "": it has all of them, with all branches
}

// AgentSign stands between the id of a session and that of its sub-agent, which has a session of
// its own.
const AgentSign = ":"

// codingRoutes are the operations about sessions of this machine, besides those of each session.
func codingRoutes(o *Options) []route {
	return []route{{
		verb: "GET", path: "/v1/folders", needs: remote.Own, role: people.Admin, about: "Lists the folders in which a browser may begin sessions (server.folders), or those in one of them.",
		query: []parameter{{"path", "of an allowed folder, or one in it; without it the allowed ones"}},
		out:   reflect.TypeFor[Folders](), serve: func(w http.ResponseWriter, r *http.Request) { folders(o, w, r) },
	}, {
		verb: "POST", path: "/v1/sessions/{id}/fork", needs: remote.Own, role: people.Admin, about: "Begins a session with a copy of what was said up to an entry, or of all of it, in the same folder.",
		in: reflect.TypeFor[ForkSession](), out: reflect.TypeFor[Created](), created: true, serve: func(w http.ResponseWriter, r *http.Request) { forkSession(o, w, r) },
	}}
}

func forkSession(o *Options, w http.ResponseWriter, r *http.Request) {
	var f ForkSession
	if !read(w, r, &f) {
		return
	}
	id := r.PathValue("id")
	err := o.May(r.Context(), sender(r), id)
	var made Created
	if err == nil {
		made, err = o.Fork(r.Context(), id, f.Entry)
	}
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Location", "/v1/sessions/"+made.ID)
	answer(w, http.StatusCreated, made)
}

func folders(o *Options, w http.ResponseWriter, r *http.Request) {
	list, err := o.Folders(r.Context(), r.URL.Query().Get("path"))
	if err != nil {
		failed(w, err)
		return
	}
	if list.Folders == nil {
		list.Folders = []Folder{}
	}
	answer(w, http.StatusOK, list)
}
