package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm/llmtest"
)

// An answer is read while it is written. Afterwards it stands in the scrollback, once
// and in order.
func TestStreaming(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(words(300), "0 ", "0\n\n")
	s := begin(t, []llmtest.Turn{{Parts: []llmtest.Part{{Text: text}}, Pace: 3 * time.Millisecond}})
	s.send("count")
	s.WaitFor("a piece of the answer", func(t *vt.Terminal) bool {
		screen := t.Screen()
		return strings.Contains(screen, "word3 ") && strings.Contains(screen, "Working")
	})
	if strings.Contains(s.all(), "end.") {
		t.Error("the answer was shown at once")
	}
	s.WaitText("end.")
	s.WaitGone("Working")
	var got []string
	for word := range strings.FieldsSeq(s.all()) {
		if strings.HasPrefix(word, "word") {
			got = append(got, word)
		}
	}
	if want := strings.TrimSuffix(words(300), " end."); strings.Join(got, " ") != want {
		t.Errorf("the scrollback holds %d words: %v", len(got), got)
	}
	s.Look(func(term *vt.Terminal) {
		if u := term.Unknown(); len(u) > 0 {
			t.Errorf("unknown sequences %v", u)
		}
	})
}
