package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// Wide characters, emoji of several code points and combining marks are typed, deleted,
// sent and shown whole.
func TestUnicode(t *testing.T) {
	t.Parallel()
	const prompt, answer = "你好 👩‍👩‍👧 e\u0301", "世界 🇩🇪 nai\u0308ve 👍🏽 한국어"
	s := begin(t, []llmtest.Turn{say(answer + " fin.")}, func(o *setting) { o.Width = 40 })
	s.Type(prompt + "👍🏽")
	s.Press("backspace") // one key for one character that people see
	s.WaitText("› " + prompt)
	s.WaitGone("👍🏽")
	s.Press("enter")
	s.WaitText("fin.")
	s.WaitGone("Working")
	s.sees(answer)
	s.Golden("unicode", s.same())
	if heard := s.heard(-1); !strings.Contains(heard, prompt) {
		t.Errorf("the model read %q", heard)
	}
}
