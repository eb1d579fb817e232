package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
)

// A session of 100,000 messages is gone on with. The first key is there within 0.3
// seconds, and the transcript opens at its end.
func TestLongSession(t *testing.T) {
	pacetest.Costly(t)
	path := messages(t, 100_000, 2000)
	began := time.Now()
	s := begin(t, nil, func(o *setting) { o.quiet, o.args = true, []string{"--resume", path} })
	s.WaitText("›")
	s.Type("x")
	s.WaitText("› x")
	s.took("the first key", began, 300*time.Millisecond)
	s.WaitText("Answer 49999.")
	s.Press("backspace")
	s.send("/transcript")
	s.WaitText("100 %")
	s.WaitText("Answer 49999.")
	s.Press("home")
	s.WaitText("Question 0:")
	s.Press("esc")
	s.WaitText("Ask anything")
	if strings.Contains(s.all(), "Question 0:") {
		t.Error("the transcript is left in the scrollback")
	}
}
