package tui

import (
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
)

// What is proposed stands in one column, whether it is chosen or not, in all signs.
func TestProposalsAreAligned(t *testing.T) {
	for _, symbols := range []string{"unicode", "ascii"} {
		a := alone(t)
		a.show.symbols = symbols
		a.show.restyle()
		a.types("/")
		rows := a.prompt.popupRows(60, 3)
		at := map[int]bool{}
		for _, r := range rows {
			before, _, _ := strings.Cut(ansi.Strip(r), "/")
			at[ansi.StringWidth(before)] = true
		}
		if len(rows) != 3 || len(at) != 1 {
			t.Errorf("%s: %q", symbols, rows)
		}
	}
}

// Who has the screen read out hears what is chosen, and which of how many it is.
func TestProposalsAreReadOut(t *testing.T) {
	a := alone(t)
	a.show.screenReader = true
	a.show.restyle()
	a.types("/mod")
	for _, want := range []string{"1 of 2: /model", "2 of 2: /mode", "1 of 2: /model"} {
		rows := a.prompt.popupRows(60, 5)
		if len(rows) != 1 || !strings.HasPrefix(ansi.Strip(rows[0]), want+" ") {
			t.Errorf("read out is %q, want %q", rows, want)
		}
		a.input.onKey(key.Press{Key: "down"})
	}
}

// Whoever asks for the signs of ASCII gets no others, also where something is cut.
func TestASCIIOnly(t *testing.T) {
	d := atDesk(t, func(_ Wish, o *session.Options) {
		o.Mode = "plan"
		o.Jobs = handletest.Background{OnList: func() []session.Job {
			return []session.Job{{ID: "1", Command: strings.Repeat("command ", 30), Running: true}}
		}}
	})
	d.show.symbols = "ascii"
	d.show.restyle()
	d.facts.read()
	d.facts.readJobs()
	d.composer.attached = []llm.Block{llm.Image{}}
	for range 30 {
		d.notice(card.Warning, strings.Repeat("long words ", 30))
	}
	d.types("/")
	d.until("what is proposed", func() bool { _, ok := d.composer.editor.Popup(); return ok })
	look := func(what string) {
		d.draw()
		rows := append(d.greeter.greeting(d.talk.look.View), d.rows...)
		rows = append(rows, d.display.hidden(1), d.display.hidden(2), d.line(styled.Of(d.prompt.label(), theme.Text)))
		if top := d.panes.top(); top != nil {
			drawn, _ := top.Draw(40, 20)
			rows = append(rows, drawn...)
		}
		for _, row := range rows {
			for _, r := range ansi.Strip(row) {
				if r > unicode.MaxASCII {
					t.Errorf("%s: %q in %q", what, r, row)
				}
			}
		}
	}
	look("the prompt")
	d.flash(strings.Repeat("a hint ", 30))
	look("a hint")
	for _, call := range []string{"/jobs", "/mode", "/hotkeys", "/help", "/session", "/debug", "/settings"} {
		d.commands.call(call)
		look(call)
		d.types("", "esc")
	}
}
