package wizard

import (
	"context"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// mode is what may run without a question.
type mode struct{ id, short, help string }

func modes() []mode {
	return []mode{
		{"ask", "asks before each change", "burin reads on its own and asks before it changes a file or runs a command."},
		{"auto-edit", "edits files, asks for the rest", "burin changes project files on its own and asks before it runs a command; /undo undoes changes."},
		{"full", "asks for nothing", "burin changes files and runs commands without asking; use it where nothing can be lost."},
	}
}

// enterApproval asks what may run without a question.
func (w *Wizard) enterApproval() {
	var items []list.Item
	help := map[string]string{}
	for _, m := range modes() {
		it := list.Item{ID: m.id, Label: m.id, Detail: m.short}
		if m.id == w.o.Approval {
			it.Mark = w.env.Styles.Symbols().Done
		}
		items = append(items, it)
		help[m.id] = m.help
	}
	selected := w.o.Approval
	if help[selected] == "" {
		selected = "ask" // also for plan, which is for a while and no way to begin
	}
	w.put(list.Choice(w.env, list.Options{
		Title: "What may burin do without asking?", Items: items, Selected: selected,
		Preview: func(id string, width, height int) []string {
			return wrap(w.env.Styles, styled.Of(help[id], theme.Text), width, height, nil)
		},
		OnCancel: w.back,
		OnChoose: func(id string) {
			w.write("Saving", "Permissions: "+id+".", func(context.Context) error {
				return w.o.SetApproval(id)
			}, func() { w.o.Approval = id })
		},
	}))
}
