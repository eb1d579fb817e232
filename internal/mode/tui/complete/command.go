package complete

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

// Command is one that a prompt may begin with.
type Command struct {
	Name    string // without "/"
	Aliases []string
	Help    string // one line
	Args    string // what it takes, as "<name>"; may be empty
	// Complete gives what may stand in place of arg, all that comes after the name, as
	// far as it is written. It is called on the face's goroutine and answers from
	// memory. It may be nil.
	Complete func(arg string) []editor.Item
	// Later is Complete for what takes a moment: it runs in the worker until ctx ends. It may be nil.
	Later func(ctx context.Context, arg string) []editor.Item
}

// command completes a line that begins with "/". It is false where the line is none of
// a command.
func (c *Completer) command(q editor.Query) (editor.Completion, bool) {
	if c.o.Commands == nil {
		return editor.Completion{}, false
	}
	commands := c.o.Commands()
	name, arg, spaced := strings.Cut(q.Line[1:], " ")
	if !spaced {
		items := names(commands, name, q.Asked)
		return editor.Completion{Items: items}, len(items) > 0 || known(commands, name) != nil
	}
	found := known(commands, name)
	if found == nil || found.Complete == nil && found.Later == nil {
		return editor.Completion{}, false
	}
	arg = strings.TrimLeft(arg, " ")
	start := len(q.Line) - len(arg)
	if later := found.Later; later != nil {
		return c.later(q, start, func(ctx context.Context) []editor.Item { return ready(later(ctx, arg), arg, q.Asked) })
	}
	return editor.Completion{Start: start, Items: ready(found.Complete(arg), arg, q.Asked)}, true
}

// ready makes items complete and safe to show; there are none where the argument is written in full.
func ready(items []editor.Item, arg string, asked bool) []editor.Item {
	if len(items) > 0 && !asked && strings.TrimSpace(arg) == strings.TrimSpace(cmp.Or(items[0].Insert, items[0].Label)) {
		items = nil // it is written in full
	}
	items = slices.Clone(items[:min(len(items), maxItems)])
	for i := range items {
		items[i].Insert = cmp.Or(items[i].Insert, items[i].Label)
		items[i].Label, items[i].Detail = prose.Inline(items[i].Label), prose.Inline(items[i].Detail)
	}
	return items
}

func known(commands []Command, name string) *Command {
	for i := range commands {
		if commands[i].Name == name {
			return &commands[i]
		}
	}
	for i := range commands {
		if slices.Contains(commands[i].Aliases, name) {
			return &commands[i]
		}
	}
	return nil
}

// names proposes commands whose names or aliases fit: those that begin so first, then
// those of which a word does, then those that have the letters in this order.
func names(commands []Command, typed string, asked bool) (items []editor.Item) {
	if !asked && known(commands, typed) != nil {
		return nil
	}
	type match struct {
		command *Command
		alias   string
		score   int
	}
	var matches []match
	low := strings.ToLower(typed)
	for i := range commands {
		m := match{command: &commands[i], score: fit(commands[i].Name, low)}
		for _, a := range commands[i].Aliases {
			if score := fit(a, low); typed != "" && score < m.score {
				m.alias, m.score = a, score
			}
		}
		if m.score < noFit {
			matches = append(matches, m)
		}
	}
	sorting.Stable(matches, func(a, b match) int { return a.score - b.score })
	for _, m := range matches[:min(len(matches), maxItems)] {
		items = append(items, m.command.item(m.alias))
	}
	return items
}

func (c *Command) item(alias string) editor.Item {
	var detail []string
	if alias != "" {
		detail = append(detail, "/"+alias)
	}
	for _, s := range []string{c.Args, c.Help} {
		if s != "" {
			detail = append(detail, s)
		}
	}
	item := editor.Item{
		Label: prose.Inline("/" + c.Name), Detail: prose.Inline(strings.Join(detail, "  ")),
		Insert: "/" + c.Name, More: c.Complete != nil || c.Later != nil,
	}
	if c.Args != "" || c.Complete != nil || c.Later != nil {
		item.Insert += " "
	}
	return item
}

const noFit = 1 << 20

// fit says how well a name fits what was typed in lower case; less is better.
func fit(name, low string) int {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, low) {
		return 0
	}
	for i := range len(name) - 1 {
		if strings.IndexByte("-_:./", name[i]) >= 0 && strings.HasPrefix(name[i+1:], low) {
			return 1
		}
	}
	// The letters in this order: the fewer stand between them, the better.
	from, gaps := -1, 0
	for i := range len(low) {
		at := strings.IndexByte(name[from+1:], low[i])
		if at < 0 {
			return noFit
		}
		if from >= 0 {
			gaps += at
		}
		from += at + 1
	}
	return 2 + gaps
}
