package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// What the server half makes of the blocks of an answer.

// item encodes a block as a complete item; nil if the format has none for it. w
// has its id if it was sent already.
func (e *respEncoder) item(i int, b llm.Block, w *respWriting) any {
	made := func(prefix string) string {
		if w.id == "" {
			w.id = prefix + respMade + strconv.Itoa(i)
		}
		return w.id
	}
	switch b := b.(type) {
	case llm.Text:
		id := respReadTextID(b.Signature)
		if !respItemID(id.ID, "msg") || w.id != "" {
			id.ID = made("msg_")
		}
		return respMessage{
			Type: "message", ID: id.ID, Status: "completed", Role: "assistant", Phase: id.Phase,
			Content: []respPart{{Type: "output_text", Text: &b.Text, Annotations: respCitations(b.Citations)}},
		}
	case llm.Thinking:
		// A signature is known only at the end, when the item has long had an id.
		// So even a reasoning item of this API travels inside ours: its own id
		// must stay with its content.
		r := respReasoningItem{Type: "reasoning", ID: made("rs_"), Summary: []respPart{}}
		if b.Text != "" {
			r.Summary = append(r.Summary, respPart{Type: "summary_text", Text: &b.Text})
		}
		switch {
		case b.Redacted:
			r.Encrypted = respRedacted + b.Signature
		case b.Signature != "":
			r.Encrypted = respForeign + b.Signature
		}
		return r
	case llm.ToolCall:
		return e.callItem(b)
	case llm.Opaque:
		if b.API.Family() == llm.APIResponses {
			return b.Raw
		}
	}
	return nil
}

func (e *respEncoder) callItem(b llm.ToolCall) respCall {
	call, item := respSplitID(b.ID)
	c := respCall{Type: "function_call", ID: item, CallID: call, Name: b.Name, Arguments: &b.Arguments, Status: "completed"}
	if c.ID == "" {
		c.ID = "fc_" + call
	}
	if b.Defect == llm.DefectCut || b.Arguments != "" && !json.Valid([]byte(b.Arguments)) {
		c.Status = "incomplete"
	}
	if e.custom[b.Name] {
		input := respInput(b.Arguments)
		c.Type, c.Arguments, c.Input = "custom_tool_call", nil, &input
		if item == "" {
			c.ID = "ctc_" + call
		}
	}
	return c
}

// respInput undoes respCustomArguments. Arguments of another shape are the input
// as they are.
func respInput(args string) string {
	var a struct {
		Input *string `json:"input"`
	}
	if json.Unmarshal([]byte(args), &a) != nil || a.Input == nil {
		return args
	}
	return *a.Input
}

// respCitation reads an annotation.
func respCitation(raw json.RawMessage) llm.Citation {
	var a struct {
		URL      string `json:"url"`
		Title    string `json:"title"`
		Filename string `json:"filename"`
	}
	_ = respLenient(raw, &a) // an annotation of another kind has neither
	if a.Title == "" {
		a.Title = a.Filename
	}
	return llm.Citation{URL: a.URL, Title: a.Title, Raw: raw}
}

// respCitations are the annotations of a text. Those of other providers become
// url_citation; they have no place in the text.
func respCitations(citations []llm.Citation) *[]json.RawMessage {
	out := []json.RawMessage{}
	for _, c := range citations {
		if strings.HasPrefix(string(c.Raw), "{") && strings.Contains(string(c.Raw), `"type":"url_citation"`) {
			out = append(out, c.Raw)
			continue
		}
		raw, err := wire.Marshal(struct {
			Type  string `json:"type"`
			Start int    `json:"start_index"`
			End   int    `json:"end_index"`
			URL   string `json:"url"`
			Title string `json:"title"`
		}{Type: "url_citation", URL: c.URL, Title: c.Title})
		if err == nil {
			out = append(out, raw)
		}
	}
	return &out
}
