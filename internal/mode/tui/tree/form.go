package tree

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// form is a question under way; its pane has the keys.
type form struct {
	pane  pane.Pane // nil: nothing is asked
	below bool      // stands below the tree, else in its place
}

// askName asks for the name of the selected entry.
func (t *Tree) askName() {
	node := t.node()
	if node < 0 {
		return
	}
	t.form = form{below: true, pane: list.NewInput(t.env, list.InputOptions{
		Title:    "Name this point",
		Text:     prose.Inline(t.nodes[node].Label),
		Hint:     "An empty name removes it.",
		OnCancel: t.endForm,
		OnDone: func(text string) {
			t.endForm()
			t.label(node, strings.TrimSpace(text))
		},
	})}
}

func (t *Tree) endForm() { t.form = form{} }

// askSummary asks whether a summary of what is left is wanted, and which.
func (t *Tree) askSummary(node int, selected string) {
	t.form = form{pane: list.Choice(t.env, list.Options{
		Title:    "Summarize the branch you leave?",
		Selected: selected,
		Items: []list.Item{
			{ID: "no", Label: "No summary"},
			{ID: "yes", Label: "Summarize"},
			{ID: "own", Label: "Summarize with your instructions", Detail: "say what matters"},
		},
		Hint:     "Esc back to the tree",
		OnCancel: t.endForm,
		OnChoose: func(id string) {
			if id == "own" {
				t.askInstructions(node)
				return
			}
			t.choose(node, session.Navigation{Summarize: id == "yes"})
		},
	})}
}

// askInstructions asks what to look at in a summary.
func (t *Tree) askInstructions(node int) {
	t.form = form{pane: list.NewInput(t.env, list.InputOptions{
		Title:    "What should the summary focus on?",
		Hint:     "Esc back",
		OnCancel: func() { t.askSummary(node, "own") },
		OnDone: func(text string) {
			t.choose(node, session.Navigation{Summarize: true, Instructions: strings.TrimSpace(text)})
		},
	})}
}

// label gives an entry a name; the face writes it.
func (t *Tree) label(node int, label string) {
	if t.nodes[node].Label == label {
		return
	}
	t.nodes[node].Label = label
	if t.filter == Labeled {
		t.arrange(node)
	}
	if t.o.OnLabel != nil {
		t.o.OnLabel(t.nodes[node].ID, label)
	}
}
