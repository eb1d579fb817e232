package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// sample is an answer with a bit of everything.
const sample = "# Colours\n\nThe **strong** word, `code` and a [link](https://example.com).\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."

// One conversation as different terminals and settings show it.
func TestLooks(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, look := range []struct {
		name string
		with func(*setting)
	}{
		{"dark", func(*setting) {}},
		{"light", func(o *setting) { o.Light = true }},
		{"no-color", func(o *setting) { o.Env = []string{"NO_COLOR=1"} }},
		{"sixteen", func(o *setting) { o.Env = []string{"COLORTERM=", "TERM=xterm"} }},
		{"ascii", func(o *setting) { o.config = "symbolPreset: ascii\n" }},
		{"narrow", func(o *setting) { o.Width, o.Height, o.quiet = 30, 40, true }},
	} {
		t.Run(look.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, []llmtest.Turn{
				{Parts: []llmtest.Part{{Text: sample}, {Call: "write", Args: `{"path":"a.txt","content":"one\ntwo\n"}`}}},
			}, look.with)
			s.WaitFor("the prompt", func(t *vt.Terminal) bool { return t.Mode(2004) })
			s.send("show me")
			s.WaitText("Yes")
			s.WaitText("Write  a.txt")
			s.Golden("look-"+look.name, s.same())
			s.Look(func(term *vt.Terminal) {
				colours, rgb := 0, 0
				w, h := term.Size()
				for y := range h {
					for x := range w {
						c := term.Cell(x, y).Style
						for _, c := range []vt.Color{c.FG, c.BG} {
							if _, _, _, ok := c.RGB(); ok {
								rgb++
							}
							if c != 0 {
								colours++
							}
						}
					}
				}
				if look.name == "no-color" && colours > 0 || look.name == "sixteen" && (rgb > 0 || colours == 0) {
					t.Errorf("%d cells have colours, %d of 24 bits", colours, rgb)
				}
			})
		})
	}
}

// A screen reader gets plain lines: no borders, nothing that turns, nothing repeated.
func TestScreenReader(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	first := gated("| name | size |\n|---|---|\n| one | 12 |\n\n```go\nx := 1\n```\n\n---\n\nA plain answer.")
	defer first.open()
	s := begin(t, []llmtest.Turn{first.Turn}, func(o *setting) {
		o.config = "screenReader: true\n"
		o.quiet = true
	})
	s.WaitText("Ask anything")
	s.send("hello")
	first.wait(t)
	s.WaitText("Working")
	s.WaitText("hello")
	s.Golden("screen-reader", s.same())
	s.still() // nothing turns
	first.open()
	s.WaitText("A plain answer.")
	s.WaitGone("Working")
	s.Type("/mod")
	s.WaitText("1 of 2: /model")
	s.Press("down")
	s.WaitText("2 of 2: /mode ")
	s.Press("ctrl+u")
	s.send("/model")
	s.WaitText("Models")
	for _, sign := range []string{"─", "│", "⠋", "⠙", "⠹", "⠸", "╭", "▎", "›", "--", "-+-", " | "} {
		if strings.Contains(s.all(), sign) {
			t.Errorf("%q is read out", sign)
		}
	}
	s.Press("esc")
	s.sees("hello", "name: one", "A plain answer.")
}
