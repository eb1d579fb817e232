package tui

import (
	"slices"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/settings"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// openSettings shows all settings, or those that fit the words: a key, or a search.
func (a *app) openSettings(words string) {
	themes := append(theme.Names(), theme.List(a.themeDir())...)
	slices.Sort(themes)
	themes = slices.Compact(themes)
	before := a.show
	var p *settings.Pane
	p = settings.New(a.env, settings.Options{
		Config:   func() *config.Config { return a.o.Settings },
		Selected: words,
		Choices:  map[string][]string{"theme.dark": themes, "theme.light": themes},
		Open: func(name string) bool {
			if name != "modelRoles" {
				return false
			}
			a.openModels("")
			return true
		},
		OnSet: func(name string, value any) error {
			if err := config.Set(a.o.Paths.Config, name, value); err != nil {
				return err
			}
			a.applySettings()
			before = a.show
			return nil
		},
		OnUnset: func(name string) error {
			if err := config.Unset(a.o.Paths.Config, name); err != nil {
				return err
			}
			a.applySettings()
			before = a.show
			return nil
		},
		OnPreview: func(name string, value any) {
			word, _ := value.(string)
			switch name {
			case "theme.dark":
				a.show.dark = word
			case "theme.light":
				a.show.light = word
			case "symbolPreset":
				a.show.symbols = word
			case "colorBlindMode":
				a.show.colorBlind, _ = value.(bool)
			default:
				return
			}
			a.restyle()
		},
		OnClose: func() {
			a.show = before
			a.restyle()
			a.remove(p)
		},
	})
	a.push(p)
	a.searchFor(p, words)
}

// searchFor types words into the search of a pane.
func (a *app) searchFor(p pane.Pane, words string) {
	if words != "" {
		p.Handle(key.Paste{Text: words})
	}
}
