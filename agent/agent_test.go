package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// usage is what each answer of a script costs: 100 tokens at $3 and 20 at $15 a
// million.
var usage = llm.Usage{Input: 100, Output: 20}

func billed(t llmtest.Turn, reason llm.StopReason) llmtest.Turn {
	t.Events = append(t.Events, llmtest.Stop(reason, usage)...)
	return t
}

// The same task in every wire format: two reads at once, an edit with wrong
// arguments, the edit again with a read after it, an answer.
func TestTask(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		first := calls(`read {"path":"a.go"}`, `read {"path":"b.go"}`)
		first.Parts = slices.Insert(first.Parts, 0, llmtest.Part{Text: "Looking."})
		o, srv := f.options(t,
			billed(first, llm.StopToolUse),
			billed(calls(`write {"file":"a.go"}`), llm.StopToolUse),
			billed(calls(`write {"path":"a.go"}`, `read {"path":"a.go"}`), llm.StopToolUse),
			billed(say("Fixed."), llm.StopEnd))
		o.Tools = []*tool.Tool{echo("read", tool.Reads), echo("write", tool.Writes)}
		events := record(t, &o)
		a := agent.New(o)
		out := a.Run(t.Context(), llm.UserText("fix it"))
		wantReason(t, out, agent.ReasonDone)
		events.check(a)
		clean(t, srv)

		got := results(a.Messages())
		if len(got) != 5 || got[0] != "read a.go" || got[1] != "read b.go" || got[3] != "write a.go" || got[4] != "read a.go" {
			t.Errorf("results %q", got)
		}
		if !strings.Contains(got[2], `!Error: write did not run`) || !strings.Contains(got[2], `Did you mean "path"?`) && !strings.Contains(got[2], "path: is missing") {
			t.Errorf("wrong arguments gave %q", got[2])
		}
		if last := out.Messages[len(out.Messages)-1]; last.Text() != "Fixed." || len(out.Messages) != 9 || out.Turns != 4 {
			t.Errorf("%d turns, %d messages, at last %q", out.Turns, len(out.Messages), last.Text())
		}
		if out.Usage.Input != 400 || out.Usage.Output != 80 || out.Usage.Cost == nil || out.Usage.Cost.Total != llm.Dollars(0.0024) {
			t.Errorf("usage %+v", out.Usage)
		}
		// What the model was told, as it came over the wire.
		if reqs := srv.Requests(); len(reqs) != 4 {
			t.Fatalf("%d requests", len(reqs))
		} else if got := results(reqs[3].Messages); len(got) != 5 || strings.TrimPrefix(got[3], "!") != "write a.go" {
			t.Errorf("the last request has the results %q", got)
		}
	})
}

func TestEvents(t *testing.T) {
	o, _ := local(t,
		llmtest.Turn{Parts: []llmtest.Part{{Thinking: "hm"}, {Text: "I read."}, {Call: "read", ID: "a", Args: `{"path":"x"}`}}},
		say("Done."))
	o.Tools = []*tool.Tool{tool.New(tool.Definition[pathArgs]{
		Name: "read", Run: func(_ context.Context, c tool.Call, _ pathArgs) (*tool.Result, error) {
			c.Update(*tool.Text("half"))
			return tool.Text("whole"), nil
		},
	})}
	events := record(t, &o)
	a := agent.New(o)
	a.Run(t.Context(), llm.UserText("hi"))
	events.check(a)
	want := []string{
		"agent_start", "turn_start", "message_start user", "message_end user",
		"message_start assistant", "message_update thinking_start", "message_update thinking_end",
		"message_update text_start", "message_update text_end",
		"message_update toolcall_start", "message_update toolcall_end", "message_end assistant",
		"tool_execution_start a", "tool_execution_update a", "tool_execution_end a",
		"message_start toolResult", "message_end toolResult", "turn_end",
		"turn_start", "message_start assistant", "message_update text_start", "message_update text_end", "message_end assistant",
		"turn_end", "agent_end done",
	}
	if diff := cmp.Diff(want, events.list()); diff != "" {
		t.Error(diff)
	}
}

