package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits of a [List].
const (
	MaxItems   = 200  // tasks on a list
	MaxTitle   = 200  // characters
	MaxDetails = 4000 // characters
	MaxNote    = 2000 // characters
	maxAfter   = 50   // tasks that one depends on
)

// Status is how far an item of a list is.
type Status string

const (
	Open    Status = "open"
	Claimed Status = "claimed"
	Done    Status = "done"
)

// Item is a task of a list.
type Item struct {
	ID      string   `json:"id"`
	Title   string   `json:"title,omitempty"`
	Details string   `json:"details,omitempty"`
	After   []string `json:"after,omitempty"` // ids of those that must be done first
	Status  Status   `json:"status"`
	Owner   string   `json:"owner,omitempty"` // who has claimed it, or has done it
	Note    string   `json:"note,omitempty"`  // of whoever released it or has done it
	Passed  []string `json:"passed,omitempty"`
}

// Change is a change of a list, as it is kept.
type Change struct {
	New bool   `json:"new,omitempty"` // what was there before is gone
	Add []Item `json:"add,omitempty"`
	Set *Item  `json:"set,omitempty"` // the new state of an item, without what never changes
}

// List is a list of tasks that a session shares with its agents. Each is claimed by one of them at
// a time.
type List struct {
	mu      sync.Mutex
	items   []*Item
	keep    func(Change)
	changed chan struct{} // closed at the next change
}

// NewList makes a list from the changes that were kept of it. keep is given each further change, and
// must not call the list.
func NewList(kept []Change, keep func(Change)) *List {
	l := &List{keep: keep, changed: make(chan struct{})}
	for _, c := range kept {
		l.apply(c)
	}
	return l
}

// apply makes a change. l.mu must be held.
func (l *List) apply(c Change) {
	if c.New {
		l.items = nil
	}
	for _, item := range c.Add {
		l.items = append(l.items, &item)
	}
	if c.Set != nil {
		if item := l.find(c.Set.ID); item != nil {
			item.Status, item.Owner, item.Note, item.Passed = c.Set.Status, c.Set.Owner, c.Set.Note, c.Set.Passed
		}
	}
}

// commit applies a change, keeps it, and wakes those who wait for one. l.mu must be held.
func (l *List) commit(c Change) {
	l.apply(c)
	l.keep(c)
	close(l.changed)
	l.changed = make(chan struct{})
}

// set gives an item a new state. l.mu must be held.
func (l *List) set(item Item) {
	l.commit(Change{Set: &Item{ID: item.ID, Status: item.Status, Owner: item.Owner, Note: item.Note, Passed: item.Passed}})
}

func (l *List) find(id string) *Item {
	id = strings.TrimPrefix(strings.TrimSpace(id), "#")
	for _, item := range l.items {
		if item.ID == id {
			return item
		}
	}
	return nil
}

// get finds an item, or says which there are. l.mu must be held.
func (l *List) get(id string) (*Item, error) {
	if item := l.find(id); item != nil {
		return item, nil
	}
	if len(l.items) == 0 {
		return nil, fmt.Errorf("no task %q: the list is empty", id)
	}
	return nil, fmt.Errorf("no task %q: there are %s to %s", id, l.items[0].ID, l.items[len(l.items)-1].ID)
}

// Items returns the tasks as they are.
func (l *List) Items() []Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Item, len(l.items))
	for i, item := range l.items {
		all[i] = *item
	}
	return all
}

