package undo

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
)

// Change is what became of a path.
type Change struct {
	Path   string `json:"path"` // relative, with slashes; below ".git" what it is to git
	Before State  `json:"before"`
	After  State  `json:"after"`
	// Splices lead from Before to After, in their order, where neither was kept.
	Splices []Splice `json:"splices,omitempty"`
}

// contents are the hashes of what is kept for a change.
func (c *Change) contents() []string {
	all := []string{c.Before.Hash, c.After.Hash}
	for _, s := range c.Splices {
		all = append(all, s.Old, s.New)
	}
	return all
}

// direction is which way a change is gone over.
type direction bool

const (
	forth direction = false // from before to after
	back  direction = true  // from after to before
)

// ends are the states of a change that the direction leads from and to.
func (d direction) ends(c Change) (from, to State) {
	if d == back {
		return c.After, c.Before
	}
	return c.Before, c.After
}

// Turn is a turn that changed something.
type Turn struct {
	ID      string
	Session string // the journal's that recorded it
	Label   string
	Time    time.Time
	Changes []Change // one for each path, sorted by path
	Undone  bool

	key string // tells turns with the same ID apart
	// over holds the paths that someone else changed between two changes of the
	// turn. Only the last change of such a path can be taken back.
	over  map[string]bool
	fates map[string]fate // of paths whose change no longer stands
}

// fate is what became of a turn's change of a path. An undo takes back what stands,
// the undo of the undo brings back what was taken: what someone else made of a
// path in between is theirs, even if it is the same.
type fate string

const (
	fateStands fate = ""
	fateTaken  fate = "taken"
	fateGone   fate = "gone" // it was taken back, and then someone else changed the path
)

// add joins a change with an earlier one of the same path: the turn as a whole
// went from the first before to the last after. A change that begins with
// something else than the earlier one left goes over what someone did in between,
// which must not be lost: it stands alone then.
func (t *Turn) add(c Change) {
	i, found := slices.BinarySearchFunc(t.Changes, c.Path, func(c Change, p string) int { return strings.Compare(c.Path, p) })
	if !found {
		t.Changes = slices.Insert(t.Changes, i, c)
		return
	}
	splices := c.Splices
	switch was := t.Changes[i]; {
	case c.Before.same(was.After):
		splices = joined(was.Splices, c.Splices)
	case !c.Before.same(was.Before):
		t.over[c.Path] = true
		t.Changes[i].Before = c.Before
	}
	t.Changes[i].After, t.Changes[i].Splices = c.After, splices
}

// decide notes what became of the paths of a turn by an undo.
func (t *Turn) decide(l line) {
	for _, p := range l.Taken {
		t.fates[p] = fateTaken
	}
	for _, p := range l.Back {
		delete(t.fates, p)
	}
	for _, p := range l.Gone {
		t.fates[p] = fateGone
	}
	if l.Undone == nil {
		return
	}
	t.Undone = *l.Undone
	for p, f := range t.fates {
		if f == fateTaken && !t.Undone {
			t.fates[p] = fateGone
		}
	}
}

// changed reports whether the turn as a whole changed something.
func (t *Turn) changed() bool { return len(t.Changes) > 0 }

func (t *Turn) fullID() string { return t.ID + "@" + t.key }

// line is the line that says all about the turn.
func (t *Turn) line() line {
	undone := t.Undone
	l := line{Turn: t.ID, Key: t.key, Session: t.Session, Label: t.Label, Time: t.Time, Changes: t.Changes, Undone: &undone}
	l.Over = slices.Sorted(maps.Keys(t.over))
	for p, f := range t.fates {
		if f == fateTaken {
			l.Taken = append(l.Taken, p)
		} else {
			l.Gone = append(l.Gone, p)
		}
	}
	return l
}

// turns are the turns that the lines of the journal tell of, and the one that is open.
type turns struct {
	session string
	// others gets what other sessions changed, as it is heard of.
	others func(changes []Change, d direction)

	mu      sync.Mutex
	all     []*Turn
	byKey   map[string]*Turn
	pending map[string]line // intents that are not settled
	open    line            // the open turn
}

func newTurns(session string, others func([]Change, direction)) *turns {
	t := &turns{session: session, others: others}
	t.clear()
	return t
}

// clear forgets all turns but the open one.
func (ts *turns) clear() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all, ts.byKey, ts.pending = nil, map[string]*Turn{}, map[string]line{}
}

// begin opens a turn.
func (ts *turns) begin(id, label string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.open = line{Turn: id, Label: label, Key: newKey(), Session: ts.session}
}

// current is the open turn, to record in.
func (ts *turns) current() line {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.open
}

