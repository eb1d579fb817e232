package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

type handed struct {
	Title string `json:"title"`
	Plan  string `json:"plan"`
}

// planning makes a session in plan mode with the tool that hands over plans.
func planning(mode string, change ...func(*session.Options)) func(*rig, *session.Options) {
	return func(_ *rig, o *session.Options) {
		planner := &session.Planner{}
		o.Planner, o.Mode, o.AfterPlan = planner, "plan", mode
		handletest.On(o).OnSetMode = func(string) (string, error) { return "words", nil }
		o.Tools = []*tool.Tool{tool.New(tool.Definition[handed]{
			Name: session.PlanTool, Label: "Plan", Effects: tool.Asks,
			Run: func(ctx context.Context, c tool.Call, a handed) (*tool.Result, error) {
				reply, final, err := planner.Propose(ctx, c.ID, a.Title, a.Plan)
				if err != nil {
					return nil, err
				}
				r := tool.Text(reply)
				r.Final = final
				return r, nil
			},
		})}
		for _, f := range change {
			f(o)
		}
	}
}

// judged answers the questions of a session, in order.
func (r *rig) judged(replies ...session.Reply) {
	r.t.Helper()
	h := r.Face("person", true)
	r.t.Cleanup(func() { h.Close() })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = func(e session.Event) {
		q, ok := e.Data.(*session.Question)
		if !ok {
			return
		}
		reply := session.Reply{Dismissed: true}
		if len(replies) > 0 {
			reply, replies = replies[0], replies[1:]
		}
		go func() { _ = h.Questions().Answer(context.Background(), q.ID, reply) }()
	}
}

func choose(option, words string) session.Reply {
	r := session.Reply{Choices: []session.Chosen{{Custom: words}}}
	if option != "" {
		r.Choices[0].Selected = []string{option}
	}
	return r
}

const handsOver = `c%d exit_plan {"title":"fix_the-parser","plan":"1. Read it.\n2. Fix it."}`