// Add puts tasks on the list, and returns them with their ids. Ids count on; a task may come after
// those that are there or stand before it. Where all tasks are done, a new list begins.
func (l *List) Add(tasks []Item) ([]Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := Change{New: len(l.items) > 0 && !slices.ContainsFunc(l.items, func(i *Item) bool { return i.Status != Done })}
	there := len(l.items)
	if c.New {
		there = 0
	}
	switch {
	case len(tasks) == 0:
		return nil, errors.New("tasks is missing: give at least one, with a title")
	case there+len(tasks) > MaxItems:
		return nil, fmt.Errorf("the list has %d tasks and may have %d: nothing was added", there, MaxItems)
	}
	last := 0
	if len(l.items) > 0 {
		last, _ = strconv.Atoi(l.items[len(l.items)-1].ID) // ids are numbers
	}
	for i, t := range tasks {
		t.ID, t.Status, t.Owner, t.Note, t.Passed = strconv.Itoa(last+i+1), Open, "", "", nil
		var err error
		if t.Title, err = fits("the title of task "+t.ID, t.Title, MaxTitle); err != nil {
			return nil, err
		}
		if t.Details, err = fits("the details of task "+t.ID, t.Details, MaxDetails); err != nil {
			return nil, err
		}
		if t.Title == "" {
			return nil, fmt.Errorf("task %s has no title: nothing was added", t.ID)
		}
		if t.After, err = l.depends(t, c.Add); err != nil {
			return nil, err
		}
		c.Add = append(c.Add, t)
	}
	l.commit(c)
	return c.Add, nil
}

// depends checks what a new task comes after. l.mu must be held.
func (l *List) depends(t Item, before []Item) (after []string, err error) {
	if len(t.After) > maxAfter {
		return nil, fmt.Errorf("task %s comes after %d tasks, at most %d: nothing was added", t.ID, len(t.After), maxAfter)
	}
	for _, id := range t.After {
		id = strings.TrimPrefix(strings.TrimSpace(id), "#")
		known := l.find(id)
		if known == nil && !slices.ContainsFunc(before, func(o Item) bool { return o.ID == id }) {
			return nil, fmt.Errorf("task %s comes after %q, which is neither on the list nor before it in this call; the first task of this call is %s: nothing was added", t.ID, id, firstID(before, t))
		}
		if known == nil || known.Status != Done { // what is done need not be waited for
			after = append(after, id)
		}
	}
	return after, nil
}

func firstID(before []Item, t Item) string {
	if len(before) > 0 {
		return before[0].ID
	}
	return t.ID
}

func fits(what, text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n > most {
		return "", fmt.Errorf("%s has %d characters, at most %d: put long texts into a local:// file and name it", what, n, most)
	}
	return text, nil
}

// free reports whether everything that an item comes after is done. l.mu must be held.
func (l *List) free(item *Item) bool {
	return item.Status == Open && !slices.ContainsFunc(item.After, func(id string) bool {
		before := l.find(id)
		return before != nil && before.Status != Done
	})
}

var (
	// errNothing means that no task can be claimed now, but that one may become free.
	errNothing = errors.New("no task is free")
	// errLeft means that no task can be claimed, and that waiting is no use.
	errLeft = errors.New("nothing to claim")
)

// Claim gives who a task that nobody has: the one with that id, or the next. It waits for one to
// become free if none is, as long as others work on some. The second result has the tasks that it
// comes after.
func (l *List) Claim(ctx context.Context, who, id string, wait time.Duration) (Item, []Item, error) {
	var late <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		late = timer.C
	}
	for {
		item, before, changed, err := l.claim(who, id)
		if late == nil || !errors.Is(err, errNothing) {
			return item, before, err
		}
		select {
		case <-changed:
		case <-late:
			return item, before, err
		case <-ctx.Done():
			return item, before, context.Cause(ctx)
		}
	}
}

func (l *List) claim(who, id string) (got Item, before []Item, changed <-chan struct{}, err error) {
	id = strings.TrimPrefix(strings.TrimSpace(id), "#")
	l.mu.Lock()
	defer l.mu.Unlock()
	item, err := l.choose(who, id)
	if err != nil {
		return Item{}, nil, l.changed, err
	}
	state := *item
	state.Status, state.Owner = Claimed, who
	l.set(state)
	for _, id := range item.After {
		if b := l.find(id); b != nil {
			before = append(before, *b)
		}
	}
	return *item, before, nil, nil
}

