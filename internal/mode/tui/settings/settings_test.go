package settings_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/settings"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

var update = flag.Bool("update", false, "write the golden files anew")

// face is the owner of the pane, with a real config.yml.
type face struct {
	*settings.Pane
	*paneltest.Face
	t        testing.TB
	dir      string
	held     map[string]any
	project  string // its folder
	refuse   error
	opened   []string
	previews []string
	closed   int
}

func open(t testing.TB, text, selected string) *face {
	t.Helper()
	f := &face{Face: paneltest.New(t), t: t, dir: t.TempDir(), held: map[string]any{}}
	if err := os.WriteFile(filepath.Join(f.dir, "config.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f.start(selected)
	return f
}

func (f *face) start(selected string) {
	f.Pane = settings.New(f.Env, settings.Options{
		Config:   f.config,
		Selected: selected,
		Choices:  map[string][]string{"theme.dark": {"dark", "nord", "titanium"}},
		Open: func(key string) bool {
			if key == "modelRoles" {
				f.opened = append(f.opened, key)
			}
			return key == "modelRoles"
		},
		OnSet: func(key string, v any) error {
			if f.refuse != nil {
				return f.refuse
			}
			return config.Set(f.dir, key, v)
		},
		OnUnset:   func(key string) error { return config.Unset(f.dir, key) },
		OnPreview: func(key string, v any) { f.previews = append(f.previews, fmt.Sprintf("%s=%v", key, v)) },
		OnClose:   func() { f.closed++ },
	})
}

func (f *face) config() *config.Config {
	c, err := config.Layers{Folder: f.dir, Project: config.Project{Dir: f.project}}.Load(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for key, v := range f.held {
		c.Hold(key, v, config.Source{Kind: config.ByFlag, Name: "--" + key})
	}
	return c
}

func (f *face) press(keys ...string) { paneltest.Press(f.Pane, keys...) }

func (f *face) text() string {
	data, err := os.ReadFile(filepath.Join(f.dir, "config.yml"))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// screen is what is shown, without looks.
func (f *face) screen() string {
	rows, _ := f.Draw(100, 24)
	return ansi.Strip(strings.Join(rows, "\n"))
}

func letters(s string) []string { return strings.Split(s, "") }

func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name, text, at string
		keys           []string
		want           string
	}{
		{"a switch", "# c\n", "colorBlindMode", []string{"enter"}, "# c\ncolorBlindMode: true\n"},
		{"a switch by the space bar", "colorBlindMode: true # c\n", "colorBlindMode", []string{"space"}, "colorBlindMode: false # c\n"},
		{"one of two", "", "interruptMode", []string{"enter"}, "interruptMode: wait\n"},
		{"one of many", "", "symbolPreset", []string{"enter", "down", "down", "enter"}, "symbolPreset: ascii\n"},
		{"one of many, none", "", "symbolPreset", []string{"enter", "down", "esc"}, ""},
		{"one that the face knows", "", "theme.dark", []string{"enter", "n", "o", "r", "d", "enter"}, "theme:\n  dark: nord\n"},
		{"a number", "", "display.tabWidth", []string{"enter", "backspace", "8", "enter"}, "display:\n  tabWidth: 8\n"},
		{"a number that is refused, then mended", "", "display.tabWidth", []string{"enter", "9", "enter", "backspace", "backspace", "5", "enter"}, "display:\n  tabWidth: 5\n"},
		{"dollars", "limits: {turn: 1}\n", "limits.turn", []string{"enter", "backspace", "0", ".", "5", "enter"}, "limits: {turn: 0.5}\n"},
		{"a list", "sandbox:\n  hosts:\n  - a # first\n", "sandbox.hosts", append(append([]string{"enter"}, letters(", b.c")...), "enter"), "sandbox:\n  hosts:\n  - a # first\n  - b.c\n"},
		{"a list of choices", "statusLine: {preset: custom, leftSegments: [git, path]}\n", "statusLine.leftSegments", []string{"enter", "space", "space", "enter"}, "statusLine: {preset: custom, leftSegments: [path, git]}\n"},
		{"the default", "# a\nautoResume: true\n# b\n", "autoResume", []string{"delete"}, "# a\n# b\n"},
		{"the default of a list takes two", "cycleOrder: [a]\n", "cycleOrder", []string{"backspace"}, "cycleOrder: [a]\n"},
		{"the default of a list", "cycleOrder: [a]\n", "cycleOrder", []string{"backspace", "backspace"}, ""},
		{"another key between", "cycleOrder: [a]\n", "cycleOrder", []string{"backspace", "up", "down", "backspace"}, "cycleOrder: [a]\n"},
		{"wiping a search stops at its end", "colorBlindMode: true\n", "colorBlindMode", []string{"c", "o", "l", "backspace", "backspace", "backspace", "backspace", "backspace"}, "colorBlindMode: true\n"},
		{"found by search", "", "theme.dark", append(letters("resume at"), "enter"), "autoResume: true\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, tt.text, tt.at)
			f.Draw(80, 24)
			f.press(tt.keys...)
			if diff := cmp.Diff(tt.want, f.text()); diff != "" {
				t.Errorf("%s\n%s", diff, f.screen())
			}
			if f.closed > 0 {
				t.Error("the pane closed")
			}
		})
	}
}

func TestPreviews(t *testing.T) {
	f := open(t, "theme: {dark: nord}\n", "theme.dark")
	f.press("enter", "down", "up", "up", "esc")
	want := []string{"theme.dark=titanium", "theme.dark=nord", "theme.dark=dark", "theme.dark=nord"}
	if diff := cmp.Diff(want, f.previews); diff != "" {
		t.Error(diff)
	}
	f.previews, f.refuse = nil, errors.New("the disk is full")
	f.press("enter", "down", "enter")
	if diff := cmp.Diff([]string{"theme.dark=titanium", "theme.dark=nord"}, f.previews); diff != "" {
		t.Errorf("what cannot be written is not taken back: %s", diff)
	}
	if !strings.Contains(f.screen(), "the disk is full") {
		t.Error("the problem is not shown")
	}
	f.press("down")
	if strings.Contains(f.screen(), "the disk is full") {
		t.Error("the problem stays")
	}
}

func TestEscClosesOneThingAtATime(t *testing.T) {
	f := open(t, "", "symbolPreset")
	f.press("s", "y", "m", "enter")
	if !strings.Contains(f.screen(), "nerd") {
		t.Fatalf("no choices:\n%s", f.screen())
	}
	f.press("esc")
	if s := f.screen(); !strings.Contains(s, "> sym") {
		t.Fatalf("the search is gone:\n%s", s)
	}
	f.press("esc")
	if s := f.screen(); strings.Contains(s, "> sym") || !strings.Contains(s, "[appearance]") || f.closed > 0 {
		t.Fatalf("the search stays, or the pane is gone:\n%s", s)
	}
	f.press("esc")
	if f.closed != 1 {
		t.Error("the pane stays")
	}
}

func TestTabs(t *testing.T) {
	f := open(t, "", "")
	want := slices.Collect(func(yield func(string) bool) {
		for _, g := range config.Groups() {
			if !yield("[" + string(g) + "]") {
				return
			}
		}
	})
	for range 2 {
		for _, g := range want {
			if !strings.Contains(f.screen(), g) {
				t.Fatalf("not at %s:\n%s", g, f.screen())
			}
			f.press("tab")
		}
	}
	f.press("left")
	if !strings.Contains(f.screen(), "[providers]") {
		t.Errorf("left does not go back:\n%s", f.screen())
	}
}

func TestSearch(t *testing.T) {
	f := open(t, "", "oauth")
	f.press(letters("notify")...)
	s := f.screen()
	if !strings.Contains(s, "[interaction 3]") || strings.Contains(s, "Dark theme") {
		t.Fatalf("the search finds something else:\n%s", s)
	}
	f.press("ctrl+u")
	f.press(letters("inlineimage")...)
	f.press("down", "down", "down")
	if s := f.screen(); !strings.Contains(s, "→") || !strings.Contains(s, "tui.maxInlineImageRows") && !strings.Contains(s, "tui.maxInlineImageColumns") {
		t.Errorf("moving in a search:\n%s", s)
	}
	f.press("esc", "q", "x", "z", "q")
	if s := f.screen(); !strings.Contains(s, "No setting matches") {
		t.Errorf("nothing is not said:\n%s", s)
	}
	f.press("tab", "enter", "delete", "esc")
	f.press(letters("enabl")...)
	first := f.screen()
	f.press("tab")
	if second := f.screen(); first == second {
		t.Errorf("Tab does not go to the next group with hits:\n%s", second)
	}
}

func TestSearchWords(t *testing.T) {
	for query, want := range map[string]string{
		"tabwid":     "1 of", // the key
		"tb width":   "",     // too little of it
		"colr blind": "1 of", // a letter is missing
		"seg":        "4 of", // and nothing by chance
		"nerd":       "2 of", // a choice
		"monthly":    "",     // no such word
		"ÉÜ⟨":        "",     // no letters of ours
	} {
		f := open(t, "statusLine: {preset: custom}\n", "theme.dark")
		f.press(letters(query)...)
		s := f.screen()
		if want == "" && !strings.Contains(s, "No setting matches") || !strings.Contains(s, " "+want) {
			t.Errorf("%q, want %q:\n%s", query, want, s)
		}
	}
}

func TestConditions(t *testing.T) {
	f := open(t, "terminal: {showImages: false}\n", "terminal.showImages")
	if strings.Contains(f.screen(), "Image width") {
		t.Error("a setting is shown that is of no use")
	}
	f.press("enter")
	if s := f.screen(); !strings.Contains(s, "Image width") || !strings.Contains(s, "→ ") {
		t.Errorf("a setting that is of use now is not shown:\n%s", s)
	}
	if strings.Contains(f.screen(), "Setup done") {
		t.Error("what the program keeps for itself is shown")
	}
}

func TestSources(t *testing.T) {
	f := open(t, "approval: plan\nautoResume: true\n", "approval")
	f.held["approval"] = "full"
	f.Refresh()
	if s := f.screen(); !strings.Contains(s, "full") || !strings.Contains(s, "--approval") {
		t.Errorf("the flag is not shown:\n%s", s)
	}
	f.press("enter", "down", "enter")
	if s := f.screen(); !strings.Contains(s, "Saved. --approval overrides it until burin ends.") || !strings.Contains(f.text(), "approval: ask") {
		t.Errorf("%s\n%s", f.text(), s)
	}
	f.press("esc")
	f = open(t, "autoResume: true\n", "autoResume")
	if s := f.screen(); !strings.Contains(s, "config.yml:1") {
		t.Errorf("the line is not shown:\n%s", s)
	}
}

// What a project sets is shown as such; what a person changes is their own.
func TestProjectOverrides(t *testing.T) {
	f := open(t, "disabledSources: [pi]\n", "hideThinkingBlock")
	f.project = t.TempDir()
	if err := os.MkdirAll(filepath.Join(f.project, ".burin"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "# ours\nhideThinkingBlock: true\ndisabledSources: [claude]\n"
	if err := os.WriteFile(filepath.Join(f.project, ".burin", "config.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Refresh()
	if s := f.screen(); !strings.Contains(s, "from .burin/config.yml:2, in this project") {
		t.Errorf("the project is not named:\n%s", s)
	}
	f.press("enter") // off without the project
	if s := f.screen(); !strings.Contains(f.text(), "hideThinkingBlock: true") || !strings.Contains(s, "Saved. .burin/config.yml:2 overrides it in this project.") {
		t.Errorf("%s\n%s", f.text(), s)
	}
	f.start("disabledSources")
	if s := f.screen(); !strings.Contains(s, "pi, claude") {
		t.Errorf("the lists do not add up:\n%s", s)
	}
	f.press("enter", "enter")
	if s := f.text(); !strings.Contains(s, "disabledSources: [pi]\n") {
		t.Errorf("the project's entries are among the person's:\n%s", s)
	}
}

func TestRecordsAreOfTheFace(t *testing.T) {
	f := open(t, "modelRoles: {smol: x}\noauth: {}\ndisabledProviders: [{path: ~/w, providers: [x]}]\n", "modelRoles")
	f.press("enter")
	if len(f.opened) != 1 {
		t.Error("the face's picker was not opened")
	}
	f.start("disabledProviders")
	f.press("enter")
	if s := f.screen(); !strings.Contains(s, "change it in config.yml:3") {
		t.Errorf("a list with folders:\n%s", s)
	}
}

func TestGolden(t *testing.T) {
	const text = "theme: {dark: nord}\nstatusLine: {preset: custom, leftSegments: [model, path, git]}\ndisplay: {tabWidth: 8}\napproval: plan\nlimits: {month: 50}\n"
	scene := func(name, at string, height int, keys ...string) paneltest.Scene {
		f := open(t, text, at)
		f.held["approval"] = "full"
		f.Refresh()
		f.Draw(80, height)
		f.press(keys...)
		return paneltest.Scene{Name: name, Rows: func(s *theme.Styles, width int) []string {
			f.Env.Styles = s
			rows, _ := f.Draw(width, height)
			return rows
		}}
	}
	paneltest.Golden(
		t, "settings", *update,
		scene("appearance", "theme.dark", 20),
		scene("money", "limits.month", 20),
		scene("search", "theme.dark", 20, letters("segm")...),
		scene("choice", "theme.dark", 16, "enter"),
		scene("boxes", "statusLine.leftSegments", 16, "enter"),
		scene("input", "display.tabWidth", 14, "enter", "9", "enter"),
		scene("low", "theme.dark", 7, "delete"),
	)
}

// Whatever is pressed at whatever size: the frame fits, and the file stays readable.
// Where there is little room, help that goes on says so, and the key that closes is named.
func TestLittleRoom(t *testing.T) {
	f := open(t, "", "theme.dark")
	for size, want := range map[[2]int]string{
		{40, 8}: "The theme for terminals with a dark…", {60, 8}: "The theme for terminals with a dark background.",
		{40, 14}: "Enter changes · Esc closes", {50, 14}: "Enter changes · Delete resets · Esc closes",
	} {
		rows, _ := f.Draw(size[0], size[1])
		if got := ansi.Strip(rows[len(rows)-1]); got != want {
			t.Errorf("%v: the last row is %q, want %q", size, got, want)
		}
	}
}

func TestAnyKeys(t *testing.T) {
	keys := []string{"enter", "esc", "up", "down", "tab", "shift+tab", "left", "right", "backspace", "delete", "space", "a", "m", "1", ",", "pageup", "pagedown", "home", "end", "ctrl+c", "ctrl+u", "ctrl+w", "x"}
	rnd := rand.New(rand.NewPCG(1, 2))
	f := open(t, "# mine\ncompaction:\n  # keep\n  enabled: true\n", "theme.dark")
	for range 1500 {
		k := keys[rnd.IntN(len(keys))]
		f.press(k)
		w, h := 1+rnd.IntN(120), 1+rnd.IntN(30)
		rows, cursor := f.Draw(w, h)
		if len(rows) != h {
			t.Fatalf("%d rows at height %d", len(rows), h)
		}
		paneltest.Harmless(t, rows, w)
		if !cursor.Hidden && (cursor.X >= w || cursor.Y >= h) {
			t.Fatalf("the cursor is at %d,%d in %d×%d", cursor.X, cursor.Y, w, h)
		}
	}
	f.config()
	if !strings.HasPrefix(f.text(), "# mine\n") || !strings.Contains(f.text(), "# keep\n") {
		t.Errorf("comments are gone:\n%s", f.text())
	}
}

func BenchmarkKey(b *testing.B) {
	f := open(b, "approval: plan\n", "theme.dark")
	c := f.config()
	p := settings.New(f.Env, settings.Options{Config: func() *config.Config { return c }, OnClose: func() {}})
	for _, bb := range []struct{ name, one, two string }{{"move", "down", "up"}, {"search", "m", "backspace"}, {"tab", "tab", "shift+tab"}} {
		b.Run(bb.name, func(b *testing.B) {
			p.Draw(100, 40)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				k := bb.one
				if i%2 == 1 {
					k = bb.two
				}
				ev := key.Press{Key: key.Key(k)}
				if len(k) == 1 {
					ev.Text = k
				}
				p.Handle(ev)
				p.Draw(100, 40)
			}
		})
	}
}
