package reference_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/tools/reference"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

func TestHistory(t *testing.T) {
	l, err := transcript.Create(new(transcript.Memory), transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range []llm.Message{
		llm.UserText("Rename the Frobnicator"), llm.AssistantText("done, see frob.go"),
		llm.ToolResultText(llm.ToolCall{ID: "1", Name: "grep"}, "frob.go:12: func Frobnicator", false),
	} {
		id, err := l.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &m})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	history := reference.New(reference.Options{Log: l})[0]
	for _, c := range []struct{ args, want, not string }{
		{`{"query":"FROBNICATOR"}`, "2 entries:\n[" + ids[2] + "] result of grep: frob.go:12", ids[1]},
		{`{"query":"frobnicator rename"}`, "1 entries:\n[" + ids[0] + "] user: Rename the Frobnicator", "grep"},
		{`{"query":"zebra"}`, "No entry of this conversation", "["},
		{`{"ids":["` + ids[1] + `","nope"]}`, "[" + ids[1] + "] assistant\ndone, see frob.go\n\nNot found: nope", ids[0]},
		{`{"ids":["nope"]}`, "no entry nope", "["},
		{`{}`, "give ids or a query", "["},
	} {
		text := ""
		r, err := history.Run(context.Background(), tool.Call{Name: "history", Arguments: json.RawMessage(c.args), Update: func(tool.Result) {}})
		if err != nil {
			text = err.Error()
		} else {
			m := llm.Message{Content: r.Content}
			text = m.Text()
		}
		if !strings.HasPrefix(text, c.want) || strings.Contains(text, c.not) {
			t.Errorf("%s gives %q, want %q without %q", c.args, text, c.want, c.not)
		}
	}
}

// A private command of the user's is no part of what the model reads.
func TestPrivateCommand(t *testing.T) {
	l, err := transcript.Create(new(transcript.Memory), transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(e transcript.Entry) string {
		t.Helper()
		id, err := l.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	hello := llm.UserText("hello")
	add(transcript.Entry{Type: transcript.TypeMessage, Message: &hello})
	add(transcript.NewExecution(transcript.Execution{Command: "ls", Output: "quince"}))
	id := add(transcript.NewExecution(transcript.Execution{Command: "cat key", Output: "medlar", Excluded: true}))
	text, err := reference.Transcript(l)
	if err != nil || !strings.Contains(text, "quince") || strings.Contains(text, "medlar") || strings.Contains(text, "cat key") {
		t.Errorf("transcript %q, %v", text, err)
	}
	history := reference.New(reference.Options{Log: l})[0]
	for _, args := range []string{`{"query":"medlar"}`, `{"ids":["` + id + `"]}`} {
		r, err := history.Run(context.Background(), tool.Call{Name: "history", Arguments: json.RawMessage(args), Update: func(tool.Result) {}})
		if err != nil {
			t.Fatal(err)
		}
		m := llm.Message{Content: r.Content}
		if text := m.Text(); strings.Contains(text, "cat key") || strings.Contains(text, "Output:") {
			t.Errorf("%s gives %q", args, text)
		}
	}
}
