package tui

import (
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/status"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// preferences are what the person has set about how things look and behave.
type preferences struct {
	dark, light   string // names of themes
	symbols       string
	colorBlind    bool
	screenReader  bool
	spinner       bool
	quiet         bool // no greeting
	hyperlinks    string
	mouse         string
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
}

// appearance is how the face looks: what the person has set, and what the terminal said of
// itself. It has the settings as they are now.
type appearance struct {
	*base
	preferences
	config *config.Config
	folder string // of the settings
	host   Host
	line   *status.Line // the status line as it was set up
	taken  func()       // is called when other settings hold

	onLight    bool // the terminal is light
	cellWidth  int  // in pixels; 0 is not known
	cellHeight int
	attributes []int        // of the terminal
	theme      *theme.Theme // that is drawn with, but for what is only looked at; nil: none yet
	saidTheme  string       // the last that was said about the file of a theme
}

func newAppearance(b *base, o *Options) *appearance {
	s := &appearance{base: b, preferences: preferencesOf(o.Settings), config: o.Settings, folder: o.Paths.Config, host: o.Host}
	b.env.Links = s.links()
	return s
}

func preferencesOf(c *config.Config) preferences {
	return preferences{
		dark: c.Text("theme.dark"), light: c.Text("theme.light"), symbols: c.Text("symbolPreset"), colorBlind: c.Bool("colorBlindMode"),
		screenReader: c.Bool("screenReader"), spinner: c.Bool("display.spinner"), quiet: c.Bool("startup.quiet"),
		hyperlinks: c.Text("tui.hyperlinks"), mouse: c.Text("tui.mouse"), doubleEscape: c.Text("doubleEscapeAction"),
		notify: notify.Mode(c.Text("completion.notify")), askNotify: notify.Mode(c.Text("ask.notify")),
		notifyAfter: time.Duration(c.Int("completion.afterSeconds")) * time.Second, loopMode: c.Text("loop.mode"),
		tab:       c.Int("display.tabWidth"),
		popupRows: max(1, c.Int("autocompleteMaxVisible")), cycle: c.List("cycleOrder"), treeFilter: c.Text("treeFilterMode"),
		branchSummary: c.Bool("branchSummary.enabled"), hideThinking: c.Bool("hideThinkingBlock"),
		images: c.Bool("terminal.showImages"), imageCols: c.Int("tui.maxInlineImageColumns"), imageRows: c.Int("tui.maxInlineImageRows"),
	}
}

// readLine takes the status line as it was set up.
func (s *appearance) readLine() {
	c := s.config
	set := status.Settings{Preset: c.Text("statusLine.preset"), Separator: c.Text("statusLine.separator"), Transparent: c.Bool("statusLine.transparent")}
	if set.Preset == "custom" {
		set.Left, set.Right = c.List("statusLine.leftSegments"), c.List("statusLine.rightSegments")
	}
	line, problems := status.New(set)
	for _, p := range problems {
		s.notice(card.Warning, prose.Line(p.Error()))
	}
	s.line = line
}

// apply takes over what the settings say now.
func (s *appearance) apply() {
	c, err := s.host.Settings()
	if err != nil {
		s.sayError(err)
		return
	}
	s.take(c)
}

// take takes settings over.
func (s *appearance) take(c *config.Config) {
	s.config = c
	was := s.preferences
	s.preferences = preferencesOf(c)
	s.env.Links = s.links()
	if was.hideThinking != s.hideThinking {
		s.talk.change(func(l *look) { l.HideThinking = s.hideThinking })
	}
	s.readLine()
	s.restyle()
	s.taken()
}

// links reports whether the terminal is given hyperlinks. Those that do not know them
// show their words, but for a few old ones.
func (s *appearance) links() bool {
	switch s.hyperlinks {
	case "off":
		return false
	case "always":
		return true
	}
	switch s.getenv("TERM") {
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
func (s *appearance) chooseStyles(b theme.Background) {
	s.onLight = b == theme.LightBackground
	s.restyle()
}

// restyle makes the styles anew, and everything that is drawn with them. Where the theme's
// file cannot be used, what it looked like before stays.
func (s *appearance) restyle() {
	t, words := s.find()
	if words != s.saidTheme && words != "" { // it is drawn anew often, and said once
		// A screen is narrow: the folder of the settings goes without saying.
		s.notice(card.Warning, prose.Line(strings.ReplaceAll(words, s.folder+string(filepath.Separator), "")))
	}
	s.theme, s.saidTheme = t, words
	if s.colorBlind {
		t = t.ColorBlind()
	}
	s.useTheme(t)
}

// followTheme restyles if the theme's file is another than it was.
func (s *appearance) followTheme() (changed bool) {
	t, words := s.find()
	if words == s.saidTheme && reflect.DeepEqual(t, s.theme) {
		return false
	}
	s.restyle()
	return words == ""
}

// find gives the theme to draw with, and what there is to say about its file.
func (s *appearance) find() (t *theme.Theme, words string) {
	name, other := s.dark, theme.DefaultDark
	if s.onLight {
		name, other = s.light, theme.DefaultLight
	}
	if t, ok := theme.Builtin(name); ok {
		return t, ""
	}
	t, err := theme.Load(s.themeDir(), name)
	switch {
	case err == nil:
		return t, strings.Join(t.Doubts, "; ")
	case s.theme != nil && s.theme.Name == name:
		return s.theme, err.Error() + "; the theme stays as it was"
	}
	t, _ = theme.Builtin(other)
	return t, err.Error() + "; using the theme " + other
}

// useTheme draws with a theme from now on.
func (s *appearance) useTheme(t *theme.Theme) {
	styles := theme.NewStyles(t, theme.DetectProfile(true, s.getenv))
	symbols := s.symbols
	if s.screenReader {
		symbols = string(theme.Spoken) // what is drawn would be read out by its name
	}
	if symbols != "" {
		styles = styles.WithSymbols(theme.SymbolsOf(theme.Preset(symbols), nil))
	}
	s.env.Styles = styles
	s.talk.change(func(l *look) {
		l.Styles, l.Links, l.Tab = styles, s.env.Links, s.tab
		// What stands in the scrollback can be seen whole in the viewer only.
		l.Hint = s.keyFor(key.OpenTranscript)
	})
	s.redraw()
}

// background takes the colour behind the terminal's text.
func (s *appearance) background(c theme.Color) { s.lightOrDark(c.Luminance() > 0.4) }

func (s *appearance) lightOrDark(light bool) {
	if light != s.onLight {
		s.onLight = light
		s.restyle()
	}
}

func (s *appearance) editorStyles() editor.Styles {
	return editor.Styles{
		Text:        func(s string) string { return s },
		Fold:        func(words string) string { return s.env.Styles.Style(theme.Accent)(words) },
		Placeholder: func(words string) string { return s.env.Styles.Style(theme.Dim)(words) },
	}
}

// themeDir is where the person's own themes are.
func (s *appearance) themeDir() string { return filepath.Join(s.folder, "themes") }

// set writes a setting into config.yml.
func (s *appearance) set(name string, value any) {
	if err := config.Set(s.folder, name, value); err != nil {
		s.sayError(err)
		return
	}
	s.apply()
}

// takeUp takes over a setting that was changed here.
func (s *appearance) takeUp(name string) (later bool) {
	s.apply()
	return s.spread(name)
}

// spread tells the program of a setting that was changed. later reports that it holds from the
// next session on: what belongs to the face is read anew, what a session was opened with stays.
func (s *appearance) spread(name string) (later bool) {
	known, ok := config.Find(name)
	if !ok {
		return false
	}
	switch known.Group {
	case config.Appearance:
		return false
	case config.Model, config.Providers:
		s.host.Reload()
		return name != "cycleOrder" && name != "modelRoles"
	case config.Interaction:
		return name == "steeringMode" || name == "followUpMode" || name == "interruptMode"
	}
	return name != "branchSummary.enabled" && name != "autoResume"
}

// workRows say that something runs. A screen reader is not told of signs that turn, nor
// of seconds.
func (s *appearance) workRows(w panel.Work, v panel.View) []string {
	if !s.screenReader {
		return panel.Working(w, v)
	}
	words := w.Words
	if w.Key != "" {
		words += ", " + w.Key + " stops it"
	}
	return []string{s.cut(styled.Of(words, theme.Text), v.Width)}
}

// setRole gives a role a model, or none.
func (s *appearance) setRole(role, ref string) error {
	var err error
	if ref == "" {
		err = config.Unset(s.folder, "modelRoles."+role)
	} else {
		err = config.Set(s.folder, "modelRoles."+role, ref)
	}
	if err == nil {
		s.host.Reload()
		s.inbox.post(s.apply)
	}
	return err
}

func (s *appearance) themeName() string {
	if s.onLight {
		return s.light
	}
	return s.dark
}

// write writes a setting beside the loop, which takes it over.
func (s *appearance) write(name string, value any) error {
	err := config.Set(s.folder, name, value)
	if err == nil {
		s.inbox.post(s.apply)
	}
	return err
}
