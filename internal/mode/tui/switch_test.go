package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
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
	d.outbox.send("a long task", steerNow)
	<-asked
	d.brake.stop()
	first := d.session
	d.switcher.open(Wish{Resume: "two"})
	d.until("the end of the work", func() bool { return strings.Contains(d.shown(), "Stopped.") })
	close(stopped)
	d.until("the second session", func() bool { return d.session != nil && d.session != first && !d.opening })
	second := d.session
	d.switcher.open(Wish{})
	d.until("the third session", func() bool { return d.session != nil && d.session != second && !d.opening })
	var said []string
	for line := range strings.SplitSeq(d.shown(), "\n") {
		for _, words := range []string{"Stopped.", "New session.", "not confined", "is damaged"} {
			if strings.Contains(line, words) {
				said = append(said, words)
			}
		}
	}
	want := []string{"not confined", "Stopped.", "New session.", "is damaged", "New session."}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, d.shown())
	}
}

// Facts about a session are those of the session that is shown.
func TestFactsAreOfThisSession(t *testing.T) {
	d := atDesk(t, nil, llmtest.Turn{Events: slices.Concat(llmtest.Say("Done."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 50, Output: 2}))})
	d.outbox.send("hello", steerNow)
	d.until("the answer", func() bool { return !d.work.on })
	before := d.session
	for _, cached := range []bool{true, false} {
		d.groups.conversation.sessionInfo()
		if got := d.shown(); strings.Contains(got, "cache     0 tokens of the last request read, 0 written, 50 neither") != cached {
			t.Errorf("it shows\n%s", got)
		}
		d.types("", "esc")
		d.switcher.open(Wish{})
		d.until("the next session", func() bool { return d.session != nil && d.session != before && !d.opening })
	}
}

// A fact that is longer than its column goes on below itself.
func TestLongFacts(t *testing.T) {
	a := alone(t)
	a.panes.reportFacts("This session", [][2]string{{"id", "4f2a"}, {"title", ""}, {"file", strings.Repeat("folder/", 20)}})
	rows, _ := a.panes.top().Draw(60, 20)
	want := []string{
		"This session",
		"id        4f2a",
		"file      folder/folder/folder/folder/folder/folder/folder/f",
		"          older/folder/folder/folder/folder/folder/folder/fo",
		"          lder/folder/folder/folder/folder/folder/",
		"Esc closes",
	}
	for i, row := range rows {
		rows[i] = ansi.Strip(row)
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
