package undo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Whose a change is.
//
// Looks divide time. What differs between two looks was changed between them, by
//
//   - whoever declared it: an [Intent] of this process, a turn that another
//     session wrote into the journal meanwhile, an undo, or a person whose change a
//     face reported ([Journal.NotOurs]). It is recorded there, once;
//   - else the command that was watched. Of several, it is the one in the
//     foreground, else the one that began last;
//   - else nobody of ours: with no command watched, it is the user's.
//
// So each command that begins or ends closes the books on what ran before it, and
// a job in the background gets only what changed while no other command ran. What
// a person changes while a command runs, unknown to burin, cannot be told from
// what the command changes. An undo leaves it alone where it was changed again
// since.

// watch looks at the folder, and says whose what has changed is.
type watch struct {
	folder *folder
	lines  *lines
	base   *baseline

	foreground sync.Mutex // held while a command runs under Watch: they share no looks
	looking    sync.Mutex // held during a look

	mu     sync.Mutex
	active []*command // in the order in which they began
}

// command is a command under watch.
type command struct {
	turn       line
	background bool
	paths      map[string]bool // that it changed
}

// add notes the paths of changes that belong to the command.
func (c *command) add(changes []Change) {
	for _, change := range changes {
		c.paths[change.Path] = true
	}
}

// Watched is a command in the background that is watched.
type Watched struct {
	watch   *watch
	command *command
}

// End records what the command changed and returns the paths, without those of git.
func (w *Watched) End(ctx context.Context) ([]string, error) { return w.watch.end(ctx, w.command) }

// run watches f; see [Journal.Watch].
func (w *watch) run(ctx context.Context, f func() error) ([]string, error) {
	w.foreground.Lock()
	defer w.foreground.Unlock()
	c, lookErr := w.begin(ctx, false)
	if ctx.Err() != nil {
		if c != nil {
			w.forget(c)
		}
		return nil, ctx.Err()
	}
	ferr := f()
	if lookErr != nil {
		return nil, errors.Join(ferr, lookErr)
	}
	// What f has done is done, also if ctx has ended by now.
	paths, err := w.end(context.WithoutCancel(ctx), c)
	return paths, errors.Join(ferr, err)
}

// begin watches a command from now on, in the open turn.
func (w *watch) begin(ctx context.Context, background bool) (*command, error) {
	c := &command{turn: w.lines.turns.current(), background: background, paths: map[string]bool{}}
	if err := w.closeBooks(ctx); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = append(w.active, c)
	return c, nil
}

// end records what a command changed and gives the paths, without those of git.
func (w *watch) end(ctx context.Context, c *command) ([]string, error) {
	err := w.closeBooks(ctx)
	w.forget(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	paths := slices.Sorted(maps.Keys(c.paths))
	return slices.DeleteFunc(paths, isGit), err
}

func (w *watch) forget(c *command) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = slices.DeleteFunc(w.active, func(o *command) bool { return o == c })
}

// owner is the command that what changed belongs to; nil: none is watched.
func (w *watch) owner() *command {
	var last *command
	for _, c := range w.active {
		if !c.background {
			return c
		}
		last = c
	}
	return last
}

// holdCommands waits for the command that runs under Watch, and lets none begin.
func (w *watch) holdCommands() (release func()) {
	w.foreground.Lock()
	return w.foreground.Unlock
}

// holdLooks waits for the look under way, and lets none begin.
func (w *watch) holdLooks() (release func()) {
	w.looking.Lock()
	return w.looking.Unlock
}

// closeBooks looks at the tree and records what changed since the last look, if it
// belongs to a command.
func (w *watch) closeBooks(ctx context.Context) error {
	defer w.holdLooks()()
	if err := w.lines.use(); err != nil { // looks rely on the store
		return err
	}
	last, prior := w.base.begin()
	l, err := w.folder.look(ctx, last)
	if err != nil {
		w.base.abandon(prior)
		return err
	}
	if !w.isWatching() {
		w.base.adopt(l, prior)
		if len(last.tree) == 0 { // it was the first look
			_, _ = w.base.save() // it would only save time
		}
		return nil
	}
	return w.lines.exclusive(func() error {
		c, changes := w.assign(l, prior)
		if c == nil {
			return nil
		}
		return w.lines.record(c.turn, changes)
	})
}

func (w *watch) isWatching() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.active) > 0
}

// assign adopts a look, and gives what has changed to the command that it belongs to;
// nil: none is watched any more.
func (w *watch) assign(l *looked, prior map[string]State) (*command, []Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, changes := w.owner(), w.base.adopt(l, prior)
	if c != nil {
		c.add(changes)
	}
	return c, changes
}

// attribute gives the command that is watched what it has made so far of paths
// that are about to be changed by something else.
func (w *watch) attribute(planned []Change) error {
	w.mu.Lock()
	c := w.owner()
	if c == nil {
		w.mu.Unlock()
		return nil
	}
	changes := w.base.unaccounted(planned)
	c.add(changes)
	w.mu.Unlock()
	return w.lines.record(c.turn, changes)
}
