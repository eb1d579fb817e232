package tree

import (
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// fact is what is known of an entry that was read.
type fact struct {
	role  string
	color theme.Token
	text  string
	fail  bool
	quiet bool // is left out
}

// facts keeps what was read: the words of rows near the window, and of all answers
// seen whether they are left out.
type facts struct {
	words map[int]fact
	quiet map[int]bool
}

const (
	maxWords  = 2000
	maxColumn = 300 // bytes of a row's words
)

// trim forgets words when there are many; what is on the screen is read again.
func (f *facts) trim() {
	if len(f.words) > maxWords {
		f.words = nil
	}
}

// quiet reports whether row r is left out: an answer of nothing but calls, or a
// message of a program that is not for people.
func (t *Tree) quiet(r int) bool {
	at := t.layout.rows[r]
	n := &t.nodes[at.node]
	i := int(at.node)
	custom := n.Type == transcript.TypeCustomMessage || n.Type == transcript.TypeMessage && n.Role == ""
	if t.filter != Default && t.filter != NoTools || t.search.query != "" || n.Label != "" || at.first && !custom || at.forks ||
		i == t.leaf || n.Role != llm.RoleAssistant && !custom {
		return false
	}
	quiet, ok := t.facts.quiet[i]
	if !ok {
		quiet = t.fact(i).quiet
		if t.facts.quiet == nil {
			t.facts.quiet = map[int]bool{}
		}
		t.facts.quiet[i] = quiet
	}
	return quiet
}

// fact reads an entry.
func (t *Tree) fact(i int) fact {
	if f, ok := t.facts.words[i]; ok {
		return f
	}
	f := t.read(i)
	if t.facts.words == nil {
		t.facts.words = map[int]fact{}
	}
	t.facts.words[i] = f
	return f
}

func (t *Tree) read(i int) fact {
	e, err := t.o.Log.Entry(t.nodes[i].ID)
	if err != nil {
		return fact{role: "damaged", color: theme.Error, text: "this entry cannot be read", fail: true}
	}
	f := fact{role: t.facts.role(e), color: theme.Muted}
	switch m := e.Message; {
	case m == nil:
		f.text, f.color = note(e), theme.Dim
		f.quiet = e.Type == transcript.TypeCustomMessage && !e.Display
	case m.Role == llm.RoleUser:
		f.text, f.color = m.Text(), theme.Accent
	case m.Role == llm.RoleAssistant:
		f.color = theme.Success
		f.answer(m)
	case m.Role == llm.RoleToolResult:
		f.text, f.fail = t.call(i, m), m.IsError
	default:
		f.text = m.Text()
		f.quiet = m.Role == llm.RoleCustom && !m.Display && m.CustomType != transcript.CustomExcluded
	}
	f.text = line(f.text)
	return f
}

// role is who says an entry, in a word.
func (facts) role(e *transcript.Entry) string {
	switch e.Type {
	case transcript.TypeCompaction:
		return "condensed"
	case transcript.TypeBranchSummary:
		return "summary"
	case transcript.TypeCustomMessage, transcript.TypeCustom:
		return strings.TrimSpace("note " + e.CustomType)
	case transcript.TypeMessage:
	default:
		return strings.ReplaceAll(strings.TrimSuffix(e.Type, "_change"), "_", " ")
	}
	switch {
	case e.Message == nil:
		return "message"
	case e.Message.Role == llm.RoleUser:
		return "you"
	case e.Message.Role == llm.RoleAssistant:
		return "assistant"
	case e.Message.Role == llm.RoleToolResult:
		return "tool"
	case e.Message.CustomType != "":
		return "note " + e.Message.CustomType
	}
	return string(e.Message.Role)
}

// answer takes the words of an answer; without any, its calls.
func (f *fact) answer(m *llm.Message) {
	f.text = m.Text()
	bad := m.StopReason != "" && m.StopReason != llm.StopEnd && m.StopReason != llm.StopToolUse
	if strings.TrimSpace(f.text) == "" {
		var calls []string
		for _, c := range m.ToolCalls() {
			calls = append(calls, "["+subject(c)+"]")
		}
		f.text = strings.Join(calls, " ")
		f.quiet = !bad
	}
	switch {
	case m.StopReason == llm.StopAborted:
		f.text = strings.TrimSpace("(stopped) " + f.text)
	case m.StopReason == llm.StopError && m.Error != nil:
		f.text, f.fail = strings.TrimSpace("("+m.Error.Error()+") "+f.text), true
	case m.StopReason == llm.StopError:
		f.text, f.fail = strings.TrimSpace("(failed) "+f.text), true
	}
}

// note is what an entry says that is no message.
func note(e *transcript.Entry) string {
	switch e.Type {
	case transcript.TypeCompaction:
		words := e.ShortSummary
		if words == "" {
			words = e.Summary
		}
		if e.TokensBefore > 0 {
			words = prose.Tokens(e.TokensBefore) + " tokens: " + words
		}
		return words
	case transcript.TypeBranchSummary:
		return e.Summary
	case transcript.TypeCustomMessage:
		words, err := e.Words()
		if err != nil {
			return ""
		}
		m := llm.Message{Content: words}
		return m.Text()
	case transcript.TypeModel:
		return e.Model
	case transcript.TypeThinking:
		return e.ThinkingLevel
	case transcript.TypeMode:
		return e.Mode
	case transcript.TypeInfo:
		return e.Name
	case transcript.TypeLabel:
		if e.Label == "" {
			return "(removed)"
		}
		return e.Label
	}
	return ""
}

// maxUp is how far above a result its call is looked for.
const maxUp = 32

// call is what a result is of, from the call above it; without one, how it begins.
func (t *Tree) call(i int, m *llm.Message) string {
	at := t.nodes[i].Parent
	for n := 0; at >= 0 && n < maxUp && t.nodes[at].Role == llm.RoleToolResult; n++ {
		at = t.nodes[at].Parent
	}
	if at >= 0 && t.nodes[at].Role == llm.RoleAssistant {
		if e, err := t.o.Log.Entry(t.nodes[at].ID); err == nil && e.Message != nil {
			for _, c := range e.Message.ToolCalls() {
				if c.ID == m.ToolCallID {
					return subject(c)
				}
			}
		}
	}
	return m.ToolName + " " + m.Text()
}

// subject is a call in a few words.
func subject(c llm.ToolCall) string {
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments), &args) == nil {
		for _, name := range [...]string{"command", "path", "pattern", "query", "url", "question", "input"} {
			if s, ok := args[name].(string); ok && s != "" {
				return c.Name + " " + s
			}
		}
	}
	return c.Name
}

// line is the beginning of a text on one line, made harmless.
func line(text string) string {
	return prose.Inline(prose.Head(prose.Line(prose.Head(text, 4*maxColumn)), maxColumn))
}
