package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

func exploring(_ *rig, o *session.Options) {
	o.Rewinder = new(session.Rewinder)
	o.Tools = append(plan.New(plan.Options{Rewinder: o.Rewinder}), echo("read", tool.Reads))
}

// results returns the results of calls of a tool in the whole transcript.
func results(t *testing.T, r *rig, name string) (texts []string) {
	t.Helper()
	for e, err := range r.Log().All() {
		if err != nil {
			t.Fatal(err)
		}
		if m := e.Message; m != nil && m.Role == llm.RoleToolResult && m.ToolName == name {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

func TestRewindKeepsReportOnly(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		r := start(t, f, exploring,
			calls(`c1 checkpoint {"goal":"who calls parse"}`), calls(`c2 read {"path":"secret-a.go"}`), calls(`c3 read {"path":"secret-b.go"}`),
			calls(`c4 rewind {"report":"main.go:7 calls parse"}`), say("main.go calls it."), say("Yes."))
		r.prompt("find it", agent.ReasonDone)
		requests := r.srv.Requests()
		last := strings.Join(said(requests[4].Messages), "\n")
		if !strings.Contains(last, "main.go:7 calls parse") || !strings.Contains(last, "who calls parse") || strings.Contains(last, "secret-a.go") || strings.Contains(last, "rewind {") {
			t.Errorf("after the rewind the model read:\n%s", last)
		}
		// The prefix up to the checkpoint stays in the provider's cache.
		raw := r.srv.Raw()
		_, before := sent(t, raw[1])
		_, after := sent(t, raw[4])
		if n := len(before); len(after) < n || !slices.Equal(before[:n-1], after[:n-1]) || !strings.HasPrefix(after[n-1], strings.TrimRight(before[n-1], "]}")) {
			t.Errorf("the requests differ before the checkpoint:\n%s\n%s", before, after)
		}
		events := r.seen(session.Rewound)
		if len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		d := events[0].Data.(*session.Rewind)
		if d.Report != "main.go:7 calls parse" || d.Messages != 6 {
			t.Errorf("the event says %+v", d)
		}
		left, err := r.Log().Branch(d.Left)
		if err != nil || !slices.ContainsFunc(left, func(e transcript.Entry) bool {
			return e.Message != nil && strings.Contains(e.Message.Text(), "secret-b.go")
		}) {
			t.Errorf("the branch that was left has no exploration: %v", err)
		}
		r.resume()
		r.prompt("sure?", agent.ReasonDone)
		if got := strings.Join(said(r.Messages()), "\n"); strings.Contains(got, "secret") || !strings.Contains(got, "main.go:7") {
			t.Errorf("resumed, the model has\n%s", got)
		}
		r.clean()
	})
}

func TestRewindRefuses(t *testing.T) {
	r := start(t, formats()[0], exploring,
		calls(`c1 rewind {"report":"x"}`),
		calls(`c2 checkpoint {"goal":"a"}`, `c3 read {"path":"x"}`),
		calls(`c4 checkpoint {"goal":"a"}`), calls(`c5 checkpoint {"goal":"b"}`),
		calls(`c6 rewind {"report":"one"}`, `c7 read {"path":"x"}`), calls(`c8 rewind {"report":" "}`), calls(`c9 rewind {"report":"one"}`),
		calls(`c10 rewind {"report":"two"}`), calls(`c11 checkpoint {"goal":"c"}`), say("a"),
		calls(`c12 rewind {"report":"three"}`), calls(`c13 checkpoint {"goal":"d"}`), say("b"))
	r.prompt("go", agent.ReasonDone)
	r.prompt("more", agent.ReasonDone)
	marks, rewinds := results(t, r, "checkpoint"), results(t, r, "rewind")
	for i, want := range []string{"alone", "Checkpoint set", "already set (a)", "Checkpoint set", "Checkpoint set"} {
		if i >= len(marks) || !strings.Contains(marks[i], want) {
			t.Errorf("checkpoint %d gives %q, want %q", i, marks, want)
		}
	}
	for i, want := range []string{"no checkpoint is set", "alone", "report is empty", "Going back", "already rewound", "the user has spoken"} {
		if i >= len(rewinds) || !strings.Contains(rewinds[i], want) {
			t.Errorf("rewind %d gives %q, want %q", i, rewinds, want)
		}
	}
	if n := len(r.seen(session.Rewound)); n != 1 {
		t.Errorf("rewound %d times", n)
	}
	r.clean()
}

// A process that dies between the call and the next request loses neither the report nor the
// rewind.
func TestRewindAfterRestart(t *testing.T) {
	r := start(t, formats()[0], exploring,
		calls(`c1 checkpoint {"goal":"a"}`), calls(`c2 read {"path":"noise"}`), calls(`c3 rewind {"report":"the finding"}`), say("ok"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.on = func(e session.Event) {
		if e.Type == agent.MessageEnd && e.Message.ToolName == session.RewindTool {
			cancel()
		}
	}
	if out := r.Prompt(ctx, llm.UserText("go")); out.Reason != agent.ReasonAborted {
		t.Fatal(out.Reason)
	}
	r.on = nil
	r.resume()
	r.prompt("go on", agent.ReasonDone)
	requests := r.srv.Requests()
	got := strings.Join(said(requests[len(requests)-1].Messages), "\n")
	if !strings.Contains(got, "the finding") || strings.Contains(got, "noise") {
		t.Errorf("after the restart the model read\n%s", got)
	}
	r.clean()
}

// What was set during the exploration still holds: a model, a pin.
func TestRewindKeepsSettings(t *testing.T) {
	r := start(t, formats()[0], func(g *rig, o *session.Options) {
		exploring(g, o)
		o.Tools = append(o.Tools, simple("pin", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
			return tool.Text("pinned"), g.Handle("test", false).Work().Pin(context.Background(), "use tabs")
		}))
	}, calls(`c1 checkpoint {"goal":"a"}`), calls(`c2 pin {"path":"x"}`), calls(`c3 rewind {"report":"the finding"}`), say("ok"))
	r.prompt("go", agent.ReasonDone)
	if pins, _ := r.Handle("test", false).Work().Pins(context.Background()); len(pins) != 1 {
		t.Errorf("the pins are %q", pins)
	}
	if got := strings.Join(said(r.Messages()), "\n"); !strings.Contains(got, "use tabs") || !strings.Contains(got, "the finding") {
		t.Errorf("the model has\n%s", got)
	}
	r.clean()
}

func TestNoRewindOverCompaction(t *testing.T) {
	r := start(t, formats()[0], func(g *rig, o *session.Options) {
		exploring(g, o)
		o.Compaction = compact.Defaults()
		o.Compaction.KeepRecentTokens = 10
		o.Summariser = func(context.Context, string, string, int) (string, error) { return "what was said", nil }
	}, say(strings.Repeat("hello ", 3000)), calls(`c1 checkpoint {"goal":"a"}`), calls(`c2 read {"path":"noise"}`),
		refused(llm.ErrContextOverflow, "too long"),
		calls(`c3 rewind {"report":"x"}`), say("ok"))
	r.prompt("hi", agent.ReasonDone)
	r.prompt("go", agent.ReasonDone)
	if got := results(t, r, "rewind"); len(got) != 1 || !strings.Contains(got[0], "was compacted since") {
		t.Errorf("rewind gives %q", got)
	}
	if n := len(r.seen(session.Rewound)); n != 0 {
		t.Error("rewound over a compaction")
	}
}