// The lines of JSON mode.
func TestEventJSON(t *testing.T) {
	o, _ := local(t, billed(calls(`read {"path":"<a&b>"}`), llm.StopToolUse), billed(say("ok"), llm.StopEnd))
	o.Tools = []*tool.Tool{tool.New(tool.Definition[pathArgs]{
		Name: "read", Label: "Read", Run: func(_ context.Context, c tool.Call, _ pathArgs) (*tool.Result, error) {
			c.Update(*tool.Text("half"))
			return tool.Failure("gone").WithDetails(map[string]int{"lines": 0}), nil
		},
	})}
	events := record(t, &o)
	a := agent.New(o)
	a.Run(t.Context(), llm.UserText("hi"))
	got := regexp.MustCompile(`"(timestamp|elapsedMs)":\d+|"responseId":"[^"]*",?|,"timestamp":\d+`).ReplaceAllString(lines(t, events.events), "")
	got = regexp.MustCompile(`"usage":\{[^{}]*"cost":\{[^{}]*\}\}`).ReplaceAllString(got, "USAGE")
	answer1 := `{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"read","arguments":{"path":"<a&b>"}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5",USAGE,"stopReason":"toolUse"}`
	answer2 := `{"role":"assistant","content":[{"type":"text","text":"ok"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5",USAGE,"stopReason":"stop"}`
	result := `{"role":"toolResult","toolCallId":"a","toolName":"read","content":[{"type":"text","text":"gone"}],"details":{"lines":0},"isError":true}`
	user := `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	want := strings.Join([]string{
		`{"type":"agent_start"}`,
		`{"type":"turn_start"}`,
		`{"type":"message_start","message":` + user + `}`,
		`{"type":"message_end","message":` + user + `}`,
		`{"type":"message_start","message":…}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"toolCall":{"id":"a","name":"read"}}}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"<a&"}}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"b>\"}"}}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"id":"a","name":"read","arguments":"{\"path\":\"<a&b>\"}"}}}`,
		`{"type":"message_end","message":` + answer1 + `}`,
		`{"type":"tool_execution_start","toolCallId":"a","toolName":"read","label":"Read","args":{"path":"<a&b>"}}`,
		`{"type":"tool_execution_update","toolCallId":"a","toolName":"read","label":"Read","args":{"path":"<a&b>"},"partialResult":{"content":[{"type":"text","text":"half"}]}}`,
		`{"type":"tool_execution_end","toolCallId":"a","toolName":"read","label":"Read","args":{"path":"<a&b>"},"result":{"content":[{"type":"text","text":"gone"}],"details":{"lines":0}},"isError":true,}`,
		`{"type":"message_start","message":` + result + `}`,
		`{"type":"message_end","message":` + result + `}`,
		`{"type":"turn_end","message":` + answer1 + `,"toolResults":[` + result + `]}`,
		`{"type":"turn_start"}`,
		`{"type":"message_start","message":…}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"text_start","contentIndex":0}}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"ok"}}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"ok"}}`,
		`{"type":"message_end","message":` + answer2 + `}`,
		`{"type":"turn_end","message":` + answer2 + `,"toolResults":[]}`,
		`{"type":"agent_end","messages":[` + answer1 + `,` + result + `,` + answer2 + `],"reason":"done","turns":2,USAGE}`,
		``,
	}, "\n")
	// How much of the usage is known at the start is the format's matter.
	got = regexp.MustCompile(`(?m)^(\{"type":"message_start","message":)\{"role":"assistant".*$`).ReplaceAllString(got, "$1…}")
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
	end, err := json.Marshal(session.Event{Event: agent.Event{Type: agent.AgentEnd, Outcome: &agent.Outcome{Reason: agent.ReasonError, Err: errors.New("no")}}})
	if err != nil || string(end) != `{"type":"agent_end","messages":[],"reason":"error","error":"no","failure":{}}` {
		t.Errorf("an end without anything is %s, %v", end, err)
	}
}

// cacheMarks only tell the vendor up to where to cache.
var cacheMarks = regexp.MustCompile(`,"cache_control":\{[^}]*\}|,?\{"cachePoint":\{[^}]*\}\}`)

// Requests of a run share everything but their last messages, byte for byte, on
// the wire. When the tools change, the tools change.
func TestPrefix(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		o, srv := f.options(t,
			calls(`read {"path":"a"}`), calls(`read {"path":"b"}`, `read {"path":"c"}`), say("so"), say("and so"), say("other tools"))
		o.Tools = []*tool.Tool{echo("read", tool.Reads), echo("write", tool.Writes)}
		o.Request.ToolChoice = llm.ToolChoice{}
		a := agent.New(o)
		a.Run(t.Context(), llm.UserText("one"))
		a.Run(t.Context(), llm.UserText("two"))
		a.Update(func(o *agent.Options) { o.Tools = append(o.Tools, echo("grep", tool.Reads)) })
		a.Run(t.Context(), llm.UserText("three"))
		clean(t, srv)
		raw := srv.Raw()
		if len(raw) != 5 {
			t.Fatalf("%d requests", len(raw))
		}
		var list, rest []byte
		for i, r := range raw {
			body := cacheMarks.ReplaceAll(r.Body, nil)
			var top map[string]json.RawMessage
			if err := json.Unmarshal(body, &top); err != nil {
				t.Fatal(err)
			}
			messages := slices.Concat(top["messages"], top["input"], top["contents"])
			around := bytes.Replace(body, messages, nil, 1)
			switch {
			case i == 0:
			case i == 4:
				if bytes.Equal(rest, around) || !bytes.Contains(around, []byte("grep")) {
					t.Errorf("new tools are not in the request")
				}
			case !bytes.Equal(rest, around):
				t.Errorf("request %d: what surrounds the messages changed from\n%s\nto\n%s", i, rest, around)
			}
			if i > 0 && !bytes.HasPrefix(messages, bytes.TrimSuffix(list, []byte("]"))) {
				t.Errorf("request %d: the messages\n%s\ndo not begin with those of the request before\n%s", i, messages, list)
			}
			list, rest = messages, around
		}
	})
}

// A choice of tools holds for the first request of each run, so that a forced
// call does not force the next.
func TestToolChoice(t *testing.T) {
	o, srv := local(t, calls(`read {"path":"a"}`), say("done"), calls(`read {"path":"b"}`), say("done"))
	o.Tools = []*tool.Tool{echo("read", tool.Reads)}
	o.Request.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: "read"}
	a := agent.New(o)
	for range 2 {
		wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
	}
	var got []bool
	for _, r := range srv.Requests() {
		got = append(got, r.ToolChoice.Forced())
	}
	if diff := cmp.Diff([]bool{true, false, true, false}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMaxTurns(t *testing.T) {
	script := []llmtest.Turn{calls(`read {"path":"a"}`), calls(`read {"path":"b"}`), say("done"), say("on")}
	for _, tt := range []struct {
		max    int
		follow bool
		want   agent.Reason
		turns  int
	}{{1, false, agent.ReasonMaxTurns, 1}, {2, false, agent.ReasonMaxTurns, 2}, {3, false, agent.ReasonDone, 3}, {3, true, agent.ReasonMaxTurns, 3}, {0, true, agent.ReasonDone, 4}} {
		o, _ := local(t, script...)
		o.MaxTurns = tt.max
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		events := record(t, &o)
		a := agent.New(o)
		if tt.follow {
			a.FollowUp(llm.UserText("and then"))
		}
		out := a.Run(t.Context(), llm.UserText("go"))
		wantReason(t, out, tt.want)
		events.check(a)
		if _, waiting := a.Queued(); out.Turns != tt.turns || (len(waiting) > 0) != (tt.follow && tt.max > 0) {
			t.Errorf("max %d: %d turns, %d still wait", tt.max, out.Turns, len(waiting))
		}
	}
}

// What is left of a prompt after a failure has what the prompt has left; a prompt begins
// anew.
func TestContinueCountsOn(t *testing.T) {
	busy := llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Message: "busy"}}}
	bad := calls(`bad {"path":"a"}`)
	for _, tt := range []struct {
		name      string
		max       int
		turns     []llmtest.Turn
		reason    agent.Reason
		requests  int
		exhausted bool
	}{
		{"requests", 3, slices.Repeat([]llmtest.Turn{calls(`read {"path":"a"}`), busy}, 9), agent.ReasonMaxTurns, 3, true},
		{"no request is left", 2, []llmtest.Turn{calls(`read {"path":"a"}`), busy}, agent.ReasonMaxTurns, 2, true},
		{"failing calls", 0, slices.Repeat([]llmtest.Turn{bad, busy}, 9), agent.ReasonLoop, 9, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, srv := local(t, append(tt.turns, say("done"))...)
			o.MaxTurns = tt.max
			o.Tools = []*tool.Tool{echo("read", tool.Reads), failing("bad")}
			events := record(t, &o)
			a := agent.New(o)
			out := a.Run(t.Context(), llm.UserText("go"))
			for range 20 {
				if out.Reason != agent.ReasonError {
					break
				}
				m := a.Messages()
				a.Replace(m[:len(m)-1]) // the answer that failed
				out = a.Continue(t.Context())
			}
			wantReason(t, out, tt.reason)
			events.check(a)
			if n := len(srv.Requests()); n != tt.requests || a.Exhausted() != tt.exhausted {
				t.Errorf("%d requests, exhausted %v; want %d, %v", n, a.Exhausted(), tt.requests, tt.exhausted)
			}
			a.Run(t.Context(), llm.UserText("and now?"))
			if n := len(srv.Requests()); n == tt.requests {
				t.Error("the next prompt makes no request")
			}
		})
	}
}

func TestBeforeRequest(t *testing.T) {
	broke := errors.New("no money left")
	o, srv := local(t, calls(`read {"path":"a"}`), say("done"))
	o.Tools = []*tool.Tool{echo("read", tool.Reads)}
	var a *agent.Agent
	n := 0
	o.BeforeRequest = func(_ context.Context, r *llm.Request) error {
		switch n++; n {
		case 1: // for this request alone
			r.System = "Be kind."
			r.Messages[0] = llm.UserText("changed")
			r.Messages = append(r.Messages, llm.UserText("a reminder"))
		case 2:
			if len(r.Tools) != 1 || r.Tools[0].Name != "look" {
				t.Errorf("tools %+v", r.Tools)
			}
		default:
			return broke
		}
		return nil
	}
	o.Prepare = func(context.Context) error {
		if n == 1 {
			a.Replace([]llm.Message{llm.UserText("a summary")})
			a.Update(func(o *agent.Options) { o.Tools = []*tool.Tool{echo("look", tool.Reads)} })
		}
		return nil
	}
	events := record(t, &o)
	a = agent.New(o)
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
	reqs := srv.Requests()
	if got := texts(reqs[0].Messages); got != "changed|a reminder" && got != "changeda reminder" || reqs[0].System != "Be kind." {
		t.Errorf("the first request says %q, %q", reqs[0].System, got)
	}
	if got := texts(reqs[1].Messages); got != "a summary" || reqs[1].System != "" {
		t.Errorf("the second request says %q, %q", reqs[1].System, got)
	}
	if got := texts(a.Messages()); got != "a summary|done" {
		t.Errorf("the conversation is %q", got)
	}
	out := a.Run(t.Context(), llm.UserText("more"))
	wantReason(t, out, agent.ReasonRefused)
	if !errors.Is(out.Err, broke) || out.Turns != 0 || texts(a.Messages()) != "a summary|done|more" {
		t.Errorf("refused with %v after %d turns; the conversation is %q", out.Err, out.Turns, texts(a.Messages()))
	}
	events.check(a)
}

// texts are the texts of messages.
func texts(messages []llm.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Text())
	}
	return strings.Join(out, "|")
}

func TestContinue(t *testing.T) {
	call := llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.ToolCall{ID: "a", Name: "read", Arguments: `{}`}}, StopReason: llm.StopToolUse}
	paused := llm.AssistantText("half")
	paused.StopReason = llm.StopPause
	for name, tt := range map[string]struct {
		history []llm.Message
		queue   bool
		want    agent.Reason
	}{
		"nothing":       {nil, false, agent.ReasonError},
		"a question":    {[]llm.Message{llm.UserText("hi")}, false, agent.ReasonDone},
		"a result":      {[]llm.Message{llm.UserText("hi"), call, llm.ToolResultText(call.ToolCalls()[0], "x", false)}, false, agent.ReasonDone},
		"an open call":  {[]llm.Message{llm.UserText("hi"), call}, false, agent.ReasonDone},
		"a pause":       {[]llm.Message{llm.UserText("hi"), paused}, false, agent.ReasonDone},
		"an answer":     {[]llm.Message{llm.UserText("hi"), llm.AssistantText("ho")}, false, agent.ReasonError},
		"and the queue": {[]llm.Message{llm.UserText("hi"), llm.AssistantText("ho")}, true, agent.ReasonDone},
	} {
		t.Run(name, func(t *testing.T) {
			o, srv := local(t, say("ok"))
			o.Messages = tt.history
			events := record(t, &o)
			a := agent.New(o)
			if tt.queue {
				a.FollowUp(llm.UserText("queued"))
			}
			wantReason(t, a.Continue(t.Context()), tt.want)
			if err := grammar(events.events); err != nil {
				t.Error(err)
			}
			clean(t, srv)
			if n := len(srv.Requests()); (n == 1) != (tt.want == agent.ReasonDone) {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// One conversation has one run at a time.
func TestBusy(t *testing.T) {
	o, _ := local(t, say("a"), say("b"))
	a := agent.New(o)
	var inner agent.Outcome
	a.Update(func(o *agent.Options) {
		o.BeforeRequest = func(ctx context.Context, _ *llm.Request) error {
			inner = a.Run(ctx, llm.UserText("me too"))
			return nil
		}
	})
	wantReason(t, a.Run(t.Context(), llm.UserText("hi")), agent.ReasonDone)
	wantReason(t, inner, agent.ReasonError)
	if got := texts(a.Messages()); got != "hi|a" {
		t.Errorf("the conversation is %q", got)
	}
}

func TestToolsOfOneName(t *testing.T) {
	o, srv := local(t, say("a"))
	o.Tools = []*tool.Tool{echo("read", tool.Reads), echo("read", tool.Reads)}
	events := record(t, &o)
	a := agent.New(o)
	out := a.Run(t.Context(), llm.UserText("hi"))
	wantReason(t, out, agent.ReasonError)
	events.check(a)
	if !strings.Contains(out.Err.Error(), `"read"`) || len(srv.Requests()) > 0 {
		t.Errorf("%v after %d requests", out.Err, len(srv.Requests()))
	}
	a.Update(func(o *agent.Options) { o.Tools = o.Tools[:1] })
	wantReason(t, a.Run(t.Context(), llm.UserText("hi")), agent.ReasonDone)
}
