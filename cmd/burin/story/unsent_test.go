package story_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

// What was being written when burin died stands in the prompt of the next one; what was
// sent does not.
func TestUnsentPrompt(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, nil)
	const words = "words that were not sent yet"
	s.Type(words)
	kept := filepath.Join(s.home, "drafts", "*")
	s.becomes(func() string { // it is written two seconds after a key
		found, _ := filepath.Glob(kept) // the pattern is a good one
		for _, name := range found {
			if text, err := os.ReadFile(name); err == nil && string(text) == words {
				return ""
			}
		}
		return "nothing is kept of what is written"
	})
	if err := s.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.WaitEnd()
	s = s.again(nil)
	s.WaitText("› " + words)
	s.Press("ctrl+c")
	s.WaitText("Ask anything")
	s.Press("ctrl+d")
	s.WaitEnd()
	if left, _ := os.ReadDir(filepath.Dir(kept)); len(left) > 0 {
		t.Errorf("%d drafts are left of what was thrown away", len(left))
	}
}
