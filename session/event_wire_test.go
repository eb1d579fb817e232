package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/transcript"
)

// Generators of what events are made of.
var (
	text   = rapid.StringN(0, 20, 60)
	number = rapid.IntRange(0, 1<<40)
	moment = rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(1, 4e12).Draw(t, "ms"))
	})
	object = rapid.Custom(func(t *rapid.T) json.RawMessage {
		raw, err := json.Marshal(map[string]any{text.Draw(t, "key"): rapid.Bool().Draw(t, "value")})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	})
	block = rapid.Custom(func(t *rapid.T) llm.Block {
		switch rapid.IntRange(0, 6).Draw(t, "block") {
		case 0:
			return llm.Text{Text: text.Draw(t, "text"), Signature: text.Draw(t, "signature")}
		case 1:
			return llm.Text{Text: text.Draw(t, "text"), Citations: []llm.Citation{{URL: text.Draw(t, "url"), Title: "t"}}}
		case 2:
			return llm.Thinking{Text: text.Draw(t, "text"), Signature: text.Draw(t, "signature")}
		case 3:
			return llm.Thinking{Signature: text.Draw(t, "signature"), Redacted: true}
		case 4:
			return llm.ToolCall{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Arguments: rapid.SampledFrom([]string{"", `{"a":1}`, `{ "a" : "<b>" }`, `{"a":`}).Draw(t, "arguments"), Defect: rapid.SampledFrom([]llm.Defect{"", llm.DefectCut}).Draw(t, "defect"), Signature: text.Draw(t, "signature")}
		case 5:
			return llm.Image{MIME: "image/png", Data: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data")}
		}
		return llm.Document{Name: text.Draw(t, "name"), MIME: "application/pdf", URL: "https://example.com/a.pdf", Text: text.Draw(t, "text")}
	})
	usage = rapid.Custom(func(t *rapid.T) *llm.Usage {
		return &llm.Usage{Input: number.Draw(t, "input"), Output: number.Draw(t, "output"), CacheRead: number.Draw(t, "read"), Cost: &llm.Cost{Total: llm.USD(number.Draw(t, "total")), Unknown: rapid.Bool().Draw(t, "unknown")}}
	})
	modelError = rapid.Custom(func(t *rapid.T) *llm.Error {
		return &llm.Error{Kind: rapid.SampledFrom([]llm.ErrorKind{llm.ErrAuth, llm.ErrOverload, llm.ErrAborted}).Draw(t, "kind"), Message: text.Draw(t, "message"), Status: rapid.IntRange(0, 599).Draw(t, "status"), RetryAfter: time.Duration(rapid.IntRange(0, 9999).Draw(t, "after")) * time.Millisecond}
	})
	message = rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{Time: moment.Draw(t, "time"), Content: rapid.SliceOfN(block, 1, 3).Draw(t, "content")}
		switch m.Role = rapid.SampledFrom([]llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleToolResult, llm.RoleCustom, llm.RoleSystem}).Draw(t, "role"); m.Role {
		case llm.RoleAssistant:
			m.API, m.Provider, m.Model, m.ResponseID = llm.APIAnthropic, text.Draw(t, "provider"), text.Draw(t, "model"), text.Draw(t, "response")
			m.Usage, m.StopReason = usage.Draw(t, "usage"), rapid.SampledFrom([]llm.StopReason{llm.StopEnd, llm.StopError}).Draw(t, "stop")
			if m.StopReason == llm.StopError {
				m.Error = modelError.Draw(t, "error")
				m.Error.Provider = m.Provider
			}
		case llm.RoleToolResult:
			m.ToolCallID, m.ToolName, m.IsError, m.Details = text.Draw(t, "call"), text.Draw(t, "tool"), rapid.Bool().Draw(t, "failed"), object.Draw(t, "details")
		case llm.RoleCustom:
			m.CustomType, m.Display = text.Draw(t, "type"), rapid.Bool().Draw(t, "display")
		}
		return m
	})
	failures = []error{
		nil, session.ErrBusy, session.ErrBudget, session.ErrGoalBudget, session.ErrUnsent, session.ErrNotBegun, session.ErrClosed, session.ErrAnswered,
		session.ErrNoResult, session.ErrSettled, session.ErrOwnerGone, session.ErrDenied, agent.ErrQueueFull, transcript.ErrLocked, errors.New("any other <error>"),
	}
	request = rapid.Custom(func(t *rapid.T) *permit.Question {
		rule := permit.Rule{Tool: "bash", Pattern: text.Draw(t, "pattern"), Verdict: permit.Allow, Scope: permit.Project, Expires: moment.Draw(t, "expires").UTC(), ID: "1", Source: "you", Words: text.Draw(t, "words")}
		return &permit.Question{
			Request: permit.Request{Tool: text.Draw(t, "tool"), Effects: tool.Effects(rapid.IntRange(0, 31).Draw(t, "effects")), Call: text.Draw(t, "call"), Access: []tool.Access{{Kind: tool.AccessExecute, Target: text.Draw(t, "target"), Dir: "d"}}},
			Decision: permit.Decision{
				Verdict: permit.Ask, Reason: text.Draw(t, "reason"), Rule: &rule, Parts: []permit.Part{{Text: "a", Verdict: permit.Deny, Reason: "b"}},
				Offers:    []permit.Offer{{Rules: []permit.Rule{rule}, Words: "w", Examples: []string{text.Draw(t, "example")}, Scopes: []permit.Scope{permit.Session, permit.User}}},
				Dangerous: text.Draw(t, "dangerous"),
			},
		}
	})
)

