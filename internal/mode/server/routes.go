package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript"
)

// route is an operation of the API: what serves it, and what openapi.json says of it.
type route struct {
	verb, path string
	needs      remote.Rights
	role       people.Role // that it is for; those who may more have it, too
	open       bool        // it is for who isn't signed in, too
	device     bool        // it is for who is signed in with a browser, whatever the rights
	people     bool        // it is about people
	about      string
	query      []parameter
	in, out    reflect.Type // of the bodies; nil: there is none
	stream     bool         // it answers with text/event-stream
	created    bool         // it answers with 201
	most       int64        // bytes of the body, fewer than [maxBody]; 0 is that
	takes      string       // the type of a body that isn't JSON
	gives      string       // the type of an answer that isn't JSON
	serve      http.HandlerFunc
}

// ServeHTTP serves a request of somebody who may send it.
func (o *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := o.may(r); err != nil && !o.open {
		fail(w, http.StatusForbidden, "denied", err)
		return
	}
	most := cmp.Or(o.most, maxBody)
	if r.ContentLength > most { // which the sender needn't send first
		failed(w, &http.MaxBytesError{Limit: most})
		return
	}
	if o.most > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, o.most)
	}
	o.serve(w, r)
}

const attachPath = "/v1/sessions/{id}/attach"

// parameter is one of a query.
type parameter struct{ name, about string }

// About is what the server is.
type About struct {
	Version string `json:"version"`
	Changes string `json:"changes"` // Markdown, the newest version first
}

// Open is a session as it is now.
type Open struct {
	Header transcript.Header `json:"header"`
	Facts  session.Facts     `json:"facts"`
	Cursor session.Cursor    `json:"cursor"` // of the next event
}

// routes are all operations but /healthz.
func (s *Server) routes() []route {
	all := []route{
		{
			verb: "GET", path: "/v1/sessions", needs: remote.Watch, role: people.Admin, about: "Lists the sessions of all folders, newest first.",
			query: []parameter{{"limit", "how many at most; 0 is all. Without it 100"}},
			out:   reflect.TypeFor[[]Listed](), serve: s.list,
		},
		{
			verb: "GET", path: "/v1/machines", needs: remote.Watch, role: people.Admin, about: "Lists the sessions of the machines that server.machines names: the newest 100 of each, within 5 seconds.",
			out: reflect.TypeFor[[]Machine](), serve: func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, s.o.Machines(r.Context())) },
		},
		{
			verb: "POST", path: "/v1/sessions", needs: remote.Own, role: people.Admin, about: "Begins a session in a folder.",
			in: reflect.TypeFor[New](), out: reflect.TypeFor[Created](), created: true, serve: s.begin,
		},
		{
			verb: "GET", path: "/v1/sessions/{id}", needs: remote.Watch, about: "Opens or joins a session, and gives its figures.",
			out: reflect.TypeFor[Open](), serve: s.look,
		},
		{
			verb: "GET", path: attachPath, needs: remote.Watch,
			about: "A WebSocket with the protocol of burin attach; its first line names the rights, at most those of the token.",
			query: []parameter{{"watching", "false: as in GET /v1/events"}},
			serve: s.attach,
		},
		{
			verb: "GET", path: "/v1/events", needs: remote.Watch, about: "The events of sessions as they happen, those of docs/events.md.",
			query: []parameter{
				{"session", "id of a session, once for each; ID@EPOCH.SEQ begins at that event instead of now"},
				{"answers", "true: this client answers questions, and sessions wait for it; needs the right answer"},
				{"name", "of the client, which others see"},
				{"lists", "true: also says {\"lists\":true} when your projects, chats or preferences may have changed, and {\"files\":[ID]} when files of projects have; to admins {\"sessions\":true} when what sessions of this machine do may have. No session need be named"},
				{"pictures", "address: as in POST /v1/sessions/{id}/entries"},
				{"watching", "false: nobody looks, as at a page in the background, so that notifications come all the same"},
			},
			stream: true, serve: s.events,
		},
		{
			verb: "GET", path: "/v1/about", needs: remote.Watch, about: "Says which version of burin this is, and what is new in it and in those before it, as Markdown.",
			out: reflect.TypeFor[About](), serve: func(w http.ResponseWriter, _ *http.Request) {
				answer(w, http.StatusOK, About{s.o.Version, s.o.Changes})
			},
		},
		{verb: "GET", path: "/v1/openapi.json", needs: remote.Watch, about: "This description.", serve: s.describe},
		{
			verb: "GET", path: "/metrics", needs: remote.Watch, role: people.Admin, about: "What the server does and has done, as text that Prometheus reads.",
			gives: "text/plain", serve: s.metrics,
		},
	}
	all = append(all, codingRoutes(&s.o)...)
	all = append(all, s.chatRoutes()...)
	all = append(all, chatFiles{s}.ops()...)
	all = append(all, own{s}.routes()...)
	all = append(all, members{s}.routes()...)
	all = append(all, finding{s.o.Finder}.routes()...)
	all = append(all, attachments{s.o.Attachments}.routes()...)
	all = append(all, helpRoute(s.o.Version))
	all = append(all, s.fileRoutes()...)
	all = append(all, secluded{s.o.Private, s.o.Version}.routes()...)
	for _, m := range remote.Describe() {
		o := route{
			verb: "POST", path: "/v1/sessions/{id}/" + m.Name, needs: m.Needs, about: m.About,
			in: m.In, out: m.Out, serve: s.call(m.Name),
		}
		if m.Name == "entries" {
			o.query = []parameter{{"pictures", "address: pictures and files are given by their address, not as bytes"}}
		}
		all = append(all, o)
	}
	all = append(all, pictureRoute(s))
	all = append(all, tenants{s.o.Storage}.routes()...)
	for i := range all {
		if all[i].role == "" {
			all[i].role = people.Viewer // each has chats, which are sessions; May says whose the others are
		}
	}
	return append(append(all, s.accounts().routes()...), connectionRoutes(s)...)
}

