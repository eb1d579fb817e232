// Package owner joins faces to the one process that owns a session: it listens for others,
// or is a client of who does.
//
// The lock of the session's file alone decides who owns it. The address is that of the
// file, so that two copies of a session are two sessions.
package owner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/internal/platform/ipc"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// ErrNobody means that no process has a session open.
var ErrNobody = errors.New("nobody has this session open")

// Place says where the owners of sessions listen.
type Place struct {
	Data   string // burin's data folder
	Getenv func(string) string
	// Blind says that the face of this process answers questions, for which it attends its
	// sessions' desks itself, but cannot show the terminals of programs.
	Blind bool
}

// Where is the address at which the owner of the session in a file listens, if there is one:
// the path of a socket, or the name of a pipe. A background session listens where a logout
// removes nothing.
func (p Place) Where(path string) (string, error) {
	id := identity(path)
	if address, there := ipc.HasLasting(id, p.Data); there {
		return address, nil
	}
	return ipc.Address(id, p.Data, p.Getenv)
}

// identity is what the address of a session is made of.
func identity(path string) string {
	if n := place.Parse(path); n.Server() {
		return n.String() // from whatever folder
	}
	path = strings.TrimSuffix(path, ".draft") // of a session that no model has answered yet
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // it is a draft yet
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// Address is [Place.Where] of a session that has an owner. The error is [ErrNobody] where there
// is none.
func (p Place) Address(ctx context.Context, path string) (string, error) {
	h, err := p.Glance(ctx, path)
	if err != nil {
		return "", err
	}
	_ = h.Close() // it only leaves
	return p.Where(path)
}

// Attach connects to the owner of the session in a file. The error is [ErrNobody] where
// there is none.
func (p Place) Attach(ctx context.Context, path, name string, want remote.Rights) (session.Handle, error) {
	address, err := p.Where(path)
	if err != nil {
		return nil, err
	}
	return Dial(ctx, address, name, want)
}

// Dial connects to the owner of a session by the address where it listens; see
// [Place.Where]. The error is [ErrNobody] where there is none.
func Dial(ctx context.Context, address, name string, want remote.Rights) (session.Handle, error) {
	conn, err := ipc.Dial(ctx, address)
	if errors.Is(err, ipc.ErrAbsent) {
		return nil, ErrNobody
	}
	if err != nil {
		return nil, err
	}
	return connect(ctx, address, conn, name, want)
}

func connect(ctx context.Context, address string, conn net.Conn, name string, want remote.Rights) (session.Handle, error) {
	c, err := remote.Connect(ctx, conn, name, want)
	if err != nil {
		return nil, fmt.Errorf("attach to the burin that has this session open: %w", err)
	}
	c.Dial = func(ctx context.Context) (net.Conn, error) { return ipc.Dial(ctx, address) }
	return c, nil
}

// Open gives the handle of a face in a session: of a new one, or of the one in the file
// resume if that is not "". begin opens it in this process. Others can attach to it then;
// if another process owns the file, the handle is a client of that one, see [Place.Join].
func (p Place) Open(ctx context.Context, resume, name string, answers bool, begin func() (*session.Session, error)) (session.Handle, error) {
	if resume != "" {
		return p.Join(ctx, resume, name, answers, begin)
	}
	s, err := begin()
	if err != nil {
		return nil, err
	}
	return p.Listen(s, name, answers), nil
}

// Join continues the session in a file: with open, if no other process has it, else as
// a client of that one. Who finds neither an owner nor the lock tries for 2 s. A face that
// does not answer questions has no right to as a client either.
func (p Place) Join(ctx context.Context, path, name string, answers bool, open func() (*session.Session, error)) (session.Handle, error) {
	address, err := p.Where(path)
	if err != nil { // then nobody can attach either
		s, err := open()
		if err != nil {
			return nil, err
		}
		return s.Handle(name, answers && !p.Blind), nil
	}
	rights := remote.Own
	if !answers {
		rights = remote.Steer
	}
	var s *session.Session
	locked := transcript.ErrLocked
	var pause time.Time // a server is not asked a hundred times a second
	tryLock := func() (bool, error) {
		if time.Now().Before(pause) {
			return false, nil
		}
		var err error
		s, err = open()
		if errors.Is(err, transcript.ErrLocked) {
			if locked = err; place.Parse(path).Server() {
				pause = time.Now().Add(askAgain)
			}
			return false, nil
		}
		return err == nil, err
	}
	for range 3 {
		conn, l, err := ipc.Join(ctx, address, tryLock)
		switch {
		case s != nil && l != nil:
			return serve(s, l, s.Handle(name, answers && !p.Blind)), nil
		case s != nil: // it can't listen: the session is there all the same
			return s.Handle(name, answers && !p.Blind), nil
		case errors.Is(err, ipc.ErrSilent):
			return nil, fmt.Errorf("%w, and does not answer: end it there first", locked)
		case err != nil:
			return nil, err
		}
		h, err := connect(ctx, address, conn, name, rights)
		if err == nil || !errors.Is(err, session.ErrOwnerGone) {
			return h, err
		}
	}
	return nil, locked
}

// askAgain is the pause between questions whether a session on a server is free.
const askAgain = 500 * time.Millisecond

// Listen lets other processes attach to a session that this one has opened, and gives the
// handle of its own face, which answers questions or not. Nobody waits for it; where it
// fails, nobody can attach.
func (p Place) Listen(s *session.Session, name string, answers bool) session.Handle {
	path := s.Facts().Path
	answers = answers && !p.Blind
	if path == "" {
		return s.Handle(name, answers)
	}
	later := make(chan *server, 1)
	h := &owned{Handle: s.Handle(name, answers), later: later}
	go func() {
		defer close(later)
		address, err := p.Where(path)
		if err != nil {
			return
		}
		if l, err := ipc.Listen(address); err == nil {
			later <- begin(s, l)
		}
	}()
	return h
}

func serve(s *session.Session, l *ipc.Listener, h session.Handle) session.Handle {
	later := make(chan *server, 1)
	later <- begin(s, l)
	close(later)
	return &owned{Handle: h, later: later}
}

// owned is the handle of the owner's own face.
type owned struct {
	session.Handle
	later  chan *server // gives the server, if there is one
	arrive sync.Once
	server *server
	once   sync.Once
	err    error
}

// served is the server; nil: nobody can attach.
func (o *owned) served() *server {
	o.arrive.Do(func() { o.server = <-o.later })
	return o.server
}

// Faces is how many others are attached to the session now.
func (o *owned) Faces() int {
	if sv := o.served(); sv != nil {
		return int(sv.faces.Load())
	}
	return 0
}

// Close ends the session. Nobody can attach any more before its lock is given back; who is
// attached hears that it has ended.
func (o *owned) Close() error {
	o.once.Do(func() {
		sv := o.served()
		if sv == nil {
			o.err = o.Handle.Close()
			return
		}
		_ = sv.l.Close()
		o.err = o.Handle.Close()
		sv.close()
	})
	return o.err
}

// server answers those who attach.
type server struct {
	s     *session.Session
	l     *ipc.Listener // nil: nobody can attach
	end   func()        // of the session, as a client asks for it; nil: it can't
	moved func()        // is called when a face has come or gone; nil: nobody wants to know
	since time.Time
	faces atomic.Int32
	first atomic.Pointer[string] // as in [remote.Owner]; nil: nothing was said yet
	cache remote.Cache
	ctx   context.Context
	stop  context.CancelFunc
	all   sync.WaitGroup
}

func begin(s *session.Session, l *ipc.Listener) *server {
	return (&server{s: s, l: l}).begin()
}

func (sv *server) begin() *server {
	sv.since = time.Now()
	sv.ctx, sv.stop = context.WithCancel(context.Background())
	if sv.l != nil {
		sv.all.Go(sv.accept)
	}
	return sv
}

// farewell is how long those who are attached have to hear of the end.
const farewell = 200 * time.Millisecond

// maxFaces is how many connections there may be at a time; more are closed at once.
const maxFaces = 256

func (sv *server) close() {
	done := make(chan struct{})
	go func() { sv.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(farewell):
	}
	sv.stop()
	<-done
}

func (sv *server) accept() {
	room := make(chan struct{}, maxFaces)
	for {
		conn, err := sv.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			conn.Close() //nolint:errcheck // it was only accepted
			continue
		}
		sv.all.Go(func() {
			defer func() { <-room }()
			sv.greet(conn)
		})
	}
}

