package story_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// Ctrl+C empties the prompt first; twice, it ends burin, and the terminal is as it was.
func TestQuit(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	s.Type("never sent")
	s.WaitText("› never sent")
	s.Press("ctrl+c")
	s.WaitText("Ask anything")
	s.Press("ctrl+c", "ctrl+c")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("burin ended with %d", code)
	}
	s.Look(func(term *vt.Terminal) {
		if term.Mode(2004) || term.Cursor().Hidden || term.Alternate() {
			t.Error("the terminal is not as it was")
		}
	})
}

// Ctrl+D deletes where there is something, and ends burin where there is nothing.
func TestQuitCtrlD(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	s.Type("ab")
	s.WaitText("› ab")
	s.Press("home", "ctrl+d")
	s.WaitText("› b")
	s.Press("ctrl+d")
	s.WaitText("Ask anything")
	s.Press("ctrl+d")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("burin ended with %d", code)
	}
}
