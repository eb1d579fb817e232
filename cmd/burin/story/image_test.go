package story_test

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
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

// Pictures are resized for the model, however they came into the prompt: named, or from the
// clipboard.
func TestImagesAreResized(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var large bytes.Buffer
	if err := png.Encode(&large, image.NewGray(image.Rect(0, 0, 3000, 100))); err != nil {
		t.Fatal(err)
	}
	s := begin(t, []llmtest.Turn{say("A line."), say("Another line.")}, withClipboardOf(t, large.String()), func(o *setting) {
		o.files = map[string]string{"line.png": large.String()}
	})
	resized := func() {
		t.Helper()
		messages := s.request(-1).Messages
		for _, b := range messages[len(messages)-1].Content {
			if img, ok := b.(llm.Image); ok {
				if c, err := png.DecodeConfig(bytes.NewReader(img.Data)); err != nil || c.Width != 1568 || c.Height != 52 {
					t.Errorf("a picture of %d×%d went out: %v", c.Width, c.Height, err)
				}
				return
			}
		}
		t.Error("no picture went out")
	}
	s.send("look at @line.png")
	s.WaitText("A line.")
	s.sees("resized from 3000×100 to 1568×52 pixels")
	resized()
	s.pastes("1 picture")
	s.send("and this")
	s.WaitText("Another line.")
	resized()
}
