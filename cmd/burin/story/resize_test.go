package story_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// The window changes its size while an answer is written. Nothing of the answer is
// lost.
func TestResize(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	text := strings.ReplaceAll(words(400), "0 ", "0\n\n")
	s := begin(t, []llmtest.Turn{{Parts: []llmtest.Part{{Text: text}}, Pace: 4 * time.Millisecond}})
	s.send("count")
	shows := func(n string) {
		t.Helper()
		s.WaitFor("word"+n, func(t *vt.Terminal) bool { return strings.Contains(strings.Join(t.All(), "\n"), "word"+n) })
	}
	for _, step := range []struct {
		until         string
		width, height int
	}{{"30", 60, 24}, {"100", 100, 30}, {"170", 20, 6}, {"250", 80, 24}} {
		shows(step.until)
		s.Resize(step.width, step.height)
	}
	s.WaitText("end.")
	s.WaitGone("Working")
	s.becomes(func() string {
		missing := 0
		all := " " + strings.Join(strings.Fields(s.all()), " ") + " "
		for word := range strings.FieldsSeq(text) {
			if !strings.Contains(all, " "+word+" ") {
				missing++
			}
		}
		if n := strings.Count(s.Text(), "Ask anything"); missing > 0 || n != 1 {
			return fmt.Sprintf("%d words are lost, the prompt is there %d times", missing, n)
		}
		return ""
	})
	s.Type("still here")
	s.WaitText("› still here")
}

// A terminal of 20 by 6 is enough to answer a question.
func TestTinyTerminal(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("write", `{"path":"a.txt","content":"x"}`), say("Done then.")}, func(o *setting) {
		o.Width, o.Height = 20, 6
		o.quiet = true
	})
	s.WaitText("›")
	s.send("go")
	s.WaitText("Yes")
	s.answer("y")
	// It may stand above the screen already when the line that says Working has gone.
	s.WaitFor("the answer", func(term *vt.Terminal) bool {
		return strings.Contains(strings.Join(term.All(), "\n"), "Done then.")
	})
	if got := s.read("a.txt"); got != "x" {
		t.Errorf("a.txt is %q", got)
	}
}

// A window that is dragged sends many sizes in a row. What was finished stays in the
// scrollback once.
func TestDraggedWindow(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	text := strings.ReplaceAll(words(300), "0 ", "0\n\n")
	s := begin(t, []llmtest.Turn{say(text), say("Still fine.")})
	s.send("count")
	s.WaitText("end.")
	s.WaitGone("Working")
	for width := 80; width > 40; width -= 3 {
		s.Resize(width, 24)
	}
	for width := 40; width < 110; width += 7 {
		s.Resize(width, 30)
	}
	s.send("still fine?")
	s.WaitText("Still fine.")
	s.becomes(func() (wrong string) { // the last sizes may still be under way
		count := map[string]int{}
		for word := range strings.FieldsSeq(s.all()) {
			count[word]++
		}
		for word := range strings.FieldsSeq(text + " Ask") {
			if count[word] != 1 {
				wrong += fmt.Sprintf("%s is there %d times\n", word, count[word])
			}
		}
		return wrong
	})
}

// The transcript and a question keep to a window that changes.
func TestResizePanes(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say(words(300)), call("write", `{"path":"a.txt","content":"x"}`), say("Done then.")})
	s.send("count")
	s.WaitText("end.")
	s.WaitGone("Working")
	s.send("/transcript")
	s.WaitText("message 3 of 3")
	s.Resize(40, 10)
	s.WaitFor("the end of it", func(t *vt.Terminal) bool { return t.Alternate() && strings.Contains(t.Screen(), "end.") })
	s.Resize(120, 40)
	s.WaitText("word0")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("write")
	s.WaitText("Yes, this once")
	s.Resize(30, 12)
	s.WaitText("Yes")
	s.Resize(80, 24)
	s.WaitText("Yes, this once")
	s.answer("y")
	s.WaitText("Done then.")
}

// A window that becomes narrower while an answer is written, and wider again, leaves
// no word of it in the scrollback twice.
func TestNarrowWhileStreaming(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "Paragraph %d.", i)
		for k := range 30 {
			fmt.Fprintf(&text, " p%dw%d", i, k)
		}
		text.WriteString("\n\n")
	}
	s := begin(t, []llmtest.Turn{{Parts: []llmtest.Part{{Text: text.String() + "end."}}, Pace: 3 * time.Millisecond}}, func(o *setting) {
		o.Width, o.Height = 60, 20
	})
	s.send("count")
	for i, width := range []int{90, 45, 70, 60, 90, 45, 70, 60} {
		word := fmt.Sprintf("p%dw%d", 3*i+2, 15+i) // in the middle of a paragraph, just drawn
		s.WaitFor(word, func(t *vt.Terminal) bool { return strings.Contains(strings.Join(t.All(), "\n"), word) })
		s.Resize(width, 20)
	}
	s.WaitText("end.")
	s.WaitGone("Working")
	s.becomes(func() (wrong string) {
		count := map[string]int{}
		for word := range strings.FieldsSeq(s.all()) {
			count[word]++
		}
		for word := range strings.FieldsSeq(text.String()) {
			if strings.HasPrefix(word, "p") && count[word] != 1 {
				wrong += fmt.Sprintf("%s is there %d times\n", word, count[word])
			}
		}
		return wrong
	})
}
