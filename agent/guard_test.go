package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/tool"
)

// A model that repeats a failing call is told once, and stopped later. Equal
// calls that succeed, and calls repeated after something has changed, are no loop.
func TestFailingCalls(t *testing.T) {
	bad, bad2, good, change := `bad {"path":"a"}`, `bad {"path":"b"}`, `good {"path":"a"}`, `change {"path":"a"}`
	poll := func(n int, list ...string) []string { return slices.Repeat(list, n) }
	for _, tt := range []struct {
		name   string
		calls  []string // one a turn
		turns  int      // that are taken of them
		warned int      // results with the advice
		reason agent.Reason
	}{
		{"twice", poll(2, bad), 2, 0, agent.ReasonDone},
		{"four times", poll(4, bad), 4, 1, agent.ReasonDone},
		{"for ever", poll(9, bad), 5, 1, agent.ReasonLoop},
		{"written differently", poll(4, bad, `bad { "path" : "\u0061" }`), 5, 1, agent.ReasonLoop},
		{"in turns", poll(9, bad, bad2), 9, 2, agent.ReasonLoop},
		{"with looking between", poll(9, bad, good), 9, 1, agent.ReasonLoop},
		{"with changes between", poll(9, bad, change), 18, 0, agent.ReasonDone},
		{"polling", poll(30, good), 30, 0, agent.ReasonDone},
		{"success at last", []string{`moody {"path":"3"}`, `moody {"path":"3"}`, `moody {"path":"3"}`, `moody {"path":"3"}`, `moody {"path":"3"}`}, 5, 0, agent.ReasonDone},
		{"another failure each time", poll(9, `count {"path":"a"}`), 9, 0, agent.ReasonDone},
		{"unknown tool", poll(9, `none {}`), 5, 1, agent.ReasonLoop},
		{"wrong arguments", poll(9, `bad {}`), 5, 1, agent.ReasonLoop},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var script []llmtest.Turn
			for _, c := range tt.calls {
				script = append(script, calls(c))
			}
			o, _ := local(t, append(script, say("done"))...)
			n, m := 0, 0
			o.Tools = []*tool.Tool{
				failing("bad"), echo("good", tool.Reads), echo("change", tool.Writes),
				simple("moody", tool.Reads, func(context.Context, string) (*tool.Result, error) {
					if n++; n%3 == 0 {
						return tool.Text("fine"), nil
					}
					return nil, errors.New("not yet")
				}),
				simple("count", tool.Reads, func(context.Context, string) (*tool.Result, error) {
					m++
					return nil, fmt.Errorf("failure %d", m)
				}),
			}
			events := record(t, &o)
			a := agent.New(o)
			out := a.Run(t.Context(), llm.UserText("go"))
			wantReason(t, out, tt.reason)
			events.check(a)
			taken := out.Turns
			if tt.reason == agent.ReasonDone {
				taken--
			}
			warned := 0
			for _, r := range results(a.Messages()) {
				if strings.Contains(r, "Repeating it will not help") {
					warned++
				}
			}
			if taken != tt.turns || warned != tt.warned {
				t.Errorf("%d turns, told %d times; want %d and %d", taken, warned, tt.turns, tt.warned)
			}
		})
	}
}

// Of calls that arrive damaged only the damage counts: their ends are chance.
func TestCutCallsAreALoop(t *testing.T) {
	var script []llmtest.Turn
	for i := range 9 {
		turn := calls(`write {"path":"` + strings.Repeat("x", i+1))
		turn.Events = llmtest.Stop(llm.StopLength, llm.Usage{})
		script = append(script, turn)
	}
	o, _ := local(t, script...)
	o.Tools = []*tool.Tool{echo("write", tool.Writes)}
	if out := agent.New(o).Run(t.Context(), llm.UserText("go")); out.Reason != agent.ReasonLoop || out.Turns != 5 {
		t.Errorf("ended as %s, %v after %d turns", out.Reason, out.Err, out.Turns)
	}
}

// What the person says may be the way out of a loop.
func TestLoopAndSteering(t *testing.T) {
	o, _ := local(t, append(slices.Repeat([]llmtest.Turn{calls(`bad {"path":"a"}`)}, 6), say("done"))...)
	o.Tools = []*tool.Tool{failing("bad")}
	o.Interrupt = agent.Wait
	events := record(t, &o)
	a := agent.New(o)
	n := 0
	events.on = func(e agent.Event) error {
		if e.Type == agent.ToolEnd {
			if n++; n == 5 {
				a.Steer(llm.UserText("try again, I have created it"))
			}
		}
		return nil
	}
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
}

func TestEmptyAnswers(t *testing.T) {
	empty := llmtest.Turn{Events: llmtest.Stop(llm.StopEnd, llm.Usage{})}
	blank := say(" \n")
	for _, tt := range []struct {
		name   string
		turns  []llmtest.Turn
		reason agent.Reason
		taken  int
		nudges int
	}{
		{"once", []llmtest.Turn{empty, say("sorry")}, agent.ReasonDone, 2, 1},
		{"twice", []llmtest.Turn{empty, blank, say("sorry")}, agent.ReasonDone, 3, 2},
		{"always", []llmtest.Turn{empty, empty, empty, say("no")}, agent.ReasonLoop, 3, 2},
		{"now and then", []llmtest.Turn{empty, empty, calls(`good {"path":"a"}`), empty, empty, say("done")}, agent.ReasonDone, 6, 4},
		{"thinking alone", []llmtest.Turn{{Parts: []llmtest.Part{{Thinking: "hm"}}}, say("ok")}, agent.ReasonDone, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, srv := local(t, tt.turns...)
			o.Tools = []*tool.Tool{echo("good", tool.Reads)}
			events := record(t, &o)
			a := agent.New(o)
			out := a.Run(t.Context(), llm.UserText("go"))
			wantReason(t, out, tt.reason)
			events.check(a)
			clean(t, srv)
			nudges := 0
			for _, m := range a.Messages() {
				if m.CustomType == "nudge" {
					nudges++
				}
			}
			if out.Turns != tt.taken || nudges != tt.nudges {
				t.Errorf("%d turns and %d nudges, want %d and %d", out.Turns, nudges, tt.taken, tt.nudges)
			}
		})
	}
}

// A turn that the vendor paused goes on by itself, and nothing is put between.
func TestPause(t *testing.T) {
	pause := llmtest.Turn{Events: slices.Concat(llmtest.Say("part "), llmtest.Stop(llm.StopPause, llm.Usage{}))}
	o, srv := local(t, pause, pause, say("end"), say("steered"))
	events := record(t, &o)
	a := agent.New(o)
	events.on = func(e agent.Event) error {
		if e.Type == agent.MessageEnd && e.Message.Role == llm.RoleUser && e.Message.Text() == "go" {
			a.Steer(llm.UserText("and more"))
		}
		return nil
	}
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
	events.check(a)
	clean(t, srv)
	if got := texts(a.Messages()); got != "go|part |part |end|and more|steered" {
		t.Errorf("the conversation is %q", got)
	}

	o, _ = local(t, slices.Repeat([]llmtest.Turn{pause}, 20)...)
	a = agent.New(o)
	out := a.Run(t.Context(), llm.UserText("go"))
	wantReason(t, out, agent.ReasonLoop)
	if out.Turns != 17 {
		t.Errorf("%d requests", out.Turns)
	}
	o, _ = local(t, slices.Concat(slices.Repeat([]llmtest.Turn{pause}, 16), []llmtest.Turn{say("end")})...)
	wantReason(t, agent.New(o).Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
}
