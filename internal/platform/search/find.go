package search

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
)

// Find gives the paths that fit the query best, best first, then by path. Symbolic
// links and folders called node_modules are left out, the latter unless Paths lead
// into them or Ignored asks for them. An empty query fits everything.
//
// A query fits a path that has its characters in this order, in any case. Spaces
// in it count for nothing. What has them together fits better, and in the last
// part of the path, and at the beginning of words.
func Find(ctx context.Context, fsys fs.FS, o FindOptions) ([]Scored, error) {
	if o.Limit < 0 {
		return nil, errors.New("limit must not be negative")
	}
	s, err := openSearch(fsys, o.Filter, func(f *filter) {
		f.modules = o.Ignored || mentionsModules(o.Filter, o.Query)
	})
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.fill(ctx); err != nil {
		return nil, err
	}
	q := newMatcher(o.Query)
	found, err := find(ctx, s, q, o)
	if err == nil && len(found) == 0 {
		var again bool
		if again, err = s.again(ctx); again && err == nil {
			found, err = find(ctx, s, q, o)
		}
	}
	return found, err
}

// candidate is a path that fits.
type candidate struct {
	dir   string
	entry entry
	path  string
	score int
	info  entryInfo // if everything is reported anyway
	known bool
}

// find is one pass over the tree.
func find(ctx context.Context, s *search, q *matcher, o FindOptions) ([]Scored, error) {
	w := &walk[candidate]{
		source: s.source,
		stop:   new(atomic.Bool),
		want: func(e entry) bool {
			return e.kind == kindFile || o.Dirs && e.kind == kindFolder
		},
		cost:    func(candidate) int { return 0 }, // they are all kept
		visitor: func() visitor[candidate] { return &finder{q.clone(), s, o.Limit == 0} },
	}
	var all []candidate
	err := walkThrough(ctx, s, w, func(c candidate) bool {
		all = append(all, c)
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(b.score-a.score, strings.Compare(a.path, b.path))
	})
	var found []Scored
	for _, c := range all {
		if o.Limit > 0 && len(found) == o.Limit {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, ok := s.look(c)
		if !ok || s.filter.maxSize > 0 && info.size > s.filter.maxSize {
			continue
		}
		found = append(found, Scored{
			Entry: Entry{Path: c.path, Dir: c.entry.kind == kindFolder, Size: info.size, ModTime: info.mod},
			Score: c.score,
		})
	}
	return found, nil
}

// look asks for the size and time of a path that is reported.
func (s *search) look(c candidate) (entryInfo, bool) {
	if c.known {
		return c.info, true
	}
	p := &place{tree: s.tree(c.dir), path: c.dir}
	p.hold()
	defer p.release()
	return s.inform(p, c.entry, c.path)
}

// finder scores paths for one worker.
type finder struct {
	*matcher
	*search
	inform bool
}

func (f *finder) visit(p *place, e entry, out *results[candidate]) {
	path := p.join(e.name)
	score := f.score(path, e.kind == kindFolder)
	if score == 0 {
		return
	}
	c := candidate{dir: p.path, entry: e, path: path, score: score}
	if f.inform {
		if c.info, c.known = f.search.inform(p, e, path); !c.known {
			return
		}
	}
	out.add(c)
}
