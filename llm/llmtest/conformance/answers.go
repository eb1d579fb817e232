package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Pieces of text that break naive handling, each cut into deltas by character.
var scripts = map[string]string{
	"ascii":       "The quick brown fox: {\"not\": \"json\"} \\n \\u0041 </thinking> data: [DONE]",
	"lines":       "one\ntwo\r\nthree\rfour\n\n\ttabbed\u2028separated\u2029end",
	"emoji":       "🦊🐳 ship it 🚀 and 👍🏽",
	"cjk":         "漢字かな交じり文と한국어、中文。",
	"rtl":         "שלום עולם — مرحبا بالعالم",
	"zwj":         "👩‍👩‍👧‍👦 🏳️‍🌈 नमस्ते क्ष e\u0301",
	"astral":      "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0001F9EA\U0010FFFF",
	"replacement": "a\uFFFDb and \x00 nul and \x1b[31mred",
	"space":       " leading and trailing \n",
}

// chars is a text block with a delta for each character.
func chars(text string) []llm.Event {
	out := []llm.Event{{Type: llm.EventTextStart, Block: llm.Text{}}}
	for _, r := range text {
		out = append(out, llm.Event{Type: llm.EventTextDelta, Delta: string(r)})
	}
	return append(out, llm.Event{Type: llm.EventTextEnd, Block: llm.Text{Text: text}})
}

func (s answerChecks) testText(t *testing.T) {
	for name, text := range scripts {
		t.Run(name, func(t *testing.T) {
			m := s.says(t, chars(text))
			if got := m.Text(); got != text {
				t.Errorf("got  %q\nwant %q", got, text)
			}
			if m.StopReason != llm.StopEnd {
				t.Errorf("stop reason %q", m.StopReason)
			}
			if m.API.Family() != s.Model.API.Family() || m.Provider != s.Model.Provider || m.Model != s.Model.ID {
				t.Errorf("the answer is by %s %s/%s, want %s %s", m.API, m.Provider, m.Model, s.Model.API, s.Model.Ref())
			}
		})
	}
	t.Run("long", func(t *testing.T) {
		text := strings.Repeat("all work and no play ", 5000)
		if got := s.says(t, llmtest.Say(text)).Text(); got != text {
			t.Errorf("%d of %d bytes arrived", len(got), len(text))
		}
	})
	t.Run("nothing", func(t *testing.T) {
		if m := s.says(t); m.Text() != "" || m.StopReason != llm.StopEnd {
			t.Errorf("an empty answer arrived as %q, %s", m.Text(), m.StopReason)
		}
	})
}

func (s answerChecks) testThinking(t *testing.T) {
	const signature = "EqoBCkgIARABGAIiQL+/sig=="
	m := s.says(t, llmtest.Think("First, look at 漢字 🦊.", signature), llmtest.Say("Done."))
	got := visible(m.Content)
	want := []string{"thinking First, look at 漢字 🦊.", "text Done."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("blocks (-want +got):\n%s", diff)
	}
	th, _ := m.Content[slices.IndexFunc(m.Content, isThinking)].(llm.Thinking)
	if !strings.Contains(th.Signature, signature) {
		t.Errorf("the signature arrived as %q, want %q in it", clip(th.Signature), signature)
	}
	t.Run("back", func(t *testing.T) { s.thinkingReturns(t, m, "First, look at", signature) })
	if s.NoRedactedThinking {
		return
	}
	t.Run("redacted", func(t *testing.T) {
		const data = "EmwKAhgBEgy/redacted+data=="
		m := s.says(t, llmtest.Redacted(data), llmtest.Say("Done."))
		th, ok := m.Content[0].(llm.Thinking)
		if !ok || !th.Redacted || !strings.Contains(th.Signature, data) || th.Text != "" {
			t.Fatalf("redacted reasoning arrived as %#v", m.Content[0])
		}
		s.thinkingReturns(t, m, "", data)
	})
}

// thinkingReturns sends answer m back as history and looks for its reasoning in
// what the server half reads.
func (s answerChecks) thinkingReturns(t *testing.T, m *llm.Message, text, signature string) {
	if s.NoOwnThinking {
		return
	}
	c, srv := s.serve(t, llmtest.Turn{Parts: []llmtest.Part{{Text: "Yes."}}})
	req := s.ask()
	req.Messages = append(req.Messages, *m, llm.UserText("Sure?"))
	if _, err := read(t, c.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	for _, m := range srv.Requests()[0].Messages {
		for _, b := range m.Content {
			th, ok := b.(llm.Thinking)
			if ok && strings.Contains(th.Text, text) && strings.Contains(th.Signature, signature) {
				return
			}
		}
	}
	t.Errorf("the reasoning did not come back: %s", clip(string(srv.Raw()[0].Body)))
}

// visible describes blocks without ids and signatures.
func visible(blocks []llm.Block) []string {
	var out []string
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			if b.Text != "" {
				out = append(out, "text "+b.Text)
			}
		case llm.Thinking:
			if b.Text != "" {
				out = append(out, "thinking "+b.Text)
			}
		case llm.ToolCall:
			out = append(out, "call "+b.Name+" "+sameJSON(b.Arguments)+string(b.Defect))
		}
	}
	return out
}