func (r *rig) plan() session.Plan {
	r.t.Helper()
	h := r.Face("test", false)
	defer h.Close()
	p, err := h.Work().Plan(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// A plan that is approved is carried out in the same turn, in the mode that was chosen, and the
// session has its name.
func TestPlanIsApproved(t *testing.T) {
	r := start(t, formats()[0], planning("ask"), calls(fmt.Sprintf(handsOver, 1)), say("Fixed."))
	r.judged(choose("Approve and execute in auto-edit mode", ""))
	out := r.prompt("plan it", agent.ReasonDone)
	if got := said(out.Messages); got[len(got)-1] != "assistant: Fixed." {
		t.Errorf("it said %q", got)
	}
	if p := r.plan(); r.Mode() != "auto-edit" || p.State != session.PlanDone || p.Text != "1. Read it.\n2. Fix it." {
		t.Errorf("the mode is %s, the plan %+v", r.Mode(), p)
	}
	if title := r.Stats().Title; title != "Fix the parser" {
		t.Errorf("the title is %q", title)
	}
	requests := r.srv.Requests()
	if last := strings.Join(said(requests[1].Messages), "\n"); !strings.Contains(last, "The user approved this plan") || !strings.Contains(last, "2. Fix it.") {
		t.Errorf("the model read %q", last)
	}
	var states []string
	for _, e := range r.seen(session.PlanChanged) {
		states = append(states, e.Text)
	}
	if want := []string{"proposed", "approved", "done"}; !slices.Equal(states, want) {
		t.Errorf("told %q", states)
	}
	e := r.Log().Last(r.Log().Leaf(), func(n transcript.Node) bool { return n.Type == transcript.TypeMode },
		func(e *transcript.Entry) bool { return len(e.Data) > 0 })
	var data struct{ Title, PlanFile string }
	if e == nil || e.Mode != "plan" || json.Unmarshal(e.Data, &data) != nil || data.Title != "fix_the-parser" {
		t.Errorf("the entry of the mode is %+v", e)
	}
	r.clean()
}

// A comment goes to the model, which plans on. What the user has edited is what is carried out.
func TestPlanIsChanged(t *testing.T) {
	r := start(t, formats()[0], planning("full"), calls(fmt.Sprintf(handsOver, 1)), calls(fmt.Sprintf(handsOver, 2)), say("Fixed."))
	edited := choose("Approve and execute in full mode", "")
	edited.Text = "1. Only fix it."
	r.judged(choose("", "not so much reading"), edited)
	r.prompt("plan it", agent.ReasonDone)
	requests := r.srv.Requests()
	if heard := strings.Join(said(requests[1].Messages), "\n"); !strings.Contains(heard, "not approve the plan yet. not so much reading") {
		t.Errorf("the model read %q", heard)
	}
	if heard := strings.Join(said(requests[2].Messages), "\n"); !strings.Contains(heard, "1. Only fix it.") || r.Mode() != "full" {
		t.Errorf("the model read %q in mode %s", heard, r.Mode())
	}
	if p := r.plan(); p.Text != "1. Only fix it." {
		t.Errorf("the plan is %+v", p)
	}
	r.clean()
}

// Who keeps planning without a word speaks next, and nobody reminds the model. A name that the
// user gave stays.
func TestPlanningGoesOn(t *testing.T) {
	r := start(t, formats()[0], planning("ask"), calls(fmt.Sprintf(handsOver, 1)), say("Fixed."))
	r.judged(choose(session.KeepPlanning, ""))
	h := r.Face("test", false)
	defer h.Close()
	if err := h.Conversation().SetTitle(t.Context(), "Mine"); err != nil {
		t.Fatal(err)
	}
	if err := h.Work().SetGoal(t.Context(), session.Goal{Text: "all of it", State: session.GoalActive}); err != nil {
		t.Fatal(err)
	}
	r.prompt("plan it", agent.ReasonDone)
	if n := len(r.srv.Requests()); n != 1 || r.Mode() != "plan" {
		t.Errorf("%d requests, mode %s", n, r.Mode())
	}
	if err := h.Work().SetGoal(t.Context(), session.Goal{}); err != nil {
		t.Fatal(err)
	}
	// It may still be approved later, after a restart too.
	h.Close()
	r.resume()
	h = r.Face("test", false)
	receipt, err := h.Conversation().ApprovePlan(t.Context(), session.PlanApproval{Note: "be quick"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.Wait(t.Context(), receipt.ID); err != nil || out.Reason != agent.ReasonDone {
		t.Fatal(out, err)
	}
	requests := r.srv.Requests()
	if heard := strings.Join(said(requests[1].Messages), "\n"); !strings.Contains(heard, "2. Fix it.") || !strings.Contains(heard, "The user adds: be quick") || r.Mode() != "ask" {
		t.Errorf("the model read %q in mode %s", heard, r.Mode())
	}
	if title := r.Stats().Title; title != "Mine" {
		t.Errorf("the title is %q", title)
	}
	r.clean()
}

// Nobody is there: the plan is the end of it. A compaction keeps it word for word.
func TestPlanUnattended(t *testing.T) {
	plan := "1. Keep the word zebra.\n" + strings.Repeat("2. Do more. ", 20)
	args, err := json.Marshal(map[string]string{"title": "t", "plan": plan})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, formats()[0], planning("ask", func(o *session.Options) {
		o.Compaction = compact.Defaults()
		o.Compaction.KeepRecentTokens = 1
	}), calls("c1 exit_plan "+string(args)), say("more"), say("a summary"), say("a summary"), say("a summary"))
	r.prompt("plan it "+strings.Repeat("please ", 500), agent.ReasonDone)
	if n := len(r.srv.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	r.prompt("and now "+strings.Repeat("think ", 500), agent.ReasonDone)
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if heard := strings.Join(said(r.Messages()), "\n"); !strings.Contains(heard, "which the user has not approved yet") || !strings.Contains(heard, "the word zebra") {
		t.Errorf("after the compaction: %q", heard)
	}
	r.clean()
}

// Outside plan mode there is nothing to hand over.
func TestNoPlanMode(t *testing.T) {
	r := start(t, formats()[0], planning("ask", func(o *session.Options) { o.Mode = "ask" }), calls(fmt.Sprintf(handsOver, 1)), say("ok"))
	r.prompt("do it", agent.ReasonDone)
	requests := r.srv.Requests()
	if heard := strings.Join(said(requests[1].Messages), "\n"); !strings.Contains(heard, "plan mode is off") || r.plan().Text != "" {
		t.Errorf("the model read %q", heard)
	}
	r.clean()
}

func TestPlanTitle(t *testing.T) {
	for title, want := range map[string]string{
		"migrate-mcp-loader": "Migrate mcp loader", "fix_session_naming": "Fix session naming", "foo--bar__baz": "Foo bar baz",
		"RefactorRouter": "RefactorRouter", "---": "", "": "", " über alles_ ": "Über alles",
	} {
		if got := session.PlanTitle(title); got != want {
			t.Errorf("%q names the session %q, want %q", title, got, want)
		}
	}
}
