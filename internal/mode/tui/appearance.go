package tui

import (
	"path/filepath"
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/mode/tui/status"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// appearance is what the person has set about how things look and behave.
type appearance struct {
	dark, light   string // names of themes
	symbols       string
	colorBlind    bool
	screenReader  bool
	spinner       bool
	quiet         bool // no greeting
	hyperlinks    string
	doubleEscape  string // tree, branch or none
	notify        notify.Mode
	askNotify     notify.Mode
	notifyAfter   time.Duration
	loopMode      string // what comes between the rounds of a loop
	popupRows     int
	tab           int      // cells
	cycle         []string // roles that a key goes round
	treeFilter    string
	branchSummary bool
	hideThinking  bool
	images        bool
	imageCols     int
	imageRows     int

	onLight    bool // the terminal is light
	cellWidth  int  // in pixels; 0 is not known
	cellHeight int
	attributes []int // of the terminal
}

func appearanceOf(c *config.Config) appearance {
	return appearance{
		dark: c.Text("theme.dark"), light: c.Text("theme.light"), symbols: c.Text("symbolPreset"), colorBlind: c.Bool("colorBlindMode"),
		screenReader: c.Bool("screenReader"), spinner: c.Bool("display.spinner"), quiet: c.Bool("startup.quiet"),
		hyperlinks: c.Text("tui.hyperlinks"), doubleEscape: c.Text("doubleEscapeAction"),
		notify: notify.Mode(c.Text("completion.notify")), askNotify: notify.Mode(c.Text("ask.notify")),
		notifyAfter: time.Duration(c.Int("completion.afterSeconds")) * time.Second, loopMode: c.Text("loop.mode"),
		tab:       c.Int("display.tabWidth"),
		popupRows: max(1, c.Int("autocompleteMaxVisible")), cycle: c.List("cycleOrder"), treeFilter: c.Text("treeFilterMode"),
		branchSummary: c.Bool("branchSummary.enabled"), hideThinking: c.Bool("hideThinkingBlock"),
		images: c.Bool("terminal.showImages"), imageCols: c.Int("tui.maxInlineImageColumns"), imageRows: c.Int("tui.maxInlineImageRows"),
	}
}

// statusLine is the line as it was set up.
func (a *app) statusLine() {
	c := a.o.Settings
	set := status.Settings{Preset: c.Text("statusLine.preset"), Separator: c.Text("statusLine.separator"), Transparent: c.Bool("statusLine.transparent")}
	if set.Preset == "custom" {
		set.Left, set.Right = c.List("statusLine.leftSegments"), c.List("statusLine.rightSegments")
	}
	line, problems := status.New(set)
	for _, p := range problems {
		a.notice(card.Warning, oneLine(p.Error()))
	}
	a.facts.line = line
}

// applySettings takes over what config.yml says now.
func (a *app) applySettings() {
	c, err := config.Load(a.o.Paths.Config)
	if err != nil {
		a.sayError(err)
		return
	}
	a.o.Settings = c
	was := a.show
	a.show = appearanceOf(c)
	a.show.onLight, a.show.cellWidth, a.show.cellHeight, a.show.attributes = was.onLight, was.cellWidth, was.cellHeight, was.attributes
	a.env.Links = a.show.links(a.o.Getenv)
	if was.hideThinking != a.show.hideThinking {
		a.change(func(l *look) { l.HideThinking = a.show.hideThinking })
	}
	a.statusLine()
	a.restyle()
}

// links reports whether the terminal is given hyperlinks. Those that do not know them
// show their words, but for a few old ones.
func (s *appearance) links(getenv func(string) string) bool {
	switch s.hyperlinks {
	case "off":
		return false
	case "always":
		return true
	}
	switch getenv("TERM") {
	case "linux", "dumb", "screen":
		return false
	}
	return true
}

// cell takes the size of a cell in pixels.
func (s *appearance) cell(values []int) {
	if len(values) == 2 {
		s.cellWidth, s.cellHeight = values[0], values[1]
	}
}

// chooseStyles makes the styles of the theme for the terminal's background.
func (a *app) chooseStyles(b theme.Background) {
	a.show.onLight = b == theme.LightBackground
	a.restyle()
}

// restyle makes the styles anew, and everything that is drawn with them.
func (a *app) restyle() {
	name, other := a.show.dark, theme.DefaultDark
	if a.show.onLight {
		name, other = a.show.light, theme.DefaultLight
	}
	t, ok := theme.Builtin(name)
	if !ok {
		var err error
		if t, err = theme.Load(a.themeDir(), name); err != nil {
			t, _ = theme.Builtin(other)
			if a.badTheme != name { // it is drawn anew often, and said once
				a.notice(card.Warning, oneLine(err.Error()))
			}
			a.badTheme = name
		}
	}
	if a.show.colorBlind {
		t = t.ColorBlind()
	}
	a.useTheme(t)
}

// useTheme draws with a theme from now on.
func (a *app) useTheme(t *theme.Theme) {
	styles := theme.NewStyles(t, theme.DetectProfile(true, a.o.Getenv))
	symbols := a.show.symbols
	if a.show.screenReader {
		symbols = string(theme.Spoken) // what is drawn would be read out by its name
	}
	if symbols != "" {
		styles = styles.WithSymbols(theme.SymbolsOf(theme.Preset(symbols), nil))
	}
	a.env.Styles = styles
	a.change(func(l *look) {
		l.Styles, l.Links, l.Tab = styles, a.env.Links, a.show.tab
		// What stands in the scrollback can be seen whole in the viewer only.
		l.Hint = a.keyFor(key.OpenTranscript)
	})
	a.dirty, a.urgent = true, true
}

// background takes the colour behind the terminal's text.
func (a *app) background(c theme.Color) { a.lightOrDark(c.Luminance() > 0.4) }

func (a *app) lightOrDark(light bool) {
	if light != a.show.onLight {
		a.show.onLight = light
		a.restyle()
	}
}

func (a *app) editorStyles() editor.Styles {
	return editor.Styles{
		Text:        func(s string) string { return s },
		Fold:        func(s string) string { return a.env.Styles.Style(theme.Accent)(s) },
		Placeholder: func(s string) string { return a.env.Styles.Style(theme.Dim)(s) },
	}
}

func (a *app) placeholder() string {
	return "Ask anything, / for commands, @ for files, ! for the shell"
}

// themeDir is where the person's own themes are.
func (a *app) themeDir() string { return filepath.Join(a.o.Paths.Config, "themes") }

// set writes a setting into config.yml.
func (a *app) set(name string, value any) {
	if err := config.Set(a.o.Paths.Config, name, value); err != nil {
		a.sayError(err)
		return
	}
	a.applySettings()
}