// defaultListed is how many sessions a list has.
const defaultListed = 100

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	limit := defaultListed
	if given := r.URL.Query().Get("limit"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 0 {
			fail(w, http.StatusBadRequest, "", fmt.Errorf("limit: %q is not a number from 0", given))
			return
		}
		limit = n
	}
	all, err := s.o.List(r.Context(), limit)
	if err != nil {
		failed(w, err)
		return
	}
	if all == nil {
		all = []Listed{}
	}
	answer(w, http.StatusOK, all)
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) {
	var n New
	if !read(w, r, &n) {
		return
	}
	if !filepath.IsAbs(n.Folder) {
		fail(w, http.StatusBadRequest, "", fmt.Errorf("folder: %q is not an absolute path", n.Folder))
		return
	}
	made, err := s.o.New(r.Context(), sender(r), n)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Location", "/v1/sessions/"+made.ID)
	answer(w, http.StatusCreated, made)
}

func (s *Server) look(w http.ResponseWriter, r *http.Request) {
	h, err := s.handle(r, r.PathValue("id"))
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, Open{h.Transcript().Header(), h.Facts(), h.Events(session.Cursor{}).Cursor()})
}

// call serves a method of a session. A client that accepts text/event-stream gets the pieces of
// the output as they come.
func (s *Server) call(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var with json.RawMessage
		if !read(w, r, &with) {
			return
		}
		id := r.PathValue("id")
		h, err := s.handle(r, id)
		if err != nil {
			failed(w, err)
			return
		}
		var pieces *stream
		chunk := func(string) {}
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			leave, ok := s.enter(w)
			if !ok {
				return
			}
			defer leave()
			pieces = newStream(w)
			chunk = func(text string) { _ = pieces.write("chunk", "", text) } // who has gone cancels the request
		}
		is, err := remote.Do(r.Context(), h, name, with, chunk)
		if err == nil && remote.Behind(h) == nil && errors.Is(s.state(h), session.ErrOwnerGone) { // it may have said what isn't kept
			err = fmt.Errorf("%w: ask again", session.ErrOwnerGone)
		}
		if errors.Is(err, session.ErrClosed) || errors.Is(err, session.ErrOwnerGone) {
			s.forget(id, h)
		}
		switch {
		case pieces != nil && err != nil:
			status, code := statusOf(err)
			if broken(status, code) {
				if p, ok := w.(*problems); ok {
					p.cause = err
				}
				err = session.ErrServer
			}
			_ = pieces.write("problem", "", Problem{http.StatusText(status), status, err.Error(), code})
		case pieces != nil:
			_ = pieces.write("result", "", is)
		case err != nil:
			failed(w, err)
		default:
			answer(w, http.StatusOK, addressed(r, id, is))
		}
	}
}

// read reads the body of a request; false: it was answered.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		failed(w, fmt.Errorf("read the request: %w", err))
		return false
	}
	if len(data) == 0 {
		data = []byte("{}")
	} else if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "", errors.New("send JSON, with Content-Type: application/json"))
		return false
	}
	if err := json.Unmarshal(data, into); err != nil {
		fail(w, http.StatusBadRequest, "", fmt.Errorf("read the request: %w", err))
		return false
	}
	return true
}

// answer writes a result.
func answer(w http.ResponseWriter, status int, is any) {
	data, err := json.Marshal(is)
	if err != nil {
		fail(w, http.StatusInternalServerError, "", fmt.Errorf("write the result: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // who has gone reads nothing
}
