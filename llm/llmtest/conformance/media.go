package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
)

// A PNG and a PDF, small but whole, with bytes that no text encoding keeps.
var (
	pngFile = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
		"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")
	pdfFile = []byte("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
)

// testMedia sends a conversation with pictures and files in user messages and
// tool results.
func (s requestChecks) testMedia(t *testing.T) {
	image := llm.Image{MIME: "image/png", Data: pngFile}
	pdf := llm.Document{Name: "report.pdf", MIME: "application/pdf", Data: pdfFile, Text: "The report's text."}
	call1 := llm.ToolCall{ID: "call_one", Name: "read", Arguments: `{"path":"a.png"}`}
	call2 := llm.ToolCall{ID: "call_two", Name: "read", Arguments: `{"path":"b.pdf"}`}
	call3 := llm.ToolCall{ID: "call_three", Name: "read", Arguments: `{"path":"c"}`}
	req := s.ask()
	req.Messages = []llm.Message{
		{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "See:"}, image, llm.Text{Text: "and"}, pdf}},
		s.own(llm.Text{Text: "Reading all."}, call1, call2, call3),
		{Role: llm.RoleToolResult, ToolCallID: call1.ID, ToolName: "read", Content: []llm.Block{llm.Text{Text: "a picture"}, image}},
		{Role: llm.RoleToolResult, ToolCallID: call2.ID, ToolName: "read", Content: []llm.Block{llm.Text{Text: "a file"}, pdf}},
		llm.ToolResultText(call3, "not found", true),
		llm.UserText("Well?"),
	}
	got, body := s.sends(t, req)
	if s.NoDocuments {
		if !strings.Contains(string(body), pdf.Text) {
			t.Errorf("the text of the document is not in the request")
		}
	}
	if diff := cmp.Diff(s.mediaIn(req.Messages), s.mediaIn(got.Messages)); diff != "" {
		t.Errorf("pictures and files (-want +got):\n%s", diff)
	}
	lines := said(got.Messages)
	for _, want := range [][2]string{
		{"user", "See:"},
		{"user", "and"},
		{"assistant", "Reading all."},
		{"assistant calls 1", `read {"path":"a.png"}`},
		{"assistant calls 2", `read {"path":"b.pdf"}`},
		{"toolResult 1", "a picture"},
		{"toolResult 2", "a file"},
		{"toolResult 3", "not found"},
		{"user", "Well?"},
	} {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, want[0]) && strings.Contains(line, want[1])
		}) {
			t.Errorf("%s: %q got lost; what arrived:\n%s", want[0], want[1], strings.Join(lines, "\n"))
		}
	}
	if !s.NoToolErrors && !slices.ContainsFunc(got.Messages, func(m llm.Message) bool { return m.IsError }) {
		t.Errorf("the failed result does not look failed")
	}
	t.Run("blind", func(t *testing.T) {
		req.Model = s.model()
		req.Model.Input = []llm.Modality{llm.ModalityText}
		got, body := s.sends(t, req)
		for _, m := range got.Messages {
			if slices.ContainsFunc(m.Content, func(b llm.Block) bool { _, is := b.(llm.Image); return is }) {
				t.Errorf("a picture was sent to a model that reads none")
			}
		}
		if bytes.Contains(body, []byte("JVBERi")) {
			t.Errorf("a PDF was sent to a model that reads none")
		}
	})
}

// own is an earlier answer of the subject's model.
func (s rig) own(content ...llm.Block) llm.Message {
	m := llm.Message{
		Role: llm.RoleAssistant, API: s.Model.API, Provider: s.Model.Provider, Model: s.Model.ID,
		StopReason: llm.StopEnd, Content: content,
	}
	if len(m.ToolCalls()) > 0 {
		m.StopReason = llm.StopToolUse
	}
	return m
}

// mediaIn lists pictures and files with where they stand, as far as the format
// can say it.
func (s requestChecks) mediaIn(messages []llm.Message) []string {
	var out []string
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Image:
				role := m.Role
				if s.NoToolImages {
					role = "somewhere"
				}
				out = append(out, fmt.Sprintf("%s: %s %x", role, b.MIME, b.Data))
			case llm.Document:
				if s.NoDocuments {
					continue
				}
				role := m.Role
				if s.NoToolDocuments {
					role = "somewhere"
				}
				out = append(out, fmt.Sprintf("%s: %s %x", role, b.MIME, b.Data))
			}
		}
	}
	// What moves behind the results passes what does not.
	slices.Sort(out)
	return out
}