// greet serves a connection. What this process has started itself is refused: a command
// could answer the question whether it may run.
func (sv *server) greet(conn net.Conn) {
	if own, err := ipc.PeerDescends(conn, os.Getpid()); own || err != nil {
		conn.Close() //nolint:errcheck // nothing was said
		return
	}
	_ = remote.Serve(sv.ctx, conn, remote.ServeOptions{Most: remote.Own, Open: sv.face, Cache: &sv.cache, End: sv.end, Owner: sv.describe}) // who is wrong is cut off
}

// glance is the name of a client that only looks for a moment. It is no company: a program
// that lists sessions again and again must not keep one open. A colon and a name may follow, by
// which others know the client where it does more than look.
const glance = "glance"

func (sv *server) face(name string, answers bool) session.Handle {
	if name == glance {
		return sv.s.Face(name, false)
	}
	if as, ok := strings.CutPrefix(name, glance+":"); ok {
		return sv.s.Face(as, false)
	}
	h := sv.s.Face(name, answers)
	sv.count(1)
	return &counted{Handle: h, leave: sync.OnceFunc(func() { sv.count(-1) })}
}

// counted is the handle of a face that is company.
type counted struct {
	session.Handle
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Handle.Close()
}

func (sv *server) describe() remote.Owner {
	return remote.Owner{PID: os.Getpid(), Since: sv.since, Background: sv.end != nil, Faces: int(sv.faces.Load()), First: sv.firstWords()}
}

// firstWords are what the session begins with. They are looked for until there are some, since a
// long session has many entries.
func (sv *server) firstWords() string {
	if first := sv.first.Load(); first != nil {
		return *first
	}
	log := sv.s.Log()
	for _, n := range log.Nodes() {
		if n.Type != transcript.TypeMessage || n.Role != llm.RoleUser {
			continue
		}
		if e, err := log.Entry(n.ID); err == nil && e.Message != nil {
			first := transcript.TitleOf(e.Message.Text())
			sv.first.Store(&first)
			return first
		}
	}
	return ""
}

func (sv *server) count(n int32) {
	sv.faces.Add(n)
	if sv.moved != nil {
		sv.moved()
	}
}
