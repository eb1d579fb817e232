package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// testLimit lets the server say far more than the request's tokens can mean.
func (s faultChecks) testLimit(t *testing.T) {
	const pieces = 1 << 9
	piece := strings.Repeat("wörds ", 1<<10)
	endless := func(begin llm.Block, start, delta llm.EventType, head, tail string) []llm.Event {
		out := append(llmtest.Say("Kept."),
			llm.Event{Type: start, Index: 1, Block: begin}, llm.Event{Type: delta, Index: 1, Delta: head})
		for range pieces {
			out = append(out, llm.Event{Type: delta, Index: 1, Delta: piece})
		}
		if tail != "" { // some formats send arguments whole or not at all
			out = append(out, llm.Event{Type: delta, Index: 1, Delta: tail})
		}
		return out
	}
	many := llmtest.Say("Kept.")
	for i := range 6 << 10 {
		for _, ev := range llmtest.Call(fmt.Sprintf("call_%d", i), "read", `{"path":"a"}`) {
			ev.Index = i + 1
			many = append(many, ev)
		}
	}
	for name, events := range map[string][]llm.Event{
		"text":      endless(llm.Text{}, llm.EventTextStart, llm.EventTextDelta, "More ", ""),
		"thinking":  endless(llm.Thinking{}, llm.EventThinkingStart, llm.EventThinkingDelta, "Hm ", ""),
		"arguments": endless(llm.ToolCall{ID: "call_a", Name: "write"}, llm.EventToolCallStart, llm.EventToolCallDelta, `{"path":"a","content":"`, `"}`),
		"calls":     many,
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := s.local(t, llmtest.Turn{Events: events})
			r := s.ask()
			r.Model, r.MaxTokens = s.plain(), 16
			m, err := read(t, c.Stream(t.Context(), r))
			wantKind(t, err, llm.ErrAnswerLimit)
			if !strings.HasPrefix(m.Text(), "Kept.") {
				t.Errorf("what came first is gone: %.40q", m.Text())
			}
			size := 0
			for _, b := range m.Content {
				switch b := b.(type) {
				case llm.Text:
					size += len(b.Text)
				case llm.Thinking:
					size += len(b.Text)
				case llm.ToolCall:
					size += len(b.Arguments)
				}
			}
			if limit := llm.AnswerLimit(r); size > limit {
				t.Errorf("%d bytes were kept of an answer of at most %d", size, limit)
			}
			if name == "arguments" {
				noneRuns(t, m)
			}
		})
	}
}
