package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// history is a conversation that some accident left behind.
type history struct {
	name     string
	messages []llm.Message
	kept     []string // ASCII texts that must reach the provider
	gone     []string // and those that must not
}

func result(id, name, text string) llm.Message {
	return llm.ToolResultText(llm.ToolCall{ID: id, Name: name}, text, false)
}

func call(id, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "read", Arguments: args}
}

// foreign is an answer of another provider's model.
func foreign(api llm.API, content ...llm.Block) llm.Message {
	return llm.Message{
		Role: llm.RoleAssistant, API: api, Provider: "elsewhere", Model: "other-1", ResponseID: "resp_elsewhere",
		StopReason: llm.StopEnd, Content: content,
	}
}

// histories are the nasty ones, for the subject's model.
func (s historyChecks) histories() []history {
	user := llm.UserText
	long := strings.Repeat("long-id_", 25)
	cut := s.own(llm.Text{Text: "Half-said"}, llm.ToolCall{ID: "call_half", Name: "write", Arguments: `{"path":"a","Unfinished`, Defect: llm.DefectCut})
	cut.StopReason, cut.Error = llm.StopAborted, &llm.Error{Kind: llm.ErrAborted, Message: "cancelled"}
	image := llm.Image{MIME: "image/png", Data: pngFile}

	return []history{
		{name: "nothing"},
		{name: "empty everything", messages: []llm.Message{
			{Role: llm.RoleUser}, s.own(), {Role: llm.RoleToolResult}, {}, {Role: llm.RoleUser, Content: []llm.Block{llm.Text{}}},
		}},
		{name: "orphan call at the end", messages: []llm.Message{user("Go-1"), s.own(call("call_a", `{"p":1}`))}, kept: []string{"Go-1"}},
		{name: "orphan calls in the middle", messages: []llm.Message{
			user("Go-1"), s.own(call("call_a", `{}`), call("call_b", `{}`)), result("call_b", "read", "Result-b"), user("Go-2"), s.own(llm.Text{Text: "Said-3"}), user("Go-4"),
		}, kept: []string{"Go-1", "Result-b", "Go-2", "Said-3", "Go-4"}},
		{name: "orphan results", messages: []llm.Message{
			result("call_x", "read", "Result-x"), user("Go-1"), s.own(llm.Text{Text: "Said-2"}), result("call_y", "", "Result-y"), user("Go-3"),
		}, kept: []string{"Result-x", "Go-1", "Said-2", "Result-y", "Go-3"}},
		{name: "duplicate ids in one answer", messages: []llm.Message{
			user("Go-1"), s.own(call("same", `{"n":1}`), call("same", `{"n":2}`)), result("same", "read", "Result-1"), result("same", "read", "Result-2"), user("Go-2"),
		}, kept: []string{"Result-1", "Result-2", "Go-2"}},
		{name: "duplicate ids in two answers", messages: []llm.Message{
			user("Go-1"), s.own(call("same", `{"n":1}`)), result("same", "read", "Result-1"), s.own(call("same", `{"n":2}`)), result("same", "read", "Result-2"), user("Go-2"),
		}, kept: []string{"Result-1", "Result-2"}},
		{name: "odd ids", messages: []llm.Message{
			user("Go-1"),
			foreign(llm.APIResponses, call("call_1|fc_0123456789", `{}`), call("a+b/c=d e", `{}`), call(long+"1", `{}`), call(long+"2", `{}`), call("", `{}`), call("ключ", `{}`)),
			result("a+b/c=d e", "read", "Result-plus"), result(long+"2", "read", "Result-long2"), result("call_1|fc_0123456789", "read", "Result-pipe"),
			result(long+"1", "read", "Result-long1"), result("", "read", "Result-empty"), result("ключ", "read", "Result-cyrillic"),
			user("Go-2"),
		}, kept: []string{"Result-plus", "Result-long1", "Result-long2", "Result-pipe", "Result-empty", "Result-cyrillic"}},
		{name: "odd names", messages: []llm.Message{
			user("Go-1"), s.own(llm.ToolCall{ID: "call_a", Name: "mcp.server/tool name", Arguments: `{}`}, llm.ToolCall{ID: "call_b", Arguments: `{}`}, llm.ToolCall{ID: "call_c", Name: strings.Repeat("n", 100)}),
			result("call_a", "mcp.server/tool name", "Result-a"), user("Go-2"),
		}, kept: []string{"Result-a"}},
		{name: "empty blocks", messages: []llm.Message{
			{Role: llm.RoleUser, Content: []llm.Block{llm.Text{}, llm.Text{Text: "  \n"}, llm.Text{Text: "Go-1"}}},
			s.own(llm.Text{}, llm.Thinking{}, llm.Text{Text: "\t"}, call("call_a", "")), result("call_a", "read", ""),
			s.own(llm.Text{Text: ""}), user(""), user("Go-2"),
		}, kept: []string{"Go-1", "Go-2"}},
		{name: "invalid UTF-8", messages: []llm.Message{
			user("Go-1 \xff\xfe"), s.own(llm.Text{Text: "Said\xc3-2"}, call("call_\xff", "{\"p\":\"\xed\xa0\x80\"}")), result("call_\xff", "re\xffad", "Result\x80-3"), user("\xf0\x9f\xa6"),
		}, kept: []string{"Go-1"}},
		{name: "results out of order", messages: []llm.Message{
			user("Go-1"), s.own(call("call_a", `{}`), call("call_b", `{}`), call("call_c", `{}`)),
			result("call_c", "read", "Result-c"), result("call_a", "read", "Result-a"), result("call_b", "read", "Result-b"), user("Go-2"),
		}, kept: []string{"Result-a", "Result-b", "Result-c", "Go-2"}},
		{name: "user between call and result", messages: []llm.Message{
			user("Go-1"), s.own(call("call_a", `{}`), call("call_b", `{}`)), result("call_a", "read", "Result-a"), user("Wait-2"), result("call_b", "read", "Result-b"), s.own(llm.Text{Text: "Said-3"}), user("Go-4"),
		}, kept: []string{"Result-a", "Wait-2", "Result-b", "Said-3"}},
		{name: "result after the next answer", messages: []llm.Message{
			user("Go-1"), s.own(call("call_a", `{}`)), s.own(llm.Text{Text: "Said-2"}), result("call_a", "read", "Late-3"), user("Go-4"),
		}, kept: []string{"Said-2", "Late-3"}},
		{name: "aborted with half a call", messages: []llm.Message{user("Go-1"), cut, user("Go-2")}, kept: []string{"Half-said", "Go-2"}, gone: []string{"Unfinished"}},
		{name: "aborted without content", messages: []llm.Message{
			user("Go-1"), {Role: llm.RoleAssistant, API: s.Model.API, StopReason: llm.StopAborted, Error: &llm.Error{Kind: llm.ErrAborted}}, user("Go-2"),
		}, kept: []string{"Go-1", "Go-2"}},
		{name: "arguments that are no object", messages: []llm.Message{
			user("Go-1"), s.own(call("call_a", `[1,2]`), call("call_b", `"text"`), call("call_c", `{"a":`), call("call_d", "{\"a\":\"raw\nline\"}"), call("call_e", `null`)), user("Go-2"),
		}, kept: []string{"Go-1", "Go-2"}},
		{name: "assistant first", messages: []llm.Message{s.own(llm.Text{Text: "Said-0"}), user("Go-1")}, kept: []string{"Said-0", "Go-1"}},
		{name: "result first", messages: []llm.Message{result("call_a", "read", "Result-a")}, kept: []string{"Result-a"}},
		{name: "two in a row", messages: []llm.Message{
			user("Go-1"), user("Go-2"), s.own(llm.Text{Text: "Said-3"}), s.own(llm.Text{Text: "Said-4"}), user("Go-5"),
		}, kept: []string{"Go-1", "Go-2", "Said-3", "Said-4", "Go-5"}},
		{name: "system and custom in the middle", messages: []llm.Message{
			user("Go-1"),
			{Role: llm.RoleSystem, Content: []llm.Block{llm.Text{Text: "Rule-2"}}},
			s.own(llm.Text{Text: "Said-3"}),
			{Role: llm.RoleCustom, CustomType: "note", Content: []llm.Block{llm.Text{Text: "Note-4"}}},
			user("Go-5"),
		}, kept: []string{"Rule-2", "Said-3", "Note-4"}},
		{name: "only thinking", messages: []llm.Message{user("Go-1"), s.own(llm.Thinking{Text: "hm", Signature: "c2ln"}), user("Go-2")}, kept: []string{"Go-1", "Go-2"}},
		{name: "images everywhere", messages: []llm.Message{
			{Role: llm.RoleUser, Content: []llm.Block{image}},
			s.own(call("call_a", `{}`), call("call_b", `{}`)),
			{Role: llm.RoleToolResult, ToolCallID: "call_a", ToolName: "read", Content: []llm.Block{image, llm.Text{Text: "Result-a"}}},
			{Role: llm.RoleToolResult, ToolCallID: "call_b", ToolName: "read", Content: []llm.Block{image}},
			s.own(image, llm.Text{Text: "Said-2"}),
			{Role: llm.RoleUser, Content: []llm.Block{llm.Image{MIME: "image/png"}}},
		}, kept: []string{"Result-a", "Said-2"}},
		s.journey(),
	}
}

