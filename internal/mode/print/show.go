package print

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Show writes what has taken place, as its steps were shown then. An entry that does not
// follow the one before it begins another way from an earlier place; one that cannot be
// read is said.
func Show(out io.Writer, entries iter.Seq2[*transcript.Entry, error], color bool) error {
	shown := NewPast(out, color)
	for e, err := range entries {
		if err := shown.Entry(e, err); err != nil {
			return err
		}
	}
	return shown.End()
}

// Past shows entries as [Show] does, one at a time. The error is that of the writer.
type Past struct {
	w *failing
	p past
}

// NewPast shows entries on out.
func NewPast(out io.Writer, color bool) *Past {
	w := &failing{w: out}
	return &Past{w, past{steps: steps{out: w, color: color}, calls: map[string]llm.ToolCall{}}}
}

// Entry shows an entry, or that it can't be read.
func (s *Past) Entry(e *transcript.Entry, err error) error {
	if err != nil {
		s.p.unanswered()
		s.p.lines(err.Error(), red)
		fmt.Fprintln(s.w)
		s.p.lost = true
	} else {
		s.p.entry(e)
	}
	return s.w.err
}

// Note shows a line about the session.
func (s *Past) Note(line string) error {
	s.p.note(line)
	return s.w.err
}

// End shows the calls that have no result.
func (s *Past) End() error {
	s.p.unanswered()
	return s.w.err
}

// past shows entries.
type past struct {
	steps
	calls map[string]llm.ToolCall // by id
	last  string                  // id of the entry before
	lost  bool                    // it could not be read
	open  []llm.ToolCall          // of the answer, without a result so far
}

func (p *past) entry(e *transcript.Entry) {
	parent := ""
	if e.ParentID != nil {
		parent = *e.ParentID
	}
	if parent != p.last && !p.lost {
		p.unanswered()
		fmt.Fprintf(p.out, "%s\n\n", p.paint(dim, "[another branch from an earlier point]"))
	}
	p.last, p.lost = e.ID, false
	if !e.Shown() {
		return
	}
	if m := e.Message; m != nil && (m.Role == llm.RoleUser || m.Role == llm.RoleAssistant) {
		p.unanswered()
	}
	switch {
	case e.Type == transcript.TypeCompaction:
		label := "condensed"
		if e.TokensBefore > 0 {
			label += ", before it about " + prose.Count(e.TokensBefore, "token")
		}
		p.words(label, e.Summary)
	case e.Type == transcript.TypeBranchSummary:
		p.words("summary of another branch", e.Summary)
	case e.Type == transcript.TypeCustomMessage:
		content, err := e.Words()
		if err != nil {
			p.words(e.CustomType, "it cannot be read: "+err.Error())
			return
		}
		p.words(e.CustomType, said(content))
	case e.Execution != nil:
		p.execution(e)
	default:
		p.message(e.Message)
	}
}

func (p *past) message(m *llm.Message) {
	switch m.Role {
	case llm.RoleUser:
		fmt.Fprintf(p.out, "%s\n\n", p.paint(bold, "> "+strings.ReplaceAll(prose.Clean(said(m.Content), 4), "\n", "\n> ")))
	case llm.RoleAssistant:
		p.answer(m)
	case llm.RoleToolResult:
		c := p.calls[m.ToolCallID]
		p.open = slices.DeleteFunc(p.open, func(c llm.ToolCall) bool { return c.ID == m.ToolCallID })
		p.end(agent.Event{
			Call:   &tool.Call{ID: m.ToolCallID, Name: m.ToolName, Arguments: json.RawMessage(c.Arguments)},
			Result: &tool.Result{Content: m.Content, Details: m.Details, IsError: m.IsError},
		})
	case llm.RoleCustom:
		p.words(m.CustomType, said(m.Content))
	default:
		p.words(string(m.Role), said(m.Content))
	}
}

func (p *past) answer(m *llm.Message) {
	p.say(spoken(m) + sourcesOf(m))
	for _, c := range m.ToolCalls() {
		p.calls[c.ID] = c
		p.open = append(p.open, c)
	}
	switch {
	case m.StopReason == llm.StopAborted:
		p.note("The answer was stopped.")
	case m.Error != nil:
		p.lines(m.Error.Error(), red)
	case m.StopReason == llm.StopLength:
		p.note("The answer was cut at the token limit.")
	default:
		return
	}
	fmt.Fprintln(p.out)
}

// unanswered shows the calls that did not come to an end.
func (p *past) unanswered() {
	for _, c := range p.open {
		p.heading(agent.Event{Call: &tool.Call{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)}})
		p.note("No result.")
		fmt.Fprintln(p.out)
	}
	p.open, p.steps.last = nil, ""
}

// execution shows a command of the person's own as a call of theirs.
func (p *past) execution(e *transcript.Entry) {
	x := e.Execution
	label := "You"
	if x.Excluded {
		label = "Your own command"
	}
	args, err := json.Marshal(map[string]string{"command": x.Command})
	if err != nil {
		args = nil // no text fails to be JSON
	}
	output := strings.TrimRight(x.Output, "\n")
	if end := x.Ending(); end != "" {
		output = strings.TrimLeft(output+"\n["+end+"]", "\n")
	}
	if output == "" {
		output = "(no output)"
	}
	p.end(agent.Event{
		Label: label, Call: &tool.Call{ID: e.ID, Name: "bash", Arguments: args},
		Result: &tool.Result{Content: []llm.Block{llm.Text{Text: output}}},
	})
}

// words shows what no person and no model has said, or what stands for it.
func (p *past) words(label, text string) {
	text = strings.ReplaceAll(strings.TrimSpace(prose.Clean(text, 4)), "\n", "\n  ")
	fmt.Fprintf(p.out, "%s %s\n\n", p.paint(dim, "["+prose.Row(label, 60)+"]"), text)
}

// said is content in words; of what is no text it says that it is there.
func said(content []llm.Block) string {
	var parts []string
	for _, b := range content {
		switch b := b.(type) {
		case llm.Text:
			parts = append(parts, b.Text)
		case llm.Image:
			parts = append(parts, "["+b.MIME+"]")
		case llm.Document:
			parts = append(parts, "["+b.Name+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// failing remembers the first error of a writer and writes nothing after it.
type failing struct {
	w   io.Writer
	err error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
	return len(b), nil
}
