package owner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/ipc"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// Background is a session that this process owns without a face of its own.
type Background struct {
	session.Handle
	sv    *server
	stir  chan struct{} // has room for one: something has changed
	told  chan struct{} // closed when a client has the session end
	gone  chan struct{} // closed by a [Keeper] when it has ended
	tell  sync.Once
	close sync.Once
	err   error
}

// Background lets other processes attach to a session that this one has opened, and that
// nobody would find otherwise: it is an error if it can't listen.
func (p Place) Background(s *session.Session) (*Background, error) {
	address, err := p.lasting(s.Facts().Path)
	if err != nil {
		return nil, err
	}
	l, err := ipc.Listen(address)
	if err != nil {
		return nil, err
	}
	return inBackground(s, l), nil
}

// inBackground makes a session one in the background, which nobody can attach to if l is nil.
func inBackground(s *session.Session, l *ipc.Listener) *Background {
	b := &Background{Handle: s.Handle("background", false), stir: make(chan struct{}, 1), told: make(chan struct{}), gone: make(chan struct{})}
	b.sv = &server{s: s, l: l, moved: b.moved, end: func() { b.tell.Do(func() { close(b.told) }) }}
	b.sv.begin()
	return b
}

// lasting is the address of a background session. Where the data folder's path is too long for
// a socket, it is that of every session.
func (p Place) lasting(path string) (string, error) {
	if address, err := ipc.Lasting(identity(path), p.Data); err == nil {
		return address, nil
	}
	return p.Where(path)
}

func (b *Background) moved() {
	select {
	case b.stir <- struct{}{}:
	default:
	}
}

// Ending says why a session in the background ends.
type Ending string

// Why a session in the background ends.
const (
	Idle      Ending = "nobody was attached and nothing was done"
	Told      Ending = "it was stopped"
	Signalled Ending = "the process was told to end"
)

// Wait waits until nobody was attached and nothing under way for the time idle (0: for
// ever), until a client has the session end, or until ctx ends. A job that runs is under
// way, too.
func (b *Background) Wait(ctx context.Context, idle time.Duration) Ending {
	ctx, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	if idle > 0 {
		following.Go(func() { b.follow(ctx) })
	}
	late := time.NewTimer(idle)
	defer late.Stop()
	for {
		late.Stop()
		if idle > 0 && b.rests(ctx) {
			late.Reset(idle)
		}
		select {
		case <-b.stir:
		case <-late.C:
			if b.rests(ctx) {
				return Idle
			}
		case <-b.told:
			return Told
		case <-ctx.Done():
			return Signalled
		}
	}
}

// follow tells Wait of what happens in the session, at most once a second while an answer
// comes.
func (b *Background) follow(ctx context.Context) {
	feed := b.Events(session.Cursor{})
	for {
		if _, err := feed.Next(ctx); err != nil {
			return
		}
		b.moved()
		feed.Rest(ctx, time.Second)
	}
}

// Attended reports whether somebody is attached.
func (b *Background) Attended() bool { return b.sv.faces.Load() > 0 }

// rests reports whether nobody is attached and nothing is under way.
func (b *Background) rests(ctx context.Context) bool {
	if b.Attended() || b.Facts().Working {
		return false
	}
	jobs, err := b.Jobs().List(ctx)
	for _, j := range jobs {
		if j.Running {
			return false
		}
	}
	return err == nil
}

// Close ends the session; see [Place.Listen].
func (b *Background) Close() error {
	b.close.Do(func() {
		if b.sv.l != nil {
			_ = b.sv.l.Close() // nobody can attach any more
		}
		b.err = b.Handle.Close()
		b.sv.close()
	})
	return b.err
}

// End ends the session in a file that another process has in the background, and waits
// until it has ended. It gives the jobs that stop with it. The error is [ErrNobody] where
// no process has it.
func (p Place) End(ctx context.Context, path string) ([]session.Job, error) {
	h, err := p.Attach(ctx, path, glance, remote.Own)
	if err != nil {
		return nil, err
	}
	defer h.Close() //nolint:errcheck // it only leaves
	jobs, err := h.Jobs().List(ctx)
	if err != nil {
		return nil, err
	}
	var running []session.Job
	for _, j := range jobs {
		if j.Running {
			running = append(running, j)
		}
	}
	if err := h.(*remote.Client).End(ctx); err != nil {
		return nil, fmt.Errorf("stop the session: %w", err)
	}
	return running, nil
}
