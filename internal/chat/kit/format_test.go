package kit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/kit"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Messages of the person have the form of the project in requests, the same in each; nothing else of the conversation changes.
func TestFormat(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	spoken := llm.UserText("Is 1 < 2?")
	spoken.Time = began.Add(90 * time.Second)
	answer := llm.Message{Role: llm.RoleAssistant, Provider: "box", Model: "one", Content: []llm.Block{llm.Text{Text: "Yes."}}, Usage: &llm.Usage{Input: 100, Output: 20, Cost: &llm.Cost{Total: llm.Dollars(0.0125)}}}
	again := llm.Message{Role: llm.RoleUser, Time: began.Add(time.Hour), Content: []llm.Block{llm.Image{MIME: "image/png", Data: []byte("x")}, llm.Text{Text: "And this?"}}}
	for name, c := range map[string]struct {
		format project.Format
		want   []string // the first message alone, and the second with those before it
	}{
		"all": {
			project.Format{Mode: "metadata", Time: "local", Zone: "Europe/Zurich", Model: true, Context: true, Cost: true},
			[]string{
				"<metadata>\n<timestamp>Sun, Mar 1, 2026, 1:01 PM CET</timestamp>\n<model>box/one</model>\n</metadata>\n\nIs 1 < 2?",
				"<metadata>\n<timestamp>Sun, Mar 1, 2026, 2:00 PM CET</timestamp>\n<model>box/two</model>\n<context_window_usage>120 tokens</context_window_usage>\n<current_cost>$0.013</current_cost>\n</metadata>\n\nAnd this?",
			},
		},
		"none":     {project.Format{Mode: "metadata"}, []string{"Is 1 < 2?", "And this?"}},
		"relative": {project.Format{Mode: "metadata", Time: "relative"}, []string{"<metadata>\n<timestamp>90 seconds since chat start</timestamp>\n</metadata>\n\nIs 1 < 2?", "<metadata>\n<timestamp>3600 seconds since chat start</timestamp>\n</metadata>\n\nAnd this?"}},
		"template": {
			project.Format{Mode: "template", Template: "{{#hasCurrentCost}}({{{currentCost}}} {{timestampUtc}}){{/hasCurrentCost}}{{^hasCurrentCost}}first{{/hasCurrentCost}}: {{ userMessage }}"},
			[]string{"first: Is 1 < 2?", "($0.013 Sun, Mar 1, 2026, 1:00 PM UTC): And this?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := kit.New(kit.Options{Tools: &project.Tools{}, Tree: tree(t), Chat: "c", Format: &c.format, Began: began})
			asks := func(purpose, model string, messages ...llm.Message) []llm.Message {
				r := &llm.Request{Model: &llm.Model{Provider: "box", ID: model}, Messages: messages}
				for _, link := range k.Chains.Requests {
					if err := link.Change(t.Context(), purpose, r); err != nil {
						t.Fatal(err)
					}
				}
				return r.Messages
			}
			first, second := asks(session.ForTurn, "one", spoken), asks(session.ForTurn, "two", spoken, answer, again)
			if got := first[0].Text(); got != c.want[0] {
				t.Errorf("first it reads %q", got)
			}
			if got := second[0].Text(); got != c.want[0] {
				t.Errorf("the first message has become %q", got)
			}
			if got := second[2].Text(); got != c.want[1] || len(second[2].Content) != 2 || second[1].Text() != "Yes." {
				t.Errorf("then it reads %q, %v", got, second)
			}
			if got := asks("title", "one", spoken); got[0].Text() != "Is 1 < 2?" || spoken.Text() != "Is 1 < 2?" {
				t.Errorf("what isn't for an answer has %q", got[0].Text())
			}
		})
	}
}

// A template that can't be filled is refused with what is wrong.
func TestFilled(t *testing.T) {
	facts := map[string]string{"userMessage": "a {{userMessage}}", "currentCost": ""}
	for template, want := range map[string]string{
		"{{userMessage}}": "a {{userMessage}}", "x{{#currentCost}}{{userMessage}}{{/currentCost}}y": "xy",
		"{{userMessage": "has no }}", "{{#currentCost}}x": "has no end", "{{/currentCost}}": "ends nothing", "{{#currentCost}}{{/userMessage}}": "ends nothing", "{{cost}}": "not known", "{{}}": "not known",
	} {
		got, err := project.Filled(template, facts)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", template, got, want)
		}
	}
}