// some makes an event of a type with all that it can have.
func some(t *rapid.T, typ agent.EventType) session.Event {
	e := session.Event{Seq: uint64(number.Draw(t, "seq")), Event: agent.Event{Type: typ}, EntryID: text.Draw(t, "entry"), Turn: text.Draw(t, "turn"), Text: text.Draw(t, "words")}
	call := func() {
		e.Call, e.Label = &tool.Call{ID: text.Draw(t, "call"), Name: text.Draw(t, "tool"), Arguments: object.Draw(t, "arguments")}, text.Draw(t, "label")
	}
	result := func() *tool.Result {
		return &tool.Result{Content: rapid.SliceOfN(block, 1, 2).Draw(t, "content"), Details: object.Draw(t, "details"), Final: rapid.Bool().Draw(t, "final")}
	}
	switch typ {
	case agent.MessageStart, agent.MessageEnd:
		m := message.Draw(t, "message")
		e.Message = &m
	case agent.MessageUpdate:
		e.Stream = llm.Event{Type: rapid.SampledFrom([]llm.EventType{llm.EventTextDelta, llm.EventThinkingDelta}).Draw(t, "stream"), Index: number.Draw(t, "index"), Delta: text.Draw(t, "delta")}
		if rapid.Bool().Draw(t, "whole") {
			e.Stream.Delta, e.Stream.Block = "", block.Draw(t, "block")
			switch e.Stream.Type = llm.EventTextEnd; e.Stream.Block.(type) {
			case llm.Thinking:
				e.Stream.Type = llm.EventThinkingEnd
			case llm.ToolCall:
				e.Stream.Type = llm.EventToolCallEnd
			}
		}
	case agent.TurnEnd:
		m := message.Draw(t, "message")
		e.Message, e.ToolResults = &m, rapid.SliceOfN(message, 0, 2).Draw(t, "results")
	case agent.ToolStart:
		call()
	case agent.ToolUpdate:
		call()
		e.Result = result()
	case agent.ToolEnd:
		call()
		e.Result, e.Elapsed = result(), time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "ms"))*time.Millisecond
		e.Result.IsError = rapid.Bool().Draw(t, "failed")
	case agent.AgentEnd:
		e.Messages = rapid.SliceOfN(message, 0, 2).Draw(t, "messages")
		e.Outcome = &agent.Outcome{Reason: agent.ReasonError, Messages: e.Messages, Turns: number.Draw(t, "turns"), Usage: *usage.Draw(t, "usage")}
		if e.Outcome.Err = rapid.SampledFrom(failures).Draw(t, "error"); rapid.Bool().Draw(t, "of the model") {
			e.Outcome.Err = modelError.Draw(t, "model's")
		}
	case session.QuestionAsked:
		e.Data = &session.Question{ID: text.Draw(t, "id"), Kind: session.AskPermission, Title: "t", Text: "x", From: text.Draw(t, "from"), CallID: "c", Until: moment.Draw(t, "until").UTC(), Permission: request.Draw(t, "request"), Choices: []session.Choice{{ID: "a", Text: "b", Options: []string{text.Draw(t, "option")}, Multi: true, Recommended: -1}}, Schema: object.Draw(t, "schema")}
	case session.QuestionSettled:
		e.Data = &session.Settled{ID: text.Draw(t, "id"), How: session.Answered, By: text.Draw(t, "by"), Reply: &session.Reply{Permission: &permit.Answer{Allow: true, Grant: request.Draw(t, "request").Decision.Offers[0].Rules, Note: "n"}, Choices: []session.Chosen{{Selected: []string{"x"}, Custom: text.Draw(t, "custom")}}, Text: "t", Yes: true, Object: object.Draw(t, "object")}}
	case session.QueueChanged:
		e.Data = &session.Queued{Steering: []session.Waiting{{ID: "a", Text: text.Draw(t, "waits"), Attached: 2, By: "b"}}, Held: rapid.Bool().Draw(t, "held")}
	case session.PolicyChanged:
		e.Data = &session.Policy{AutoRetry: rapid.Bool().Draw(t, "retry"), Steering: agent.All, Interrupt: agent.Wait}
	case session.ConsoleOpened, session.ConsoleClosed:
		e.Data = &session.Console{ID: text.Draw(t, "id"), CallID: text.Draw(t, "call"), Command: text.Draw(t, "command")}
	case session.AgentSettled:
		e.Data = &session.SettledTurn{IDs: []string{text.Draw(t, "id")}, Reason: agent.ReasonDone, Error: text.Draw(t, "error"), ResumeAt: moment.Draw(t, "resume").UTC()}
	case session.RetryStart:
		ms := int64(rapid.IntRange(0, 1<<30).Draw(t, "ms"))
		e.Data = &session.RetryInfo{Attempt: number.Draw(t, "attempt"), Max: 3, Delay: time.Duration(ms) * time.Millisecond, DelayMS: ms, Error: text.Draw(t, "error")}
	case session.RetryEnd:
		e.Data = &session.RetryInfo{Attempt: number.Draw(t, "attempt"), Error: text.Draw(t, "error"), Success: rapid.Bool().Draw(t, "success")}
	case session.FallbackApplied, session.Promoted, session.ModelChanged:
		e.Data = &session.Change{From: text.Draw(t, "from"), To: text.Draw(t, "to"), Role: "r", Why: text.Draw(t, "why")}
	case session.RulesTriggered:
		e.Data = &session.Triggered{Rules: []session.Rule{{Name: text.Draw(t, "rule"), Path: text.Draw(t, "path")}}, Stopped: rapid.Bool().Draw(t, "stopped")}
	case session.CompactionStart, session.CompactionEnd, session.Pruned:
		e.Data = &session.CompactionInfo{Reason: "manual", Before: number.Draw(t, "before"), After: 3, Summary: text.Draw(t, "summary"), Aborted: rapid.Bool().Draw(t, "aborted"), Error: "e"}
	case session.CacheReport:
		e.Data = &session.CacheInfo{Read: number.Draw(t, "read"), Missed: text.Draw(t, "missed")}
	case session.GoalChanged:
		e.Data = &session.Goal{Text: text.Draw(t, "goal"), State: session.GoalActive, Budget: llm.USD(number.Draw(t, "budget")), Spent: 7, Criteria: []session.Criterion{{Text: "x", State: session.CriterionShown, Evidence: text.Draw(t, "evidence")}}}
	case session.PlanChanged:
		e.Data = &session.Plan{Title: text.Draw(t, "title"), Text: text.Draw(t, "plan"), State: session.PlanProposed, Mode: "ask"}
	case session.AgentChanged:
		e.Data = &session.Agent{
			ID: text.Draw(t, "agent"), Agent: "explore", Parent: text.Draw(t, "parent"), Task: text.Draw(t, "task"), State: session.AgentRunning, Error: text.Draw(t, "error"),
			Requests: number.Draw(t, "requests"), Cost: llm.USD(number.Draw(t, "cost")), Known: rapid.Bool().Draw(t, "known"), Started: moment.Draw(t, "started").UTC(),
		}
	case session.Rewound:
		e.Data = &session.Rewind{Goal: text.Draw(t, "goal"), Report: text.Draw(t, "report"), Checkpoint: "ab", Left: "cd", Messages: number.Draw(t, "messages")}
	case session.AdvisorSpoke:
		e.Data = &session.Advised{Model: text.Draw(t, "model"), Remark: text.Draw(t, "remark"), Cost: llm.USD(number.Draw(t, "cost")), Spent: 7}
	case session.OwnerChanged:
		e.Data = &session.Owner{Epoch: text.Draw(t, "epoch"), LastEntry: "ab", Entries: number.Draw(t, "entries")}
	case session.EventsLost:
		e.Data = &session.Lost{Events: uint64(number.Draw(t, "lost"))}
	}
	return e
}

