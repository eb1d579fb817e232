package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm/llmtest"
)

// The window changes its size while an answer is written. Nothing of the answer is
// lost.
func TestResize(t *testing.T) {
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
	missing := 0
	all := " " + strings.Join(strings.Fields(s.all()), " ") + " "
	for word := range strings.FieldsSeq(text) {
		if !strings.Contains(all, " "+word+" ") {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d words are lost:\n%s", missing, s.all())
	}
	if n := strings.Count(s.Text(), "Ask anything"); n != 1 {
		t.Errorf("the prompt is there %d times:\n%s", n, s.Text())
	}
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
	s.WaitText("Done then.")
	if got := s.read("a.txt"); got != "x" {
		t.Errorf("a.txt is %q", got)
	}
}
