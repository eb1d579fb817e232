package wizard

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// findings are what there is on this machine.
type findings []discover.Finding

// enterFound looks around, once, and shows what there is.
func (w *Wizard) enterFound() {
	if w.looked {
		w.showFound()
		return
	}
	w.start(task{what: "Looking for keys, servers and settings", run: func(ctx context.Context) func() {
		found := w.o.Find(ctx)
		return func() {
			w.found, w.looked = found, true
			if len(found) == 0 {
				w.say("No settings from other tools found.", false)
				w.next()
				return
			}
			w.showFound()
		}
	}})
}

func (w *Wizard) showFound() {
	w.put(list.Choice(w.env, list.Options{
		Title: "Found on this machine", Items: w.found.items(func(discover.Finding) bool { return true }), Preview: w.about,
		Hint: "Enter continues; nothing changes yet", OnChoose: func(string) { w.next() }, OnCancel: w.back,
	}))
}

// groupOf says what becomes of a finding.
func groupOf(f discover.Finding) int {
	switch {
	case f.Kind == discover.Environment || f.Kind == discover.Server:
		return 0
	case f.Importable:
		return 1
	}
	return 2
}

// items are those that pass, by what becomes of them.
func (fs findings) items(pass func(discover.Finding) bool) []list.Item {
	groups := [...]string{"Used as is", "Can be imported", "Left alone"}
	var sorted [len(groups)][]list.Item
	for i, f := range fs {
		if !pass(f) {
			continue
		}
		g := groupOf(f)
		it := list.Item{ID: strconv.Itoa(i), Label: f.Program, Detail: f.What, Group: groups[g], Dim: g == 2}
		if it.Label == "" {
			it.Label = "environment"
		}
		sorted[g] = append(sorted[g], it)
	}
	return slices.Concat(sorted[:]...)
}

// about says of a finding what does not fit into its row.
func (w *Wizard) about(id string, width, height int) []string {
	f, ok := w.found.get(id)
	if !ok {
		return nil
	}
	rows := wrap(w.env.Styles, styled.Of(prose.Inline(f.What), theme.Text), width, max(1, height-1), nil)
	return append(rows, wrap(w.env.Styles, styled.Of(prose.Inline(f.Path), theme.Muted), width, max(1, height-len(rows)), nil)...)
}

// get is the finding of a row.
func (fs findings) get(id string) (discover.Finding, bool) {
	i, err := strconv.Atoi(id)
	if err != nil || i < 0 || i >= len(fs) {
		return discover.Finding{}, false
	}
	return fs[i], true
}

// importable are the findings that can be taken over.
func (fs findings) importable() []discover.Finding {
	var out []discover.Finding
	for _, f := range fs {
		if f.Importable && f.Import != nil {
			out = append(out, f)
		}
	}
	return out
}

func (w *Wizard) enterImport() {
	items := w.found.items(func(f discover.Finding) bool { return f.Importable && f.Import != nil })
	for i := range items {
		items[i].On, items[i].Group = true, ""
	}
	var l *list.List
	l = list.Choice(w.env, list.Options{
		Title: "Choose what to import", Items: items, Toggle: true, Preview: w.about,
		Hint:     "Space selects " + w.env.Styles.Symbols().Dot + " Enter imports",
		OnChoose: func(string) { w.importAll(l.On()) }, OnCancel: w.back,
	})
	w.put(l)
}

// importAll takes over what was checked. What fails is told and does not hold up the
// rest.
func (w *Wizard) importAll(ids []string) {
	var chosen []discover.Finding
	for _, id := range ids {
		if f, ok := w.found.get(id); ok {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		w.skip()
		return
	}
	w.start(task{what: "Importing", writes: true, run: func(ctx context.Context) func() {
		var did, failed []string
		for _, f := range chosen {
			report, err := f.Import(ctx)
			if report != "" {
				did = append(did, report)
			}
			if err != nil {
				failed = append(failed, f.Program+": "+brief(err))
			}
		}
		return func() { w.imported(did, failed) }
	}})
}

func (w *Wizard) imported(did, failed []string) {
	for _, d := range did {
		w.did = append(w.did, deed{w.step, d})
	}
	for _, f := range failed {
		w.did = append(w.did, deed{w.step, "Not imported: " + f})
	}
	w.usable = w.usable || w.o.Quick && len(did) > 0
	switch n := len(failed); {
	case n == 1:
		w.say("Not imported: "+failed[0], true)
	case n > 1:
		w.say(fmt.Sprintf("%d could not be imported; the last step says why. First: %s", n, failed[0]), true)
	default:
		w.say("Imported.", false)
	}
	if w.o.Quick && !w.usable {
		w.quick.show()
		return
	}
	w.next()
}