// sameErrors holds two errors to be one, if they say the same and programs find the same in
// them.
var sameErrors = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[error]() }, cmp.Comparer(func(a, b error) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	if a == nil {
		return true
	}
	for _, e := range failures {
		if e != nil && e.Error() != "any other <error>" && errors.Is(a, e) != errors.Is(b, e) {
			return false
		}
	}
	var x, y *llm.Error
	if errors.As(a, &x) != errors.As(b, &y) || x != nil && (x.Kind != y.Kind || x.Status != y.Status || x.RetryAfter != y.RetryAfter) {
		return false
	}
	return a.Error() == b.Error()
}))

// Whatever happens can be written and read again.
func TestEventsRoundTrip(t *testing.T) {
	for _, s := range session.Shapes() {
		t.Run(string(s.Type), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := some(t, s.Type)
				raw, err := json.Marshal(want)
				if err != nil {
					t.Fatal(err)
				}
				var got session.Event
				if err := json.Unmarshal(raw, &got); err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
				if diff := cmp.Diff(want, got, sameErrors, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s\n(-want +got):\n%s", raw, diff)
				}
			})
		})
	}
}

// What is read from a wire may be anything.
func FuzzEvent(f *testing.F) {
	for _, s := range session.Shapes() {
		f.Add([]byte(`{"type":"` + string(s.Type) + `","seq":1,"message":{"role":"user","content":"x"},"ids":["a"],"reason":"done"}`))
	}
	f.Add([]byte(`{"type":"a new one","seq":2,"text":"kept"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e, again session.Event
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		out, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%s was read, and can't be written: %v", raw, err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%s was written, and can't be read: %v", out, err)
		}
	})
}

// docs/events.md is generated from the table; BURIN_UPDATE=1 writes it.
func TestEventsDocumented(t *testing.T) {
	path := filepath.Join("..", "docs", "events.md")
	want := eventPage()
	if os.Getenv("BURIN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/events.md is not as the table has it; run with BURIN_UPDATE=1 (-want +got):\n%s", diff)
	}
}

const eventHead = "# Events\n\n" +
	"With `--mode json`, burin prints what happens in a session, one JSON object a line. Every program that follows a session gets the same events. The first line, which is not an event, names their version. Ignore types and fields that you don't know.\n\n" +
	"```text\n" + `{"type":"burin","version":%d}
{"type":"turn_start","seq":5}
{"type":"message_update","seq":7,"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Fixed."}}` + "\n```\n\n" +
	"All events have `type`. Where they apply, they also have:\n\n" +
	"| field | what it is |\n|---|---|\n" +
	"| `seq` | a number that counts from 1 while one process owns the session |\n" +
	"| `entryId` | an entry of the session file |\n" +
	"| `turn` | the message that started the turn, or that `message_end` is about: the id of its receipt |\n" +
	"| `text` | depends on the type |\n\n" +
	"Messages have the format of session files, version 3. Times are milliseconds since 1970 in messages and RFC 3339 elsewhere. Money is in US dollars.\n\n" +
	"This page is generated from the table in `session/event_json.go`, version %d.\n"

func eventPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, eventHead, session.EventVersion, session.EventVersion)
	for _, s := range session.Shapes() {
		b.WriteString("\n## " + string(s.Type) + "\n\n" + s.About + "\n")
		if s.Payload != nil {
			if rows := fieldRows(reflect.TypeOf(s.Payload), ""); rows != "" {
				b.WriteString("\n| field | type |\n|---|---|\n" + rows)
			}
		}
	}
	return b.String()
}

// fieldRows are the fields of a payload, those of objects in it with their path.
func fieldRows(t reflect.Type, path string) string {
	var b strings.Builder
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			b.WriteString(fieldRows(f.Type, path))
			continue
		}
		if name == "-" || name == "" {
			continue
		}
		is, inner := jsonType(f.Type)
		b.WriteString("| `" + path + name + "` | " + is + " |\n")
		if inner != nil && strings.Count(path, ".") < 2 {
			b.WriteString(fieldRows(inner, path+name+"."))
		}
	}
	return b.String()
}

// jsonType names a type as JSON has it; inner is one whose fields are listed.
func jsonType(t reflect.Type) (is string, inner reflect.Type) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time", nil
	case reflect.TypeFor[json.RawMessage]():
		return "any JSON", nil
	case reflect.TypeFor[llm.Message]():
		return "message", nil
	case reflect.TypeFor[llm.Usage]():
		return "usage", nil
	case reflect.TypeFor[llm.USD]():
		return "dollars", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Slice:
		is, inner = jsonType(t.Elem())
		return "list: " + is, inner
	case reflect.Struct:
		return "object", t
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	}
	return "number", nil
}
