package tui

import (
	"slices"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/settings"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// openSettings shows all settings, or those that fit the words: a key, or a search.
func (vs *views) openSettings(words string) {
	themes := append(theme.Names(), theme.List(vs.show.themeDir())...)
	slices.Sort(themes)
	themes = slices.Compact(themes)
	later := false // something was changed that this session does not take up
	changed := func(name string, err error) error {
		if err == nil {
			later = vs.show.takeUp(name) || later
		}
		return err
	}
	var p *settings.Pane
	p = settings.New(vs.env, settings.Options{
		Config:   func() *config.Config { return vs.show.config },
		Selected: words,
		Choices:  map[string][]string{"theme.dark": themes, "theme.light": themes},
		Open: func(name string) bool {
			if name != "modelRoles" {
				return false
			}
			vs.models.openModels("")
			return true
		},
		OnSet: func(name string, value any) error {
			return changed(name, config.Set(vs.show.folder, name, value))
		},
		OnUnset: func(name string) error { return changed(name, config.Unset(vs.show.folder, name)) },
		OnPreview: func(name string, value any) {
			word, _ := value.(string)
			switch name {
			case "theme.dark":
				vs.show.dark = word
			case "theme.light":
				vs.show.light = word
			case "symbolPreset":
				vs.show.symbols = word
			case "colorBlindMode":
				vs.show.colorBlind, _ = value.(bool)
			default:
				return
			}
			vs.show.restyle()
		},
		OnClose: func() {
			vs.show.preferences = preferencesOf(vs.show.config) // a preview may have changed them
			vs.show.restyle()
			vs.panes.remove(p)
			if later && vs.session != nil {
				vs.notice(card.Info, "Some changes take effect in the next session; /new starts one.")
			}
		},
	})
	vs.panes.push(p)
	vs.panes.searchFor(p, words)
}
