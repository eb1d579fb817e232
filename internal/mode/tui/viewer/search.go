package viewer

import (
	"math/bits"

	"github.com/burin-dev/burin/internal/mode/tui/viewer/scan"
	"github.com/burin-dev/burin/transcript"
)

// search is what is looked for. Entries are read in a goroutine, from where one is
// towards the beginning and then from the end on, and what is found is told now and
// then on the face's goroutine.
type search struct {
	editing bool
	typed   string
	query   string // folded
	from    pos    // where one was when it began
	landed  bool   // a hit was gone to
	hits    set
	done    int
	total   int
	run     *scan.Run // nil: nothing is searched
}

func (s *search) stop() {
	s.run.Stop()
	s.run = nil
}

// set is a set of items.
type set struct {
	words []uint64
	n     int
}

func (s *set) add(i int) {
	for len(s.words) <= i/64 {
		s.words = append(s.words, 0)
	}
	if bit := uint64(1) << (i % 64); s.words[i/64]&bit == 0 {
		s.words[i/64] |= bit
		s.n++
	}
}

// next is the first member behind i; -1 if there is none.
func (s *set) next(i int) int {
	i++
	for w := i / 64; w < len(s.words); w++ {
		word := s.words[w]
		if w == i/64 {
			word &= ^uint64(0) << (i % 64)
		}
		if word != 0 {
			return w*64 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// previous is the last member before i; -1 if there is none.
func (s *set) previous(i int) int {
	i = min(i, len(s.words)*64) - 1
	for w := i / 64; i >= 0 && w >= 0; w-- {
		word := s.words[w]
		if w == i/64 {
			word &= ^uint64(0) >> (63 - i%64)
		}
		if word != 0 {
			return w*64 + 63 - bits.LeadingZeros64(word)
		}
	}
	return -1
}

// seek begins to look for what was typed.
func (v *Viewer) seek() {
	s := &v.search
	s.stop()
	s.query, s.hits, s.done, s.landed = scan.Fold(s.typed), set{}, 0, false
	s.total = len(v.branch.entries)
	if s.query == "" || s.total == 0 || v.closed {
		return
	}
	start := len(v.branch.entries) - 1
	if v.settle() {
		it := v.branch.items[v.cur.item]
		start = int(it.first + it.n - 1)
	}
	entries, query := v.branch.entries, s.query
	s.run = scan.Start(scan.Options{
		Log: v.o.Log, Len: len(entries), From: start, Now: v.env.Now,
		ID:    func(i int) string { return entries[i].id },
		Match: func(e *transcript.Entry) bool { return scan.Contains(e, query) },
		Tell: func(run *scan.Run, found []int, done int) {
			for k, i := range found {
				found[k] = int(entries[i].item)
			}
			v.env.Post(func() { v.found(run, found, done) })
		},
	})
}

// found takes what a walk has found. One that was cancelled says nothing any more.
func (v *Viewer) found(run *scan.Run, found []int, done int) {
	s := &v.search
	if run != s.run {
		return
	}
	s.done = done
	for _, i := range found {
		s.hits.add(i)
	}
	if done >= s.total {
		s.run = nil
	}
	if !s.landed && s.hits.n > 0 {
		s.landed = true
		v.land()
	}
}

// land goes to the nearest hit: at or above where one was, else the last one.
func (v *Viewer) land() {
	i := v.search.hits.previous(v.search.from.item + 1)
	if i < 0 {
		i = v.search.hits.previous(len(v.branch.items))
	}
	v.show(i, -1)
}

// again goes to the next row, or with dir -1 to the one before, where the query
// stands. It goes round at the ends.
func (v *Viewer) again(dir int) {
	s := &v.search
	if s.hits.n == 0 || !v.settle() {
		return
	}
	rows := v.rows(v.cur.item)
	for r := v.cur.row + dir; r >= 0 && r < len(rows); r += dir {
		if len(matches(plain(rows[r]), s.query)) > 0 {
			v.cur.row, v.hold = r, nil
			return
		}
	}
	i := s.hits.next(v.cur.item)
	if dir < 0 {
		i = s.hits.previous(v.cur.item)
	}
	switch {
	case i < 0 && dir > 0:
		i = s.hits.next(-1)
	case i < 0:
		i = s.hits.previous(len(v.branch.items))
	}
	v.show(i, dir)
}

// show goes to where the query stands in an item, which is expanded if that is hidden
// otherwise.
func (v *Viewer) show(i, dir int) {
	if i < 0 {
		return
	}
	row, ok := v.where(i, dir)
	if !ok && !v.expanded(i) {
		v.turn(i)
		if row, ok = v.where(i, dir); !ok {
			v.turn(i) // it stands across the end of a row, or in what is not shown
		}
	}
	v.cur, v.hold = pos{item: i, row: row}, nil
}

// where is the first row of an item, or with dir -1 the last one, with the query.
func (v *Viewer) where(i, dir int) (row int, ok bool) {
	for r, line := range v.rows(i) {
		if len(matches(plain(line), v.search.query)) > 0 {
			row, ok = r, true
			if dir > 0 {
				break
			}
		}
	}
	return row, ok
}

// searchFresh looks for the query in entries that were added: those from fresh on, or
// all if the branch is another one.
func (v *Viewer) searchFresh(fresh int, grown bool) {
	s := &v.search
	if s.query == "" {
		return
	}
	if !grown {
		landed := s.landed
		v.seek()
		s.landed = landed
		return
	}
	for _, e := range v.branch.entries[fresh:] {
		if full, err := v.o.Log.Entry(e.id); err == nil && scan.Contains(full, s.query) {
			s.hits.add(int(e.item))
		}
	}
}
