package anthropic_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
)

// messages is the conversation of a request as compact JSON, a message a line.
func messages(t testing.TB, o anthropic.Options, req *llm.Request) string {
	t.Helper()
	req.Cache.Retention = llm.CacheOff
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(sends(t, o, req).sent, &body); err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(body.Messages))
	for i, m := range body.Messages {
		lines[i] = string(m)
	}
	return strings.Join(lines, "\n")
}

func own(content ...llm.Block) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, API: llm.APIAnthropic, Provider: "anthropic", Model: budgeted.ID, Content: content}
}

func opaque(kind, raw string) llm.Opaque {
	return llm.Opaque{API: llm.APIAnthropic, Kind: kind, Raw: json.RawMessage(raw)}
}

const (
	search = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}}`
	found  = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://go.dev","title":"Go","encrypted_content":"AbC=","page_age":null}]}`
)

func TestHistory(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n0000")
	png64 := base64.StdEncoding.EncodeToString(png)
	user := llm.UserText("go")
	const sent = `{"role":"user","content":[{"type":"text","text":"go"}]}`
	const next = `{"role":"user","content":[{"type":"text","text":"and?"}]}`
	paused := own(llm.Text{Text: "Searching."}, opaque("server_tool_use", search))
	paused.StopReason = llm.StopPause
	cut := paused
	cut.StopReason = llm.StopLength
	foreign := own(llm.Thinking{Text: "secret", Signature: "theirs"}, llm.Text{Text: "hi"})
	foreign.Model = "claude-opus-4-1"
	call := func(id, args string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "read", Arguments: args} }

	cases := []struct {
		name    string
		history []llm.Message
		want    []string
	}{
		{"nothing", nil, []string{`{"role":"user","content":[{"type":"text","text":"Continue."}]}`}},
		{
			"own reasoning returns with its signature",
			[]llm.Message{user, own(llm.Thinking{Text: "hm", Signature: "s"}, llm.Thinking{Signature: "enc", Redacted: true}, llm.Thinking{Signature: "hidden"}, llm.Text{Text: "hi"}), llm.UserText("and?")},
			[]string{sent, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"enc"},{"type":"thinking","thinking":"","signature":"hidden"},{"type":"text","text":"hi"}]}`, next},
		},
		{
			"unsigned and foreign reasoning does not",
			[]llm.Message{user, own(llm.Thinking{Text: "hm"}, llm.Text{Text: "hi"}), foreign, llm.UserText("and?")},
			[]string{sent, `{"role":"assistant","content":[{"type":"text","text":"hi"},{"type":"text","text":"hi"}]}`, next},
		},
		{
			"an answer at the end is continued",
			[]llm.Message{user, own(llm.Text{Text: "hi "})},
			[]string{sent, `{"role":"assistant","content":[{"type":"text","text":"hi "}]}`, `{"role":"user","content":[{"type":"text","text":"Continue."}]}`},
		},
		{
			"a paused answer goes back as it is",
			[]llm.Message{user, paused},
			[]string{sent, `{"role":"assistant","content":[{"type":"text","text":"Searching."},` + search + `]}`},
		},
		{
			"a pause and what followed it become one message",
			[]llm.Message{user, paused, own(opaque("web_search_tool_result", found), llm.Text{Text: "Found."}), llm.UserText("and?")},
			[]string{sent, `{"role":"assistant","content":[{"type":"text","text":"Searching."},` + search + "," + found + `,{"type":"text","text":"Found."}]}`, next},
		},
		{
			"a server call without its result is left out",
			[]llm.Message{user, cut, llm.UserText("and?")},
			[]string{sent, `{"role":"assistant","content":[{"type":"text","text":"Searching."}]}`, next},
		},
		{
			"a result without its call too",
			[]llm.Message{user, own(opaque("web_search_tool_result", found)), llm.UserText("and?")},
			[]string{`{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"and?"}]}`},
		},
		{
			"citations return without what the API does not take back",
			[]llm.Message{user, own(llm.Text{Text: "Go.", Citations: []llm.Citation{
				{Raw: json.RawMessage(`{"type":"char_location","cited_text":"Go","document_index":0,"document_title":null,"file_id":null,"start_char_index":0,"end_char_index":2}`)},
				{URL: "https://elsewhere.example", Title: "no record"},
			}}), llm.UserText("and?")},
			[]string{sent, `{"role":"assistant","content":[{"type":"text","text":"Go.","citations":[{"type":"char_location","cited_text":"Go","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":2}]}]}`, next},
		},
		{
			"ids, and halves of surrogates",
			[]llm.Message{user, own(call("call_1|fc_2", `{"a":"\ud83d x \\ud83d \ud83d\ude00 \udc00"}`)), llm.ToolResultText(call("call_1|fc_2", ""), "ok", false)},
			[]string{
				sent,
				`{"role":"assistant","content":[{"type":"tool_use","id":"call_1_fc_2","name":"read","input":{"a":"\ufffd x \\ud83d \ud83d\ude00 \ufffd"}}]}`,
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_fc_2","content":[{"type":"text","text":"ok"}]}]}`,
			},
		},
		{
			"media, by what they are",
			[]llm.Message{{Role: llm.RoleUser, Content: []llm.Block{
				llm.Image{MIME: "image/jpeg", Data: png},
				llm.Image{URL: "https://a.example/b.png"},
				llm.Image{MIME: "image/tiff", Data: []byte("II*")},
				llm.Document{Name: "r.pdf", MIME: "application/pdf", Data: []byte("%PDF")},
				llm.Document{MIME: "application/pdf", URL: "https://a.example/c.pdf"},
				llm.Document{Name: "n.txt", MIME: "text/markdown", Data: []byte("# hi")},
				llm.Document{Name: "d.docx", MIME: "application/msword", Data: []byte("PK"), Text: "words"},
				llm.Document{Name: "d.zip", MIME: "application/zip", Data: []byte("PK")},
			}}},
			[]string{`{"role":"user","content":[` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png64 + `"}},` +
				`{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}},` +
				`{"type":"text","text":"[An image of type \"image/tiff\" was here. This model reads PNG, JPEG, GIF and WebP.]"},` +
				`{"type":"document","title":"r.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}},` +
				`{"type":"document","source":{"type":"url","url":"https://a.example/c.pdf"}},` +
				`{"type":"document","title":"n.txt","source":{"type":"text","media_type":"text/plain","data":"# hi"}},` +
				`{"type":"document","title":"d.docx","source":{"type":"text","media_type":"text/plain","data":"words"}},` +
				`{"type":"text","text":"[A document was here: d.zip. This model reads PDF and text.]"}]}`},
		},
		{
			"media of results; those of failed ones follow",
			[]llm.Message{
				user, own(call("a", "{}"), call("b", "{}")),
				{Role: llm.RoleToolResult, ToolCallID: "a", IsError: true, Content: []llm.Block{llm.Text{Text: "no"}, llm.Image{MIME: "image/png", Data: png}}},
				{Role: llm.RoleToolResult, ToolCallID: "b", Content: []llm.Block{llm.Image{MIME: "image/png", Data: png}}},
			},
			[]string{
				sent, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}},{"type":"tool_use","id":"b","name":"read","input":{}}]}`,
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"no"},{"type":"text","text":"[The image follows the tool results.]"}],"is_error":true},` +
					`{"type":"tool_result","tool_use_id":"b","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png64 + `"}}]},` +
					`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png64 + `"}}]}`,
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.Messages = c.history
			if diff := cmp.Diff(strings.Join(c.want, "\n"), messages(t, anthropic.Options{}, req)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("clouds fetch no URLs", func(t *testing.T) {
		req := ask()
		req.Messages = []llm.Message{{Role: llm.RoleUser, Content: []llm.Block{llm.Image{URL: "https://a.example/b.png"}}}}
		got := messages(t, anthropic.Options{Host: anthropic.HostBedrock}, req)
		if want := `[An image was here: https://a.example/b.png. It could not be sent.]`; !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	})
}
