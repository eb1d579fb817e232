package foreign

import (
	"strings"

	"github.com/burin-dev/burin/llm"
)

// wrapper marks text that a program put into a conversation on its own: it begins
// with one mark and ends with the other. Marks are compared without case.
type wrapper struct{ begin, end string }

func element(name string) wrapper { return wrapper{"<" + name + ">", "</" + name + ">"} }

var reminder = element("system-reminder")

// injects lists what the programs wrap. What only looks so in the middle of a text
// stays: the user may speak of it. Codex marks a command that the user typed with
// <user_shell_command>; that is theirs and stays too.
func injects(f Format) []wrapper {
	switch f {
	case ClaudeCode:
		return []wrapper{reminder, element("local-command-caveat")}
	case Codex:
		return []wrapper{
			element("environment_context"), element("user_instructions"),
			{"# AGENTS.md instructions", "</INSTRUCTIONS>"},
			element("agents_instructions"), element("permissions instructions"), element("collaboration_mode"),
			element("apps_instructions"), element("plugins_instructions"), element("skills_instructions"), element("skill"),
			element("recommended_plugins"), element("multiagent_context"), element("multi_agent_mode"), element("subagent_notification"),
			element("goal_context"),
			{"<codex_internal_context", "</codex_internal_context>"},
			element("app-context"),
			element("model_switch"), element("personality_spec"), element("turn_aborted"),
			{"<hook_prompt", "</hook_prompt>"},
		}
	case OpenCode:
		return []wrapper{reminder}
	case GeminiCLI:
		return []wrapper{element("session_context"), element("hook_context"), reminder}
	}
	return nil
}

// The Codex extension of editors writes what is open there before the prompt.
const (
	codexIDE     = "# Context from my IDE setup:"
	codexRequest = "## My request for Codex:"
	geminiSetup  = "This is the Gemini CLI. We are setting up the context for our chat."
)

// injected reports texts that were left out.
func (t *tree) injected(n int) {
	t.lose(n, "texts that "+t.format.Title()+" added", "its reminders, environment, permissions and instruction files are not imported")
}

// own leaves of a message what the user, or a tool, said. What a tool said may be
// anything, so only a reminder at its end is taken for one.
func (t *tree) own(role llm.Role, blocks []llm.Block) []llm.Block {
	marks := injects(t.format)
	if role == llm.RoleToolResult && marks != nil {
		marks = []wrapper{reminder}
	}
	if marks == nil {
		return blocks
	}
	out := blocks[:0:0]
	for _, b := range blocks {
		text, ok := b.(llm.Text)
		if !ok {
			out = append(out, b)
			continue
		}
		rest, n := strip(text.Text, marks, role != llm.RoleToolResult)
		switch request, found := "", false; {
		case role == llm.RoleToolResult:
		case t.format == GeminiCLI && strings.HasPrefix(rest, geminiSetup):
			rest, n = "", n+1
		case t.format == Codex && strings.HasPrefix(rest, codexIDE):
			if _, request, found = strings.Cut(rest, codexRequest); found {
				rest, n = strings.TrimSpace(request), n+1
			}
		}
		t.injected(n)
		if n == 0 {
			out = append(out, b)
		} else if rest != "" {
			text.Text = rest
			out = append(out, text)
		}
	}
	return out
}

// maxInjected is how many wrapped texts are taken from one text. What comes after
// stays.
const maxInjected = 100

// strip takes wrapped text from the end of s, and from the beginning if front is set,
// and counts it. What is left loses the white space around it, unless there was
// nothing to take.
func strip(s string, marks []wrapper, front bool) (string, int) {
	n := 0
	rest := strings.TrimSpace(s)
	for again := true; again && n < maxInjected; {
		again = false
		for _, w := range marks {
			if front && hasPrefixFold(rest, w.begin) {
				if i := indexFold(rest, w.end); i >= 0 {
					rest, again = strings.TrimSpace(rest[i+len(w.end):]), true
					n++
				}
			}
			if len(rest) >= len(w.end) && strings.EqualFold(rest[len(rest)-len(w.end):], w.end) {
				if i := lastIndexFold(rest, w.begin); i >= 0 && (i == 0 || rest[i-1] == '\n') {
					rest, again = strings.TrimSpace(rest[:i]), true
					n++
				}
			}
		}
	}
	if n == 0 {
		return s, 0
	}
	return rest, n
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// indexFold finds an ASCII mark.
func indexFold(s, mark string) int {
	for i := 0; i+len(mark) <= len(s); i++ {
		j := strings.IndexByte(s[i:], mark[0])
		if j < 0 {
			return -1
		}
		if i += j; hasPrefixFold(s[i:], mark) {
			return i
		}
	}
	return -1
}

func lastIndexFold(s, mark string) int {
	for i := len(s); i > 0; {
		if i = strings.LastIndexByte(s[:i], mark[0]); i < 0 {
			return -1
		}
		if hasPrefixFold(s[i:], mark) {
			return i
		}
	}
	return -1
}
