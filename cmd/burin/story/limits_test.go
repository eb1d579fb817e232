package story_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Answers of a size and a shape that nobody wants to read are shown all the same, and
// burin hears keys afterwards as before.
func TestMonstrousAnswers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	less := pacetest.Long(4, 1, 1)
	for name, events := range map[string]func() []llm.Event{
		"a line without an end":    func() []llm.Event { return pieces(strings.Repeat("x", 2<<20/less)) },
		"words without a line end": func() []llm.Event { return pieces(strings.Repeat("some words ", 200_000/less)) },
		"a wide table": func() []llm.Event {
			return pieces(strings.Repeat("| a cell ", 1000) + "|\n" + strings.Repeat("|---", 1000) + "|\n" + strings.Repeat("| 1 ", 1000) + "|\n\n")
		},
		"a deep list": func() []llm.Event {
			var b strings.Builder
			for i := range 1000 {
				b.WriteString(strings.Repeat("  ", i) + "- item\n")
			}
			return pieces(b.String())
		},
		"quotes in quotes":   func() []llm.Event { return pieces(strings.Repeat(">", 20_000) + " deep\n") },
		"marks":              func() []llm.Event { return pieces(strings.Repeat("*_`[", 50_000)) },
		"marks in pairs":     func() []llm.Event { return pieces(strings.Repeat("**a ", 50_000)) },
		"links":              func() []llm.Event { return pieces(strings.Repeat("[a](", 50_000)) },
		"accents":            func() []llm.Event { return pieces("e" + strings.Repeat("\u0301", 200_000)) },
		"an open fence":      func() []llm.Event { return pieces("```go\n" + strings.Repeat("func main() { /* \" ", 100_000/less)) },
		"much thinking":      func() []llm.Event { return llmtest.Think(strings.Repeat("thinking about it\n\n", 50_000), "s") },
		"a formula":          func() []llm.Event { return pieces("$$" + strings.Repeat(`\frac{a}{`, 20_000) + "$$") },
		"a huge call":        func() []llm.Event { return llmtest.Call("c", "nothing", `{"x":"`+strings.Repeat("y", 2<<20/less)+`"}`) },
		"many calls at once": func() []llm.Event { return manyCalls(200) },
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, []llmtest.Turn{{Events: append(events(), llmtest.Say("And that was it.")...)}, say("Good.")})
			began := time.Now()
			s.send("show me")
			s.WaitFor("the end of it", func(term *vt.Terminal) bool {
				all := term.All()
				text := strings.Join(all[max(0, len(all)-60):], "\n")
				return (strings.Contains(text, "And that was it.") || strings.Contains(text, "Good.")) && !strings.Contains(text, "Working")
			})
			s.took("showing it", began, 5*time.Second)
			began = time.Now()
			s.Type("a key")
			s.WaitText("› a key")
			s.took("a key", began, 100*time.Millisecond)
		})
	}
}

// pieces is a text in pieces of a few hundred bytes.
func pieces(text string) []llm.Event {
	whole := text
	var events []llm.Event
	events = append(events, llm.Event{Type: llm.EventTextStart, Block: llm.Text{}})
	for len(text) > 0 {
		n := min(500, len(text))
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n++
		}
		events = append(events, llm.Event{Type: llm.EventTextDelta, Delta: text[:n]})
		text = text[n:]
	}
	return append(events, llm.Event{Type: llm.EventTextEnd, Block: llm.Text{Text: whole}})
}

func manyCalls(n int) []llm.Event {
	var events []llm.Event
	for i := range n {
		events = append(events, llmtest.Call(fmt.Sprint("c", i), "read", `{"path":"README.md"}`)...)
	}
	return events
}

// A paste of 10 MB, and an output with a line of 1 MB, are taken in their stride.
func TestMonstrousInput(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Read.")})
	began := time.Now()
	s.Paste(strings.Repeat("a line of a log that somebody pastes\n", 10<<20/37))
	s.Type(" what is this?")
	s.WaitText("what is this?")
	s.took("the paste", began, 2*time.Second)
	s.Press("ctrl+c")
	s.WaitText("Ask anything")
	s.send("!head -c 1000000 /dev/zero | tr '\\0' x; echo; echo d$((40+2))ne")
	s.WaitText("d42ne")
	s.WaitGone("esc stops")
	s.send("hello")
	s.WaitText("Read.")
}
