package selector

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/history"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// PromptOptions of [NewPrompts].
type PromptOptions struct {
	// Search finds earlier prompts, the best first, as [history.History.Search] does.
	// It is called in a goroutine, never twice at a time.
	Search func(ctx context.Context, query string, limit int) []history.Entry
	Dir    string // the project's folder; others are named
	Query  string

	OnChoose func(text string) // puts it into the prompt
	OnCancel func()
}

// maxPrompts is how many prompts are asked for and listed.
const maxPrompts = 200

// Prompts is a pane to find an earlier prompt. Each change of the query asks anew; at
// most one search is under way, and one waits with the latest query.
type Prompts struct {
	env     *pane.Env
	o       PromptOptions
	list    *list.List
	entries []history.Entry

	asked   string // the query of the search under way
	stop    context.CancelFunc
	waiting bool // another query came meanwhile
	enter   bool // was pressed meanwhile: the best of what will be found is chosen
	done    chan []history.Entry
	closed  bool
}

var _ pane.Pane = (*Prompts)(nil)

// NewPrompts makes the pane and begins to search.
func NewPrompts(env *pane.Env, o PromptOptions) *Prompts {
	p := &Prompts{env: env, o: o}
	p.list = list.New(env, list.Options{
		Title: "Earlier prompts", Query: o.Query, Empty: "Looking" + env.Styles.Symbols().Ellipsis,
		NoMatch: "No earlier prompt matches.",
		// What was found is what fits, in the order of the search.
		Filter: func(_ string, items []list.Item) []int {
			all := make([]int, len(items))
			for i := range all {
				all[i] = i
			}
			return all
		},
		Preview: p.preview, OnChoose: p.choose, OnCancel: p.cancel, OnQuery: func(string) { p.search() },
	})
	p.search()
	return p
}

// search asks for the query as it is now.
func (p *Prompts) search() {
	if p.closed {
		return
	}
	if p.stop != nil {
		p.stop()
		p.waiting = true
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.asked = stop, p.list.Query()
	query, done := p.asked, make(chan []history.Entry, 1)
	p.done = done
	go func() {
		done <- p.o.Search(ctx, query, maxPrompts)
		p.env.Post(func() { p.land(done) })
	}()
}

// land shows what a search has found.
func (p *Prompts) land(done chan []history.Entry) {
	if p.done != done || p.closed {
		return // was waited for
	}
	entries := <-done
	p.stop()
	p.stop, p.done = nil, nil
	if p.waiting {
		p.waiting = false
		if p.list.Query() != p.asked {
			p.search()
			return
		}
	}
	p.show(entries)
}

func (p *Prompts) show(entries []history.Entry) {
	p.entries = entries[:min(len(entries), maxPrompts)]
	items := make([]list.Item, len(p.entries))
	for i, e := range p.entries {
		items[i] = list.Item{ID: strconv.Itoa(i), Label: firstLine(e.Text), Detail: p.detail(e)}
	}
	empty := "No prompts yet. What you send appears here."
	if p.asked != "" {
		empty = "No earlier prompt matches."
	}
	p.list.SetEmpty(empty)
	p.list.SetItems(items)
	p.list.SetSelected("0")
	if p.enter {
		p.enter = false
		p.choose("0")
	}
}

// detail says how long a prompt is, how old, and of which project.
func (p *Prompts) detail(e history.Entry) string {
	var parts []string
	if n := strings.Count(strings.TrimSpace(e.Text), "\n"); n > 0 {
		parts = append(parts, fmt.Sprintf("+%d lines", n))
	}
	if !e.At.IsZero() {
		parts = append(parts, age(p.env.Now().Sub(e.At)))
	}
	if e.Dir != "" && e.Dir != p.o.Dir {
		parts = append(parts, "in "+filepath.Base(e.Dir))
	}
	return strings.Join(parts, " "+p.env.Styles.Symbols().Dot+" ")
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func (p *Prompts) entry(id string) (history.Entry, bool) {
	i, err := strconv.Atoi(id)
	if err != nil || i < 0 || i >= len(p.entries) {
		return history.Entry{}, false
	}
	return p.entries[i], true
}

func (p *Prompts) preview(id string, width, height int) []string {
	s := newSheet(p.env.Styles, width, height)
	if e, ok := p.entry(id); ok {
		s.text(e.Text, theme.Text)
	}
	return s.lines
}

func (p *Prompts) choose(id string) {
	if e, ok := p.entry(id); ok {
		p.close()
		if p.o.OnChoose != nil {
			p.o.OnChoose(e.Text)
		}
	}
}

func (p *Prompts) cancel() {
	p.close()
	if p.o.OnCancel != nil {
		p.o.OnCancel()
	}
}

// close ends a search that is under way.
func (p *Prompts) close() {
	p.closed = true
	if p.stop != nil {
		p.stop()
	}
}

// Draw is [pane.Pane]'s.
func (p *Prompts) Draw(width, height int) ([]string, screen.Cursor) {
	return p.list.Draw(width, height)
}

// Hover is [pane.Hovered]'s.
func (p *Prompts) Hover(h key.Hover) bool { return p.list.Hover(h) }

// Handle is [pane.Pane]'s.
func (p *Prompts) Handle(ev key.Event) {
	p.enter = false
	if k, ok := ev.(key.Press); ok && p.stop != nil {
		if a, ok := p.env.Keys.Lookup(key.Select, k.Key); ok && a == key.SelectConfirm {
			p.enter = true
			return
		}
	}
	p.list.Handle(ev)
}
