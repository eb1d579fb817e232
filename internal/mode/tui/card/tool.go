package card

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// State is how far a call has come.
type State uint8

const (
	Running State = iota
	Done
	Failed
)

// Call is a call of a tool, and what is known of its result.
type Call struct {
	Name  string
	Label string // of the tool, for people; "" is its name
	// Args may be cut anywhere: they are shown while the model writes them.
	Args    json.RawMessage
	State   State
	Content []llm.Block // the result, or while it runs the latest part of it
	Details json.RawMessage
	// Agents are those that the call has started, as they are at Now; a zero Now leaves out
	// how long they run.
	Agents []session.Agent
	Now    time.Time
}

// text is the words of the result.
func (c *Call) text() string {
	var b strings.Builder
	for _, block := range c.Content {
		if t, ok := block.(llm.Text); ok {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// drawers draw what stands below and in the first line, by the tool's name.
var drawers = map[string]func(*painter, *Call, fields){
	"edit": (*painter).change, "apply_patch": (*painter).change, "undo_edit": (*painter).change, "write": (*painter).write,
	"bash": (*painter).bash, "job_poll": (*painter).job, "job_kill": (*painter).job, "job_write": (*painter).job, "job_list": (*painter).job,
	"read": (*painter).read, "grep": (*painter).grep, "find": (*painter).find, "ls": (*painter).ls,
	"todo": (*painter).todo, "ask": (*painter).ask, "exit_plan": handedOver, "fetch": (*painter).fetch, "web_search": (*painter).search,
	"task": paintAgents,
}

// Tool gives the lines of a call.
func Tool(c Call, v View) []string {
	p := newPainter(v)
	args := arguments(c.Args)
	if draw, ok := drawers[c.Name]; ok {
		draw(p, &c, args)
	} else {
		p.generic(&c, args)
	}
	p.pictures(&c)
	return p.lines
}

// subject is what a call is about: words, or a path, of which the end says most.
type subject struct {
	line styled.Line
	path bool // the first span is a path
}

func words(s string, fg theme.Token) subject { return subject{line: styled.Of(firstLine(s), fg)} }

// place is a path as a subject.
func place(name string) subject {
	return subject{line: styled.Of(prose.Inline(name), theme.Accent), path: true}
}

// and adds muted words to a subject.
func (s subject) and(more string) subject {
	s.line = append(s.line[:len(s.line):len(s.line)], styled.Span{Text: prose.Inline(more), Look: theme.Look{Fg: theme.Muted}})
	return s
}

// fit is the subject in so many cells.
func (s subject) fit(room int, ellipsis string) styled.Line {
	if s.path && len(s.line) > 0 && s.line.Width() > room {
		rest := s.line[1:]
		left := room - rest.Width() - styled.Width(ellipsis)
		name := s.line[0].Text
		for styled.Width(name) > left {
			_, after, more := strings.Cut(name[1:], "/")
			if !more {
				break
			}
			name = "/" + after
		}
		span := s.line[0]
		span.Text = ellipsis + name
		s.line = append(styled.Line{span}, rest...)
	}
	return styled.Truncate(s.line, room, ellipsis)
}

// title adds the first line of a card: the state, the tool, what it is about and
// facts of what came of it.
func (p *painter) title(c *Call, about subject, facts ...string) {
	var after styled.Line
	for _, f := range facts {
		if f = prose.Inline(f); f == "" {
			continue
		}
		if len(after) > 0 {
			after = append(after, styled.Span{Text: " " + p.sign.Dot + " ", Look: theme.Look{Fg: theme.Dim}})
		}
		after = append(after, styled.Span{Text: f, Look: theme.Look{Fg: theme.Muted}})
	}
	p.head(c, about, after)
}

// head is title with facts that have looks. They stay; of the subject as much is
// shown as there is room for.
func (p *painter) head(c *Call, about subject, facts styled.Line) {
	sign, look, back := p.sign.Running, theme.Accent, theme.ToolPendingBg
	switch c.State {
	case Done:
		sign, look, back = p.sign.Done, theme.Success, theme.ToolSuccessBg
	case Failed:
		sign, look, back = p.sign.Failed, theme.Error, theme.ToolErrorBg
	}
	name := c.Label
	if name == "" {
		name = c.Name
	}
	line := styled.Line{
		{Text: sign, Look: theme.Look{Fg: look}},
		{Text: " " + prose.Inline(name) + " ", Look: theme.Look{Fg: theme.ToolTitle, Bg: back, Mod: theme.Bold}},
	}
	if gap := " "; len(facts) > 0 {
		if len(about.line) > 0 {
			gap = "  "
		}
		facts = append(styled.Line{{Text: gap}}, facts...)
	}
	if len(about.line) > 0 {
		line = append(line, styled.Span{Text: " "})
		line = append(line, about.fit(max(8, p.Width-line.Width()-facts.Width()), p.sign.Ellipsis)...)
	}
	p.add(append(line, facts...))
}

// failure adds what went wrong, and reports whether something did.
func (p *painter) failure(c *Call) bool {
	if c.State != Failed {
		return false
	}
	p.text(c.text(), theme.Error, collapsedLines, head)
	return true
}

func (p *painter) pictures(c *Call) {
	for _, block := range c.Content {
		if img, ok := block.(llm.Image); ok {
			p.body(p.picture(img))
		}
	}
}

// generic shows a tool that is not known here: its arguments and its words.
func (p *painter) generic(c *Call, args fields) {
	about := ""
	for _, name := range [...]string{"command", "path", "pattern", "query", "url", "job", "question", "input", "name", "id"} {
		if about = args.string(name); about != "" {
			break
		}
	}
	if about == "" && len(args) > 0 {
		about = compact(c.Args)
	}
	if c.Name == "task_list" {
		about = strings.TrimSpace(args.string("op") + " " + args.string("id"))
	}
	p.title(c, words(about, theme.Text))
	if p.Expanded {
		for _, name := range slices.Sorted(maps.Keys(args)) {
			p.argument(name, args)
		}
	}
	if p.failure(c) {
		return
	}
	text := c.text()
	if text == "" && p.Expanded {
		text = indented(c.Details)
	}
	p.text(text, theme.ToolOutput, collapsedLines, head)
}

// argument shows one argument of an expanded card.
func (p *painter) argument(name string, args fields) {
	value := args.string(name)
	if value == "" {
		value = indented(args[name])
	}
	lines := splitLines(value)
	if len(lines) == 0 {
		return
	}
	for i, line := range lines[:min(len(lines), 200)] {
		label := styled.Span{Text: prose.Inline(name) + ": ", Look: theme.Look{Fg: theme.Muted}}
		if i > 0 {
			label = styled.Span{Text: bodyIndent}
		}
		p.body(styled.Line{label, {Text: line, Look: theme.Look{Fg: theme.Text}}})
	}
	p.more(len(lines) - 200)
}

// fields are the arguments of a call, by name.
type fields map[string]json.RawMessage

// arguments reads arguments. Those that are still being written are read as if
// they ended after the last value, or within a text, that is there.
func arguments(raw json.RawMessage) fields {
	var f fields
	if len(raw) == 0 || json.Unmarshal(raw, &f) == nil || json.Unmarshal(closed(raw), &f) == nil {
		return f
	}
	return nil
}

// closed makes whole JSON of one that ends anywhere.
func closed(raw []byte) []byte {
	var open []byte      // what ends the objects and arrays that are open
	safe, start := 0, -1 // the end of the last value; where a text begins
	key := false         // a text now would be a name
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case start >= 0 && c == '\\':
			i++
		case start >= 0 && c == '"':
			if start = -1; !key {
				safe = i + 1
			}
		case start >= 0:
		case c == '"':
			start = i
		case c == '{':
			open, safe, key = append(open, '}'), i+1, true
		case c == '[':
			open, safe, key = append(open, ']'), i+1, false
		case c == ':':
			key = false
		case c == ',':
			if raw[i-1] != '}' && raw[i-1] != ']' && raw[i-1] != '"' {
				safe = i // a number or word ends
			}
			key = len(open) > 0 && open[len(open)-1] == '}'
		case (c == '}' || c == ']') && len(open) > 0:
			open, safe = open[:len(open)-1], i+1
		}
	}
	out := bytes.Clone(raw[:safe])
	if start >= 0 && !key {
		text := raw[start:]
		if at := bytes.LastIndexByte(text, '\\'); at >= 0 && len(text)-at < 6 && json.Unmarshal(append(bytes.Clone(text), '"'), new(string)) != nil {
			text = text[:at] // an escape was cut
		}
		out = append(append(bytes.Clone(raw[:start]), text...), '"')
	}
	for i := len(open) - 1; i >= 0; i-- {
		out = append(out, open[i])
	}
	return out
}

func (f fields) string(name string) string {
	var s string
	if json.Unmarshal(f[name], &s) != nil {
		return ""
	}
	return s
}

// read reads v from details; what is not there stays empty.
func read[T any](raw json.RawMessage) T {
	var v T
	if json.Unmarshal(raw, &v) != nil {
		var none T
		return none
	}
	return v
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// firstLine is the first line of s, made harmless, with a sign if there are more.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, more := strings.Cut(s, "\n")
	if line = prose.Inline(line); more {
		line += " …"
	}
	return line
}
