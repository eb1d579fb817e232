package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript"
)

const (
	// askedFor is how long a question waits before browsers are told: one that is answered before is told
	// to nobody.
	askedFor = 2 * time.Second
	// subscribedEvery is how often is looked whether a browser has subscribed at another server.
	subscribedEvery = time.Minute
)

// watchSessions tells people's browsers what happens in sessions of this machine, those of terminals
// too, until ctx ends. While no browser wants it, nothing is followed.
func (k *kept) watchSessions(ctx context.Context, failed func(error)) {
	news := make(chan struct{}, 1)
	changed := func() {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	again := time.NewTimer(0)
	defer again.Stop()
	var leave func() // nil: nobody wants it
	defer func() {
		if leave != nil {
			leave()
		}
	}()
	w := sessionWatch{kept: k}
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-k.subscribed:
		case <-again.C:
		}
		wanted, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		if wanted && leave == nil {
			leave = k.watch.Listen(changed)
		} else if !wanted && err == nil && leave != nil {
			leave()
			leave = nil
		}
		again.Reset(w.next())
	}
}

// sessionWatch is what was seen of the sessions of this machine.
type sessionWatch struct {
	*kept
	seen map[string]seenSession // nil: nobody has looked yet
}

type seenSession struct {
	state owner.State
	asked time.Time // when a question was seen to wait
	told  bool      // that it waits
}

// next is when to look again, whatever happens.
func (w *sessionWatch) next() time.Duration {
	for _, is := range w.seen {
		if is.state == owner.Waiting && !is.told {
			return max(askedFor-time.Since(is.asked), 50*time.Millisecond)
		}
	}
	return subscribedEvery
}

// look tells what has happened since the last look, if any browser wants it.
func (w *sessionWatch) look(ctx context.Context) (wanted bool, err error) {
	if wanted, err = w.push.Subscribed(ctx); err != nil || !wanted {
		w.seen = nil
		return wanted, err
	}
	all, err := w.runningSessions(ctx)
	if err != nil {
		return true, err
	}
	now := map[string]seenSession{}
	for _, r := range all {
		was, known := w.seen[r.ID]
		is := seenSession{state: r.State, asked: time.Now()}
		if r.State == owner.Waiting && was.state == owner.Waiting {
			is.asked, is.told = was.asked, was.told
		}
		var tell error
		switch {
		case r.State == owner.Waiting && !is.told && known && time.Since(is.asked) >= askedFor:
			is.told = true
			tell = w.tellSession(ctx, r.ID, push.Question)
		case was.told && r.State != owner.Waiting:
			tell = w.push.AnsweredSession(ctx, r.ID)
		}
		if known && r.State == owner.AtRest && was.state != owner.AtRest {
			if kind, ok := w.ending(ctx, r); ok {
				tell = errors.Join(tell, w.tellSession(ctx, r.ID, kind))
			}
		}
		if tell != nil {
			return true, tell
		}
		now[r.ID] = is
	}
	w.seen = now
	return true, nil
}

// tellSession tells browsers what happened in a session, unless somebody looks at it in one.
func (w *sessionWatch) tellSession(ctx context.Context, id string, kind push.Kind) error {
	if w.looking.any(id) {
		return nil
	}
	return w.push.NotifySession(ctx, id, kind)
}

// ending says how the last turn of a session ended; false: whoever stopped it knows.
func (w *sessionWatch) ending(ctx context.Context, r owner.Running) (kind push.Kind, tell bool) {
	h, ok := w.sessions.Handle(r.Path)
	if !ok {
		var err error
		if h, err = w.sessions.Place.Glance(ctx, r.Path); err != nil {
			return "", false // it has ended
		}
		defer h.Close() //nolint:errcheck // it only leaves
	}
	for _, n := range slices.Backward(h.Transcript().Nodes()) {
		if n.Type != transcript.TypeMessage || n.Role != llm.RoleAssistant {
			continue
		}
		e, err := h.Transcript().Entry(n.ID)
		switch {
		case err != nil || e.Message == nil || e.Message.StopReason == llm.StopAborted:
			return "", false
		case e.Message.StopReason == llm.StopError:
			return push.Failed, true
		}
		return push.Done, true
	}
	return "", false
}

// runningSessions are the sessions that are open on this machine.
func (k *kept) runningSessions(ctx context.Context) ([]owner.Running, error) {
	all, _, err := k.sessions.Place.Running(ctx)
	return append(all, k.sessions.Running(ctx)...), err
}

// sessionTitle is what a session of this machine is called, for a person who may see it.
func (k *kept) sessionTitle(ctx context.Context, person, id string) (title string, may bool, err error) {
	who, err := k.people.Get(ctx, person)
	if err != nil || who.Role != people.Admin || who.Disabled {
		return "", false, err
	}
	all, err := k.runningSessions(ctx)
	for _, r := range all {
		if r.ID == id {
			return r.Title, true, nil
		}
	}
	return "", true, err
}

// lookers counts who follows which session.
type lookers struct {
	mu  sync.Mutex
	all map[string]int
}

// at counts somebody who follows a session, until the handle is closed.
func (l *lookers) at(id string, h session.Handle) session.Handle {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]int{}
	}
	l.all[id]++
	return &looker{Handle: h, leave: sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.all[id]--; l.all[id] == 0 {
			delete(l.all, id)
		}
	})}
}

func (l *lookers) any(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[id] > 0
}

// looker is the handle of somebody who follows a session.
type looker struct {
	session.Handle
	leave func()
}

// Behind is what it stands for; see [remote.Behind].
func (l *looker) Behind() session.Handle {
	if c := remote.Behind(l.Handle); c != nil {
		return c
	}
	return nil
}

// Close implements [session.Handle].
func (l *looker) Close() error {
	l.leave()
	return l.Handle.Close()
}
