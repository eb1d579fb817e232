package crew

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// waits are the waits of a family: for an answer, in a call of task or job_poll, or for a
// place among the agents that work at a time. Its names are those of messages, in lower case.
type waits struct {
	mu     sync.Mutex
	all    []*wait // oldest first
	queued map[string]*Crew
	placed map[*Crew][]string
}

// wait is one who waits until the first of some others has ended or answered.
type wait struct {
	who string
	any []string
	end func(error) // ends a question; nil: it is none
}

// add notes a wait until release is called. If some wait in a circle now, the newest question of the
// circle is ended.
func (w *waits) add(n wait) (release func()) {
	n.who = strings.ToLower(n.who)
	added := &n
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, added)
	w.untangle()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.drop(added)
	}
}

// session notes that the session of a crew waits for the first of some agents.
func (w *waits) session(c *Crew, ids ...string) (release func()) {
	return w.add(wait{who: nameOf(c.of), any: ids})
}

func (w *waits) drop(gone *wait) {
	w.all = slices.DeleteFunc(w.all, func(o *wait) bool { return o == gone })
}

// queue notes an agent that needs a place among those that work at a time before it can begin.
func (w *waits) queue(id string, c *Crew) {
	if c.slots == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queued == nil {
		w.queued, w.placed = map[string]*Crew{}, map[*Crew][]string{}
	}
	w.queued[strings.ToLower(id)] = c
	w.untangle()
}

// place notes that an agent has its place.
func (w *waits) place(id string, c *Crew) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id = strings.ToLower(id)
	delete(w.queued, id)
	w.placed[c] = append(w.placed[c], id)
	w.untangle()
}

// leave notes that an agent needs no place any more.
func (w *waits) leave(id string, c *Crew) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id = strings.ToLower(id)
	delete(w.queued, id)
	if w.placed != nil {
		w.placed[c] = slices.DeleteFunc(w.placed[c], func(o string) bool { return o == id })
	}
}

// untangle ends questions until nobody waits in a circle. w.mu must be held.
func (w *waits) untangle() {
	for {
		stuck := w.stuck()
		newest := -1
		for i, n := range w.all {
			if n.end != nil && allStuck(n.any, stuck) && w.leads(stuck, n) {
				newest = i
			}
		}
		if newest < 0 {
			return
		}
		n := w.all[newest]
		w.drop(n)
		n.end(w.circle(n))
	}
}

// circle is the error of a question that would wait in a circle.
func (w *waits) circle(n *wait) error {
	other := n.any[0]
	if w.queued[strings.ToLower(other)] != nil {
		return fmt.Errorf("%s can't begin while you wait: it needs the place of an agent that works (task.maxConcurrency). Send without await: it reads the message when it begins", other)
	}
	return fmt.Errorf("%s waits for an answer of yours: give it in your result, or send without await", other)
}

// stuck are those who can't go on whatever the others do: all but those who wait for nobody, and
// those who only need one that goes on.
func (w *waits) stuck() map[string]bool {
	stuck := map[string]bool{}
	for _, n := range w.all {
		stuck[n.who] = true
	}
	for id := range w.queued {
		stuck[id] = true
	}
	for before := -1; before != len(stuck); {
		before = len(stuck)
		for id := range stuck {
			if !slices.ContainsFunc(w.of(id), func(group []string) bool { return allStuck(group, stuck) }) {
				delete(stuck, id)
			}
		}
	}
	return stuck
}

// of are the agents that somebody waits for: one of each group is enough.
func (w *waits) of(id string) (groups [][]string) {
	for _, n := range w.all {
		if n.who == id {
			groups = append(groups, n.any)
		}
	}
	if c := w.queued[id]; c != nil && len(w.placed[c]) >= cap(c.slots) {
		groups = append(groups, w.placed[c])
	}
	return groups
}

// leads reports whether the agents that n waits for wait for n.
func (w *waits) leads(stuck map[string]bool, n *wait) bool {
	seen := map[string]bool{}
	next := slices.Clone(n.any)
	for len(next) > 0 {
		id := strings.ToLower(next[0])
		next = next[1:]
		if id == n.who {
			return true
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		for _, group := range w.of(id) {
			if allStuck(group, stuck) {
				next = append(next, group...)
			}
		}
	}
	return false
}

func allStuck(ids []string, stuck map[string]bool) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !stuck[strings.ToLower(id)] })
}
