package story_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What was being written when burin died stands in the prompt of the next one; what was
// sent does not.
func TestUnsentPrompt(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	s.Type("words that were not sent yet")
	kept := filepath.Join(s.home, "drafts", "*")
	for range 200 { // it is written two seconds after a key
		if found, err := filepath.Glob(kept); err == nil && len(found) == 1 {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.WaitEnd()
	s = s.again(nil)
	s.WaitText("› words that were not sent yet")
	s.Press("ctrl+c")
	s.WaitText("Ask anything")
	s.Press("ctrl+d")
	s.WaitEnd()
	if left, _ := os.ReadDir(filepath.Dir(kept)); len(left) > 0 {
		t.Errorf("%d drafts are left of what was thrown away", len(left))
	}
}
