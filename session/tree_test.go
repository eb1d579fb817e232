package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
)

// idOf is the entry of the message with that text.
func (r *rig) idOf(text string) string {
	r.t.Helper()
	for e, err := range r.Log().All() {
		if err == nil && e.Message != nil && e.Message.Text() == text {
			return e.ID
		}
	}
	r.t.Fatalf("there is no message %q", text)
	return ""
}

func TestNavigate(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		r := start(t, f, func(r *rig, o *session.Options) { o.Preface = []llm.Message{llm.UserText("PREFACE")} },
			say("one"), say("two"), say("three"), say("two again"), say("from the root"))
		r.prompt("first", agent.ReasonDone)
		r.prompt("second", agent.ReasonDone)
		r.prompt("third", agent.ReasonDone)
		tests := []struct {
			to, edit string
			left     []string
		}{
			{"second", "second", []string{"user: PREFACE", "user: first", "assistant: one"}},
			{"two", "", []string{"user: PREFACE", "user: first", "assistant: one", "user: second", "assistant: two"}},
			{"first", "first", []string{"user: PREFACE"}},
			{"PREFACE", "PREFACE", nil},
		}
		for _, tt := range tests {
			edit, err := r.Navigate(t.Context(), r.idOf(tt.to), session.Navigation{})
			if err != nil || edit != tt.edit {
				t.Fatalf("to %s: %q, %v", tt.to, edit, err)
			}
			if diff := cmp.Diff(tt.left, said(r.Messages())); diff != "" {
				t.Errorf("to %s (-want +got):\n%s", tt.to, diff)
			}
			r.consistent()
			moved := r.seen(session.TreeMoved)
			if e := moved[len(moved)-1]; e.EntryID != r.Log().Leaf() || e.Text != tt.edit {
				t.Errorf("the event: %+v", e)
			}
		}
		// On a branch of its own the preface is there again.
		r.prompt("from nothing", agent.ReasonDone)
		if got := said(r.srv.Requests()[3].Messages); !strings.Contains(strings.Join(got, "\n"), "PREFACE") {
			t.Errorf("the request from the root: %v", got)
		}
		if _, err := r.Navigate(t.Context(), r.idOf("three"), session.Navigation{}); err != nil {
			t.Fatal(err)
		}
		r.resume()
		if got := said(r.Messages()); got[len(got)-1] != "assistant: three" {
			t.Errorf("the place is not kept: %v", got)
		}
		if _, err := r.Navigate(t.Context(), "nowhere", session.Navigation{}); err == nil {
			t.Error("an entry that is not there")
		}
		r.prompt("on", agent.ReasonDone)
		r.clean()
	})
}

// To go to a prompt that has no answer yet gives its words, too.
func TestNavigateToUnansweredLeaf(t *testing.T) {
	m := &till{limit: 1}
	r := start(t, formats()[0], func(r *rig, o *session.Options) { o.Meter = m }, say("one"))
	r.prompt("first", agent.ReasonDone)
	r.prompt("second", agent.ReasonRefused)
	edit, err := r.Navigate(t.Context(), r.Log().Leaf(), session.Navigation{})
	if err != nil || edit != "second" {
		t.Errorf("%q, %v", edit, err)
	}
	if diff := cmp.Diff([]string{"user: first", "assistant: one"}, said(r.Messages())); diff != "" {
		t.Error(diff)
	}
}

func TestNavigateWithSummary(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		r := start(t, f, func(r *rig, o *session.Options) { r.model.ContextWindow = 12000 }, say("one"), say("two"),
			refused(llm.ErrInvalidRequest, "no"),
			llmtest.Turn{Fault: llmtest.Fault{StallHead: true}},
			say("WHAT WAS TRIED"), say("three"))
		r.prompt("first", agent.ReasonDone)
		// More than the window: the summariser gets what fits.
		r.prompt("second "+long(4200), agent.ReasonDone)
		leaf, history := r.Log().Leaf(), said(r.Messages())
		to := r.idOf("one")
		with := session.Navigation{Summarize: true, Instructions: "look at the numbers"}
		unmoved := func() {
			t.Helper()
			if r.Log().Leaf() != leaf || !slices.Equal(said(r.Messages()), history) {
				t.Error("it moved")
			}
		}
		if _, err := r.Navigate(t.Context(), to, with); err == nil {
			t.Error("the summary failed, and that is no error")
		}
		unmoved()
		done := make(chan error)
		go func() {
			_, err := r.Navigate(context.Background(), to, with)
			done <- err
		}()
		waitFor(t, func() bool { return len(r.srv.Requests()) == 4 })
		r.Abort()
		if err := <-done; err == nil {
			t.Error("it was stopped, and that is no error")
		}
		unmoved()
		if _, err := r.Navigate(t.Context(), to, with); err != nil {
			t.Fatal(err)
		}
		if got := said(r.Messages()); len(got) != 3 || !strings.Contains(got[2], "WHAT WAS TRIED") {
			t.Errorf("after moving: %v", got)
		}
		if q := r.srv.Requests()[4]; !strings.Contains(q.Messages[0].Text(), "look at the numbers") {
			t.Errorf("the summariser was asked %s", q.Messages[0].Text())
		}
		r.prompt("third", agent.ReasonDone)
		r.resume()
		r.consistent()
	})
}

