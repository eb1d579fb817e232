package export

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/export/internal/markup"
)

// Kinds of entries in the tree of the page; the script's filters go by them.
const (
	kindUser      = 'u'
	kindAssistant = 'a'
	kindCalls     = 't' // an answer without words that only calls tools
	kindResult    = 'r'
	kindNote      = 'n' // a program's words that people see, or a command of the user's own
	kindDivider   = 'c' // a compaction
	kindBranch    = 'b' // the summary of another branch
	kindChange    = 'm' // model, thinking, mode, service tier
	kindQuiet     = 'q' // what only programs care about
)

func kindOf(e *transcript.Entry) byte {
	switch e.Type {
	case transcript.TypeModel, transcript.TypeThinking, transcript.TypeMode, transcript.TypeServiceTier:
		return kindChange
	case transcript.TypeCompaction:
		return kindDivider
	case transcript.TypeBranchSummary:
		return kindBranch
	}
	switch {
	case !e.Shown():
		return kindQuiet
	case e.Type == transcript.TypeMessage:
		return kindOfMessage(e.Message)
	}
	return kindNote
}

// kindOfMessage is the kind of a message that is shown.
func kindOfMessage(m *llm.Message) byte {
	switch m.Role {
	case llm.RoleUser:
		return kindUser
	case llm.RoleToolResult:
		return kindResult
	case llm.RoleAssistant:
		return kindOfAnswer(m)
	}
	return kindNote
}

func kindOfAnswer(m *llm.Message) byte {
	calls := false
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				return kindAssistant
			}
		case llm.ToolCall:
			calls = true
		}
	}
	if calls && m.StopReason != llm.StopError && m.StopReason != llm.StopAborted {
		return kindCalls
	}
	return kindAssistant
}

// maxExcerpt is the length of an entry's line in the tree, in bytes.
const maxExcerpt = 90

// excerpt is an entry in one short line, safe to show.
func excerpt(e *transcript.Entry) string {
	switch e.Type {
	case transcript.TypeMessage:
		switch {
		case e.Execution != nil:
			return visible("! " + e.Execution.Command)
		case e.Message != nil:
			return visible(messageWords(e.Message))
		}
	case transcript.TypeCustomMessage:
		if blocks, err := e.Words(); err == nil {
			return visible(blockWords(blocks))
		}
	case transcript.TypeCompaction, transcript.TypeBranchSummary:
		if e.ShortSummary != "" {
			return visible(e.ShortSummary)
		}
		return visible(e.Summary)
	}
	return visible(changeWords(e))
}

// executionWords say who ran a command.
func executionWords(x *transcript.Execution) string {
	if x.Excluded {
		return "You ran, without the model"
	}
	return "You ran"
}

func messageWords(m *llm.Message) string {
	blocks := m.Content
	if m.Role == llm.RoleAssistant {
		blocks = llm.Paragraphs(blocks)
	}
	words := blockWords(blocks)
	if m.Role == llm.RoleToolResult {
		return m.ToolName + ": " + words
	}
	if strings.TrimSpace(words) == "" && m.Error != nil {
		return m.Error.Error()
	}
	return words
}

func blockWords(blocks []llm.Block) string {
	rest := ""
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				return b.Text
			}
		case llm.ToolCall:
			rest += " " + b.Name + " " + headline(b)
		case llm.Image:
			rest += " [image]"
		case llm.Document:
			rest += " [" + b.Name + "]"
		}
		if len(rest) > maxExcerpt {
			break
		}
	}
	return rest
}

