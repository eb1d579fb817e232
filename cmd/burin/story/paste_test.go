package story_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A long paste is folded in the prompt and sent in full.
func TestPaste(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I have read it.")})
	text := strings.Repeat("a line of a log\n", 200) + "THE-LAST-LINE"
	s.Type("look: ")
	s.Paste(text)
	s.WaitText("[paste #1 +201 lines]")
	s.Press("enter")
	s.WaitText("I have read it.")
	if heard := s.heard(-1); !strings.Contains(heard, "look: "+text) {
		t.Errorf("the model read %d bytes", len(heard))
	}
}

// Ten megabytes are there within a second, and nothing of them is lost.
func TestHugePaste(t *testing.T) {
	pacetest.Costly(t)
	s := begin(t, []llmtest.Turn{say("That is a lot.")}, func(o *setting) { o.config = "compaction: {enabled: false}\n" })
	text := strings.Repeat(strings.Repeat("x", 79)+"\n", 10<<20/80) + "THE-END"
	began := time.Now()
	s.Paste(text)
	s.WaitText("[paste #1")
	s.took("the paste", began, time.Second)
	s.Type("!")
	s.WaitText("]!")
	s.Press("enter")
	s.WaitText("That is a lot.")
	if heard := s.heard(-1); !strings.Contains(heard, text+"!") {
		t.Errorf("the model read %d bytes", len(heard))
	}
}

// Files that are dragged into the terminal are named, and go along.
func TestDraggedFiles(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Seen.")}, func(o *setting) {
		o.files = map[string]string{"notes.txt": "THE-NOTES", "my picture.png": pixel}
	})
	s.Paste(filepath.Join(s.dir, "notes.txt") + " " + strings.ReplaceAll(filepath.Join(s.dir, "my picture.png"), " ", `\ `))
	s.WaitText(`@notes.txt @"my picture.png"`)
	s.Press("enter")
	s.WaitText("Seen.")
	if heard := s.heard(-1); !strings.Contains(heard, "THE-NOTES") {
		t.Errorf("the model read:\n%s", heard)
	}
	if !hasImage(s.request(-1)) {
		t.Error("the picture did not go along")
	}
}

// pixel is a picture of one.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xfc\xcf\xc0P\x0f\x00\x04\x85\x01\x80\x84\xa9\x8c!\x00\x00\x00\x00IEND\xaeB`\x82"

func hasImage(r *llm.Request) bool {
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if _, ok := b.(llm.Image); ok {
				return true
			}
		}
	}
	return false
}
