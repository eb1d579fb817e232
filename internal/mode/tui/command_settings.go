package tui

import (
	"slices"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/card"
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
	later := false // something was changed that this session does not take up
	changed := func(name string, err error) error {
		if err == nil {
			later = a.takeUp(name) || later
			before = a.show
		}
		return err
	}
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
			return changed(name, config.Set(a.o.Paths.Config, name, value))
		},
		OnUnset: func(name string) error { return changed(name, config.Unset(a.o.Paths.Config, name)) },
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
			if later && a.session != nil {
				a.say(card.Info, "Some of what you changed holds from the next session on; /new begins one.")
			}
		},
	})
	a.push(p)
	a.searchFor(p, words)
}

// takeUp takes over a setting that was changed. later reports that it holds from the next
// session on: what belongs to the face is read anew, what a session was opened with stays.
func (a *app) takeUp(name string) (later bool) {
	a.applySettings()
	s, ok := config.Find(name)
	if !ok {
		return false
	}
	switch s.Group {
	case config.Appearance:
		return false
	case config.Model, config.Providers:
		a.o.Host.Reload()
		return name != "cycleOrder" && name != "modelRoles"
	case config.Interaction:
		return name == "steeringMode" || name == "followUpMode" || name == "interruptMode"
	}
	return name != "branchSummary.enabled" && name != "autoResume"
}

// searchFor types words into the search of a pane.
func (a *app) searchFor(p pane.Pane, words string) {
	if words != "" {
		p.Handle(key.Paste{Text: words})
	}
}