// changeWords says what an entry without words of its own is about.
func changeWords(e *transcript.Entry) string {
	switch e.Type {
	case transcript.TypeModel:
		if e.Role != "" && e.Role != "default" {
			return "model for " + e.Role + ": " + e.Model
		}
		return "model: " + e.Model
	case transcript.TypeThinking:
		return "thinking: " + e.ThinkingLevel
	case transcript.TypeServiceTier:
		if e.ServiceTier == nil || *e.ServiceTier == "" {
			return "service tier: default"
		}
		return "service tier: " + *e.ServiceTier
	case transcript.TypeMode:
		return "mode: " + e.Mode
	case transcript.TypeLabel:
		if e.Label == "" {
			return "label removed"
		}
		return "label: " + e.Label
	case transcript.TypeCustom:
		switch e.CustomType {
		case transcript.CustomLeaf:
			return "went back here"
		case transcript.CustomPrune:
			return "shortened old outputs for the model"
		}
		return e.CustomType
	case transcript.TypeTTSR:
		return "rules: " + strings.Join(e.InjectedRules, ", ")
	case transcript.TypeMCPTools:
		return "MCP tools: " + strings.Join(e.SelectedTools, ", ")
	case transcript.TypeInit:
		if e.Task != "" {
			return "task: " + e.Task
		}
		return "session set up"
	case transcript.TypeInfo:
		return "name: " + e.Name
	}
	return e.Type
}

// visible is the beginning of s on one line, with control characters visible.
func visible(s string) string {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	s = prose.Head(s, 4*maxExcerpt)
	return prose.Clip(markup.Plain(prose.Line(s)), maxExcerpt)
}

// field is one argument of a tool call.
type field struct {
	name  string
	text  string // a string's value, or the JSON of anything else
	isStr bool
}

// arguments are the arguments of a call in the order in which the model wrote
// them; ok is false if they are not an object.
func arguments(c llm.ToolCall) (fields []field, ok bool) {
	raw, _, err := llm.ParseObject(c.Arguments)
	if err != nil {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, false
		}
		f := field{text: string(v)}
		f.name, _ = key.(string)
		if v[0] == '"' && json.Unmarshal(v, &f.text) == nil {
			f.isStr = true
		}
		fields = append(fields, f)
	}
	return fields, true
}

// headline is the argument that tells most about a call, for one line.
func headline(c llm.ToolCall) string {
	fields, ok := arguments(c)
	if !ok {
		return visible(c.Arguments)
	}
	return telling(fields)
}

func telling(fields []field) string {
	for _, name := range [...]string{
		"command", "cmd", "path", "file_path", "filePath", "file", "filename", "pattern", "query", "url", "question",
		"prompt", "task", "title", "name", "description", "symbol", "code", "input", "paths", "files",
	} {
		for _, f := range fields {
			if f.name == name && f.text != "" {
				return visible(f.text)
			}
		}
	}
	for _, f := range fields {
		if f.isStr && f.text != "" {
			return visible(f.text)
		}
	}
	return ""
}

// costWords is a cost for people: unknown is never shown as 0.
func costWords(c *llm.Cost, unpriced int) string {
	switch {
	case unpriced > 0 && (c == nil || c.Total == 0):
		return "unknown cost"
	case unpriced > 0:
		return "≥ " + c.Total.String()
	case c == nil:
		return llm.USD(0).String()
	case c.Unreliable:
		return "≈ " + c.Total.String()
	}
	return c.Total.String()
}

// usageWords are the tokens and cost of an answer.
func usageWords(m *llm.Message) []string {
	var words []string
	if u := m.Usage; u != nil {
		in := prose.Tokens(u.Prompt()) + " in"
		if u.CacheRead > 0 {
			in += " (" + prose.Tokens(u.CacheRead) + " cached)"
		}
		words = append(words, in, prose.Tokens(u.Output)+" out")
	}
	if m.Usage != nil || unpriced(m) {
		n := 0
		var c *llm.Cost
		if m.Usage != nil {
			c = m.Usage.Cost
		}
		if unpriced(m) {
			n = 1
		}
		words = append(words, costWords(c, n))
	}
	return words
}

func modelOf(m *llm.Message) string {
	if m.Provider == "" || m.Model == "" {
		return m.Provider + m.Model
	}
	return m.Provider + "/" + m.Model
}

// bytesWords is a size for people.
func bytesWords(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n) + " bytes"
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

// timeOf is when an entry was made: the message's own time before the record's.
func timeOf(e *transcript.Entry) time.Time {
	if e.Message != nil && !e.Message.Time.IsZero() {
		return e.Message.Time.UTC()
	}
	return e.Time().UTC()
}
