package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// cited is an answer of a model that searched the web itself: its paragraph comes in parts, as
// vendors split it where they cite.
func cited() llmtest.Turn {
	page := func(n string) llm.Citation {
		return llm.Citation{URL: "https://news.example/" + n, Title: "Page " + n, Text: "what page " + n + " says"}
	}
	return llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
		return llmtest.Message(llm.Message{StopReason: llm.StopEnd, Content: []llm.Block{
			llm.Text{Text: "The capital is "},
			llm.Text{Text: "Paris", Citations: []llm.Citation{page("one")}},
			llm.Text{Text: ", with two million people", Citations: []llm.Citation{page("one"), page("two")}},
			llm.Text{Text: "."},
		}})
	}}
}

// What a model found by itself stands below its answer as sources, each once: while it speaks, in
// the reader of the conversation, and after a resume. The paragraph it split to cite is one.
func TestSources(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{cited()}, func(o *setting) { o.config = "providers: {webSearch: model}\n" })
	look := func(all string) {
		t.Helper()
		for text, n := range map[string]int{
			"The capital is Paris, with two million people.\n": 1,
			"Sources": 1, "2 results": 1, "anthropic\n": 1, "Page one": 1, "Page two": 1,
		} {
			if got := strings.Count(all, text); got != n {
				t.Errorf("%q is there %d times, want %d:\n%s", text, got, n, all)
			}
		}
		if strings.Index(all, "Sources") < strings.Index(all, "The capital") {
			t.Errorf("the sources stand above the answer:\n%s", all)
		}
	}
	s.send("which capital?")
	s.WaitText("Page two")
	s.WaitGone("Working")
	look(s.all())
	s.Look(func(term *vt.Terminal) {
		for y, row := range term.Lines() {
			if x := strings.Index(row, "Page one"); x >= 0 {
				if link := term.Cell(x, y).Style.Link; link != "https://news.example/one" {
					t.Errorf("the source leads to %q", link)
				}
			}
		}
	})
	if heard := s.heard(0); !strings.Contains(heard, "which capital?") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.send("/transcript")
	s.WaitText("100 %")
	s.WaitText("Page two")
	look(s.Text())
	s.Press("esc")
	s.WaitText("Ask anything")
	s.Press("ctrl+d")
	s.WaitEnd()

	s = s.again(nil, "--continue")
	s.WaitText("Page two")
	look(s.all())
}
