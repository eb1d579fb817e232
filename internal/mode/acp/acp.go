// Package acp is the face for editors: it speaks the Agent Client Protocol on standard
// input and output, and holds a session for each one that the editor opens.
//
// The face knows the connection and the sessions. A live session has parts: the teller says
// what its events mean in the protocol, the asker puts its questions to the editor's person,
// documents are the editor's open files. A session is only reached through its handle, so
// that a terminal can be attached to it at the same time.
package acp

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"

	proto "github.com/burin-dev/burin/internal/acp"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/host/archive"
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
	Log     func(line string) // what nobody at the editor can be told
	// Open opens a session. Its handle answers questions.
	Open func(ctx context.Context, w Wish) (session.Handle, error)
	// Folder is the program around the sessions of a folder.
	Folder func(dir string) (Folder, error)
	// Login is the environment in which this program, started again in a terminal, lets a
	// person log in.
	Login map[string]string
}

// Wish says which session to open.
type Wish struct {
	Dir       string   // absolute, without links
	AddDirs   []string // more folders that tools may use
	Resume    string   // the file of a session to go on with; "" is a new one
	Documents Documents
	Warn      func(string) // what a person should know; any goroutine may call it
}

// Documents are the open documents of the editor. See workspace.Buffers.
type Documents interface {
	Read(ctx context.Context, name string) (data []byte, ok bool, err error)
	Write(ctx context.Context, name string, before, after []byte) (ok bool, err error)
	Names() []string
}

// Folder is the program around the sessions of a folder.
type Folder interface {
	// Models are the models and the keys to them, opened at the first call.
	Models() (*connect.Models, error)
	// FileCommands are the commands that are files.
	FileCommands() *files.Set
	// Archive is what is done with sessions as a whole.
	Archive() (Archive, error)
}

// Archive is what the face does with sessions as a whole.
type Archive interface {
	List(ctx context.Context, dir string, limit int) ([]index.Info, error)
	Find(ctx context.Context, which string) (string, error)
	Fork(ctx context.Context, which, dir string) (archive.Created, error)
	Delete(ctx context.Context, which string, forGood func(index.Info) error) (archive.Deleted, error)
}

// Run serves an editor until its input ends, or ctx does. Then all sessions are closed.
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
		return nil // it was told to end, and has
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
	client   *proto.InitializeRequest // nil: initialize has not come yet
	sessions map[string]*live
}

// greeted is what the client said of itself; nil: nothing yet.
func (a *face) greeted() *proto.InitializeRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// session is an open session.
func (a *face) session(id string) (*live, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.sessions[id]; l != nil {
		return l, nil
	}
	return nil, proto.Errorf(proto.CodeNotFound, "session %q is not open: load or resume it first", id)
}

// forget takes a session out of those that are open.
func (a *face) forget(id string) *live {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.sessions[id]
	delete(a.sessions, id)
	return l
}

// closeAll closes all sessions, at the same time.
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

// folder checks a working directory, and gives it without links with the program around it.
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
