package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

func advised(_ *rig, o *session.Options) {
	o.Advisor = session.AdvisorOn
	o.Tools = []*tool.Tool{echo("read", tool.Reads)}
}

// A remark leads to one further turn, however many calls that has, and never to another remark.
func TestAdvisorSpeaksOnce(t *testing.T) {
	r := start(t, formats()[0], advised, calls(`c1 read {"path":"a"}`), say("done"), used("You forgot b.", llm.Usage{Input: 10, Output: 5}), calls(`c2 read {"path":"b"}`), say("now done"))
	out := r.prompt("read all", agent.ReasonDone)
	requests := r.srv.Requests()
	if out.Text() != "now done" || len(requests) != 5 {
		t.Fatalf("%q after %d requests", out.Text(), len(requests))
	}
	if got := strings.Join(said(requests[2].Messages), "\n"); len(requests[2].Tools) != 0 || !strings.Contains(got, "[user]\nread all") || !strings.Contains(got, "[model calls read]") || !strings.Contains(got, "[result of read]\nread a") || !strings.Contains(got, "[model]\ndone") {
		t.Errorf("the advisor read %s", got)
	}
	if got := strings.Join(said(requests[3].Messages), "\n"); !strings.Contains(got, "<advisor>") || !strings.Contains(got, "You forgot b.") {
		t.Errorf("the model read %s", got)
	}
	if e := r.seen(session.AdvisorSpoke); len(e) != 1 || e[0].Text != "You forgot b." || e[0].Data.(*session.Advised).Cost == 0 {
		t.Errorf("told: %+v", e)
	}
	r.clean()
}

// The budget holds after a resume, and is said to be used up once.
func TestAdvisorBudget(t *testing.T) {
	r := start(t, formats()[0], func(g *rig, o *session.Options) {
		advised(g, o)
		o.AdvisorBudget = 1
	}, used("one", llm.Usage{Input: 10, Output: 1}), used("NONE", llm.Usage{Input: 10, Output: 1}), say("two"), say("three"))
	r.prompt("1", agent.ReasonDone)
	r.resume()
	r.prompt("2", agent.ReasonDone)
	r.prompt("3", agent.ReasonDone)
	if n := len(r.srv.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
	if got := strings.Join(r.warned(), "\n"); strings.Count(got, "has used its budget") != 1 {
		t.Errorf("warned %q", got)
	}
	p, err := r.Handle("test", false).Policies().Policy(context.Background())
	if err != nil || p.AdvisorSpent == 0 || p.AdvisorBudget != 1 {
		t.Errorf("the policy is %+v, %v", p, err)
	}
	r.clean()
}

// An advisor that fails, or is stopped, leaves the prompt done.
func TestAdvisorFails(t *testing.T) {
	r := start(t, formats()[0], advised, say("done"), refused(llm.ErrAuth, "no"), say("two"))
	if out := r.prompt("1", agent.ReasonDone); out.Text() != "done" {
		t.Errorf("%q", out.Text())
	}
	if got := strings.Join(r.warned(), "\n"); !strings.Contains(got, "the advisor could not be asked") {
		t.Errorf("warned %q", got)
	}
	if _, err := r.Handle("test", false).Policies().Change(context.Background(), session.PolicyChange{Advisor: "loud"}); err == nil {
		t.Error("an unknown mode is taken")
	}
	if _, err := r.Handle("test", false).Policies().Change(context.Background(), session.PolicyChange{Advisor: session.AdvisorOff}); err != nil {
		t.Fatal(err)
	}
	r.prompt("2", agent.ReasonDone)
	if n := len(r.srv.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}