// What is summarised of a long branch fits a small model.
func TestBranchSummaryFits(t *testing.T) {
	const window = 6000
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		r.model.ContextWindow = window
		o.Compaction.Enabled, o.Compaction.BranchReserveTokens = false, 16384
	}, brain(40, func(int) string { return "BRANCH" }, say("ok"))...)
	r.prompt("first", agent.ReasonDone)
	to := r.Log().Leaf()
	for i := range 12 {
		r.prompt(fmt.Sprintf("step %d %s", i, long(700)), agent.ReasonDone)
	}
	if _, err := r.Navigate(t.Context(), to, session.Navigation{Summarize: true}); err != nil {
		t.Fatal(err)
	}
	all := r.srv.Requests()
	q := all[len(all)-1]
	if n := compact.Tokens(&q.Messages[0]); !summarises(q) || n > window-500 || n < 1000 || !strings.Contains(q.Messages[0].Text(), "step 11") {
		t.Errorf("the summariser got %d tokens", n)
	}
}

// Each branch has its own model and thinking.
func TestNavigateRestores(t *testing.T) {
	f := formats()[0]
	other := called(f.model, "other")
	r := start(t, f, func(r *rig, o *session.Options) {
		o.Models = r.opener(f.model, other)
		o.Request.Thinking.Level = llm.LevelLow
	}, say("one"), say("two"), say("three"))
	r.prompt("first", agent.ReasonDone)
	if err := r.SetModel(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	r.SetThinking(llm.LevelHigh)
	r.prompt("second", agent.ReasonDone)
	check := func(to, model string, level llm.Level) {
		t.Helper()
		if _, err := r.Navigate(t.Context(), r.idOf(to), session.Navigation{}); err != nil {
			t.Fatal(err)
		}
		if st := r.Stats(); st.Model != model || st.Thinking != level {
			t.Errorf("at %s: %s thinks %s", to, st.Model, st.Thinking)
		}
	}
	check("one", f.model.Ref(), llm.LevelLow)
	check("two", other.Ref(), llm.LevelHigh)
	check("one", f.model.Ref(), llm.LevelLow)
	r.prompt("third", agent.ReasonDone)
	q := r.srv.Requests()[2]
	if q.Model.ID != f.model.ID {
		t.Errorf("%s was asked", q.Model.ID)
	}
}

func TestHandoff(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		r := start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("read", tool.Reads)} },
			calls(`c1 read {"path":"x"}`), say("one"), say("# What was done"), say(" "), say("two"))
		if _, err := r.Handoff(t.Context(), ""); err == nil {
			t.Error("an empty session was handed over")
		}
		r.prompt("first", agent.ReasonDone)
		before := said(r.Messages())
		doc, err := r.Handoff(t.Context(), "the tests")
		if err != nil || doc != "# What was done" {
			t.Errorf("%q, %v", doc, err)
		}
		if diff := cmp.Diff(before, said(r.Messages())); diff != "" {
			t.Errorf("the conversation changed:\n%s", diff)
		}
		if q := r.srv.Requests()[2]; !strings.Contains(strings.Join(said(q.Messages), "\n"), "the tests") {
			t.Error("the focus is not in the request")
		}
		// It asks behind the same words, so that a vendor's cache has them.
		_, old := sent(t, r.srv.Raw()[1])
		_, now := sent(t, r.srv.Raw()[2])
		if diff := cmp.Diff(old, now[:len(old)]); diff != "" {
			t.Errorf("the request does not begin as the conversation:\n%s", diff)
		}
		if doc, err := r.Handoff(t.Context(), ""); err == nil {
			t.Errorf("an empty document: %q", doc)
		}
		r.prompt("second", agent.ReasonDone)
	})
}
