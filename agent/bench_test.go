package agent_test

import (
	"context"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// instant is a client in memory without a wire: what a run costs with it is the
// loop's own. Its model calls a tool in every other answer.
type instant struct{ n int }

func (c *instant) Stream(_ context.Context, req *llm.Request) llm.Stream {
	b := llm.NewBuilder(llm.Message{API: req.Model.API, Provider: req.Model.Provider, Model: req.Model.ID})
	i := b.OpenText()
	for range 20 {
		b.Delta(i, "a few words ")
	}
	b.CloseBlock(i)
	if c.n++; c.n%2 == 1 {
		i = b.OpenToolCall("a", "read")
		b.Delta(i, `{"path":"internal/main.go"}`)
		b.CloseBlock(i)
	}
	*b.Usage() = usage
	b.Done(llm.StopEnd)
	return ready{b}
}

type ready struct{ *llm.Builder }

func (ready) Close() error { return nil }

// A prompt with one tool call: two requests, 45 events.
func BenchmarkTurn(b *testing.B) {
	o := agent.Options{Client: &instant{}, Tools: []*tool.Tool{echo("read", tool.Reads)}, Emit: func(agent.Event) {}}
	o.Request.Model = &llm.Model{ID: "m", Provider: "p", API: llm.APIAnthropic}
	b.Run("loop", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if out := agent.New(o).Run(b.Context(), llm.UserText("go")); out.Reason != agent.ReasonDone {
				b.Fatal(out.Err)
			}
		}
	})
	b.Run("model alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range 2 {
				if _, err := llm.Collect(o.Client.Stream(b.Context(), &o.Request)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// The same with a long conversation behind it.
func BenchmarkTurnAfterLongConversation(b *testing.B) {
	history := make([]llm.Message, 100_000)
	for i := range history {
		history[i] = llm.UserText("hi")
		if i%2 == 1 {
			history[i] = llm.AssistantText("ho")
		}
	}
	o := agent.Options{Client: &instant{}, Tools: []*tool.Tool{echo("read", tool.Reads)}, Messages: history}
	o.Request.Model = &llm.Model{ID: "m", Provider: "p", API: llm.APIAnthropic}
	a := agent.New(o)
	b.ReportAllocs()
	for b.Loop() {
		if out := a.Run(b.Context(), llm.UserText("go")); out.Reason != agent.ReasonDone {
			b.Fatal(out.Err)
		}
	}
}