// choose finds the task that who may claim. l.mu must be held.
func (l *List) choose(who, id string) (*Item, error) {
	for _, item := range l.items {
		if item.Status == Claimed && item.Owner == who && item.ID != id {
			return nil, fmt.Errorf("you have claimed task %s: complete or release it first", item.ID)
		}
	}
	if id != "" {
		item, err := l.get(id)
		switch {
		case err != nil:
			return nil, err
		case item.Status == Claimed && item.Owner == who:
			return item, nil
		case item.Status != Open:
			return nil, fmt.Errorf("task %s is %s by %s", item.ID, item.Status, item.Owner)
		case !l.free(item):
			return nil, fmt.Errorf("task %s comes after %s: %w", item.ID, l.open(item), errNothing)
		}
		return item, nil
	}
	for _, item := range l.items {
		if l.free(item) && !slices.Contains(item.Passed, who) {
			return item, nil
		}
	}
	return nil, l.none(who)
}

// open names the tasks that an item waits for. l.mu must be held.
func (l *List) open(item *Item) string {
	var ids []string
	for _, id := range item.After {
		if b := l.find(id); b != nil && b.Status != Done {
			ids = append(ids, b.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// none says why there is nothing for who to claim. l.mu must be held.
func (l *List) none(who string) error {
	var claimed, passed, waiting []string
	for _, item := range l.items {
		switch {
		case item.Status == Done:
		case item.Status == Claimed:
			claimed = append(claimed, item.ID+" ("+item.Owner+")")
		case l.free(item):
			passed = append(passed, item.ID)
		default:
			waiting = append(waiting, item.ID)
		}
	}
	var b strings.Builder
	for _, part := range []struct {
		what string
		ids  []string
	}{{"claimed", claimed}, {"waiting for others", waiting}, {"released by you", passed}} {
		if len(part.ids) > 0 {
			fmt.Fprintf(&b, "; %s: %s", part.what, strings.Join(part.ids, ", "))
		}
	}
	switch {
	case len(l.items) == 0:
		return fmt.Errorf("%w: the list is empty", errLeft)
	case b.Len() == 0:
		return fmt.Errorf("%w: all %d tasks are done", errLeft, len(l.items))
	case len(claimed) == 0: // nobody works on what the others wait for
		return fmt.Errorf("%w%s", errLeft, b.String())
	}
	return fmt.Errorf("%w%s", errNothing, b.String())
}

// Complete notes that who has done a task: the one with that id, or with "" the one that who has
// claimed. The session itself may complete any.
func (l *List) Complete(who, id, note string) (Item, error) {
	return l.end(who, id, note, Done)
}

// Release gives a task back that who has claimed, for others. The session itself may release any.
func (l *List) Release(who, id, note string) (Item, error) {
	return l.end(who, id, note, Open)
}

// held finds the task with that id, or the one that who has claimed. l.mu must be held.
func (l *List) held(who, id string) (*Item, error) {
	if id != "" {
		return l.get(id)
	}
	for _, item := range l.items {
		if item.Status == Claimed && item.Owner == who {
			return item, nil
		}
	}
	return nil, errors.New("you have claimed no task")
}

func (l *List) end(who, id, note string, status Status) (Item, error) {
	note, err := fits("the note", note, MaxNote)
	if err != nil {
		return Item{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	item, err := l.held(who, id)
	switch {
	case err != nil:
		return Item{}, err
	case item.Status == Done:
		return Item{}, fmt.Errorf("task %s is done already, by %s", item.ID, item.Owner)
	case who == Main && (status == Done || item.Status == Claimed):
	case item.Status != Claimed:
		return Item{}, fmt.Errorf("task %s is not claimed: claim it first", item.ID)
	case item.Owner != who:
		return Item{}, fmt.Errorf("task %s is claimed by %s", item.ID, item.Owner)
	}
	state := *item
	state.Status, state.Note = status, note
	switch {
	case status == Done:
		state.Owner = who
	case state.Owner == who && who != Main:
		state.Passed = append(slices.Clone(state.Passed), who)
		fallthrough
	default:
		state.Owner = ""
	}
	l.set(state)
	return *item, nil
}

// Free releases what those have claimed who have ended, and returns it.
func (l *List) Free(ended func(owner string) bool) (freed []Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, item := range l.items {
		if item.Status == Claimed && ended(item.Owner) {
			freed = append(freed, *item)
			l.set(Item{ID: item.ID, Status: Open, Note: item.Note, Passed: item.Passed})
		}
	}
	return freed
}
