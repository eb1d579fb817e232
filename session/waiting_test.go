package session

import (
	"testing"

	"github.com/burin-dev/burin/llm"
)

// A queued message shows what was written; attached texts only count, or give their names where nothing was written.
func TestWaitingText(t *testing.T) {
	t.Parallel()
	const file = "<file path=\"a \\\"b\\\".txt\">\nhello\n</file>"
	for _, c := range []struct {
		blocks   []llm.Block
		text     string
		attached int
	}{
		{[]llm.Block{llm.Text{Text: "look"}}, "look", 0},
		{[]llm.Block{llm.Image{}, llm.Text{Text: file}, llm.Text{Text: "look"}}, "look", 2},
		{[]llm.Block{llm.Text{Text: file}, llm.Text{Text: file + "\n"}}, `a "b".txt, a "b".txt`, 2},
		{[]llm.Block{llm.Text{Text: file + "\nlook"}}, file + "\nlook", 0},
		{[]llm.Block{llm.Text{Text: "<file path=x>\n</file>"}}, "<file path=x>\n</file>", 0},
	} {
		if w := waitingOf(&llm.Message{Content: c.blocks}, nil); w.Text != c.text || w.Attached != c.attached {
			t.Errorf("%v: %+v", c.blocks, w)
		}
	}
}
