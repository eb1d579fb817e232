package llm_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
)

// An answer is begun for a model only where it continues it.
func TestBegun(t *testing.T) {
	thinks := llm.ThinkingSupport{Mode: llm.ThinkingBudget, Default: llm.LevelMedium}
	for _, c := range []struct {
		name  string
		model llm.Model
		level llm.Level
		want  string
	}{
		{"no thinking", llm.Model{ID: "some", API: llm.APIAnthropic}, "", "Roses"},
		{"Claude that takes it", llm.Model{ID: "claude-sonnet-4-5", API: llm.APIAnthropic, Released: "2025-09-29", Thinking: thinks}, llm.LevelOff, "Roses"},
		{"while it thinks", llm.Model{ID: "claude-sonnet-4-5", API: llm.APIAnthropic, Released: "2025-09-29", Thinking: thinks}, llm.LevelLow, ""},
		{"which it does by itself", llm.Model{ID: "claude-sonnet-4-5", API: llm.APIAnthropic, Released: "2025-09-29", Thinking: thinks}, "", ""},
		{"Claude 4.6", llm.Model{ID: "claude-opus-4-6", API: llm.APIAnthropic, Released: "2026-02-05"}, llm.LevelOff, ""},
		{"Claude of unknown age", llm.Model{ID: "claude-new", API: llm.APIAnthropic}, llm.LevelOff, ""},
		{"Chat Completions", llm.Model{ID: "mistral-large", API: llm.APICompletions}, "", "Roses"},
		{"Responses", llm.Model{ID: "gpt", API: llm.APIResponses}, "", ""},
		{"Bedrock", llm.Model{ID: "nova", API: llm.APIBedrock}, "", ""},
	} {
		r := llm.Request{Model: &c.model, Prefill: "Roses \n", Thinking: llm.Thought{Level: c.level}}
		if got := r.Begun(); got != c.want {
			t.Errorf("%s: the answer begins with %q, want %q", c.name, got, c.want)
		}
	}
}

// The beginning stands before the first text of an answer, in its events and in the message, and
// nowhere in an answer that has none.
func TestPrefilled(t *testing.T) {
	r := &llm.Request{Model: &llm.Model{API: llm.APICompletions}, Prefill: "Roses "}
	b := llm.NewBuilder(llm.Message{Role: llm.RoleAssistant})
	b.Start()
	call := b.OpenToolCall("1", "calc")
	b.Delta(call, "{}")
	b.CloseBlock(call)
	text := b.OpenText()
	b.Delta(text, " are red.")
	b.CloseBlock(text)
	other := b.OpenText()
	b.Delta(other, "Violets")
	b.CloseBlock(other)
	b.Done(llm.StopEnd)
	var deltas, whole string
	for e := range llm.Events(llm.Prefilled(built{b}, r)) {
		switch {
		case e.Type == llm.EventTextDelta:
			deltas += e.Delta + "|"
		case e.Type == llm.EventTextEnd:
			whole += e.Block.(llm.Text).Text + "|"
		case e.Type == llm.EventDone:
			if got := e.Message.Text(); got != "Roses are red.\nViolets" && got != "Roses are red.Violets" && got != "Roses are red.\n\nViolets" {
				t.Errorf("the message is %q", got)
			}
		}
	}
	if deltas != "Roses| are red.|Violets|" || whole != "Roses are red.|Violets|" {
		t.Errorf("the pieces are %q, the blocks %q", deltas, whole)
	}

	b = llm.NewBuilder(llm.Message{Role: llm.RoleAssistant})
	b.Start()
	b.CloseBlock(b.OpenToolCall("1", "calc"))
	b.Done(llm.StopToolUse)
	m, err := llm.Collect(llm.Prefilled(built{b}, r))
	if err != nil || m.Text() != "" {
		t.Errorf("a call without text became %q, %v", m.Text(), err)
	}
}

type built struct{ *llm.Builder }

func (built) Close() error { return nil }