// journey is a conversation that has been with every provider in turn.
func (s historyChecks) journey() history {
	h := history{name: "all vendors"}
	for i, api := range otherAPIs(s.Model.API) {
		mark := func(kind string) string { return fmt.Sprintf("%s-%d-end", kind, i) }
		id := mark("call|fc+")
		if i%2 == 1 {
			id = mark("toolu_")
		}
		h.messages = append(
			h.messages, llm.UserText(mark("Ask")),
			foreign(
				api,
				llm.Thinking{Text: mark("thought"), Signature: mark("Signature")},
				llm.Thinking{Signature: mark("Encrypted"), Redacted: true},
				llm.Text{Text: mark("Said"), Signature: mark("TextSignature"), Citations: []llm.Citation{{URL: "https://example.com", Raw: json.RawMessage(`{"type":"` + mark("Citation") + `"}`)}}},
				llm.Opaque{API: api, Kind: "server_tool_use", Raw: json.RawMessage(`{"type":"` + mark("Opaque") + `"}`)},
				llm.ToolCall{ID: id, Name: "read", Arguments: `{"path":"` + mark("Path") + `"}`, Signature: mark("CallSignature")},
			),
			result(id, "read", mark("Result")),
			foreign(api, llm.Text{Text: mark("Then")}),
		)
		h.kept = append(h.kept, mark("Ask"), mark("Said"), mark("Path"), mark("Result"), mark("Then"))
		h.gone = append(h.gone, mark("Signature"), mark("Encrypted"), mark("TextSignature"), mark("Citation"), mark("Opaque"), mark("CallSignature"))
	}
	h.messages = append(h.messages, llm.UserText("Finally."))
	return h
}

