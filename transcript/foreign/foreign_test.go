package foreign_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/foreign"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what is imported to the golden files")

// fixtures are the folders of testdata with the format of what is in them.
var fixtures = []struct {
	name   string
	format foreign.Format
}{
	{"claude-code-v1", foreign.ClaudeCode},
	{"claude-code-v2", foreign.ClaudeCode},
	{"codex-v0", foreign.Codex},
	{"codex-v1", foreign.Codex},
	{"codex-v2", foreign.Codex},
	{"opencode-v1", foreign.OpenCode},
	{"opencode-export", foreign.OpenCode},
	{"gemini-v1", foreign.GeminiCLI},
	{"gemini-v2", foreign.GeminiCLI},
	{"pi-v1", foreign.Pi},
	{"pi-v3", foreign.Pi},
	{"chatgpt-v1", foreign.ChatGPT},
	{"chatgpt-v2", foreign.ChatGPT},
	{"claude-ai-v1", foreign.ClaudeAI},
	{"claude-ai-v2", foreign.ClaudeAI},
	{"open-webui-v1", foreign.OpenWebUI},
	{"open-webui-v2", foreign.OpenWebUI},
	{"librechat-v1", foreign.LibreChat},
	{"librechat-v2", foreign.LibreChat},
}

func fixture(name string) string { return filepath.Join("testdata", name) }

// imported are the sessions and errors of an import.
func imported(t testing.TB, path string) (sessions []*foreign.Session, errs []string) {
	t.Helper()
	for s, err := range foreign.Import(t.Context(), path, foreign.Options{}) {
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		sessions = append(sessions, s)
	}
	return sessions, errs
}

// render writes a session as text: a line for each entry, with the place of its
// parent.
func render(s *foreign.Session) string {
	var b strings.Builder
	h := s.Header
	fmt.Fprintf(&b, "== %s %q cwd=%q at=%s parent=%q\n", h.ID, h.Title, h.CWD, h.Timestamp, h.ParentSession)
	at := map[string]int{}
	for i, e := range s.Entries {
		at[e.ID] = i
		parent := "-"
		if e.ParentID != nil {
			parent = fmt.Sprint(at[*e.ParentID])
		}
		clock := e.Timestamp
		if len(clock) > 19 {
			clock = clock[11:19]
		}
		fmt.Fprintf(&b, "%d<%s %s %s", i, parent, clock, e.Type)
		switch {
		case e.Message != nil:
			renderMessage(&b, e.Message)
		case e.Type == transcript.TypeInit:
			fmt.Fprintf(&b, " %q", e.SystemPrompt)
		case e.Type == transcript.TypeCompaction:
			fmt.Fprintf(&b, " %q tokens=%d", e.Summary, e.TokensBefore)
			if e.FirstKeptID != "" {
				fmt.Fprintf(&b, " kept=%d", at[e.FirstKeptID])
			}
		case e.Type == transcript.TypeLabel:
			fmt.Fprintf(&b, " %d=%q", at[e.TargetID], e.Label)
		case e.Type == transcript.TypeCustom:
			fmt.Fprintf(&b, " %s", e.CustomType)
		}
		b.WriteByte('\n')
	}
	return b.String() + s.Report.String() + "\n"
}

func renderMessage(b *strings.Builder, m *llm.Message) {
	fmt.Fprintf(b, " %s", m.Role)
	for _, f := range []string{string(m.API), m.Provider, m.Model, string(m.StopReason), m.ToolCallID, m.ToolName, m.CustomType} {
		if f != "" {
			fmt.Fprintf(b, " %s", f)
		}
	}
	if m.IsError {
		b.WriteString(" failed")
	}
	if u := m.Usage; u != nil {
		fmt.Fprintf(b, " [%d+%d+%d>%d(%d)]", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning)
		if u.Cost != nil {
			fmt.Fprintf(b, "$%v", u.Cost.Total.Float())
		}
	}
	if m.Error != nil {
		fmt.Fprintf(b, " error=%q", m.Error.Error())
	}
	for _, block := range m.Content {
		switch block := block.(type) {
		case llm.Text:
			fmt.Fprintf(b, " | %q", block.Text)
			for _, c := range block.Citations {
				fmt.Fprintf(b, " cites %s", c.URL)
			}
		case llm.Thinking:
			fmt.Fprintf(b, " | thinks %q %s", block.Text, block.Signature)
		case llm.ToolCall:
			fmt.Fprintf(b, " | call %s %s %s", block.ID, block.Name, block.Arguments)
		case llm.Image:
			fmt.Fprintf(b, " | image %s %d", block.MIME, len(block.Data))
		case llm.Document:
			fmt.Fprintf(b, " | document %s %s %q", block.Name, block.MIME, block.Text)
		case llm.Opaque:
			fmt.Fprintf(b, " | opaque %s %s", block.API, block.Kind)
		}
	}
}

