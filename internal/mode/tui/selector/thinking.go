package selector

import (
	"fmt"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

// ThinkingOptions of [Thinking].
type ThinkingOptions struct {
	Model    string // its name, for the title
	Support  llm.ThinkingSupport
	Current  llm.Level
	OnChoose func(llm.Level)
	OnCancel func()
}

// levels are those a model can be set to, off among them where it is one.
func levels(t llm.ThinkingSupport) []llm.Level {
	var out []llm.Level
	for _, l := range llm.Levels() {
		if t.Clamp(l) == l && t.Mode != llm.ThinkingNone {
			out = append(out, l)
		}
	}
	return out
}

// Thinking is a pane to choose how hard a model thinks. It offers what the model can.
func Thinking(env *pane.Env, o ThinkingOptions) *list.List {
	// What is set may be of another model; what counts is what it means for this one.
	current := o.Support.Clamp(o.Current)
	var items []list.Item
	for _, l := range levels(o.Support) {
		it := list.Item{ID: string(l), Label: string(l), Detail: levelDetail(l, o.Support)}
		if l == current {
			it.Mark = env.Styles.Symbols().Done
		}
		items = append(items, it)
	}
	return list.Choice(env, list.Options{
		Title: "Thinking level of " + o.Model, Items: items, Selected: string(current),
		Empty: "This model does not think before it answers. Choose another one with " + keyText(env, selectModel) + ".",
		OnChoose: func(id string) {
			if o.OnChoose != nil {
				o.OnChoose(llm.Level(id))
			}
		},
		OnCancel: o.OnCancel,
	})
}

func levelDetail(l llm.Level, t llm.ThinkingSupport) string {
	text := map[llm.Level]string{
		llm.LevelOff:     "answers at once",
		llm.LevelMinimal: "minimal: small edits, lookups",
		llm.LevelLow:     "light: everyday changes",
		llm.LevelMedium:  "balanced: care, time and price",
		llm.LevelHigh:    "thorough: hard bugs, design",
		llm.LevelXHigh:   "maximum: slowest and most expensive",
	}[l]
	if n := t.Budget(l); t.Mode == llm.ThinkingBudget && l != llm.LevelOff && n > 0 {
		text += fmt.Sprintf(" (up to %s tokens)", catalog.TokenWords(n))
	}
	if l == t.Default {
		text += "; this model's default"
	}
	return text
}
