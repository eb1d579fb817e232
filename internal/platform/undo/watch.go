package undo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
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

// Watched is a command under watch.
type Watched struct {
	j          *Journal
	turn       line
	background bool
	paths      map[string]bool // that it changed
}

// Watch runs f and records what the tree is afterwards that it was not before.
// It gives the paths, without those of git. Watches run one after the other.
//
// f runs unless ctx has ended before. Its changes are recorded also if it fails,
// in the turn that was open when it began. An error of the looks means that they
// cannot be undone.
func (j *Journal) Watch(ctx context.Context, f func() error) ([]string, error) {
	j.watching.Lock()
	defer j.watching.Unlock()
	w, lookErr := j.begin(ctx, false)
	if ctx.Err() != nil {
		if w != nil {
			w.cancel()
		}
		return nil, ctx.Err()
	}
	ferr := f()
	if lookErr != nil {
		return nil, errors.Join(ferr, lookErr)
	}
	// What f has done is done, also if ctx has ended by now.
	paths, err := w.End(context.WithoutCancel(ctx))
	return paths, errors.Join(ferr, err)
}

// Begin watches a command that goes on in the background, in the open turn.
// Other commands, changes and undos may come meanwhile. End must be called when
// it has ended.
func (j *Journal) Begin(ctx context.Context) (*Watched, error) { return j.begin(ctx, true) }

func (j *Journal) begin(ctx context.Context, background bool) (*Watched, error) {
	w := &Watched{j: j, turn: j.turn(), background: background, paths: map[string]bool{}}
	if err := j.closeBooks(ctx); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.active = append(j.active, w)
	return w, nil
}

// End records what the command changed and gives the paths, without those of git.
func (w *Watched) End(ctx context.Context) ([]string, error) {
	err := w.j.closeBooks(ctx)
	w.cancel()
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	paths := slices.Sorted(maps.Keys(w.paths))
	return slices.DeleteFunc(paths, isGit), err
}

func (w *Watched) cancel() {
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	w.j.active = slices.DeleteFunc(w.j.active, func(o *Watched) bool { return o == w })
}

// owner is the command that what changed belongs to; nil: none is watched.
func (j *Journal) owner() *Watched {
	var last *Watched
	for _, w := range j.active {
		if !w.background {
			return w
		}
		last = w
	}
	return last
}

// NotOurs tells that someone else, a person in an editor for instance, has just
// changed these paths, so that it does not count as the work of a command that is
// watched.
func (j *Journal) NotOurs(paths ...string) error {
	for _, p := range paths {
		now, err := j.StateOf(p)
		if err != nil {
			return err
		}
		j.tell(p, now)
	}
	return nil
}

// Prepare looks at the tree once, so that the first Watch has less to read.
func (j *Journal) Prepare(ctx context.Context) error { return j.closeBooks(ctx) }

// closeBooks looks at the tree and records what changed since the last look, if it
// belongs to a command.
func (j *Journal) closeBooks(ctx context.Context) error {
	j.looking.Lock()
	defer j.looking.Unlock()
	j.filing.Lock()
	err := j.use() // looks rely on the store
	j.filing.Unlock()
	if err != nil {
		return err
	}
	j.mu.Lock()
	prior, first := j.told, len(j.known) == 0
	j.told = map[string]State{}
	j.mu.Unlock()
	l, err := j.look(ctx)
	if err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		maps.Copy(prior, j.told)
		j.told = prior
		return err
	}
	if !j.isWatching() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.adopt(l, prior)
		if first {
			_ = j.saveTree() // it would only save time
		}
		return nil
	}
	return j.exclusive(func() error {
		j.mu.Lock()
		changes, w := j.adopt(l, prior), j.owner()
		if w != nil {
			for _, c := range changes {
				w.paths[c.Path] = true
			}
		}
		j.mu.Unlock()
		if w == nil {
			return nil
		}
		return j.record(w.turn, changes)
	})
}

func (j *Journal) isWatching() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.active) > 0
}

// adopt makes a look the last one and gives what differs from the one before,
// less what was told: prior to the look, or while it went on.
func (j *Journal) adopt(l *looked, prior map[string]State) []Change {
	for p, s := range j.told { // whether the look came before or after it is chance
		e := l.tree[p]
		if was, ok := prior[p]; e.state.same(s) || ok && e.state.same(was) || !ok && e.state.same(j.known[p].state) {
			if s.Kind == "" {
				delete(l.tree, p)
			} else {
				l.tree[p] = entry{state: s}
			}
		}
		prior[p] = s
	}
	j.told = map[string]State{}
	var changes []Change
	differs := func(p string, was, now State) {
		if s, ok := prior[p]; ok {
			was = s
		}
		if !was.same(now) {
			changes = append(changes, Change{Path: p, Before: was, After: now})
		}
	}
	for p, e := range l.tree {
		was, ok := j.known[p]
		if !ok || !was.state.same(e.state) || len(prior) > 0 {
			differs(p, was.state, e.state)
		}
	}
	for p, was := range j.known {
		if _, ok := l.tree[p]; !ok {
			differs(p, was.state, State{})
		}
	}
	for p, s := range prior { // made after the last look, and gone again
		_, before := j.known[p]
		if _, now := l.tree[p]; !before && !now && s.Kind != "" {
			differs(p, s, State{})
		}
	}
	changes = append(changes, l.repo.since(j.repo)...)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	j.known, j.repo, j.unkept, j.cached = l.tree, l.repo, l.unkept, true
	return changes
}
