package wizard

import (
	"context"

	"github.com/burin-dev/burin/internal/mode/tui/list"
)

// enterModel asks which models can be used, and shows them.
func (w *Wizard) enterModel() {
	w.start(task{what: "Looking for models", run: func(ctx context.Context) func() {
		models, err := w.o.Models(ctx)
		return func() {
			if err != nil {
				w.say(brief(err), true)
			}
			w.showModels(models)
		}
	}})
}

func (w *Wizard) showModels(models []Model) {
	items := make([]list.Item, 0, len(models))
	names := make(map[string]string, len(models))
	for _, m := range models {
		it := list.Item{ID: m.Ref, Label: m.Name, Detail: m.Detail, Search: m.Ref}
		if it.Label == "" {
			it.Label = m.Ref
		}
		if m.Ref == w.o.Model {
			it.Mark = w.env.Styles.Symbols().Done
		}
		names[m.Ref] = it.Label
		items = append(items, it)
	}
	w.put(list.New(w.env, list.Options{
		Title: "Choose a model", Items: items, Selected: w.o.Model,
		Empty: "No usable model yet: Esc goes back to keys and logins.",
		Hint:  "/model changes it at any time", OnCancel: w.back,
		OnChoose: func(ref string) {
			w.write("Saving the model", names[ref]+" answers.", func(context.Context) error {
				return w.o.SetModel(ref)
			}, func() { w.o.Model = ref })
		},
	}))
}
