package server

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/private"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/web"
)

// Tab says which tab a request about a private chat comes from.
type Tab struct {
	Lease string `json:"lease,omitempty"` // that it has; "" asks for one
	Take  bool   `json:"take,omitempty"`  // takes the chat from the tab that has it
}

// secluded serves what browsers keep of private projects.
type secluded struct {
	kept    *private.Store
	version string // of this program
}

// routes are the operations on it. All that is said there is sealed.
func (s secluded) routes() []route {
	const projects, project, chat = "/v1/private/projects", "/v1/private/projects/{id}", "/v1/private/chats/{id}"
	oneProject, oneChat := reflect.TypeFor[private.Project](), reflect.TypeFor[private.Chat]()
	return []route{
		{
			verb: "GET", path: projects, needs: remote.Watch, about: "Lists your private projects, sealed.", out: reflect.TypeFor[[]private.Project](),
			serve: gives(func(r *http.Request) (any, error) { return s.kept.Projects(r.Context(), person(r)) }),
		},
		{
			verb: "GET", path: project, needs: remote.Watch, about: "Gives a private project, sealed.", out: oneProject,
			serve: gives(func(r *http.Request) (any, error) {
				return s.kept.Project(r.Context(), person(r), r.PathValue("id"))
			}),
		},
		{
			verb: "PUT", path: project, needs: remote.Steer, about: "Makes a private project under an id of the client's, or changes one of a revision.",
			in: reflect.TypeFor[private.ProjectChange](), out: oneProject,
			serve: takes(func(r *http.Request, in private.ProjectChange) (any, error) {
				return s.kept.PutProject(r.Context(), person(r), r.PathValue("id"), in)
			}),
		},
		{verb: "DELETE", path: project, needs: remote.Steer, about: "Removes a private project with its chats for good.", serve: removes(s.kept.RemoveProject)},
		{
			verb: "GET", path: project + "/chats", needs: remote.Watch, about: "Lists the chats of a private project, sealed, the last used first.",
			out: reflect.TypeFor[[]private.Chat](),
			serve: gives(func(r *http.Request) (any, error) {
				return s.kept.Chats(r.Context(), person(r), r.PathValue("id"))
			}),
		},
		{
			verb: "PUT", path: project + "/chats/{chat}", needs: remote.Steer, about: "Makes a private chat under an id of the client's, or changes one of a revision.",
			in: reflect.TypeFor[private.ChatChange](), out: oneChat,
			serve: takes(func(r *http.Request, in private.ChatChange) (any, error) {
				return s.kept.PutChat(r.Context(), person(r), r.PathValue("id"), r.PathValue("chat"), in)
			}),
		},
		{
			verb: "GET", path: chat, needs: remote.Watch, about: "Gives a private chat, sealed, without its transcript.", out: oneChat,
			serve: gives(func(r *http.Request) (any, error) { return s.kept.Chat(r.Context(), person(r), r.PathValue("id")) }),
		},
		{verb: "DELETE", path: chat, needs: remote.Steer, about: "Removes a private chat for good.", serve: removes(s.kept.RemoveChat)},
		{
			verb: "GET", path: chat + "/records", needs: remote.Watch, about: "Gives records of a private transcript, as many as fit into an answer.",
			query: []parameter{{"from", "the number of the first one; without it 0"}}, out: reflect.TypeFor[private.Records](),
			serve: gives(func(r *http.Request) (any, error) {
				q, err := queryOf(r)
				var from int64
				if err == nil {
					from, err = q.number("from", 1<<53)
				}
				if err != nil {
					return nil, err
				}
				return s.kept.Records(r.Context(), person(r), r.PathValue("id"), from)
			}),
		},
		{
			verb: "POST", path: chat + "/records", needs: remote.Steer, about: "Adds records to a private transcript, for the tab that has its lease.",
			in: reflect.TypeFor[private.Added](),
			serve: takes(func(r *http.Request, in private.Added) (any, error) {
				return nothing{}, s.kept.Append(r.Context(), person(r), r.PathValue("id"), in)
			}),
		},
		{
			verb: "POST", path: chat + "/lease", needs: remote.Steer, about: "Takes or renews the lease of a private chat. While another tab has it: 409.",
			in: reflect.TypeFor[Tab](), out: reflect.TypeFor[private.Hold](),
			serve: takes(func(r *http.Request, in Tab) (any, error) {
				return s.kept.Hold(r.Context(), person(r), r.PathValue("id"), in.Lease, in.Take)
			}),
		},
		{
			verb: "POST", path: chat + "/release", needs: remote.Steer, about: "Gives the lease of a private chat back.",
			in: reflect.TypeFor[Tab](),
			serve: takes(func(r *http.Request, in Tab) (any, error) {
				return nothing{}, s.kept.Release(r.Context(), person(r), r.PathValue("id"), in.Lease)
			}),
		},
	}
}

// gives serves what a function gives.
func gives(do func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		is, err := do(r)
		if err != nil {
			failed(w, err)
			return
		}
		answer(w, http.StatusOK, is)
	}
}

// takes serves what a function makes of a body.
func takes[In any](do func(r *http.Request, in In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if !read(w, r, &in) {
			return
		}
		gives(func(r *http.Request) (any, error) { return do(r, in) })(w, r)
	}
}

func removes(do func(ctx context.Context, person, id string) error) http.HandlerFunc {
	return gives(func(r *http.Request) (any, error) { return nothing{}, do(r.Context(), person(r), r.PathValue("id")) })
}

