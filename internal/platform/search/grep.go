package search

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/platform/search/regex"
)

// Grep searches and calls emit for each match, in the order of paths and lines,
// from one goroutine. It stops when emit returns false or ctx ends.
//
// With several Paths, what is in a folder of them comes before what is in the
// next. Errors are those of a bad pattern, glob or file type, of a path that is
// not there, and of ctx; a file that cannot be read is no error.
func Grep(ctx context.Context, fsys fs.FS, o GrepOptions, emit func(Match) bool) (Summary, error) {
	re, err := regex.Compile(o.Pattern, regex.Options{
		Literal: o.Literal, IgnoreCase: o.IgnoreCase, SmartCase: o.SmartCase, Word: o.Word, Multiline: o.Multiline,
	})
	if err != nil {
		return Summary{}, err
	}
	if err := o.check(); err != nil {
		return Summary{}, err
	}
	s, err := openSearch(fsys, o.Filter, nil)
	if err != nil {
		return Summary{}, err
	}
	defer s.close()
	sum, err := grep(ctx, s, re, o, emit)
	if err == nil && sum.Matches == 0 && !sum.LimitReached {
		var again bool
		if again, err = s.again(ctx); again && err == nil {
			sum, err = grep(ctx, s, re, o, emit)
		}
	}
	return sum, err
}

// check refuses numbers that make no sense.
func (o *GrepOptions) check() error {
	for name, n := range map[string]int{"offset": o.Offset, "limit": o.Limit, "context": min(o.Before, o.After), "columns": o.MaxColumns} {
		if n < 0 {
			return fmt.Errorf("%s must not be negative", name)
		}
	}
	switch o.Mode {
	case GrepLines, GrepFiles, GrepCount:
		return nil
	}
	return fmt.Errorf("unknown mode %q of a text search", o.Mode)
}

// found is a match on its way from a worker.
type found struct {
	Match
	nth int // how many files its job had searched then
}

// grep is one pass over the files.
func grep(ctx context.Context, s *search, re *regex.Regex, o GrepOptions, emit func(Match) bool) (Summary, error) {
	w := &walk[found]{
		source: s.source,
		stop:   new(atomic.Bool),
		want:   func(e entry) bool { return e.kind == kindFile },
		cost:   func(f found) int { return f.cost() },
	}
	most := math.MaxInt
	if o.Limit > 0 && o.Limit < math.MaxInt-o.Offset && o.Mode == GrepLines {
		most = o.Offset + o.Limit + 1
	}
	w.visitor = func() visitor[found] {
		return &searcher{o: &o, most: most, matcher: re.Matcher(w.stop), stop: w.stop, filter: s.filter}
	}
	var sum Summary
	seen, path := 0, ""
	err := walkThrough(ctx, s, w, func(f found) bool {
		if seen++; seen <= o.Offset {
			return true
		}
		if o.Limit > 0 && sum.Matches == o.Limit {
			sum.LimitReached = true
			sum.Searched = f.nth
			return false
		}
		if sum.Matches++; sum.Matches == 1 || f.Path != path {
			sum.Files++
			path = f.Path
		}
		if !emit(f.Match) {
			sum.Searched = f.nth
			return false
		}
		return true
	})
	sum.Searched += w.stats.searched
	sum.Skipped = w.stats.notes
	sum.Withheld = w.stats.withheld
	return sum, err
}

// cost estimates the memory of a match.
func (m *Match) cost() int {
	n := 200 + len(m.Path) + len(m.Text) + 16*len(m.Spans)
	for _, lines := range [][]string{m.Before, m.After} {
		for _, l := range lines {
			n += 16 + len(l)
		}
	}
	return n
}
