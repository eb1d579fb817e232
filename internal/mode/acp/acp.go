// Package acp is the face for editors: it speaks the Agent Client Protocol on standard input
// and output and keeps the sessions that the editor opens.
//
// The face holds the connection and the open sessions. An open session has parts: the teller
// translates its events into updates, the asker puts its questions to the person at the
// editor, and documents are the files as the editor has them. The face uses a session only
// through its handle, so a terminal can be attached at the same time.
package acp

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"

	proto "github.com/burin-dev/burin/internal/acp"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript/index"
)

// Options of the face. All but Login are required.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Dir     string // where burin was started
	Version string
	Log     func(line string) // for messages that the editor cannot show
	// Open opens a session with a handle that answers questions.
	Open func(ctx context.Context, w Wish) (session.Handle, error)
	// Folder is the program around the sessions of a folder.
	Folder func(dir string) (Folder, error)
	// Join returns the program and arguments that join a terminal to the console id of a
	// session in dir.
	Join func(dir string, h session.Handle, id string) ([]string, error)
	// Login is the environment with which this program, started in a terminal, lets a person
	// log in.
	Login map[string]string
}

// Wish says which session to open.
type Wish struct {
	Dir       string   // absolute, symbolic links resolved
	AddDirs   []string // further folders that tools may use
	Resume    string   // the session file to resume; "": a new session
	Documents Documents
	Warn      func(string)           // warns the person; any goroutine may call it
	Servers   []mcpserver.Definition // MCP servers for this session only
	// Terminals says that the editor can show the terminals of programs.
	Terminals bool
}

// Documents are the open documents of the editor. See workspace.Buffers.
type Documents interface {
	Read(ctx context.Context, name string) (data []byte, ok bool, err error)
	Write(ctx context.Context, name string, before, after []byte) (ok bool, err error)
	Names() []string
}

// Folder is the program around the sessions of a folder.
type Folder interface {
	// Models returns the models and their keys; the first call opens them.
	Models() (*connect.Models, error)
	// FileCommands returns the commands defined in files.
	FileCommands() *files.Set
	// Skills returns the skills of the folder.
	Skills() *skill.Set
	// Own returns what the program does for burin's own commands.
	Own() slash.Own
	// Archive returns the operations on whole sessions.
	Archive() (Archive, error)
}

// Archive has the operations on whole sessions that the face needs.
type Archive interface {
	List(ctx context.Context, dir string, limit int) ([]index.Info, error)
	Find(ctx context.Context, which string) (string, error)
	Fork(ctx context.Context, which, dir string) (archive.Created, error)
	Delete(ctx context.Context, which string, forGood func(index.Info) error) (archive.Deleted, error)
}

// Run serves an editor until its input or ctx ends. Then it closes all sessions.
func Run(ctx context.Context, o Options) error {
	life, stop := context.WithCancel(ctx)
	defer stop()
	a := &face{o: o, life: life, methods: byName(), sessions: map[string]*live{}}
	a.conn = proto.New(o.Out, a.take)
	err := a.conn.Serve(ctx, o.In, func() {
		stop()
		a.closeAll()
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // ctx ended it, as intended
	}
	return err
}

// face is the connection to an editor.
type face struct {
	o       Options
	conn    *proto.Conn
	life    context.Context // of the sessions
	methods map[string]*method

	mu       sync.Mutex
	client   *proto.InitializeRequest // nil before initialize
	sessions map[string]*live
}

// greeted returns what the client sent with initialize; nil before that.
func (a *face) greeted() *proto.InitializeRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// session returns an open session.
func (a *face) session(id string) (*live, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.sessions[id]; l != nil {
		return l, nil
	}
	return nil, proto.Errorf(proto.CodeNotFound, "session %q is not open: load or resume it first", id)
}

// forget removes a session from the open ones and returns it; nil: it was not open.
func (a *face) forget(id string) *live {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.sessions[id]
	delete(a.sessions, id)
	return l
}

// closeAll closes all sessions concurrently.
func (a *face) closeAll() {
	a.mu.Lock()
	open := a.sessions
	a.sessions = map[string]*live{}
	a.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range open {
		all.Go(func() { a.close(l) })
	}
	all.Wait()
}

func (a *face) close(l *live) {
	if err := l.close(); err != nil && !errors.Is(err, session.ErrClosed) {
		a.o.Log("close session " + l.id + ": " + err.Error())
	}
}

// folder checks a working directory. It returns it with symbolic links resolved, and the
// program around its sessions.
func (a *face) folder(cwd string) (dir string, f Folder, err error) {
	if !filepath.IsAbs(cwd) {
		return "", nil, proto.Invalid("cwd must be an absolute path, not %q", cwd)
	}
	dir, err = filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", nil, proto.Invalid("cwd: %v", err)
	}
	if !archive.IsDir(dir) {
		return "", nil, proto.Invalid("cwd: %s is not a folder", cwd)
	}
	f, err = a.o.Folder(dir)
	return dir, f, err
}
