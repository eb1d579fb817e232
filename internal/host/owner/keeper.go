package owner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript"
)

// Keeper keeps many sessions for faces that come and go, as a server's do. A session that no
// process has is opened in this one, where terminals can join it as any session in the
// background; one that another process has is joined there.
type Keeper struct {
	Place Place
	// Idle is how long a session without faces and work stays open here; 0: until Close.
	Idle time.Duration
	// Open opens the session in a file.
	Open func(ctx context.Context, path string) (*session.Session, error)
	// Alone keeps sessions that other processes neither find nor join. They have no files: an
	// id takes the place of a path.
	Alone bool

	mu     sync.Mutex
	open   map[string]*Background // by [identity]
	ended  bool
	ending sync.WaitGroup
}

// lockTime is how long a session is tried that has a lock and no owner that answers: it opens
// or ends just now.
const lockTime = 2 * time.Second

// Face gives a handle of the session in a file, which leaves with its Close. With answers it is
// company: the session waits for its answers, and stays open for it. Without, it can do
// the same, and nobody waits for it.
func (k *Keeper) Face(ctx context.Context, path, name string, answers bool) (session.Handle, error) {
	late := time.Now().Add(lockTime)
	if k.Alone {
		late = time.Now()
	}
	for {
		if b := k.kept(path); b != nil {
			return b.face(name, answers), nil
		}
		as := glance + ":" + name
		if answers {
			as = name
		}
		if !k.Alone {
			h, err := k.Place.Attach(ctx, path, as, remote.Own)
			if !errors.Is(err, ErrNobody) {
				return h, err
			}
		}
		s, err := k.Open(ctx, path)
		if err == nil {
			b, err := k.Keep(s)
			if err != nil {
				return nil, err
			}
			return b.face(name, answers), nil
		}
		if !errors.Is(err, transcript.ErrLocked) || time.Now().After(late) {
			return nil, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (b *Background) face(name string, answers bool) session.Handle {
	if !answers {
		return b.sv.s.Face(name, false)
	}
	return b.sv.face(name, true)
}

// kept is a session that is open here; nil: it isn't.
func (k *Keeper) kept(path string) *Background {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[k.name(path)]
}

// name is what a session is found by.
func (k *Keeper) name(path string) string {
	if k.Alone {
		return path
	}
	return identity(path)
}

func (k *Keeper) background(s *session.Session) (b *Background, name string, err error) {
	if k.Alone {
		return inBackground(s, nil), s.Log().ID(), nil
	}
	b, err = k.Place.Background(s)
	return b, identity(s.Facts().Path), err
}

// Keep keeps a session that was opened in this process, until it is idle, somebody has it end,
// or Close.
func (k *Keeper) Keep(s *session.Session) (*Background, error) {
	b, id, err := k.background(s)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the session open: %w", err), s.Close())
	}
	s.Announce()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil, errors.Join(session.ErrClosed, b.Close())
	}
	if k.open == nil {
		k.open = map[string]*Background{}
	}
	k.open[id] = b
	k.ending.Go(func() {
		b.Wait(context.Background(), k.Idle)
		k.mu.Lock()
		if k.open[id] == b {
			delete(k.open, id)
		}
		k.mu.Unlock()
		_ = b.Close() // its transcript is on disk; a warning of its end has no reader
		close(b.gone)
	})
	return b, nil
}

// Handle is that of a session that is open in this process, without a face of its own; false: it
// isn't. It must not be closed.
func (k *Keeper) Handle(path string) (session.Handle, bool) {
	b := k.kept(path)
	if b == nil {
		return nil, false
	}
	return b.Handle, true
}

// End ends a session that is open in this process, and waits until it has ended.
func (k *Keeper) End(ctx context.Context, path string) {
	b := k.kept(path)
	if b == nil {
		return
	}
	b.tell.Do(func() { close(b.told) })
	select {
	case <-b.gone:
	case <-ctx.Done():
	}
}

// Path is the file of the session with an id that is open in this process; false: none is.
func (k *Keeper) Path(id string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path, b := range k.open {
		if b.sv.s.Log().ID() == id {
			return path, true
		}
	}
	return "", false
}

// handles are those of the sessions that are open in this process, by their names.
func (k *Keeper) handles() map[string]session.Handle {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]session.Handle{}
	for name, b := range k.open {
		all[name] = b.Handle
	}
	return all
}

// Len is how many sessions are open in this process.
func (k *Keeper) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.open)
}

// Running describes the sessions that are open in this process.
func (k *Keeper) Running(ctx context.Context) []Running {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.open))
	k.mu.Unlock()
	var list []Running
	for _, b := range all {
		if r, err := running(ctx, b, b.sv.describe()); err == nil { // else it has just ended
			list = append(list, r)
		}
	}
	return list
}

// Drain lets the sessions that are open in this process come to a point where ending them loses and
// repeats nothing, until ctx ends. One that waits for an answer is at such a point. Nothing
// begins in them any more: Close comes next.
func (k *Keeper) Drain(ctx context.Context) {
	k.mu.Lock()
	k.ended = true
	all := slices.Collect(maps.Values(k.open))
	k.mu.Unlock()
	var work sync.WaitGroup
	for _, b := range all {
		if open, err := b.Questions().Open(ctx); err != nil || len(open) > 0 {
			continue
		}
		work.Go(func() { session.Halt(ctx, b.sv.s) })
	}
	work.Wait()
}

// Close ends the sessions that are open in this process.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.ended = true
	all := slices.Collect(maps.Values(k.open))
	k.mu.Unlock()
	for _, b := range all {
		b.tell.Do(func() { close(b.told) })
	}
	k.ending.Wait()
}