func isThinking(b llm.Block) bool { _, ok := b.(llm.Thinking); return ok }

// sameJSON gives equal texts for equal JSON; other text as it is.
func sameJSON(text string) string {
	if text == "" {
		return "{}"
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

func (s answerChecks) testInterleaved(t *testing.T) {
	want := []string{
		"thinking plan", "text Looking.", `call read {"path":"a"}`,
		"thinking more", "text And again.", `call read {"path":"b"}`,
	}
	events := join(
		llmtest.Think("plan", "c2lnbmF0dXJlMQ=="), llmtest.Say("Looking."), llmtest.Call("call_a", "read", `{"path":"a"}`),
		llmtest.Think("more", "c2lnbmF0dXJlMg=="), llmtest.Say("And again."), llmtest.Call("call_b", "read", `{"path":"b"}`),
	)
	m, err := s.answer(t, llmtest.Turn{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	got := visible(m.Content)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if m.StopReason != llm.StopToolUse {
		t.Errorf("stop reason %q", m.StopReason)
	}
}

func (s answerChecks) testCalls(t *testing.T) {
	big, err := json.Marshal(map[string]string{"path": "big", "content": strings.Repeat("line of a file, 漢字 \"quoted\" \\ \n", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	calls := []llm.ToolCall{
		{ID: "call_nested", Name: "edit", Arguments: `{"a":{"b":[1,2.50,{"c":null}],"d":true},"e":-1e-7,"path":"x"}`},
		{ID: "call_escapes", Name: "read", Arguments: `{"path":"\u00e9\ud83e\udd8a\n\t\"\\\/"}`},
		{ID: "call_raw", Name: "read", Arguments: `{"path":"é🦊漢"}`},
		{ID: "call_none", Name: "list_files", Arguments: ""},
		{ID: "call_empty", Name: "list_files", Arguments: "{}"},
		{ID: "call_order", Name: "read", Arguments: `{"z":1,"a":2,"m":12345678901234567890}`},
		{ID: "call_big", Name: "write", Arguments: string(big)},
	}
	var events []llm.Event
	for _, call := range calls {
		events = append(events, llmtest.Call(call.ID, call.Name, call.Arguments)...)
	}
	m := s.says(t, events)
	s.compareCalls(t, calls, m.ToolCalls())
	if m.StopReason != llm.StopToolUse {
		t.Errorf("stop reason %q", m.StopReason)
	}
	t.Run("parallel", s.callsSideBySide)
	t.Run("streamed", s.argumentsStream)
}

func (s answerChecks) compareCalls(t *testing.T, want, got []llm.ToolCall) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d calls arrived, want %d", len(got), len(want))
	}
	ids := map[string]bool{}
	for i, call := range got {
		if call.Name != want[i].Name || call.Defect != "" {
			t.Errorf("call %d is %s %s, want %s", i, call.Name, call.Defect, want[i].Name)
		}
		if ids[call.ID] || call.ID == "" {
			t.Errorf("call %d has the id %q, empty or taken", i, call.ID)
		}
		ids[call.ID] = true
		if !strings.Contains(call.ID, want[i].ID) {
			t.Errorf("call %d has the id %q, want %q in it", i, call.ID, want[i].ID)
		}
		raw, _, err := call.Object()
		if err != nil {
			t.Errorf("call %s: %v", want[i].ID, err)
			continue
		}
		// Large numbers and the order of keys survive only as text.
		wanted := want[i].Arguments
		if wanted == "" {
			wanted = "{}"
		}
		if !s.WholeCalls && string(raw) != wanted || sameJSON(string(raw)) != sameJSON(wanted) {
			t.Errorf("call %s: arguments %s, want %s", want[i].ID, clip(string(raw)), clip(wanted))
		}
	}
}

// callsSideBySide streams two calls whose deltas alternate.
func (s answerChecks) callsSideBySide(t *testing.T) {
	a, b := llmtest.Call("call_a", "read", `{"path":"the first file"}`), llmtest.Call("call_b", "read", `{"path":"another one"}`)
	var events []llm.Event
	for len(a) > 0 || len(b) > 0 {
		if len(a) > 0 {
			events, a = append(events, a[0]), a[1:]
		}
		if len(b) > 0 {
			b[0].Index = 1
			events, b = append(events, b[0]), b[1:]
		}
	}
	calls := s.says(t, events).ToolCalls()
	if s.WholeCalls {
		// The one that is ready first comes first.
		slices.SortFunc(calls, func(a, b llm.ToolCall) int { return -strings.Compare(a.Arguments, b.Arguments) })
	}
	s.compareCalls(t, []llm.ToolCall{
		{ID: "call_a", Name: "read", Arguments: `{"path":"the first file"}`},
		{ID: "call_b", Name: "read", Arguments: `{"path":"another one"}`},
	}, calls)
}

// argumentsStream reports whether arguments arrive as they are written.
func (s answerChecks) argumentsStream(t *testing.T) {
	if s.WholeCalls {
		t.Skip("calls arrive whole")
	}
	c, _ := s.serve(t, llmtest.Turn{Events: llmtest.Call("call_a", "read", `{"path":"`+strings.Repeat("x", 200)+`"}`)})
	deltas := 0
	for ev := range llm.Events(c.Stream(t.Context(), s.ask())) {
		if ev.Type == llm.EventToolCallDelta {
			deltas++
		}
	}
	if deltas < 5 {
		t.Errorf("200 bytes of arguments, sent in many pieces, arrived in %d", deltas)
	}
}

func (s answerChecks) testUsage(t *testing.T) {
	full := llm.Usage{Input: 1100, Output: 220, CacheRead: 3300, CacheWrite: 440, CacheWriteLong: 40, Reasoning: 70}
	cases := map[string]llm.Usage{
		"plain": {Input: 12, Output: 5},
		"read":  {Input: 12, Output: 5, CacheRead: 1024},
		"all":   full,
		"zero":  {},
	}
	for name, sent := range cases {
		for _, known := range []string{"at the end", "at the start"} {
			t.Run(name+" "+known, func(t *testing.T) {
				events := join(llmtest.Say("Hi."), llmtest.Stop(llm.StopEnd, sent))
				if known == "at the start" {
					begun := sent
					begun.Output, begun.Reasoning = 1, 0
					events = append([]llm.Event{{Type: llm.EventStart, Message: &llm.Message{Usage: &begun}}}, events...)
				}
				m := s.says(t, events)
				if m.Usage == nil {
					if sent != (llm.Usage{}) {
						t.Fatal("no usage arrived")
					}
					return
				}
				got := *m.Usage
				got.Cost = nil
				if diff := cmp.Diff(s.carried(sent), got); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// carried is what of u the format can say.
func (s answerChecks) carried(u llm.Usage) llm.Usage {
	if s.NoCacheWrite {
		u.Input += u.CacheWrite
		u.CacheWrite, u.CacheWriteLong = 0, 0
	}
	if s.NoCacheTiers {
		u.CacheWriteLong = 0
	}
	if s.NoReasoningUsage {
		u.Reasoning = 0
	}
	u.TotalTokens = u.Context()
	return u
}

func (s answerChecks) testStopReasons(t *testing.T) {
	call := llmtest.Call("call_a", "read", `{"path":"a"}`)
	cases := []struct {
		name   string
		events []llm.Event
		sent   llm.StopReason
		want   llm.StopReason
	}{
		{"end", llmtest.Say("Hi."), llm.StopEnd, llm.StopEnd},
		{"length", llmtest.Say("Hi"), llm.StopLength, llm.StopLength},
		{"tool use", call, llm.StopToolUse, llm.StopToolUse},
		{"call without saying so", call, llm.StopEnd, llm.StopToolUse},
		{"pause", llmtest.Say("Hi."), llm.StopPause, llm.StopPause},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == llm.StopPause && s.NoPause {
				want = llm.StopEnd
			}
			m := s.says(t, c.events, llmtest.Stop(c.sent, llm.Usage{Input: 1, Output: 1}))
			if m.StopReason != want {
				t.Errorf("stop reason %q, want %q", m.StopReason, want)
			}
		})
	}
	t.Run("length inside a call", func(t *testing.T) {
		if s.WholeCalls {
			t.Skip("calls arrive whole")
		}
		m := s.says(t, llmtest.Say("Writing."), llmtest.Call("call_a", "write", `{"path":"a","content":"never fini`),
			llmtest.Stop(llm.StopLength, llm.Usage{Input: 1, Output: 1}))
		if m.StopReason != llm.StopLength {
			t.Errorf("stop reason %q", m.StopReason)
		}
		for _, call := range m.ToolCalls() {
			if raw, _, err := call.Object(); err == nil {
				t.Errorf("the cut call may run with %s", raw)
			}
		}
	})
}

// testForeignItems hands the server half an item of another provider, as a gateway
// does: it must be left out without harm.
func (s answerChecks) testForeignItems(t *testing.T) {
	for _, api := range otherAPIs(s.Model.API) {
		item := llm.Opaque{API: api, Kind: "server_tool_use", Raw: json.RawMessage(`{"type":"server_tool_use","id":"x"}`)}
		events := join(llmtest.Say("One."), llmtest.Opaque(item), llmtest.Say("Two."))
		m := s.says(t, events)
		if got := m.Text(); got != "One.Two." {
			t.Errorf("with an item of %s the text is %q", api, got)
		}
	}
}

func otherAPIs(own llm.API) []llm.API {
	all := []llm.API{llm.APIAnthropic, llm.APICompletions, llm.APIResponses, llm.APIGoogle, llm.APIBedrock}
	return slices.DeleteFunc(all, func(a llm.API) bool { return a.Family() == own.Family() })
}
