package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// What a session warns of as it is opened stands below what ends the one before it, and
// is said once, however many follow.
func TestWarningsOfOpening(t *testing.T) {
	answer, asked, free := held("never read")
	stopped := make(chan struct{})
	d := atDesk(t, func(w Wish, _ *session.Options) {
		w.Warn("commands are not confined here")
		if w.Resume == "two" {
			w.Warn("session two is damaged")
			<-stopped
		}
	}, answer)
	t.Cleanup(free)
	d.send("a long task", steerNow)
	<-asked
	d.stop()
	first := d.session
	d.open(Wish{Resume: "two"})
	d.until("the end of the work", func() bool { return strings.Contains(d.shown(), "Stopped.") })
	close(stopped)
	d.until("the second session", func() bool { return d.session != nil && d.session != first && !d.opening })
	second := d.session
	d.open(Wish{})
	d.until("the third session", func() bool { return d.session != nil && d.session != second && !d.opening })
	var said []string
	for line := range strings.SplitSeq(d.shown(), "\n") {
		for _, words := range []string{"Stopped.", "A new session.", "not confined", "is damaged"} {
			if strings.Contains(line, words) {
				said = append(said, words)
			}
		}
	}
	want := []string{"not confined", "Stopped.", "A new session.", "is damaged", "A new session."}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, d.shown())
	}
}

// Facts about a session are those of the session that is shown.
func TestFactsAreOfThisSession(t *testing.T) {
	d := atDesk(t, nil, llmtest.Turn{Events: llmtest.Say("Done.")})
	d.send("hello", steerNow)
	d.until("what the cache did", func() bool { return d.facts.cache != nil && !d.work.on })
	before := d.session
	d.open(Wish{})
	d.until("the next session", func() bool { return d.session != nil && d.session != before && !d.opening })
	d.sessionInfo()
	if got := d.shown(); !strings.Contains(got, "This session") || strings.Contains(got, "fresh") {
		t.Errorf("it shows\n%s", got)
	}
}