func TestImport(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			sessions, errs := imported(t, fixture(f.name))
			var got strings.Builder
			for _, s := range sessions {
				got.WriteString(render(s))
			}
			for _, err := range errs {
				got.WriteString("error: " + err + "\n")
			}
			golden := filepath.Join("testdata", f.name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), filepath.ToSlash(got.String())); d != "" {
				t.Errorf("imported (-want +got):\n%s", d)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	for _, f := range fixtures {
		got, err := foreign.Detect(fixture(f.name))
		if err != nil || got != f.format {
			t.Errorf("%s is %q, %v; want %q", f.name, got, err, f.format)
		}
	}
}

// A second import of the same file gives the same ids, so that what is there can be
// recognized.
func TestImportIsStable(t *testing.T) {
	for _, f := range fixtures {
		first, _ := imported(t, fixture(f.name))
		second, _ := imported(t, fixture(f.name))
		if d := cmp.Diff(first, second); d != "" {
			t.Errorf("%s differs from one import to the next:\n%s", f.name, d)
		}
	}
}

// Every session can be written, opened without damage, and stands at its last entry.
func TestSessionsOpen(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			sessions, _ := imported(t, fixture(f.name))
			for _, s := range sessions {
				log := opened(t, s)
				if len(s.Entries) == 0 {
					continue
				}
				if got, want := log.Leaf(), s.Entries[len(s.Entries)-1].ID; got != want {
					t.Errorf("%s stands at %s, want %s", s.Report.Source, got, want)
				}
			}
		})
	}
}

func opened(t testing.TB, s *foreign.Session) *transcript.Log {
	t.Helper()
	records, err := s.Records()
	if err != nil {
		t.Fatal(err)
	}
	store := &transcript.Memory{}
	if _, err := store.Append(records...); err != nil {
		t.Fatal(err)
	}
	log, damage, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		t.Fatalf("open %s: %v", s.Report.Source, err)
	}
	if damage != nil && (damage.Serious() || damage.Torn || damage.Migrated) {
		t.Fatalf("%s is damaged: %s", s.Report.Source, damage)
	}
	if log.Len() != len(s.Entries) {
		t.Fatalf("%s has %d entries, want %d", s.Report.Source, log.Len(), len(s.Entries))
	}
	return log
}

// targets are what the five codecs ask for.
func targets() []llm.Target {
	id := func(s string) string { return regexp.MustCompile(`[^a-zA-Z0-9_-]`).ReplaceAllString(s, "_") }
	return []llm.Target{
		{API: llm.APIAnthropic, Provider: "anthropic", Model: "claude-sonnet-4-5", Images: true, Documents: true, ToolImages: true, ToolDocuments: true, ForeignThinking: llm.DropThinking, CallID: id},
		{API: llm.APICompletions, Provider: "openai", Model: "gpt-4o", Images: true, ForeignThinking: llm.DropThinking, UnsignedThinking: true, CallID: func(s string) string { return id(s)[:min(40, len(id(s)))] }, SystemInline: true},
		{API: llm.APIResponses, Provider: "openai", Model: "gpt-5.3-codex", Images: true, Documents: true, ToolImages: true, ToolDocuments: true, ForeignThinking: llm.DropThinking, UnsignedThinking: true, SystemInline: true},
		{API: llm.APIGoogle, Provider: "google", Model: "gemini-3-pro", Images: true, ForeignThinking: llm.DropThinking, UnsignedThinking: true},
		{API: llm.APIBedrock, Provider: "amazon-bedrock", Model: "x", ForeignThinking: llm.DropThinking, CallID: id},
	}
}

