package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/session"
)

// condensed is what the model is given first after a compaction.
func condensed(t *testing.T, r *rig) string {
	t.Helper()
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	r.consistent()
	return said(r.Messages())[0]
}

// What would be too much to keep is refused when it is pinned, not when the
// conversation is condensed and summaries were paid for.
func TestPinsAreBounded(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Compaction = small() },
		brain(20, func(int) string { return "SUMMARY" }, say("ok"))...)
	r.prompt(long(900), agent.ReasonDone)
	half := strings.Repeat("keep this rule. ", 8<<10) // 128 KB
	if err := r.Pin(half); err != nil {
		t.Fatal(err)
	}
	err := r.Pin("and " + half)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "131075 bytes") || !strings.Contains(err.Error(), "262144") {
		t.Fatalf("another half: %v", err)
	}
	if got := r.Pins(); len(got) != 1 {
		t.Errorf("%d texts are pinned", len(got))
	}
	r.prompt("two", agent.ReasonDone)
	if got := condensed(t, r); !strings.Contains(got, strings.TrimSpace(half)) {
		t.Errorf("the summary has not what was pinned: %.300s", got)
	}
}

// What is unpinned is no longer kept, on this branch and when the session is opened
// again; the model reads of it at once.
func TestUnpin(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Compaction = small() },
		brain(40, func(int) string { return "SUMMARY" }, say("ok"))...)
	r.prompt("first", agent.ReasonDone)
	for _, p := range []string{"use tabs", "never push"} {
		if err := r.Pin(p); err != nil {
			t.Fatal(err)
		}
	}
	r.prompt(long(900), agent.ReasonDone)
	if got := condensed(t, r); !strings.Contains(got, "use tabs") || !strings.Contains(got, "never push") {
		t.Fatalf("the summary is %s", got)
	}
	if err := r.Unpin("use spaces"); !errors.Is(err, session.ErrNotPinned) {
		t.Errorf("what is not pinned: %v", err)
	}
	if err := r.Unpin("use tabs"); err != nil {
		t.Fatal(err)
	}
	r.prompt(long(900), agent.ReasonDone)
	requests := r.srv.Requests()
	if last := strings.Join(said(requests[len(requests)-1].Messages), "\n"); !strings.Contains(last, "It holds no longer:\nuse tabs") {
		t.Errorf("the model is not told: %s", last)
	}
	r.resume()
	if got := r.Pins(); !slices.Equal(got, []string{"never push"}) {
		t.Errorf("pinned are %q", got)
	}
	r.prompt(long(900), agent.ReasonDone)
	if got := condensed(t, r); strings.Contains(got, "use tabs") || !strings.Contains(got, "never push") {
		t.Errorf("the summary is %s", got)
	}
	if err := r.Pin("use tabs"); err != nil || len(r.Pins()) != 2 {
		t.Errorf("pinned again: %v, %q", err, r.Pins())
	}
	r.clean()
}

// The first prompt is kept whole. Where it cannot be, model and person are told, and
// the model where to read it.
func TestGoalIsKeptWhole(t *testing.T) {
	goal := "GOAL " + strings.Repeat("requirement of the task. ", 2000) + "NEVER DELETE THE DATABASE"
	for _, tt := range []struct {
		name   string
		window int
		whole  bool
	}{{"whole", 200_000, true}, {"too large for the window", 40_000, false}} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, formats()[0], func(r *rig, o *session.Options) {
				r.model.ContextWindow = tt.window
				o.Compaction = small()
			}, brain(40, func(int) string { return "SUMMARY" }, say("ok"))...)
			r.prompt(goal, agent.ReasonDone)
			first := r.Log().Nodes()[r.Log().Len()-2].ID
			for range 2 {
				r.prompt(long(900), agent.ReasonDone)
				got := condensed(t, r)
				if strings.Contains(got, goal) != tt.whole || strings.Contains(got, "the beginning of 50030 bytes") == tt.whole {
					t.Fatalf("kept are %d bytes: %.300s", len(got), got)
				}
				if !tt.whole && !strings.Contains(got, session.HistoryTool+", entry "+first) {
					t.Errorf("the model is not told where the rest is: %s", got)
				}
			}
			want := 1
			if tt.whole {
				want = 0
			}
			if got := r.warned(); len(got) != want {
				t.Errorf("the person is told %q", got)
			}
		})
	}
}
