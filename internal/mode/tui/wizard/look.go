package wizard

import (
	"context"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// enterSymbols shows the signs; each set is tried as soon as it is selected.
func (w *Wizard) enterSymbols() {
	current := w.o.theme(w.env.Styles.Light())
	var items []list.Item
	for _, p := range []struct {
		preset    theme.Preset
		name, use string
	}{
		{theme.Unicode, "Unicode", "most terminals"},
		{theme.Nerd, "Nerd Font", "fonts with icons"},
		{theme.ASCII, "ASCII", "works everywhere"},
	} {
		s := theme.SymbolsOf(p.preset, nil)
		sample := strings.Join([]string{s.Done, s.Failed, s.Running, s.Arrow, s.TaskOpen, s.TaskDone, s.Bullets[0], s.Rule + s.Rule, s.Ellipsis}, " ")
		items = append(items, list.Item{ID: string(p.preset), Label: p.name, Detail: sample + "  " + p.use})
	}
	w.put(list.Choice(w.env, list.Options{
		Title: "Which row looks right, without boxes or gaps?", Items: items, Selected: string(w.o.symbols()),
		OnMove: func(id string) { w.o.Show(current, theme.Preset(id)) },
		OnCancel: func() {
			w.unshow()
			w.back()
		},
		OnChoose: func(id string) {
			w.o.Show(current, theme.Preset(id))
			preset := theme.Preset(id)
			w.write("Saving the symbols", "Signs: "+id+".", func(context.Context) error {
				return w.o.SetSymbols(preset)
			}, func() { w.o.Symbols = preset })
		},
	}))
}

// symbols are the signs in use.
func (o *Options) symbols() theme.Preset {
	if o.Symbols == "" {
		return theme.Unicode
	}
	return o.Symbols
}

// theme is the theme in use. One that cannot be read is the default for what the
// terminal is.
func (o *Options) theme(light bool) *theme.Theme {
	if t, ok := theme.Builtin(o.Theme); ok {
		return t
	}
	if o.ThemeDir != "" {
		if t, err := theme.Load(o.ThemeDir, o.Theme); err == nil {
			return t
		}
	}
	name := theme.DefaultDark
	if light {
		name = theme.DefaultLight
	}
	t, _ := theme.Builtin(name)
	return t
}

// unshow takes back looks that were only tried.
func (w *Wizard) unshow() {
	if w.step == stepSymbols || w.step == stepTheme {
		w.o.Show(w.o.theme(w.env.Styles.Light()), w.o.symbols())
	}
}

// enterTheme shows the themes; each is tried as soon as it is selected.
func (w *Wizard) enterTheme() {
	w.put(selector.Themes(w.env, selector.ThemeOptions{
		Current: w.o.theme(w.env.Styles.Light()).Name, Dir: w.o.ThemeDir,
		OnMove:   func(t *theme.Theme) { w.o.Show(t, w.o.symbols()) },
		OnCancel: w.back,
		OnChoose: func(t *theme.Theme) {
			w.o.Show(t, w.o.symbols())
			w.write("Saving the theme", "Theme: "+t.Name+".", func(context.Context) error {
				return w.o.SetTheme(t)
			}, func() { w.o.Theme = t.Name })
		},
	}))
}