// statusOfPrivate is the status of an error of private projects; 0: it is of something else.
func statusOfPrivate(err error) (status int, code string) {
	switch {
	case errors.Is(err, private.ErrUnknown):
		return http.StatusNotFound, ""
	case errors.Is(err, private.ErrInvalid):
		return http.StatusBadRequest, ""
	case errors.Is(err, private.ErrChanged):
		return http.StatusConflict, "changed"
	case errors.Is(err, private.ErrHeld):
		return http.StatusConflict, "held"
	}
	return 0, ""
}

// loopFiles has worker.js, what joins it to models in the browser and, where this burin was built with them, wasm_exec.js of Go and burin.wasm.gz.
//
//go:generate private/build
//go:embed private
var loopFiles embed.FS

// loopPath is the worker that runs the loop of private projects; it has a policy of its own.
const loopPath = "/private/worker.js"

// The files of the loop.
const (
	loopProgram = "burin.wasm.gz"
	loopStart   = "wasm_exec.js"
)

// loopFolder is where the loop is, which is a tenth of burin's size.
var loopFolder = apart{"the loop of private projects", "private", loopProgram, "docs/private.md"}

// pages are the worker that runs the loop of private projects, and the program that it loads.
//
// A worker has the policy of its own answer, not that of the page: only here may WebAssembly be
// compiled, and only the providers of the project are reached.
func (s secluded) pages() []page {
	own, err := fs.Sub(loopFiles, "private")
	if err != nil {
		panic(err) // the pattern above names it
	}
	found := loopFolder.find(own, s.version)
	tag := sync.OnceValue(func() string {
		files, _ := found()
		data, _ := fs.ReadFile(files, loopProgram) // who asks has opened it
		return fmt.Sprintf("\"%x\"", sha256.Sum256(data))
	})
	return []page{
		{path: "GET " + loopPath, open: true, serve: func(w http.ResponseWriter, r *http.Request) {
			files, err := found()
			if err != nil {
				failed(w, err)
				return
			}
			start, err := fs.ReadFile(files, loopStart)
			if err != nil {
				failed(w, err)
				return
			}
			var origins []string
			if id := r.URL.Query().Get("project"); id != "" {
				p, err := s.kept.Project(r.Context(), person(r), id)
				if err != nil {
					failed(w, err)
					return
				}
				origins = p.Connect
			}
			policy, own := workerPolicy(site(r), origins)
			head := w.Header()
			head.Set("Content-Security-Policy", policy)
			head.Set("Content-Type", "text/javascript; charset=utf-8")
			_, _ = w.Write(start) // who has gone reads nothing
			for _, name := range own {
				work, err := loopFiles.ReadFile("private/" + name)
				if err != nil {
					panic(err) // the pattern above names it
				}
				_, _ = w.Write(append([]byte{'\n'}, work...))
			}
		}},
		{path: "GET /private/burin.wasm", open: true, serve: func(w http.ResponseWriter, r *http.Request) {
			files, err := found()
			if err != nil {
				failed(w, err)
				return
			}
			f, err := files.Open(loopProgram)
			if err != nil {
				failed(w, err)
				return
			}
			defer f.Close() //nolint:errcheck // it is read only
			data, ok := f.(io.ReadSeeker)
			if !ok || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				fail(w, http.StatusNotAcceptable, "", errors.New("ask with Accept-Encoding: gzip, as browsers do"))
				return
			}
			head := w.Header()
			head.Set("Cache-Control", "no-cache") // asked for each time, sent when it has changed
			head.Set("ETag", tag())
			head.Set("Content-Encoding", "gzip")
			head.Set("Content-Type", "application/wasm")
			http.ServeContent(paced{w}, r, "", time.Time{}, data)
		}},
		s.library(libraryPath, "text/javascript; charset=utf-8"),
		s.library("/private/webllm.json", "application/json"),
	}
}

// libraryPath is WebLLM, which runs models in the browser.
const libraryPath = "/private/webllm.js"

// libraryFolder is where it is, as it is as large as the loop.
var libraryFolder = apart{"what runs models in the browser", "web", "webllm.js.gz", "docs/private.md"}

// library serves a file of WebLLM: the library, or the list of its models.
func (s secluded) library(path, kind string) page {
	found := libraryFolder.find(web.Parts(), s.version)
	return page{path: "GET " + path, open: true, serve: func(w http.ResponseWriter, r *http.Request) {
		files, err := found()
		if err != nil {
			failed(w, err)
			return
		}
		packed, err := fs.ReadFile(files, strings.TrimPrefix(path, "/private/")+".gz")
		if err != nil {
			failed(w, err)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		give(w, r, packed)
	}}
}

// inBrowser is the origin that stands for the browser itself, in a project with models that run there.
const inBrowser = "https://webllm.invalid"

// workerPolicy is the policy of the worker of a project with these origins, and the scripts that the worker has
// after that of Go. Only for models in the browser may it load another one, which is WebLLM.
func workerPolicy(site string, origins []string) (policy string, scripts []string) {
	script, connect := "'wasm-unsafe-eval'", "'self'"
	local := slices.Contains(origins, inBrowser)
	for _, o := range origins {
		switch {
		case o == inBrowser: // which nothing leaves for
			continue
		case o == "https://huggingface.co" && local:
			// It sends browsers on to hosts of this domain, and has weights only: GitHub has the code for the GPU.
			o += " https://*.hf.co https://raw.githubusercontent.com"
		}
		connect += " " + o
	}
	if local {
		script += " " + site + libraryPath
		scripts = append(scripts, "webllm.js")
	}
	return "default-src 'none'; script-src " + script + "; connect-src " + connect, append(scripts, "worker.js")
}
