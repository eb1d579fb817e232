package owner

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/platform/ipc"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

const (
	// maxWatched is how many sessions are followed. While more are open, a change is told every
	// lookEvery instead, as where folders can't be watched.
	maxWatched = 64
	lookEvery  = 4 * time.Second
	// maxFolders is how many folders of session files are watched.
	maxFolders = 200
	// toldEvery is the least time between two changes that are told; the first one is told at once.
	toldEvery = time.Second
	// settleTime is how long a socket may be there before somebody listens.
	settleTime = 300 * time.Millisecond
)

// Watch tells when what the sessions of this machine do may have changed: one is opened or closed,
// begins or ends a turn, asks, is answered, gets a title, or has a sub-agent that does. It follows
// sessions only while somebody listens. The zero value with a Place is ready.
type Watch struct {
	Place Place
	// Keeper has the sessions of this process, which can't join itself. It may be nil.
	Keeper *Keeper
	// Folders are those of session files, in which files that come and go are a change. It may be nil.
	Folders func() []string

	mu        sync.Mutex
	listeners map[*func()]bool
	stop      func() // ends what follows; nil: nobody listens
}

// Listen has changed called for each change, at most once in a second, until leave. It is called from
// one goroutine and must not block. It may be called although nothing has changed.
func (w *Watch) Listen(changed func()) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners == nil {
		w.listeners = map[*func()]bool{}
	}
	w.listeners[&changed] = true
	if w.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		w.stop = func() { cancel(); <-done }
		go func() {
			defer close(done)
			w.run(ctx)
		}()
	}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		delete(w.listeners, &changed)
		var stop func()
		if len(w.listeners) == 0 {
			stop, w.stop = w.stop, nil
		}
		w.mu.Unlock()
		if stop != nil {
			stop()
		}
	})
}

func (w *Watch) tell() {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.listeners))
	w.mu.Unlock()
	for _, changed := range all {
		(*changed)()
	}
}

// watching is a Watch while somebody listens.
type watching struct {
	*Watch
	news   chan struct{} // has room for one: something has changed
	gone   chan gone
	open   map[string]bool
	more   bool // sessions are open that aren't followed
	folder *fsnotify.Watcher
	all    sync.WaitGroup
}

// gone is a session that isn't followed any more.
type gone struct {
	name  string
	ended bool // a session was there
}

func (w *Watch) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	x := &watching{Watch: w, news: make(chan struct{}, 1), gone: make(chan gone), open: map[string]bool{}}
	defer x.all.Wait()
	defer cancel()
	sockets := ipc.Folders(w.Place.Data, w.Place.Getenv)
	var events chan fsnotify.Event
	var lost chan error
	if folder, err := fsnotify.NewWatcher(); err == nil {
		defer folder.Close() //nolint:errcheck // always nil
		x.folder, events, lost = folder, folder.Events, folder.Errors
	}
	blind := !x.watch(sockets) // or there is nothing to watch, as on Windows
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	settled, due := time.NewTimer(0), time.NewTimer(time.Hour)
	due.Stop()
	defer settled.Stop()
	defer due.Stop()
	var last time.Time
	waits := false
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if e.Op.Has(fsnotify.Write) || e.Op.Has(fsnotify.Chmod) {
				continue // a session goes on, which it says itself
			}
			x.stir()
			settled.Reset(settleTime)
		case <-lost:
			x.stir()
			settled.Reset(settleTime)
		case <-settled.C:
			x.find(ctx)
			blind = !x.watch(sockets)
		case <-look.C:
			if blind || x.more {
				x.find(ctx)
				blind = !x.watch(sockets)
			}
			if x.more {
				x.stir()
			}
		case one := <-x.gone:
			delete(x.open, one.name)
			if one.ended { // where nobody listens yet, a change in the folder says when somebody does
				x.stir()
				settled.Reset(settleTime)
			}
		case <-x.news:
			if wait := toldEvery - time.Since(last); wait > 0 {
				if !waits {
					due.Reset(wait)
					waits = true
				}
				continue
			}
			last = time.Now()
			w.tell()
		case <-due.C:
			waits, last = false, time.Now()
			w.tell()
		}
	}
}

// stir says that something has changed.
func (x *watching) stir() {
	select {
	case x.news <- struct{}{}:
	default:
	}
}

// watch watches the folders that are there now; false: where sockets come and go can't be watched.
func (x *watching) watch(sockets []string) bool {
	if x.folder == nil {
		return false
	}
	seen := len(sockets) > 0
	for _, dir := range sockets {
		seen = x.folder.Add(dir) == nil && seen
	}
	if x.Folders != nil {
		all := x.Folders()
		for _, dir := range all[:min(len(all), maxFolders)] {
			_ = x.folder.Add(dir) // without it, its files are seen with the next change
		}
	}
	return seen
}

// find follows the sessions that have been opened.
func (x *watching) find(ctx context.Context) {
	addresses, err := ipc.List(x.Place.Data, x.Place.Getenv)
	if err != nil {
		return // the next look may work
	}
	x.more = false
	if x.Keeper != nil {
		for name, h := range x.Keeper.handles() {
			x.begin(ctx, name, func() bool { return x.follow(ctx, h) })
		}
	}
	for _, address := range addresses {
		x.begin(ctx, address, func() bool { return x.join(ctx, address) })
	}
}

// begin follows a session unless that is done already, or too many are.
func (x *watching) begin(ctx context.Context, name string, follow func() bool) {
	if x.open[name] {
		return
	}
	if len(x.open) >= maxWatched {
		x.more = true
		return
	}
	x.open[name] = true
	x.all.Go(func() {
		ended := follow()
		select {
		case x.gone <- gone{name, ended}:
		case <-ctx.Done():
		}
	})
}

// join joins the session of another process, and follows it; false: nobody listens at the address.
func (x *watching) join(ctx context.Context, address string) bool {
	opening, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	h, err := Dial(opening, address, glance, remote.Watch)
	if err != nil {
		return false
	}
	defer h.Close() //nolint:errcheck // it only leaves
	return x.follow(ctx, h)
}

// follow tells what a session does until it ends, or ctx does.
func (x *watching) follow(ctx context.Context, h session.Handle) bool {
	x.stir()
	agents := map[string]string{} // what was said of each
	feed := h.Events(session.Cursor{})
	for {
		e, err := feed.Next(ctx)
		if err != nil {
			return true
		}
		if changes(&e, agents) {
			x.stir()
		}
	}
}

// changes reports whether an event changes what a list says of a session.
func changes(e *session.Event, agents map[string]string) bool {
	switch e.Type {
	case agent.AgentStart, agent.TurnEnd, session.AgentSettled, session.QuestionAsked, session.QuestionSettled, session.TitleChanged, session.OwnerChanged, session.EventsLost, session.CostCounted:
		return true
	case session.AgentChanged:
		a, ok := e.Data.(*session.Agent)
		if !ok {
			return true
		}
		is := string(a.State) + " " + a.Waiting
		if agents[a.ID] == is {
			return false
		}
		agents[a.ID] = is
		return true
	}
	return false
}