// encodes has the client encode the history, and gives what the server half
// reads and the body.
func (s rig) encodes(ctx context.Context, m *llm.Model, messages []llm.Message) (*llm.Request, []byte, error) {
	srv := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{{}}}, s.Server)
	defer srv.Close()
	c := s.open(memoryURL, &http.Client{Transport: handlerTransport{srv}})
	req := s.ask()
	req.Model, req.Messages = m, messages
	if _, err := llm.Collect(c.Stream(ctx, req)); err != nil {
		return nil, nil, fmt.Errorf("%w; server: %w", err, srv.Err())
	}
	return srv.Requests()[0], srv.Raw()[0].Body, nil
}

func (s historyChecks) testHistories(t *testing.T) {
	blind := s.plain()
	blind.Input = []llm.Modality{llm.ModalityText}
	for _, h := range s.histories() {
		for mode, m := range map[string]*llm.Model{"": s.model(), " for a plain model": blind} {
			t.Run(h.name+mode, func(t *testing.T) {
				req, body, err := s.encodes(t.Context(), m, h.messages)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.checkHistory(h, req, body); err != nil {
					t.Errorf("%v\n%s", err, body[:min(len(body), 4000)])
				}
			})
		}
	}
}

func (s historyChecks) checkHistory(h history, req *llm.Request, body []byte) error {
	if err := s.checkLegal(req, body); err != nil {
		return err
	}
	for _, text := range h.kept {
		if !bytes.Contains(body, []byte(text)) {
			return fmt.Errorf("%q got lost", text)
		}
	}
	for _, text := range h.gone {
		if bytes.Contains(body, []byte(text)) {
			return fmt.Errorf("%q was sent", text)
		}
	}
	return nil
}
