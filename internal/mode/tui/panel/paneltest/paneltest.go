// Package paneltest has what tests of panes and panels share: a [Face] with a clock that
// stands still, keys to [Press], a [Session] to show, and golden files of what a person
// would see.
package paneltest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// Face stands for the face: its Env, its time, and the functions that were posted.
type Face struct {
	*pane.Env
	Time   time.Time
	Posted chan func()
}

// New makes a face with the default keys and [themetest.Styles].
func New(t testing.TB) *Face { return Styled(t, themetest.Styles()) }

// Styled makes a face with the default keys and these styles.
func Styled(t testing.TB, s *theme.Styles) *Face {
	t.Helper()
	keys, problems := key.NewBindings(key.Overrides{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	f := &Face{Time: time.Date(2026, 3, 4, 14, 5, 6, 0, time.UTC), Posted: make(chan func(), 10_000)}
	f.Env = &pane.Env{Styles: s, Keys: keys, Now: func() time.Time { return f.Time }, Post: func(fn func()) { f.Posted <- fn }}
	return f
}

// Dark are the styles of the dark theme that burin begins with.
func Dark(p theme.Profile) *theme.Styles {
	th, _ := theme.Builtin(theme.DefaultDark)
	return theme.NewStyles(th, p)
}

// Until runs what is posted until the screen is as wanted, and gives it. draw, which is
// asked first and after each post, says what is on the screen and whether that is it.
func (f *Face) Until(t testing.TB, what string, draw func() (screen string, ok bool)) string {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		screen, ok := draw()
		if ok {
			return screen
		}
		select {
		case run := <-f.Posted:
			run()
		case <-timeout:
			t.Fatalf("it never shows %s:\n%s", what, screen)
		}
	}
}

// Press gives p keys: "enter" and "ctrl+r" are keys by their names, and what is no name
// of a key is typed.
func Press(p pane.Pane, keys ...string) {
	for _, k := range keys {
		if name, err := key.Parse(k); err == nil && string(name) == k && utf8.RuneCountInString(k) > 1 {
			p.Handle(key.Press{Key: name, Text: typedBy(k)})
			continue
		}
		for _, r := range k {
			p.Handle(typed(r))
		}
	}
}

// typedBy is what a key with a name types.
func typedBy(name string) string {
	letter, shifted := strings.CutPrefix(name, "shift+")
	switch {
	case name == "space":
		return " "
	case shifted && utf8.RuneCountInString(letter) == 1:
		return strings.ToUpper(letter)
	}
	return ""
}

// typed is the key that types r.
func typed(r rune) key.Press {
	name := string(r)
	switch lower := unicode.ToLower(r); {
	case r == ' ':
		name = "space"
	case lower != r:
		name = "shift+" + string(lower)
	}
	return key.Press{Key: key.Key(name), Text: string(r)}
}

// Scene is one thing to look at.
type Scene struct {
	Name string
	Rows func(s *theme.Styles, width int) []string
}

// Golden compares scenes with testdata/name.golden: as a terminal shows them at three
// widths, without colours and with the signs of ASCII, and with the names of all looks.
func Golden(t *testing.T, name string, update bool, scenes ...Scene) {
	t.Helper()
	mono := theme.NewStyles(themetest.Theme(), theme.Mono).WithSymbols(theme.SymbolsOf(theme.ASCII, nil))
	var b strings.Builder
	for _, scene := range scenes {
		for _, width := range []int{40, 80, 140} {
			fmt.Fprintf(&b, "=== %s, width %d\n%s", scene.Name, width, Show(t, scene.Rows(themetest.Styles(), width), width))
		}
		fmt.Fprintf(&b, "=== %s, ASCII\n", scene.Name)
		for _, row := range scene.Rows(mono, 60) {
			b.WriteString(ansi.Strip(row) + "\n")
		}
		fmt.Fprintf(&b, "=== %s, looks\n", scene.Name)
		for _, row := range scene.Rows(themetest.Styles(), 80) {
			b.WriteString(themetest.Dump(row) + "\n")
		}
		for _, width := range []int{1, 5, 20, 200} {
			Harmless(t, scene.Rows(themetest.Styles(), width), width)
		}
	}
	File(t, update, name, b.String())
}

// Show is what a terminal of that width shows of rows. It fails for rows that are too
// wide and for sequences that the terminal does not know.
func Show(t testing.TB, rows []string, width int) string {
	t.Helper()
	Harmless(t, rows, width)
	term := vt.New(vt.Options{Width: width, Height: len(rows) + 1})
	fmt.Fprint(term, strings.Join(rows, "\r\n"))
	if unknown := term.Unknown(); len(unknown) > 0 {
		t.Errorf("sequences that no terminal knows: %q", unknown)
	}
	var b strings.Builder
	lines := term.Lines()
	for i := range rows {
		b.WriteString(lines[i] + "\n")
	}
	return b.String()
}

// Harmless fails if a row is wider than width or has a sequence that is neither a look
// nor a hyperlink, or ends with a look of its own.
func Harmless(t testing.TB, rows []string, width int) {
	t.Helper()
	for _, row := range rows {
		if w := ansi.StringWidth(row); w > width {
			t.Fatalf("a row of %d cells at width %d: %q", w, width, row)
		}
		for _, r := range themetest.Dump(row) {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%U in %q", r, row)
			}
		}
		if i := strings.LastIndex(row, "\x1b["); i >= 0 && !strings.HasPrefix(row[i:], "\x1b[0m") {
			t.Fatalf("a look goes on after the end of %q", row)
		}
	}
}

// Nasty are texts that stumble terminals, for properties.
var Nasty = []string{
	"", "x", "日本語のとても長い文章です。", "👍🏽👨‍👩‍👧‍👦", "e\u0301\ufe0f", "\x1b[31mred\x1b]0;t\x07", "a\tb\rc\nd", "\u202eevil\u2066", "\xff\xfe",
	"a word that is rather longer than the narrowest terminals are wide", strings.Repeat("x", 300), "\n\n", "   ",
}

// File compares what was got with testdata/name.golden, or writes it.
func File(t testing.TB, update bool, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: run with -update if this is meant (-want +got):\n%s", path, diff)
	}
}

// Screen is what a terminal of that size shows of a pane, and where its cursor is. It
// fails as Show does, and where there are too many rows.
func Screen(t testing.TB, p pane.Pane, width, height int) *vt.Terminal {
	t.Helper()
	rows, cursor := p.Draw(width, height)
	if len(rows) > height {
		t.Fatalf("%d rows for a height of %d: %q", len(rows), height, rows)
	}
	for _, r := range rows {
		if w := ansi.StringWidth(r); w > width {
			t.Errorf("a row of %d cells for a width of %d: %q", w, width, r)
		}
	}
	term := vt.New(vt.Options{Width: width, Height: height})
	term.WriteString(strings.Join(rows, "\r\n"))
	if cursor.Hidden {
		term.WriteString("\x1b[?25l")
	} else {
		fmt.Fprintf(term, "\x1b[%d;%dH", cursor.Y+1, cursor.X+1)
	}
	if u := term.Unknown(); len(u) > 0 {
		t.Errorf("sequences no terminal knows: %q", u)
	}
	return term
}
