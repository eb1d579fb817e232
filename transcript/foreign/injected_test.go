package foreign_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/foreign"
)

// What the person said comes over; what their program said to its model does not.
func TestImportLeavesOutWhatTheProgramAdded(t *testing.T) {
	const environment = "<environment_context>\n  <cwd>/home/ada</cwd>\n  <approval_policy>never</approval_policy>\n</environment_context>"
	codex := func(messages ...[2]string) string {
		lines := []string{`{"timestamp":"2026-01-02T10:00:00.000Z","type":"session_meta","payload":{"id":"019c","timestamp":"2026-01-02T10:00:00.000Z","cwd":"/x"}}`}
		for _, m := range messages {
			text, _ := json.Marshal(m[1])
			lines = append(lines, `{"timestamp":"2026-01-02T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"`+m[0]+`","content":[{"type":"input_text","text":`+string(text)+`}]}}`)
		}
		return strings.Join(lines, "\n")
	}
	claude := func(meta bool, texts ...string) string {
		var lines []string
		parent := "null"
		for i, s := range texts {
			text, _ := json.Marshal(s)
			id := `"u` + string(rune('0'+i)) + `"`
			isMeta := ""
			if meta && i > 0 {
				isMeta = `"isMeta":true,`
			}
			lines = append(lines, `{"parentUuid":`+parent+`,"isSidechain":false,"sessionId":"5a0f","version":"2.0.1",`+isMeta+`"type":"user","message":{"role":"user","content":`+string(text)+`},"uuid":`+id+`,"timestamp":"2026-01-02T10:00:00.000Z"}`)
			parent = id
		}
		return strings.Join(lines, "\n")
	}
	gemini := func(texts ...string) string {
		var list []string
		for i, s := range texts {
			text, _ := json.Marshal(s)
			list = append(list, `{"id":"m`+string(rune('0'+i))+`","timestamp":"2026-01-02T10:00:00.000Z","type":"user","content":`+string(text)+`}`)
		}
		return `{"sessionId":"abcd","projectHash":"x","startTime":"2026-01-02T10:00:00.000Z","lastUpdated":"2026-01-02T10:00:00.000Z","messages":[` + strings.Join(list, ",") + `]}`
	}
	for name, tt := range map[string]struct {
		file, text string
		want       []string
		out        int // texts that the report counts
	}{
		"Codex: permissions and modes": {
			"rollout-2026-01-02T10-00-00-019c.jsonl",
			codex([2]string{"developer", "<permissions instructions>\nFilesystem sandboxing: read-only.\n</permissions instructions>"}, [2]string{"user", environment}, [2]string{"developer", "<collaboration_mode>Plan</collaboration_mode>"}, [2]string{"user", "Fix it"}),
			[]string{"Fix it"},
			3,
		},
		"Codex: instruction files before the prompt": {
			"rollout-2026-01-02T10-00-00-019c.jsonl",
			codex([2]string{"user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>\n" + environment}, [2]string{"user", environment + "\n\nFix it"}),
			[]string{"Fix it"},
			3,
		},
		"Codex: the editor's context": {
			"rollout-2026-01-02T10-00-00-019c.jsonl",
			codex([2]string{"user", "# Context from my IDE setup:\n\n## Active file: a.go\n\n## My request for Codex:\nFix it\n"}),
			[]string{"Fix it"},
			1,
		},
		"Codex: a person who speaks of it": {
			"rollout-2026-01-02T10-00-00-019c.jsonl",
			codex([2]string{"user", "Where does <environment_context> come from?"}, [2]string{"user", "<user_shell_command>ls</user_shell_command>"}, [2]string{"user", "<skill> is an element"}),
			[]string{"Where does <environment_context> come from?", "<user_shell_command>ls</user_shell_command>", "<skill> is an element"},
			0,
		},
		"Claude Code: reminders": {
			"5a0f.jsonl",
			claude(false, "<system-reminder>\nToday is Friday.\n</system-reminder>\nFix it", "Now test\n\n<system-reminder>The list is empty.</system-reminder>", "<system-reminder>x</system-reminder>"),
			[]string{"Fix it", "Now test"},
			3,
		},
		"Claude Code: notes of its own": {
			"5a0f.jsonl", claude(true, "Fix it", "Caveat: made by local commands"), []string{"Fix it"}, 1,
		},
		"Claude Code: a command that was typed": {
			"5a0f.jsonl",
			claude(true, "<command-name>/review</command-name>", "Review the diff."),
			[]string{"<command-name>/review</command-name>", "Review the diff."},
			0,
		},
		"Gemini CLI: the setup": {
			"session-2026-01-02T10-00-abcd.json",
			gemini("This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is Friday.", "<session_context>\nToday is Friday.\n</session_context>", "Fix it\n\n<hook_context>x</hook_context>"),
			[]string{"Fix it"},
			3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			sessions, errs := imported(t, path)
			if len(sessions) != 1 || len(errs) > 0 {
				t.Fatalf("%d sessions, errors %q", len(sessions), errs)
			}
			checkSaid(t, sessions[0], tt.want, tt.out)
		})
	}
}

func checkSaid(t *testing.T, s *foreign.Session, want []string, out int) {
	t.Helper()
	var said []string
	log := opened(t, s)
	view, err := log.Context(log.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range view.Messages {
		if m.Role != llm.RoleAssistant && m.Role != llm.RoleToolResult {
			said = append(said, m.Text())
		}
	}
	if !slices.Equal(said, want) {
		t.Errorf("models are told %q, want %q", said, want)
	}
	counted := 0
	for _, l := range s.Report.Lossy {
		if strings.HasPrefix(l.What, "texts that") {
			counted = l.Count
		}
	}
	if counted != out {
		t.Errorf("the report counts %d texts, want %d", counted, out)
	}
}
