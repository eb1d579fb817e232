package story_test

import (
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// A terminal without pictures says in words what is there.
func TestImageInWords(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("read", `{"path":"dot.png"}`), say("A dot.")}, func(o *setting) {
		o.files = map[string]string{"dot.png": pixel}
	})
	s.send("look at @dot.png")
	s.WaitText("A dot.")
	s.sees("[image png, 1×1, 70 B]")
	if n := s.Stats().Graphics; n != 0 {
		t.Errorf("%d pictures were sent to a terminal without", n)
	}
}