// illegal says what a history is refused for by vendors.
func illegal(history []llm.Message, target llm.Target) (wrong []string) {
	fail := func(format string, args ...any) {
		wrong = append(wrong, string(target.API)+": "+fmt.Sprintf(format, args...))
	}
	var pending []string
	ids := map[string]bool{}
	first := slices.IndexFunc(history, func(m llm.Message) bool { return m.Role != llm.RoleSystem })
	if first < 0 || history[first].Role != llm.RoleUser {
		fail("it does not begin with a user message")
	}
	for i, m := range history {
		if m.Role == llm.RoleToolResult {
			if len(pending) == 0 || pending[0] != m.ToolCallID {
				fail("message %d answers %q, want %q", i, m.ToolCallID, pending)
				continue
			}
			pending = pending[1:]
		} else if len(pending) > 0 {
			fail("message %d comes before the answers to %q", i, pending)
			pending = nil
		}
		if m.Role == llm.RoleCustom || m.Role == llm.RoleSystem && !target.SystemInline || len(m.Content) == 0 {
			fail("message %d is of %s with %d blocks", i, m.Role, len(m.Content))
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				if strings.TrimSpace(b.Text) == "" || !utf8.ValidString(b.Text) {
					fail("message %d has the text %q", i, b.Text)
				}
			case llm.Image:
				if len(b.Data) == 0 || !target.Images {
					fail("message %d has an image", i)
				}
			case llm.Opaque:
				if b.API.Family() != target.API.Family() {
					fail("message %d has an item of %q", i, b.API)
				}
			case llm.ToolCall:
				if _, state, _ := llm.ParseObject(b.Arguments); b.ID == "" || ids[b.ID] || b.Name == "" || state != llm.ArgsComplete {
					fail("message %d has the call %+v", i, b)
				}
				ids[b.ID] = true
				pending = append(pending, b.ID)
			}
		}
	}
	if len(pending) > 0 {
		fail("no answer to %q", pending)
	}
	return wrong
}

// Whatever was imported can be gone on with, on every branch, with every vendor.
func TestImportedIsLegal(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			sessions, _ := imported(t, fixture(f.name))
			for _, s := range sessions {
				checkLegal(t, s)
			}
		})
	}
}

func checkLegal(t testing.TB, s *foreign.Session) {
	t.Helper()
	log := opened(t, s)
	for _, e := range s.Entries {
		c, err := log.Context(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets() {
			for _, wrong := range illegal(llm.Legal(c.Messages, target), target) {
				t.Errorf("%s, at %s: %s", s.Report.Source, e.ID, wrong)
			}
		}
	}
}

// checkLeaf is checkLegal for the active branch only.
func checkLeaf(t testing.TB, s *foreign.Session) {
	t.Helper()
	log := opened(t, s)
	c, err := log.Context(log.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets() {
		for _, wrong := range illegal(llm.Legal(c.Messages, target), target) {
			t.Errorf("%s: %s", s.Report.Source, wrong)
		}
	}
}

func TestReportIsForPeople(t *testing.T) {
	sessions, _ := imported(t, fixture("librechat-v1"))
	want := `Fuel (LibreChat), from ` + filepath.Join("testdata", "librechat-v1", "convo.json") + `
  4 messages, 0 tool calls, 0 images, 1 other branch
  not as it was: costs (2): the source does not say what the answers cost`
	if d := cmp.Diff(want, sessions[0].Report.String()); d != "" {
		t.Error(d)
	}
}

// Records of version 3 are copied byte for byte.
func TestPiIsCopied(t *testing.T) {
	sessions, _ := imported(t, fixture("pi-v3"))
	records, err := sessions[0].Records()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(fixture("pi-v3"), "2026_ab.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := 1; i < len(lines); i++ {
		if string(records[i]) != lines[i] {
			t.Errorf("record %d is %s, want %s", i, records[i], lines[i])
		}
	}
	var h transcript.Header
	if err := json.Unmarshal(records[0], &h); err != nil || h.ID != "ab" || h.CWD != "/home/ada" {
		t.Errorf("the header is %s, %v", records[0], err)
	}
}

// The name that oh-my-pi writes before the header comes along.
func TestPiTitleLine(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixture("pi-v3"), "2026_ab.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "2026_ab.jsonl")
	if err := os.WriteFile(file, append([]byte(`{"type":"title","v":1,"title":"The orchard","pad":"    "}`+"\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	sessions, _ := imported(t, file)
	if s := sessions[0]; s.Header.Title != "The orchard" || s.Report.Title != "The orchard" {
		t.Errorf("it is called %q, and in the report %q", s.Header.Title, s.Report.Title)
	}
}
