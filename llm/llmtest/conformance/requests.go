package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// sends has the client send req and returns what the server half reads.
func (s rig) sends(t testing.TB, req *llm.Request) (*llm.Request, []byte) {
	t.Helper()
	c, srv := s.local(t, llmtest.Turn{Parts: []llmtest.Part{{Text: "Fine."}}})
	if _, err := read(t, c.Stream(t.Context(), req)); err != nil {
		t.Fatalf("%v\nserver: %v", err, srv.Err())
	}
	return srv.Requests()[0], srv.Raw()[0].Body
}

func (s requestChecks) testRequest(t *testing.T) {
	half, sharp := 0.5, 0.0
	req := s.ask()
	req.Model = s.plain()
	req.Thinking.Level = llm.LevelOff
	req.System = "You are terse.\nSay \"no\" to <tags> & 🦊."
	req.MaxTokens = 4321
	req.TopP = &half
	req.Stop = []string{"STOP", "\n\nHuman:"}
	req.SequentialTools = true
	req.Tools = []llm.Tool{readTool, {
		Name: "edit_file-2", Description: "Edits.\nTakes a list.",
		Schema: json.RawMessage(`{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"at":{"type":"integer"},"text":{"type":"string","enum":["a","b"]}},"required":["at"]}}},"required":["edits"]}`),
	}, {
		Name: "now", Description: "Tells the time.", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
	}}
	if s.NoTemperature {
		req.TopP = nil
	}
	got, _ := s.sends(t, req)

	if got.Model == nil || got.Model.ID != req.Model.Upstream() {
		t.Errorf("model %+v, want id %s", got.Model, req.Model.Upstream())
	}
	if got.System != req.System {
		t.Errorf("system %q, want %q", got.System, req.System)
	}
	if got.MaxTokens != req.MaxTokens {
		t.Errorf("max tokens %d, want %d", got.MaxTokens, req.MaxTokens)
	}
	if !s.NoStop && !slices.Equal(got.Stop, req.Stop) {
		t.Errorf("stop sequences %q, want %q", got.Stop, req.Stop)
	}
	if !s.NoSequential && !got.SequentialTools {
		t.Errorf("the wish for one call at a time got lost")
	}
	if diff := cmp.Diff(describeTools(req.Tools), describeTools(got.Tools)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(said(req.Messages), said(got.Messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if s.NoTemperature {
		return
	}
	if got.TopP == nil || *got.TopP != half {
		t.Errorf("top p %v, want %v", got.TopP, half)
	}
	req.TopP, req.Temperature = nil, &sharp
	if got, _ = s.sends(t, req); got.Temperature == nil || *got.Temperature != 0 {
		t.Errorf("temperature 0 arrived as %v", got.Temperature)
	}
	req.Temperature = nil
	if got, _ = s.sends(t, req); got.Temperature != nil {
		t.Errorf("a temperature of %v was sent that nobody set", *got.Temperature)
	}
	s.outputSchema(t)
}

func (s requestChecks) outputSchema(t *testing.T) {
	req := s.ask()
	req.Tools = nil
	req.Output = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)
	got, _ := s.sends(t, req)
	if sameJSON(string(got.Output)) != sameJSON(string(req.Output)) {
		t.Errorf("schema of the answer %s, want %s", got.Output, req.Output)
	}
}

func describeTools(tools []llm.Tool) []string {
	var out []string
	for _, tool := range tools {
		// A provider may want no schema where there are no arguments.
		schema := sameJSON(string(tool.Schema))
		if schema == `{"properties":{},"type":"object"}` {
			schema = "{}"
		}
		out = append(out, tool.Name+"|"+tool.Description+"|"+schema)
	}
	return out
}

// said lists what a conversation holds, one line a block, whatever the borders
// of its messages. Calls and results are tied by the number of the call.
func said(messages []llm.Message) []string {
	var out []string
	number := map[string]int{}
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				out = append(out, fmt.Sprintf("%s%s: %s", m.Role, answers(m, number), b.Text))
			case llm.Thinking:
				out = append(out, fmt.Sprintf("%s thinks: %s", m.Role, b.Text))
			case llm.ToolCall:
				number[b.ID] = len(number) + 1
				out = append(out, fmt.Sprintf("%s calls %d: %s %s", m.Role, number[b.ID], b.Name, sameJSON(b.Arguments)))
			case llm.Image:
				out = append(out, fmt.Sprintf("%s%s: image %s %q %s", m.Role, answers(m, number), b.MIME, b.Data, b.URL))
			case llm.Document:
				out = append(out, fmt.Sprintf("%s%s: document %s %q %s", m.Role, answers(m, number), b.MIME, b.Data, b.URL))
			}
		}
	}
	return out
}

func answers(m llm.Message, number map[string]int) string {
	if m.Role != llm.RoleToolResult {
		return ""
	}
	s := fmt.Sprintf(" %d", number[m.ToolCallID])
	if m.IsError {
		s += " failed"
	}
	return s
}

func (s requestChecks) testToolChoice(t *testing.T) {
	for _, choice := range []llm.ToolChoice{
		{Mode: llm.ToolAuto}, {Mode: llm.ToolNone}, {Mode: llm.ToolAny}, {Mode: llm.ToolNamed, Name: "read"},
	} {
		t.Run("mode "+string(choice.Mode), func(t *testing.T) {
			req := s.ask()
			req.Model, req.Thinking.Level = s.plain(), llm.LevelOff
			req.ToolChoice = choice
			got, _ := s.sends(t, req)
			if choice.Mode == llm.ToolNone && s.NoToolNone {
				if got.ToolChoice.Forced() {
					t.Errorf("no call became %q", got.ToolChoice.Mode)
				}
				return
			}
			if got.ToolChoice != choice {
				t.Errorf("arrived as %+v, want %+v", got.ToolChoice, choice)
			}
		})
	}
	t.Run("without tools", func(t *testing.T) {
		req := s.ask()
		req.Tools = nil
		if got, body := s.sends(t, req); len(got.Tools) > 0 || strings.Contains(string(body), `"tools":`) {
			t.Errorf("a request without tools names some: %s", clip(string(body)))
		}
	})
}

// testLevels checks that harder thinking arrives as harder thinking.
func (s requestChecks) testLevels(t *testing.T) {
	previous, low, high := -1, 0, 0
	for _, level := range llm.Levels() {
		req := s.ask()
		req.Thinking.Level = level
		got, body := s.sends(t, req)
		n := strength(got.Thinking)
		if level == llm.LevelOff {
			if n != 0 && !s.Model.Thinking.Always {
				t.Errorf("off arrives as %+v", got.Thinking)
			}
			continue
		}
		if n < previous {
			t.Errorf("%s arrives weaker (%+v) than the level below it: %s", level, got.Thinking, clip(string(body)))
		}
		previous = n
		switch level {
		case llm.LevelLow:
			low = n
		case llm.LevelHigh:
			high = n
		}
	}
	if low >= high || low == 0 {
		t.Errorf("low and high arrive with strength %d and %d", low, high)
	}
}

// strength orders ways to ask for thinking; off and unsaid are 0.
func strength(t llm.Thought) int {
	level := t.Level
	if level == llm.LevelDefault && t.Effort != "" {
		level = llm.Level(t.Effort)
		if t.Effort == "max" {
			level = llm.LevelXHigh
		}
	}
	if level == llm.LevelDefault || level == llm.LevelOff {
		// Tokens in steps of a power of two.
		n := 0
		for b := t.Budget; b > 0; b >>= 1 {
			n++
		}
		return n
	}
	return 100 * slices.Index(llm.Levels(), level)
}
