package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, time.March, 9, 14, 2, 0, 0, time.UTC)

// script builds sessions entry by entry.
type script struct {
	entries []transcript.Entry
	leaf    string
}

func (s *script) add(e transcript.Entry) string {
	e.ID = fmt.Sprintf("%08x", len(s.entries)+1)
	if s.leaf != "" {
		parent := s.leaf
		e.ParentID = &parent
	}
	e.Timestamp = start.Add(time.Duration(len(s.entries)) * 20 * time.Second).Format("2006-01-02T15:04:05.000Z")
	s.entries = append(s.entries, e)
	s.leaf = e.ID
	return e.ID
}

func (s *script) say(m llm.Message) string {
	return s.add(transcript.Entry{Type: transcript.TypeMessage, Message: &m})
}

func (s *script) user(text string) string { return s.say(llm.UserText(text)) }

func (s *script) answer(cost *llm.Cost, blocks ...llm.Block) string {
	m := llm.Message{
		Role: llm.RoleAssistant, Content: blocks, Provider: "anthropic", Model: "claude-sonnet-4-6", StopReason: llm.StopEnd,
		Usage: &llm.Usage{Input: 1200, Output: 340, CacheRead: 18000, TotalTokens: 19540, Cost: cost},
	}
	if len(m.ToolCalls()) > 0 {
		m.StopReason = llm.StopToolUse
	}
	return s.say(m)
}

func (s *script) result(call llm.ToolCall, text string, failed bool, details string) string {
	m := llm.ToolResultText(call, text, failed)
	if details != "" {
		m.Details = json.RawMessage(details)
	}
	return s.say(m)
}

func tool(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

// pictureFile is chart.png, 640 × 240, or shot.png, 320 × 120.
func pictureFile(name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		panic(err)
	}
	return data
}

const plan = `The store writes twice. **One** call is enough:

1. join the record and its line feed,
2. write once, ` + "`O_APPEND`" + ` keeps the order.

| | before | after |
|---|--:|--:|
| system calls | 2 | 1 |
| torn lines after kill -9 | 14 | 0 |

- [x] change ` + "`Append`" + `
- [ ] test with a killed writer

` + "```go\n// Append adds one record.\nfunc (s *Store) Append(e Entry) error {\n\tline, err := encode(e)\n\tif err != nil {\n\t\treturn fmt.Errorf(\"append %s: %w\", e.ID, err)\n\t}\n\t_, err = s.file.Write(append(line, '\\n'))\n\treturn err\n}\n```" + `

> What a reader sees of a torn line is the [manual's](https://man7.org/linux/man-pages/man2/write.2.html) business.
`

