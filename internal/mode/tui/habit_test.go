package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Ctrl+C quits for as long as the hint says so, and not once something else was pressed.
func TestCtrlCQuitsWhileTheHintSaysSo(t *testing.T) {
	for _, tt := range []struct {
		name    string
		wait    time.Duration
		between bool
		quits   bool
	}{
		{"two seconds later", 2 * time.Second, false, true},
		{"when the hint is gone", hintTime, false, false},
		{"after another key", time.Second, true, false},
		{"at once, after another key", 0, true, false},
		{"at once", 0, false, true},
	} {
		a := alone(t)
		now := time.Date(2026, 11, 23, 15, 8, 5, 0, time.UTC)
		a.env.Now = func() time.Time { return now }
		a.types("", "ctrl+c")
		if got := a.shown(); !strings.Contains(got, "Ctrl+C again quits") {
			t.Fatalf("it shows:\n%s", got)
		}
		if tt.between {
			a.types("", "left")
		}
		now = now.Add(tt.wait)
		a.types("", "ctrl+c")
		if a.exit.quit != tt.quits {
			t.Errorf("%s: quits is %v, want %v", tt.name, a.exit.quit, tt.quits)
		}
	}
}

// A hint that is longer than a row takes more, as far as there is room, and stays as long
// as it takes to read.
func TestLongHint(t *testing.T) {
	a := alone(t)
	now := time.Date(2026, 11, 23, 15, 8, 5, 0, time.UTC)
	a.env.Now = func() time.Time { return now }
	a.flash(strings.Repeat("some words ", 12) + "and the end")
	for height, want := range map[int]bool{24: true, 6: false} {
		rows, _ := a.compose(60, height, now)
		got := ansi.Strip(strings.Join(rows, "\n"))
		if strings.Contains(got, "and the end") != want {
			t.Errorf("%d rows high, the end is shown: %v, want %v:\n%s", height, !want, want, got)
		}
		if len(rows) > height {
			t.Errorf("%d rows are drawn where there are %d", len(rows), height)
		}
	}
	now = now.Add(2 * hintTime)
	if a.hint.expire(now); a.hint.text == "" {
		t.Error("a long hint is gone after 6 s")
	}
}

// Who knows Alt+Enter as the key of follow-ups learns which one it is.
func TestAltEnterNamesFollowUps(t *testing.T) {
	a := alone(t)
	a.types("more", "alt+enter")
	if a.hint.text != "" {
		t.Errorf("at rest it says %q", a.hint.text)
	}
	a.work.on = true
	a.types("", "alt+enter")
	if want := "Ctrl+Enter or Alt+Q sends when the work is done"; !strings.Contains(a.hint.text, want) {
		t.Errorf("it says %q, without %q", a.hint.text, want)
	}
}

// A line that begins with # is no memory here: that is said once, and then it is a prompt.
func TestHashIsNoMemory(t *testing.T) {
	a := alone(t)
	a.types("# use tabs", "enter")
	if !strings.Contains(a.hint.text, "AGENTS.md") || a.composer.editor.Text() != "# use tabs" {
		t.Errorf("it says %q, and the prompt is %q", a.hint.text, a.composer.editor.Text())
	}
	if a.types("", "enter"); a.composer.editor.Text() != "" {
		t.Errorf("the prompt is %q", a.composer.editor.Text())
	}
	if a.commands.understood("# A title\n\nand a text") {
		t.Error("a text with a title is no prompt")
	}
}

// What people type most in other programs does the same here, or is answered with what does.
func TestCommandsOfOtherPrograms(t *testing.T) {
	a := alone(t)
	for _, name := range strings.Fields(`add-dir agents allowed-tools bashes bug changelog clear clone compact config context copy cost debug
		export fork help hooks hotkeys init login logout mcp memory model name new output-style permissions plugin pr-comments quit
		release-notes reload resume review rewind scoped-models security-review session settings share skills stats status statusline tasks
		terminal-setup theme todos tree usage vim`) {
		if _, ok := a.commands.known(name); !ok && !a.commands.expands(name) && elsewhere(name) == "" {
			t.Errorf("nothing is said of /%s", name)
		}
	}
}
