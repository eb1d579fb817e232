package settings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/sorting"
)

// What a word costs by where it is found; less is better.
const (
	costStart  = iota // the beginning of a word of the label
	costLabel         // within the label
	costKey           // within the key
	costHelp          // within the help, or a choice
	costSpread        // its letters in order, in the label or the key
	noMatch    = -1

	maxWords = 12 // of a query; what follows does not count
)

// entry is a setting with its texts in lower case.
type entry struct {
	config.Setting
	group            int
	label, key, help string
}

// corpus is all settings, by their keys too.
func corpus() ([]entry, map[string]*entry) {
	settings := config.Settings()
	entries, byKey := make([]entry, len(settings)), map[string]*entry{}
	for i, s := range settings {
		entries[i] = entry{s, tabOf(s.Group), strings.ToLower(s.Label), strings.ToLower(s.Key), strings.ToLower(s.Help)}
		byKey[s.Key] = &entries[i]
	}
	return entries, byKey
}

// hit is a setting that was found.
type hit struct{ at, group, cost int }

// filter ranks settings for a query: groups stay together, the one with the best hit
// first, then in the order of the tabs.
func (p *Pane) filter(query string, items []list.Item) []int {
	words := strings.Fields(strings.ToLower(query))
	words = words[:min(len(words), maxWords)]
	groups := len(config.Groups())
	best := slices.Repeat([]int{1 << 20}, groups)
	counts := make([]int, groups)
	var hits []hit
	for i := range items {
		e, ok := p.byKey[items[i].ID]
		if !ok {
			continue
		}
		if cost := e.cost(words); cost != noMatch {
			hits = append(hits, hit{i, e.group, cost})
			counts[e.group]++
			best[e.group] = min(best[e.group], cost)
		}
	}
	if p.hits != nil {
		p.hits = counts
	}
	sorting.Stable(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(best[a.group], best[b.group]), cmp.Compare(a.group, b.group), cmp.Compare(a.cost, b.cost))
	})
	if len(hits) > 0 {
		p.best = items[hits[0].at].ID
	}
	order := make([]int, len(hits))
	for i, h := range hits {
		order[i] = h.at
	}
	return order
}

// cost is what all words cost together.
func (e *entry) cost(words []string) int {
	sum := 0
	for _, w := range words {
		c := e.costOf(w)
		if c == noMatch {
			return noMatch
		}
		sum += c
	}
	return sum
}

func (e *entry) costOf(word string) int {
	switch {
	case strings.HasPrefix(e.label, word) || strings.Contains(e.label, " "+word):
		return costStart
	case strings.Contains(e.label, word):
		return costLabel
	case strings.Contains(e.key, word):
		return costKey
	case strings.Contains(e.help, word) || slices.Contains(e.Choices, word):
		return costHelp
	case len(word) > 3 && (spread(word, e.label) || spread(word, e.key)):
		return costSpread
	}
	return noMatch
}

// spread says whether the letters of a word begin where a word of the text begins, and
// follow each other in few jumps: what is found by chance helps nobody.
func spread(word, text string) bool {
	for from := range text {
		if from > 0 && text[from-1] != ' ' && text[from-1] != '.' || !strings.HasPrefix(text[from:], word[:1]) {
			continue
		}
		if n := jumps(word, text[from:]); n >= 0 && n <= len(word)/4 {
			return true
		}
	}
	return false
}

// jumps is how often letters of text are left out between those of word; −1 where word
// is not in it.
func jumps(word, text string) int {
	n := 0
	for i, r := range word {
		at := strings.IndexRune(text, r)
		if at < 0 {
			return -1
		}
		if at > 0 && i > 0 {
			n++
		}
		text = text[at+len(string(r)):]
	}
	return n
}

// first is the key of the first setting of the present group.
func (p *Pane) first() string {
	for i := range p.all {
		if e := &p.all[i]; e.group == p.tab && p.shown(e.Setting) {
			return e.Key
		}
	}
	return ""
}

// firstHit is the key of the best hit in a group.
func (p *Pane) firstHit(group int) string {
	items := p.items()
	for _, i := range p.filter(p.list.Query(), items) {
		if p.byKey[items[i].ID].group == group {
			return items[i].ID
		}
	}
	return ""
}