// branched is a session with everything that a page has to show.
func branched() Page {
	paid := &llm.Cost{Input: llm.Dollars(0.0036), Output: llm.Dollars(0.0051), CacheRead: llm.Dollars(0.0054), Total: llm.Dollars(0.0141)}
	s := &script{}
	s.add(transcript.Entry{Type: transcript.TypeModel, Model: "anthropic/claude-sonnet-4-6"})
	s.add(transcript.Entry{Type: transcript.TypeThinking, ThinkingLevel: "high"})
	first := s.user("Make `store.go` write each record with **one** call.\nIt must survive kill -9.")
	read := tool("c1", "read", `{"path":"store.go:10-40"}`)
	grep := tool("c2", "bash", `{"command":"grep -rn 'file.Write' --include=*.go .","timeout":30}`)
	s.answer(paid, llm.Thinking{Text: "The store calls Write twice.\n\nA kill between them leaves a torn line."}, llm.Text{Text: "I look at the store first."}, read, grep)
	s.result(read, strings.Repeat("func line() {}\n", 60), false, "")
	s.result(grep, "\x1b[35mstore.go\x1b[0m:\x1b[32m31\x1b[0m: s.file.\x1b[1;31mWrite\x1b[0m(line)\nstore.go:32: s.file.Write([]byte{'\\n'})\n", false, "")
	s.answer(paid, llm.Text{Text: plan})
	fork := s.leaf

	s.user("Use a bufio.Writer instead.")
	side := tool("c9", "bash", `{"command":"go test ./store"}`)
	s.answer(nil, llm.Text{Text: "A buffer delays the write."}, side)
	s.result(side, "--- FAIL: TestKill (0.31s)\nFAIL", true, "")
	s.answer(paid, llm.Text{Text: "That loses records when the process is killed: the **buffered** branch is worse."})
	s.add(transcript.Entry{Type: transcript.TypeLabel, TargetID: s.leaf, Label: "buffered, worse"})

	s.leaf = fork
	s.add(transcript.Entry{Type: transcript.TypeBranchSummary, FromID: fork, Summary: "A buffered writer was tried. It **loses records** on kill -9."})
	s.user("Good, do that.")
	edit := tool("c3", "edit", `{"path":"store.go","edits":[{"oldText":"two","newText":"one"}]}`)
	test := tool("c4", "bash", `{"command":"go test ./... -run Kill\ngo vet ./..."}`)
	s.answer(paid, edit, test)
	s.result(edit, "Changed store.go.", false, `{"diff":"--- store.go\n+++ store.go\n@@ -29,5 +29,4 @@\n func (s *Store) Append(e Entry) error {\n-\ts.file.Write(line)\n-\ts.file.Write([]byte{'\\n'})\n+\t_, err := s.file.Write(append(line, '\\n'))\n+\treturn err\n }\n"}`)
	s.result(test, "ok  \tstore\t0.412s\n", false, "")
	s.answer(paid, llm.Text{Text: "Done: one call, and the test with a killed writer passes."})
	label := s.leaf
	s.add(transcript.Entry{Type: transcript.TypeLabel, TargetID: label, Label: "works"})
	s.add(transcript.Entry{Type: transcript.TypeCompaction, Summary: "## Goal\n\nRecords are written with one call.\n\n- `store.go` changed\n- tests pass", FirstKeptID: label, TokensBefore: 121_400})
	s.say(llm.Message{Role: llm.RoleUser, Content: []llm.Block{
		llm.Text{Text: "Now this chart. What is the slow part?"},
		llm.Image{MIME: "image/png", Data: pictureFile("chart.png")},
		llm.Document{Name: "report.pdf", MIME: "application/pdf", Text: "Latency of writes, in µs"},
	}})
	shot := tool("c5", "screenshot", `{"url":"https://example.com/chart"}`)
	s.answer(nil, shot)
	s.say(llm.Message{Role: llm.RoleToolResult, ToolCallID: "c5", ToolName: "screenshot", Content: []llm.Block{llm.Image{MIME: "image/png", Data: pictureFile("shot.png")}}})
	s.add(transcript.Entry{Type: transcript.TypeMode, Mode: "plan"})
	s.add(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "reminder", Display: true, Content: json.RawMessage(`"The budget is nearly used up."`)})
	s.add(transcript.Entry{Type: transcript.TypeCustom, CustomType: "theme", Data: json.RawMessage(`{"name":"dark"}`)})
	s.say(llm.Message{
		Role: llm.RoleAssistant, Provider: "openai", Model: "gpt-x", StopReason: llm.StopError, Content: []llm.Block{llm.Text{Text: "The slow part is"}},
		Error: &llm.Error{Kind: llm.ErrOverload, Message: "the server is overloaded", Status: 529},
	})
	s.answer(nil, llm.Thinking{Redacted: true, Signature: "x"}, llm.Text{Text: "The slow part is the sync, see https://example.com/fsync_costs.", Citations: []llm.Citation{{URL: "https://example.com/fsync_costs", Title: "What fsync costs"}}})
	_ = first
	return Page{
		Header:  transcript.Header{Type: "session", Version: 3, ID: "5f2c9a01", Timestamp: "2026-03-09T14:02:00.000Z", CWD: "/home/ada/store"},
		Entries: s.entries, Title: "Write each record with one call", System: "You are burin.\nBe brief.",
		Tools:     []llm.Tool{{Name: "bash", Description: "Runs a command.", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)}},
		Generated: start.Add(48 * time.Hour), Version: "0.4.0",
	}
}

func render(t testing.TB, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}
