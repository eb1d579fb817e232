package tree

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/viewer/scan"
	"github.com/burin-dev/burin/transcript"
)

// search is what is looked for, and where it stands.
type search struct {
	query string
	hits  []bool // by node
	done  int
	total int
	run   *scan.Run // nil: nothing is searched
}

// progress says what was found of what the filter shows.
func (t *Tree) progress() string {
	s, n := &t.search, len(t.layout.rows)
	switch {
	case s.run != nil:
		return fmt.Sprintf("%d found, searched %d %%", n, s.done*100/max(1, s.total))
	case n == 0:
		return "not found"
	}
	return fmt.Sprintf("%d found", n)
}

// seek begins to look for the words of the query. All of them must stand in what a
// row says or stands for.
func (t *Tree) seek() {
	s := &t.search
	s.run.Stop()
	*s = search{query: s.query, total: len(t.nodes)}
	words := strings.Fields(scan.Fold(s.query))
	if s.query == "" || len(t.nodes) == 0 || t.closed {
		return
	}
	s.hits = make([]bool, len(t.nodes))
	if len(words) == 0 { // nothing but spaces
		for i := range s.hits {
			s.hits[i] = true
		}
		return
	}
	nodes, labels := t.nodes, map[string]string{}
	for i := range nodes {
		if nodes[i].Label != "" {
			labels[nodes[i].ID] = nodes[i].Label
		}
	}
	s.run = scan.Start(scan.Options{
		Log: t.o.Log, Len: len(nodes), From: len(nodes) - 1, Now: t.env.Now,
		ID:    func(i int) string { return nodes[i].ID },
		Match: func(e *transcript.Entry) bool { return matches(e, labels[e.ID], words) },
		Tell: func(run *scan.Run, found []int, done int) {
			t.env.Post(func() { t.found(run, found, done) })
		},
	})
}

// matches reports whether all folded words stand in an entry.
func matches(e *transcript.Entry, label string, words []string) bool {
	left := append([]string(nil), words...)
	look := func(text string) bool {
		text = scan.Fold(text)
		rest := left[:0]
		for _, w := range left {
			if !strings.Contains(text, w) {
				rest = append(rest, w)
			}
		}
		left = rest
		return len(left) > 0
	}
	if !look(label) || !look(facts{}.role(e)) || !look(e.CustomType+" "+e.Model+" "+e.ThinkingLevel+" "+e.Name+" "+e.Label) {
		return true
	}
	scan.Pieces(e, look)
	return len(left) == 0
}

// found takes what a search has found.
func (t *Tree) found(run *scan.Run, found []int, done int) {
	s := &t.search
	if run != s.run {
		return
	}
	s.done = done
	for _, i := range found {
		s.hits[i] = true
	}
	if done >= s.total {
		s.run = nil
	}
	if len(found) > 0 {
		node := t.node()
		if node < 0 {
			node = t.leaf
		}
		t.arrange(node)
	}
}
