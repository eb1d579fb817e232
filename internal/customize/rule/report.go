package rule

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// Group is the rules of one source, in words.
type Group struct {
	Source string   // "Cursor, project"
	Rules  []string // a rule each: its name, and when it reaches the model
}

// Groups lists all rules by source, in the order in which they win.
func (s *Set) Groups() (groups []Group) {
	for i := range s.List() {
		r := &s.all[i]
		if len(groups) == 0 || groups[len(groups)-1].Source != r.Source {
			groups = append(groups, Group{Source: r.Source})
		}
		g := &groups[len(groups)-1]
		g.Rules = append(g.Rules, prose.Inline(r.Name)+" ("+r.When()+")")
	}
	return groups
}

// When says in a few words when a rule reaches the model.
func (r *Rule) When() string {
	if r.Off != "" {
		return "off: " + prose.Inline(r.Off)
	}
	about := prose.Cut(prose.Inline(strings.Join(r.Globs, ", ")), 80)
	switch r.Use {
	case Files:
		return "with " + about
	case Described:
		return "by description"
	case Stream:
		return "stream"
	case Manual:
		return "on request"
	}
	return string(r.Use)
}

// Count says how many rules there are, of which kinds.
func (s *Set) Count() string {
	n, off := map[Use]int{}, 0
	for _, r := range s.List() {
		if r.Off != "" {
			off++
			continue
		}
		n[r.Use]++
	}
	var parts []string
	for _, k := range []struct {
		use   Use
		words string
	}{{Always, "always apply"}, {Files, "with files"}, {Described, "by description"}, {Stream, "stream"}, {Manual, "on request"}} {
		if n[k.use] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[k.use], k.words))
		}
	}
	if off > 0 {
		parts = append(parts, fmt.Sprintf("%d off", off))
	}
	total := prose.Count(len(s.List()), "rule")
	if len(parts) == 0 {
		return total
	}
	return total + ": " + strings.Join(parts, ", ")
}
