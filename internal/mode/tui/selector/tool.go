package selector

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
)

// Tool is a tool that can be given to the model or kept from it.
type Tool struct {
	*tool.Tool
	On     bool
	From   string // who brings it, such as "built in" or the name of an MCP server
	Tokens int    // of each request; 0 is estimated from the definition
}

// ToolOptions of [Tools].
type ToolOptions struct {
	Tools []Tool
	// OnToggle is told at once; there is nothing to confirm.
	OnToggle func(name string, on bool)
	OnCancel func()
}

// tools is the state of one pane of tools.
type tools struct {
	env    *pane.Env
	o      ToolOptions
	byName map[string]*Tool
	cost   map[string]int
	sum    int // of those that are on
	list   *list.List
}

// Tools is a pane of check boxes: which tools the model gets, and about how many
// tokens of each request they take.
func Tools(env *pane.Env, o ToolOptions) *list.List {
	t := &tools{env: env, o: o, byName: map[string]*Tool{}, cost: map[string]int{}}
	items := make([]list.Item, len(o.Tools))
	for i := range o.Tools {
		x := &o.Tools[i]
		n := x.Tokens
		if n == 0 {
			n = toolTokens(x.Tool)
		}
		t.byName[x.Name], t.cost[x.Name] = x, n
		if x.On {
			t.sum += n
		}
		items[i] = list.Item{
			ID: x.Name, Label: x.Name, Group: x.From, On: x.On, Search: x.Label,
			Detail: fmt.Sprintf("%6s  %s", about(n), firstLine(x.Description)),
		}
	}
	t.list = list.New(env, list.Options{
		Title: t.title(), Items: items, Toggle: true, Hint: "Space on or off",
		Empty: "This session has no tools: it was started with --no-tools.", Preview: t.preview,
		OnToggle: t.toggle, OnCancel: o.OnCancel,
	})
	return t.list
}

func (t *tools) title() string { return "Tools: " + about(t.sum) + " tokens of each request" }

func (t *tools) toggle(name string, on bool) {
	n := t.cost[name]
	if !on {
		n = -n
	}
	t.sum += n
	t.list.SetTitle(t.title())
	if t.o.OnToggle != nil {
		t.o.OnToggle(name, on)
	}
}

func (t *tools) preview(name string, width, height int) []string {
	x := t.byName[name]
	s := newSheet(t.env.Styles, width, height)
	title := x.Label
	if title == "" {
		title = x.Name
	}
	s.title(title)
	s.fact("Takes", about(t.cost[name])+" tokens of each request")
	s.fact("May", effects(x.Effects))
	s.fact("From", x.From)
	s.blank()
	s.text(x.Description, theme.Text)
	return s.lines
}

// toolTokens estimates what the definition of a tool takes.
func toolTokens(t *tool.Tool) int {
	return compact.Tokens(&llm.Message{Content: []llm.Block{llm.Text{Text: t.Name + "\n" + t.Description + "\n" + string(t.Parameters)}}})
}

// about rounds an estimate, which is not exact.
func about(n int) string {
	if n >= 20 && n < 1000 {
		n = n / 10 * 10
	}
	return "~" + prose.Tokens(n)
}

func effects(e tool.Effects) string {
	var words []string
	for _, w := range []struct {
		tool.Effects
		word string
	}{
		{tool.Reads, "read files"},
		{tool.Writes, "change files"},
		{tool.Executes, "run programs"},
		{tool.Network, "use the network"},
		{tool.Asks, "ask you"},
	} {
		if e.Has(w.Effects) {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return "nothing outside the conversation"
	}
	return strings.Join(words, ", ")
}

// firstLine is the first line of a text that has anything in it, cut to a size that
// fits any row.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, _ := strings.Cut(s[:min(len(s), 2000)], "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line), "")
}
