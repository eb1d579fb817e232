package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
)

const (
	maxElements = 16  // of a query
	maxQuery    = 400 // bytes
)

// element is a word of a query, or a phrase: terms that follow each other at certain distances.
type element struct {
	terms  []string
	at     []int
	prefix bool // the last term may be the beginning of one
}

// parse reads a query: words, all of which a document has; of the last one the beginning; and
// phrases in quotes.
func parseQuery(query string) (all []element) {
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	query = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`).Replace(query)
	add := func(text string, prefix bool) {
		var e element
		tokens(text, func(t token) {
			if t.ongoing { // the pair before has it, and a longer text may go on
				return
			}
			e.terms, e.at = append(e.terms, t.term), append(e.at, t.at)
			e.prefix = prefix || t.single
		})
		if len(e.terms) > 0 && len(all) < maxElements {
			all = append(all, e)
		}
	}
	for i, part := range strings.Split(query, `"`) {
		if i%2 == 1 {
			add(part, false)
			continue
		}
		words := strings.Fields(part)
		for n, word := range words {
			add(word, n == len(words)-1 && strings.HasSuffix(query, word))
		}
	}
	return all
}

// matched is a document with an element, and how often it has it.
type matched struct{ doc, times int }

// match finds the documents of a segment that have an element, in their order.
func (s *segment) match(e element) (found []matched) {
	if len(e.terms) > 1 {
		return s.phrase(e)
	}
	from, to := s.find(e.terms[0], e.prefix)
	if to-from == 1 {
		_, count, _ := s.term(from)
		found = make([]matched, 0, count)
		s.postings(from, func(doc, times int, _ []byte) { found = append(found, matched{doc, times}) })
		return found
	}
	all := make([]int, len(s.docs))
	for i := from; i < to; i++ {
		s.postings(i, func(doc, times int, _ []byte) { all[doc] += times })
	}
	for doc, times := range all {
		if times > 0 {
			found = append(found, matched{doc, times})
		}
	}
	return found
}

// phrase finds documents where terms follow each other.
func (s *segment) phrase(e element) (found []matched) {
	type part struct{ from, to, at, count int }
	var parts []part
	for i, term := range e.terms {
		p := part{at: e.at[i]}
		p.from, p.to = s.find(term, e.prefix && i == len(e.terms)-1)
		for t := p.from; t < p.to; t++ {
			_, n, _ := s.term(t)
			p.count += n
		}
		if p.count == 0 {
			return nil
		}
		parts = append(parts, p)
	}
	sorting.Stable(parts, func(a, b part) int { return cmp.Compare(a.count, b.count) }) // the rarest first
	begins := make([][]int, len(s.docs))                                                // where the phrase may begin, by document
	for i, p := range parts {
		next := make([][]int, len(s.docs))
		var at []int
		for t := p.from; t < p.to; t++ {
			s.postings(t, func(doc, _ int, data []byte) {
				before := begins[doc]
				if i > 0 && before == nil {
					return
				}
				at = places(at[:0], data)
				for _, place := range at {
					if i > 0 {
						if _, there := slices.BinarySearch(before, place-p.at); !there {
							continue
						}
					}
					next[doc] = append(next[doc], place-p.at)
				}
			})
		}
		if p.to-p.from > 1 {
			for _, all := range next {
				slices.Sort(all)
			}
		}
		begins = next
	}
	for doc, all := range begins {
		if len(all) > 0 {
			found = append(found, matched{doc, len(all)})
		}
	}
	return found
}

// run searches in the segments of a person.
func run(segments []*segment, query string, o Options, now time.Time) Result {
	elements := parseQuery(query)
	if len(elements) == 0 {
		return Result{}
	}
	all := make([][][]matched, len(segments))
	in := make([]int, len(elements)) // how many documents have an element
	docs, length := 0, 0
	for i, s := range segments {
		for n, e := range elements {
			m := s.match(e)
			all[i] = append(all[i], m)
			in[n] += len(m)
		}
		for n, d := range s.docs {
			if s.live[n] {
				docs++
				length += d.length
			}
		}
	}
	average := float64(length) / float64(max(docs, 1))
	weight := make([]float64, len(elements))
	for i, n := range in {
		weight[i] = math.Log(1 + (float64(max(docs, n)-n)+0.5)/(float64(n)+0.5))
	}
	var hits []Hit
	for i, s := range segments {
		lists := all[i]
		at := make([]int, len(lists))
	documents:
		for _, first := range lists[0] {
			n, d := first.doc, &s.docs[first.doc]
			if !s.live[n] || !o.takes(d) {
				continue
			}
			score := 0.0
			for k, list := range lists {
				for at[k] < len(list) && list[at[k]].doc < n {
					at[k]++
				}
				if at[k] == len(list) {
					break documents
				}
				if list[at[k]].doc != n {
					continue documents
				}
				const k1, b = 1.2, 0.75 // BM25
				times := float64(list[at[k]].times)
				score += weight[k] * times * (k1 + 1) / (times + k1*(1-b+b*float64(d.length)/max(average, 1)))
			}
			hits = append(hits, Hit{Ref: d.Ref, Parent: d.parent, Time: time.UnixMilli(d.time), Score: score * recency(d.time, now)})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.Time.Compare(a.Time), cmp.Compare(a.ID, b.ID))
	})
	r := Result{Total: len(hits)}
	if o.Offset < len(hits) {
		r.Hits = slices.Clone(hits[max(o.Offset, 0):])
		if limit := cmp.Or(o.Limit, defaultLimit); limit < len(r.Hits) {
			r.Hits = slices.Clone(r.Hits[:max(limit, 0)])
		}
	}
	return r
}

// recency is what a document counts for being new: half as much again for one of now, a
// quarter for one of a month ago.
func recency(at int64, now time.Time) float64 {
	const half = 30 * 24 * time.Hour
	age := max(now.Sub(time.UnixMilli(at)), 0)
	return 1 + math.Exp2(-float64(age)/float64(half))/2
}

// takes reports whether filters let a document through.
func (o *Options) takes(d *doc) bool {
	at := time.UnixMilli(d.time)
	return (len(o.Kinds) == 0 || slices.Contains(o.Kinds, d.Kind)) && (o.Parent == "" || o.Parent == d.parent) && (o.In == nil || o.In(d.parent)) &&
		(o.From.IsZero() || !at.Before(o.From)) && (o.To.IsZero() || at.Before(o.To))
}