// read adds what lines of the file say, also those of other sessions.
func (ts *turns) read(data []byte) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for text := range bytes.Lines(data) {
		if l, ok := parseLine(text); ok {
			if l.Session != ts.session {
				ts.hear(l)
			}
			ts.apply(l)
		}
	}
}

// hear passes on what a line of another session says was changed.
func (ts *turns) hear(l line) {
	if l.Intent != "" {
		return
	}
	changes := l.Changes
	if t := ts.byKey[l.Turn+"@"+l.Key]; l.Undone != nil && t != nil {
		changes = t.Changes
	}
	ts.others(changes, direction(l.Undone != nil && *l.Undone))
}

// add adds a line of this process.
func (ts *turns) add(l line) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.apply(l)
}

func (ts *turns) apply(l line) {
	if l.Intent != "" {
		ts.pending[l.Intent] = l
		return
	}
	delete(ts.pending, l.Settles)
	if len(l.Changes) == 0 && l.Undone == nil && len(l.Taken)+len(l.Back) == 0 {
		return
	}
	t := ts.byKey[l.Turn+"@"+l.Key]
	if t == nil {
		t = &Turn{ID: l.Turn, Session: l.Session, Label: l.Label, Time: l.Time, key: l.Key, over: map[string]bool{}, fates: map[string]fate{}}
		ts.byKey[t.fullID()] = t
		ts.all = append(ts.all, t)
	}
	for _, c := range l.Changes {
		t.add(c)
		delete(t.fates, c.Path)
		t.Undone = false // it goes on
	}
	t.decide(l)
	for _, p := range l.Over {
		t.over[p] = true
	}
}

// unsettled are the intents that no line has settled, oldest first.
func (ts *turns) unsettled() []line {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	all := slices.Collect(maps.Values(ts.pending))
	sorting.Stable(all, func(a, b line) int { return strings.Compare(a.Intent, b.Intent) })
	return all
}

// list are copies of the turns that changed something; see [Journal.Turns].
func (ts *turns) list() []Turn {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var all []Turn
	taken := map[string]bool{}
	for _, t := range slices.Backward(ts.all) {
		if !t.changed() {
			continue
		}
		c := *t
		c.Changes = slices.Clone(t.Changes)
		if c.Session != ts.session || taken[c.ID] {
			c.ID = t.fullID()
		}
		taken[c.ID] = true
		all = append(all, c)
	}
	slices.Reverse(all)
	return all
}

// undoable is a copy of a turn with only the changes that an undo of it concerns, and
// copies of what the turns after it changed: they may go on while a preview reads them.
func (ts *turns) undoable(id string) (t Turn, later []Turn, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	i, err := ts.find(id)
	if err != nil {
		return t, nil, err
	}
	t = *ts.all[i]
	want := fateStands
	if t.Undone {
		want = fateTaken
	}
	t.Changes = slices.DeleteFunc(slices.Clone(t.Changes), func(c Change) bool { return t.fates[c.Path] != want })
	for _, l := range ts.all[i+1:] {
		later = append(later, Turn{Undone: l.Undone, Changes: slices.Clone(l.Changes)})
	}
	return t, later, nil
}

// changes are those of a turn, whatever became of them.
func (ts *turns) changes(id string) ([]Change, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	i, err := ts.find(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(ts.all[i].Changes), nil
}

// find gives the index of a turn that changed something: the newest of this
// session with this id, or the one with this full id.
func (ts *turns) find(id string) (int, error) {
	other := ""
	for i, t := range slices.Backward(ts.all) {
		switch {
		case !t.changed():
		case t.fullID() == id || t.ID == id && t.Session == ts.session:
			return i, nil
		case t.ID == id && other == "":
			other = t.fullID()
		}
	}
	if other != "" {
		return -1, fmt.Errorf("this session has no turn %q that changed something; another session's is %s", id, other)
	}
	return -1, fmt.Errorf("no turn %q changed anything", id)
}

// within are the turns that the limits of age and size leave, oldest first. It marks
// the contents that they name in live, which holds what stays in any case; sizes are
// the sizes of all contents. all reports that no turn is beyond the limits.
func (ts *turns) within(now time.Time, most int64, sizes map[string]int64, live map[string]bool) (keep []*Turn, all bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	total := int64(0)
	newestFirst := slices.Clone(ts.all)
	slices.SortStableFunc(newestFirst, func(a, b *Turn) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	for _, t := range newestFirst {
		own := map[string]bool{}
		for _, c := range t.Changes {
			for _, hash := range c.contents() {
				if size, ok := sizes[hash]; ok && !live[hash] && !own[hash] {
					own[hash] = true
					total += size
				}
			}
		}
		if now.Sub(t.Time) > MaxAge || total > most {
			break
		}
		for hash := range own {
			live[hash] = true
		}
		keep = append(keep, t)
	}
	slices.Reverse(keep)
	return keep, len(keep) == len(ts.all)
}
