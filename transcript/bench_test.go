package transcript_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// worked writes a session of n messages: a person's words, then calls and their
// results, as most of a session of work is.
func worked(t testing.TB, n int) string {
	t.Helper()
	l, path := create(t)
	lines := strings.Repeat("\tif err := s.read(name); err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n", 5)
	cost := llm.Dollars(0.012345)
	for i := 0; i < n; i += 4 {
		head := llm.Message{
			Role: llm.RoleAssistant, API: llm.APIAnthropic, Provider: "anthropic", Model: "claude-sonnet-4-5",
			ResponseID: fmt.Sprintf("msg_%024d", i), StopReason: llm.StopToolUse,
			Usage: &llm.Usage{Input: 10, Output: 200, CacheRead: 10 * i, CacheWrite: 300, TotalTokens: 510 + 10*i, Cost: &llm.Cost{Input: cost, Total: cost}},
		}
		call, answer := head, head
		use := llm.ToolCall{ID: fmt.Sprintf("toolu_%020d", i), Name: "read", Arguments: fmt.Sprintf(`{"path":"internal/part%d/file.go"}`, i)}
		call.Content = []llm.Block{llm.Thinking{Text: "The settings are read before the session.", Signature: strings.Repeat("QUJD", 40)}, use}
		answer.Content, answer.StopReason = []llm.Block{llm.Text{Text: fmt.Sprintf("Part %d reads the settings, and **then** the session.\n\n- one\n- two\n", i)}}, llm.StopEnd
		result := llm.ToolResultText(use, lines, false)
		result.Details = []byte(`{"path":"internal/file.go","lines":15}`)
		ask := llm.UserText(fmt.Sprintf("Question %d: how is this part of the program meant?", i))
		for _, m := range []llm.Message{ask, call, result, answer} {
			add(t, l, transcript.Entry{Type: transcript.TypeMessage, Message: &m})
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// BenchmarkContext reconstructs what a model is to know from 100,000 messages that
// were never condensed.
func BenchmarkContext(b *testing.B) {
	path := worked(b, 100_000)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	l, _ := open(b, path)
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		c, err := l.Context(l.Leaf())
		if err != nil || len(c.Messages) != 100_000 {
			b.Fatal(err)
		}
	}
}
