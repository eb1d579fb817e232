package search

import (
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/sorting"
)

// Snippet is a part of a text with what was found in it.
type Snippet struct {
	Text   string   `json:"text"`
	Ranges [][2]int `json:"ranges"` // bytes from and to, of what was found
}

const lead = 40 // bytes before what was found

// Show cuts from a text the part of at most about size bytes that has most of a query.
func Show(text, query string, size int) Snippet {
	type spot struct{ element, start, end int }
	elements := parseQuery(query)
	var all []token
	tokens(text, func(t token) { all = append(all, t) })
	var spots []spot
	for i := range all {
		for n, e := range elements {
			if end, ok := e.begins(all[i:]); ok {
				spots = append(spots, spot{n, all[i].start, end})
			}
		}
	}
	from, best := 0, 0
	for i, s := range spots {
		seen := map[int]bool{}
		for _, other := range spots[i:] {
			if other.end-s.start > size-lead {
				break
			}
			seen[other.element] = true
		}
		if len(seen) > best {
			from, best = s.start, len(seen)
		}
	}
	from = max(from-lead, 0)
	if from > 0 { // not within a word
		if i := strings.IndexAny(text[from:min(from+lead, len(text))], " \n\t"); i >= 0 {
			from += i + 1
		}
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(from+size, len(text))
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	const more = "…"
	before, after := "", ""
	if from > 0 {
		before = more
	}
	if to < len(text) {
		after = more
	}
	out := Snippet{Text: before + text[from:to] + after}
	sorting.Stable(spots, func(a, b spot) int { return a.start - b.start })
	for _, s := range spots {
		if s.start < from || s.end > to {
			continue
		}
		shift := len(before) - from
		r := [2]int{s.start + shift, s.end + shift}
		if n := len(out.Ranges); n > 0 && r[0] <= out.Ranges[n-1][1] {
			out.Ranges[n-1][1] = max(out.Ranges[n-1][1], r[1])
			continue
		}
		out.Ranges = append(out.Ranges, r)
	}
	return out
}

// begins reports whether an element stands at the beginning of tokens, and where it ends.
func (e *element) begins(all []token) (end int, ok bool) {
	for i, term := range e.terms {
		n := e.at[i] - e.at[0]
		if n >= len(all) || all[n].at-all[0].at != n {
			return 0, false
		}
		t := all[n]
		if t.term != term && !(e.prefix && i == len(e.terms)-1 && strings.HasPrefix(t.term, term)) {
			return 0, false
		}
		end = t.end
	}
	return end, true
}
