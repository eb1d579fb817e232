package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/tool"
)

// Whatever a model says, a person does and tools make of it, events come in
// order, each call has its result, the next request is one the vendor accepts,
// and the run ends.
func TestRandomRuns(t *testing.T) {
	call := rapid.SampledFrom([]string{
		`read {"path":"a"}`, `read {"path":"b"}`, `write {"path":"a"}`, `bash {"path":"a"}`, `bad {"path":"a"}`,
		`none {}`, `read {}`, `read {"pa`, `panic {"path":"a"}`, `ask {"path":"a"}`,
	})
	turn := rapid.Custom(func(t *rapid.T) llmtest.Turn {
		var turn llmtest.Turn
		if list := rapid.SliceOfN(call, 0, 5).Draw(t, "calls"); len(list) > 0 {
			turn = calls(list...)
		}
		if rapid.Bool().Draw(t, "talks") {
			turn.Parts = append([]llmtest.Part{{Text: "some words"}}, turn.Parts...)
		}
		stop := rapid.SampledFrom([]llm.StopReason{llm.StopEnd, llm.StopToolUse, llm.StopLength, llm.StopPause}).Draw(t, "stop")
		turn.Events = llmtest.Stop(stop, usage)
		turn.Fault = rapid.SampledFrom([]llmtest.Fault{{}, {}, {}, {}, {Drop: true}, {CutAfterBytes: 400}, {MalformedAfterEvents: 3}}).Draw(t, "fault")
		return turn
	})
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) { randomRun(t, rt, rapid.SliceOfN(turn, 1, 6).Draw(rt, "turns")) })
	})
}

func randomRun(t *testing.T, rt *rapid.T, turns []llmtest.Turn) {
	o, _ := local(t, append(turns, say("well"), say("well"))...)
	work := func(name string, effects tool.Effects) *tool.Tool {
		return simple(name, effects, func(ctx context.Context, path string) (*tool.Result, error) {
			select {
			case <-time.After(time.Second):
				return tool.Text(path), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	}
	asks := 0
	o.Tools = []*tool.Tool{
		work("read", tool.Reads), work("write", tool.Writes), work("bash", tool.Executes), failing("bad"),
		simple("panic", 0, func(context.Context, string) (*tool.Result, error) { panic("no") }),
		simple("ask", tool.Asks, func(context.Context, string) (*tool.Result, error) {
			if asks++; asks > 1 {
				return nil, agent.ErrAbort
			}
			return tool.Text("yes"), nil
		}),
	}
	o.Interrupt = rapid.SampledFrom([]agent.InterruptMode{agent.Immediate, agent.Wait}).Draw(rt, "interrupt")
	o.MaxTurns = rapid.SampledFrom([]int{0, 3}).Draw(rt, "max")
	events := record(t, &o)
	a := agent.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steerAt, stopAt := rapid.IntRange(0, 60).Draw(rt, "steer"), rapid.IntRange(0, 200).Draw(rt, "stop")
	n := 0
	events.on = func(agent.Event) error {
		switch n++; n {
		case steerAt:
			a.Steer(llm.UserText("wait"))
			a.FollowUp(llm.UserText("and then"))
		case stopAt:
			cancel()
		}
		return nil
	}
	out := a.Run(ctx, llm.UserText("go"))
	if out.Reason == "" || out.Reason == agent.ReasonAborted && ctx.Err() == nil && !errors.Is(out.Err, agent.ErrAbort) {
		t.Errorf("ended as %q, %v", out.Reason, out.Err)
	}
	events.check(a)
	a.Update(func(o *agent.Options) { o.Client, o.MaxTurns = after(t), 1 })
	a.ClearQueues()
	if out := a.Run(t.Context(), llm.UserText("go on")); out.Reason == agent.ReasonError && llm.KindOf(out.Err) == llm.ErrInvalidRequest {
		t.Errorf("the next request is refused: %v", out.Err)
	}
	events.check(a)
}

// after is a client of a new model that says something whatever it is asked.
func after(t *testing.T) llm.Client {
	o, _ := local(t, say("well"))
	return o.Client
}
