package project

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pollEvery is how often what other servers of the database have changed is looked for, while somebody waits for it.
const pollEvery = 2 * time.Second

// watchers are those who wait for changes of the lists of people.
type watchers struct {
	mu  sync.Mutex
	all map[string]map[*Watcher]bool // by person
}

// audience are those who hear of changes of a project: its owner and its members.
func audience(s *Store, project, owner string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), pollEvery)
	defer cancel()
	rows, err := s.db.Query(ctx, `SELECT person FROM {members} WHERE project = ?1`, project)
	if err != nil { // the others hear of the next change
		return []string{owner}
	}
	members, _ := scanIDs(rows)
	return append(members, owner)
}

// projectChanged tells its owner and its members that a project has changed.
func projectChanged(s *Store, project, owner string) {
	for _, person := range audience(s, project, owner) {
		Changed(s, person)
	}
}

// Watcher hears that what a person's lists have has changed: their projects, chats or preferences,
// and that files of their projects have.
type Watcher struct {
	s      *Store
	person string
	told   chan struct{}
	news   Change   // that Next has not given yet; guarded by the store's watchers
	stamp  [5]int64 // of the last look, where several servers share the database
}

// Change is what may have changed.
type Change struct {
	Lists bool     // projects, chats or preferences; where other servers change the database, files too
	Files []string // the projects whose files have changed

	Sessions bool // coding sessions of the machine
}

// maxProjectsTold bounds the projects in a change. Of more, Lists is said.
const maxProjectsTold = 100

// Watch begins to hear of changes of a person's lists, until Leave.
func Watch(s *Store, person string) *Watcher {
	w := &Watcher{s: s, person: person, told: make(chan struct{}, 1)}
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	if s.watchers.all == nil {
		s.watchers.all = map[string]map[*Watcher]bool{}
	}
	if s.watchers.all[person] == nil {
		s.watchers.all[person] = map[*Watcher]bool{}
	}
	s.watchers.all[person][w] = true
	return w
}

// Leave ends a watcher.
func (w *Watcher) Leave() {
	m := &w.s.watchers
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.all[w.person], w); len(m.all[w.person]) == 0 {
		delete(m.all, w.person)
	}
}

// Changed tells those who watch a person's lists that they have changed.
func Changed(s *Store, person string) {
	tell(s, person, func(c *Change) { c.Lists = true })
}

// filesChanged tells them that files of a project have.
func filesChanged(s *Store, person, project string) {
	tell(s, person, func(c *Change) {
		switch {
		case slices.Contains(c.Files, project):
		case len(c.Files) < maxProjectsTold:
			c.Files = append(c.Files, project)
		default:
			c.Lists = true
		}
	})
}

// SessionsChanged tells one of those who watch that coding sessions of the machine have changed.
func (w *Watcher) SessionsChanged() {
	w.s.watchers.mu.Lock()
	defer w.s.watchers.mu.Unlock()
	w.news.Sessions = true
	select {
	case w.told <- struct{}{}:
	default: // it will look anyway
	}
}

func tell(s *Store, person string, what func(c *Change)) {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	for w := range s.watchers.all[person] {
		what(&w.news)
		select {
		case w.told <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// take gives what was told since the last time.
func (w *Watcher) take() Change {
	w.s.watchers.mu.Lock()
	defer w.s.watchers.mu.Unlock()
	news := w.news
	w.news = Change{}
	return news
}

// Next waits for a change after the last one. Changes at a time are one.
func (w *Watcher) Next(ctx context.Context) (Change, error) {
	if !w.s.db.Server() {
		select {
		case <-w.told:
			return w.take(), nil
		case <-ctx.Done():
			return Change{}, ctx.Err()
		}
	}
	for {
		late := time.NewTimer(pollEvery)
		select {
		case <-w.told:
			late.Stop()
			news := w.take()
			w.stamp, _ = w.look(ctx) // without it, the next look is a change once more
			return news, nil
		case <-late.C:
		case <-ctx.Done():
			late.Stop()
			return Change{}, ctx.Err()
		}
		now, err := w.look(ctx)
		if err != nil || now == w.stamp {
			continue // a database that is away has no news
		}
		first := w.stamp == [5]int64{}
		if w.stamp = now; !first {
			return Change{Lists: true}, nil
		}
	}
}

// shared are the members of projects of ?1, and ?1 among those of others.
const shared = `person = ?1 OR project IN (SELECT id FROM {projects} WHERE person = ?1)`

// look is what differs after each change of another server.
func (w *Watcher) look(ctx context.Context) (stamp [5]int64, err error) {
	err = w.s.db.QueryRow(ctx, `SELECT count(*), coalesce(max(modified), 0), CAST(coalesce(sum(revision), 0) AS BIGINT), CAST(coalesce(sum(accepted + settled), 0) AS BIGINT) FROM {chats} WHERE person = ?1`, w.person).Scan(&stamp[0], &stamp[1], &stamp[2], &stamp[3])
	if err != nil {
		return stamp, err
	}
	var projects int64
	err = w.s.db.QueryRow(ctx, `SELECT CAST(coalesce(sum(revision), 0) + count(*) + coalesce((SELECT sum(revision) FROM {preferences} WHERE id = ?1), 0)
		+ coalesce((SELECT sum(length(may)) FROM {members} WHERE `+shared+`), 0) AS BIGINT) FROM {projects} WHERE person = ?1 OR id IN (SELECT project FROM {members} WHERE person = ?1)`, w.person).Scan(&projects)
	stamp[0] += projects << 20
	if err == nil {
		err = w.s.db.QueryRow(ctx, `SELECT CAST(coalesce(sum(f.revision), 0) AS BIGINT) FROM {vfs_projects} f JOIN {projects} p ON p.id = f.project WHERE p.person = ?1 OR p.id IN (SELECT project FROM {members} WHERE person = ?1)`, w.person).Scan(&stamp[4])
	}
	return stamp, err
}
