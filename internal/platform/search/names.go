package search

import (
	"cmp"
	"context"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Names are the paths of a tree at one moment, for somebody who types: each key asks
// all of them, and the tree is walked once. They never change, and cost about as much
// as the paths are long.
type Names struct {
	Made time.Time // when the walk began
	all  []pathName
}

type pathName struct {
	path string // folders end with "/"
	mask uint64 // of the path in lower case
}

// maxNames is how many paths are kept; of a larger tree the rest is not found.
const maxNames = 1 << 20

// ListNames walks the tree for the files and folders that the filter leaves, without
// folders called node_modules.
func ListNames(ctx context.Context, fsys fs.FS, f Filter) (*Names, error) {
	n := &Names{Made: time.Now()}
	s, err := openSearch(fsys, f, func(f *filter) { f.modules = false })
	if err != nil {
		return nil, err
	}
	defer s.close()
	w := &walk[pathName]{
		source:  s.source,
		stop:    new(atomic.Bool),
		want:    func(e entry) bool { return e.kind == kindFile || e.kind == kindFolder },
		cost:    func(pathName) int { return 0 }, // they are all kept
		visitor: func() visitor[pathName] { return &namer{newMatcher("")} },
	}
	err = walkThrough(ctx, s, w, func(p pathName) bool {
		n.all = append(n.all, p)
		return len(n.all) < maxNames
	})
	return n, err
}

// namer takes the paths for one worker.
type namer struct{ lower *matcher }

func (v *namer) visit(p *place, e entry, out *results[pathName]) {
	one := pathName{path: p.join(e.name)}
	if e.kind == kindFolder {
		one.path += "/"
	}
	v.lower.lowered(one.path)
	one.mask = maskOf(v.lower.path)
	out.add(one)
}

// ranked is a path that fits a query.
type ranked struct {
	path  string
	score int
}

func better(a, b ranked) int {
	return cmp.Or(b.score-a.score, strings.Compare(a.path, b.path))
}

// Find gives the paths that fit the query best, best first, at most limit of them, as
// the function Find ranks them. An empty query gives short paths first.
func (n *Names) Find(ctx context.Context, query string, limit int) ([]string, error) {
	q := newMatcher(query)
	workers := max(1, min(runtime.GOMAXPROCS(0), len(n.all)/4096))
	found := make([][]ranked, workers)
	var wg sync.WaitGroup
	for k := range workers {
		part := n.all[len(n.all)*k/workers : len(n.all)*(k+1)/workers]
		q := q.clone()
		wg.Go(func() { found[k] = q.rank(ctx, part, limit) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, better)
	paths := make([]string, 0, min(limit, len(all)))
	for _, r := range all[:min(limit, len(all))] {
		paths = append(paths, r.path)
	}
	return paths, nil
}

// rank keeps the best of some paths, in order.
func (f *matcher) rank(ctx context.Context, names []pathName, limit int) []ranked {
	var best []ranked
	sieve := f.mask
	if !f.joined() {
		sieve = maskOf(f.plain) // separators need not be there
	}
	for i, n := range names {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil
		}
		if sieve&^n.mask != 0 {
			continue
		}
		path, dir := strings.CutSuffix(n.path, "/")
		r := ranked{n.path, f.score(path, dir)}
		if r.score == 0 || len(best) == limit && (limit == 0 || better(best[limit-1], r) < 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, r, better)
		best = slices.Insert(best, at, r)
		best = best[:min(len(best), limit)]
	}
	return best
}
