package vfs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

const (
	maxCachedNodes = 20_000 // of all trees in memory but the one that was used last
	maxCached      = 256    // trees in memory
)

// project is a tree in memory.
type project struct {
	used    uint64        // when, by the clock of the store
	writing chan struct{} // holds a value while one of this process changes the tree

	mu    sync.Mutex
	state *state // nil: not loaded
}

// state is a tree as it was at a revision. The lock is held while it is looked at, and only
// briefly.
type state struct {
	ring *vault.Ring // that opened it

	mu       sync.RWMutex
	revision int64
	last     int64 // number of the newest node
	bytes    int64
	nodes    map[int64]*node
	folders  map[int64]*folder
	orphans  map[int64]*node
}

// folder is what is in a folder, deleted things included.
type folder struct {
	names map[string]*node
	live  atomic.Pointer[[]*node] // what isn't deleted, by name; nil: not sorted yet
}

func newState(ring *vault.Ring) *state {
	return &state{ring: ring, revision: -1, nodes: map[int64]*node{}, folders: map[int64]*folder{}, orphans: map[int64]*node{}}
}

// set takes a node as it is now; nil: it was purged.
func (s *state) set(id int64, n *node) {
	if old := s.nodes[id]; old != nil {
		delete(s.orphans, id)
		if f := s.folders[old.parent]; f != nil && f.names[old.name] == old {
			delete(f.names, old.name)
			f.live.Store(nil)
			if len(f.names) == 0 {
				delete(s.folders, old.parent)
			}
		}
	}
	if n == nil {
		delete(s.nodes, id)
		return
	}
	s.nodes[id] = n
	if n.parent == nowhere {
		s.orphans[id] = n
		return
	}
	f := s.folders[n.parent]
	if f == nil {
		f = &folder{names: map[string]*node{}}
		s.folders[n.parent] = f
	}
	f.names[n.name] = n
	f.live.Store(nil)
}

// list gives what isn't deleted in a folder, by name. The caller must not change it.
func (f *folder) list() []*node {
	if live := f.live.Load(); live != nil {
		return *live
	}
	live := make([]*node, 0, len(f.names))
	for _, n := range f.names {
		if !n.deleted {
			live = append(live, n)
		}
	}
	slices.SortFunc(live, byName)
	f.live.Store(&live)
	return live
}

func byName(a, b *node) int { return strings.Compare(a.name, b.name) }

// project gives what is in memory of a project.
func (s *Store) project(name string) *project {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.projects[name]
	if p == nil {
		p = &project{writing: make(chan struct{}, 1)}
		s.projects[name] = p
	}
	s.clock++
	p.used = s.clock
	return p
}

// trim forgets the trees that were used longest ago.
func (s *Store) trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	sizes, total := map[string]int{}, 0
	for name, p := range s.projects {
		sizes[name] = p.size()
		total += sizes[name]
	}
	for len(s.projects) > 1 && (total > maxCachedNodes || len(s.projects) > maxCached) {
		oldest := ""
		for name, p := range s.projects {
			if oldest == "" || p.used < s.projects[oldest].used {
				oldest = name
			}
		}
		total -= sizes[oldest]
		delete(s.projects, oldest)
	}
}

func (p *project) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		return 0
	}
	p.state.mu.RLock()
	defer p.state.mu.RUnlock()
	return len(p.state.nodes)
}

// fresh gives the tree as it is now.
func (t *Tree) fresh(ctx context.Context, q store.Querier, p *project) (*state, error) {
	p.mu.Lock()
	st := p.state
	p.mu.Unlock()
	since := int64(-1)
	if st != nil && st.ring == t.rows.ring {
		st.mu.RLock()
		since = st.revision
		st.mu.RUnlock()
		var now int64 // mostly all that has to be read
		err := q.QueryRow(ctx, `SELECT revision FROM {vfs_projects} WHERE project = ?1`, t.rows.project).Scan(&now)
		if err == nil && now == since {
			return st, nil
		}
	} else {
		st = newState(t.rows.ring)
	}
	d, err := t.rows.delta(ctx, q, since)
	if err == nil && (d.purged > since || d.revision < since) && since >= 0 { // what is in memory doesn't lead there
		st, since = newState(t.rows.ring), -1
		d, err = t.rows.delta(ctx, q, since)
	}
	if err != nil {
		return nil, err
	}
	if d.revision == since {
		return st, nil
	}
	st.mu.Lock()
	if st.revision < d.revision { // else somebody else has brought it further
		st.revision, st.last, st.bytes = d.revision, d.last, d.bytes
		for _, n := range d.nodes {
			st.set(n.id, n)
		}
	}
	st.mu.Unlock()
	if since < 0 {
		p.mu.Lock()
		p.state = st
		p.mu.Unlock()
		t.s.trim()
	}
	return st, nil
}
