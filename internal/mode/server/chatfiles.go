package server

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/chatfile"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

const (
	maxChatImports = 2 // at a time; more get 503. Each has its file in memory, as nothing is written in the clear
	progressTime   = 250 * time.Millisecond
)

// ImportProgress says how far an import is.
type ImportProgress struct {
	Done  int `json:"done"`  // chats
	Total int `json:"total"` // chats of the file
}

// chatFiles brings chats in and gives them out as files.
type chatFiles struct{ of *Server }

// ops are the operations on them.
func (s chatFiles) ops() []route {
	return []route{
		{
			verb: "POST", path: "/v1/chats/import", needs: remote.Steer,
			about: "Imports the chats of a file: the export of ChatGPT, Claude, Open WebUI or LibreChat, or burin's own, as JSON or as a ZIP archive with it; the archive of an account, with projects, files and chats; or that of one project, which becomes a new one. Chats that were imported before are left as they are. With Accept: text/event-stream, progress comes as events, and the answer as the event result.",
			query: []parameter{{"project", "the id of the project for the chats. Without it the default one; an archive of an account has its own"}},
			takes: "application/octet-stream", out: reflect.TypeFor[project.Imported](), serve: s.importChats(),
		},
		{
			verb: "GET", path: "/v1/chats/{id}/export", needs: remote.Watch, about: "Gives a chat as a file.",
			query: []parameter{{"format", "json, which can be imported, or markdown. Without it json"}},
			gives: "application/octet-stream", serve: s.exportChat,
		},
		{
			verb: "GET", path: "/v1/projects/{id}/chats/export", needs: remote.Watch, about: "Gives the chats of a project as a ZIP archive, each as JSON and as Markdown.",
			gives: "application/zip", serve: s.export(project.WriteChats, func(*project.Project) string { return "chats.zip" }),
		},
		{
			verb: "GET", path: "/v1/projects/{id}/export", needs: remote.Watch,
			about: "Gives the settings and files of a project as a ZIP archive. An import makes a new project of it.",
			gives: "application/zip", serve: s.export(project.WriteProject, project.BundleName),
		},
	}
}

// importChats serves files with chats, a few at a time.
func (s chatFiles) importChats() http.HandlerFunc {
	slots := make(chan struct{}, maxChatImports)
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := queryOf(r)
		if err != nil {
			failed(w, err)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			fail(w, http.StatusServiceUnavailable, "busy", fmt.Errorf("%d imports run already: try again", maxChatImports))
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(archiveTime)) // without it, who sends slowly keeps the place
		data, err := io.ReadAll(r.Body)
		if err != nil {
			failed(w, fmt.Errorf("read the file: %w", err))
			return
		}
		chats, bring, err := s.opened(r, q.Get("project"), data)
		if err != nil {
			fail(w, http.StatusUnprocessableEntity, "file", err)
			return
		}
		if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			is, err := bring(func(int) {})
			if err != nil {
				failed(w, incomplete(is, err))
				return
			}
			answer(w, http.StatusOK, is)
			return
		}
		leave, ok := s.of.enter(w)
		if !ok {
			return
		}
		defer leave()
		out, told := newStream(w), time.Time{}
		is, err := bring(func(done int) {
			if time.Since(told) >= progressTime {
				told = time.Now()
				_ = out.write("progress", "", ImportProgress{done, chats}) // who has gone cancels the request
			}
		})
		if err == nil {
			_ = out.write("result", "", is)
			return
		}
		err = incomplete(is, err)
		status, code := statusOf(err)
		if broken(status, code) {
			if p, ok := w.(*problems); ok {
				p.cause = err
			}
			err = session.ErrServer
		}
		_ = out.write("problem", "", Problem{http.StatusText(status), status, err.Error(), code})
	}
}

// opened looks through a file, and gives how many chats it has and what brings them in.
func (s chatFiles) opened(r *http.Request, into string, data []byte) (chats int, bring func(progress func(int)) (project.Imported, error), err error) {
	if project.IsArchive(data) {
		a, err := project.OpenArchive(r.Context(), data)
		if err != nil {
			return 0, nil, err
		}
		return a.Chats, func(progress func(int)) (project.Imported, error) {
			return project.ImportArchive(r.Context(), s.of.o.Projects, person(r), a, progress)
		}, nil
	}
	f, err := chatfile.Open(data)
	if err != nil {
		return 0, nil, err
	}
	return f.Chats, func(progress func(int)) (project.Imported, error) {
		return project.Import(r.Context(), s.of.o.Projects, person(r), into, f, progress)
	}, nil
}

// incomplete says what came in before an import failed.
func incomplete(is project.Imported, err error) error {
	if is.Chats == 0 && is.Files == 0 {
		return err
	}
	return fmt.Errorf("%w; %d chats before that were imported: the same file again brings in the others", err, is.Chats)
}

// fileWriter sets the head of a file when there is something of it.
type fileWriter struct {
	paced
	name, kind string
	begun      bool
}

func (f *fileWriter) Write(b []byte) (int, error) {
	if !f.begun {
		f.begun = true
		download(f.Header(), f.name, f.kind, false)
	}
	return f.paced.Write(b)
}

// done answers with what became of a file.
func (f *fileWriter) done(err error) {
	if err != nil && f.begun { // the client must not take it for whole
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		failed(f.ResponseWriter, err)
	}
}

func (s chatFiles) exportChat(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r)
	if err != nil {
		failed(w, err)
		return
	}
	form, ending, kind := project.FormJSON, ".json", "application/json"
	switch q.Get("format") {
	case "", "json":
	case "markdown":
		form, ending, kind = project.FormMarkdown, ".md", "text/markdown; charset=utf-8"
	default:
		failed(w, fmt.Errorf("%w: format: %.40q is neither json nor markdown", remote.ErrParameters, q.Get("format")))
		return
	}
	c, err := s.of.o.Projects.Chat(r.Context(), person(r), r.PathValue("id"))
	if err != nil {
		failed(w, err)
		return
	}
	to := &fileWriter{paced: paced{w}, name: project.FileName(c) + ending, kind: kind}
	to.done(project.WriteChat(r.Context(), s.of.o.Projects, person(r), c, form, to))
}

// export serves an archive of a project.
func (s chatFiles) export(write func(ctx context.Context, s *project.Store, person, id string, to *zip.Writer) error, name func(*project.Project) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := s.of.o.Projects.Project(r.Context(), person(r), r.PathValue("id"))
		if err != nil {
			failed(w, err)
			return
		}
		leave, ok := s.of.enter(w)
		if !ok {
			return
		}
		defer leave()
		to := &fileWriter{paced: paced{w}, name: name(&p), kind: "application/zip"}
		archive := zip.NewWriter(to)
		err = write(r.Context(), s.of.o.Projects, person(r), p.ID, archive)
		if err == nil {
			err = archive.Close()
		}
		to.done(err)
	}
}
