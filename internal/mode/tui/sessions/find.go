package sessions

import (
	"context"

	"github.com/burin-dev/burin/transcript/index"
)

// finder searches in what was said. Its fields belong to the face's goroutine.
type finder struct {
	hits  map[string]index.Hit // the best one of each session, by path
	query string               // they were found for
	// wanted is what is to be searched when the search under way has ended.
	wanted  *wish
	running bool

	begun bool         // the index was asked for
	ix    *index.Index // nil: it is not open yet, or cannot be opened
}

// wish is a search that is wanted.
type wish struct{ query, cwd string }

// maxHits is how many sessions a search finds at most.
const maxHits = 200

// find looks for what was typed. What an earlier query found stays until then, but is
// only shown where the titles' search leaves it.
func (s *Selector) find(query string) {
	f := &s.finder
	if s.o.Index == "" {
		return
	}
	if query == "" {
		f.wanted = nil
		if f.hits != nil {
			f.hits, f.query = nil, ""
			s.show()
		}
		return
	}
	f.wanted = &wish{query: query, cwd: s.o.CWD}
	if s.all {
		f.wanted.cwd = ""
	}
	s.prepare()
	s.search()
}

// prepare opens the index when it is first needed and brings it up to date. That may
// take long once; meanwhile it is searched as it is.
func (s *Selector) prepare() {
	f := &s.finder
	if f.begun {
		return
	}
	f.begun = true
	s.run(func(ctx context.Context) {
		ix, err := index.Open(ctx, s.o.Index)
		if err != nil {
			s.post(func() { s.complain("Only titles are searched: ", err) })
			return
		}
		context.AfterFunc(ctx, func() { ix.Close() }) // a cache: what it could not write is found again
		s.post(func() {
			f.ix = ix
			s.search()
		})
		err = ix.Update(ctx, s.o.Root)
		s.post(func() {
			if err != nil {
				s.complain("Some sessions are not searched: ", err)
			}
			s.find(s.list.Query())
		})
	})
}

func (s *Selector) complain(what string, err error) {
	s.note, s.failed = what+err.Error(), true
}

// search begins what is wanted, if nothing is under way.
func (s *Selector) search() {
	f := &s.finder
	if f.ix == nil || f.running || f.wanted == nil {
		return
	}
	w, ix := *f.wanted, f.ix
	f.wanted, f.running = nil, true
	s.run(func(ctx context.Context) {
		hits, err := ix.Search(ctx, w.query, index.SearchOptions{CWD: w.cwd, Limit: maxHits, PerSession: 1})
		s.post(func() {
			f.running = false
			if w.query == s.list.Query() {
				s.found(w, hits)
			}
			if err != nil {
				s.complain("Only titles are searched: ", err)
			}
			s.search()
		})
	})
}

// found shows what a search has found.
func (s *Selector) found(w wish, hits []index.Hit) {
	f := &s.finder
	f.hits, f.query = map[string]index.Hit{}, w.query
	for _, h := range hits {
		if _, ok := f.hits[h.Path]; !ok {
			f.hits[h.Path] = h
		}
	}
	s.show()
}
