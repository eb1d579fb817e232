package print

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// steps shows what a session does on its way, a few lines a call.
//
// Calls that run together are shown one after the other, each with its result:
// the heading of a call is written when it starts if nothing else runs, else, or
// again, when it ends.
type steps struct {
	out     io.Writer
	color   bool
	running int
	last    string // id of the call whose heading was written last, if nothing came after it
}

// Colours, by their meaning.
const (
	dim   = "2"
	bold  = "1"
	red   = "31"
	green = "32"
)

func (s *steps) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// say shows what the model says before it makes calls.
func (s *steps) say(text string) {
	if text = strings.TrimSpace(prose.Clean(text, 4)); text != "" {
		s.last = ""
		fmt.Fprintf(s.out, "%s\n\n", text)
	}
}

func (s *steps) start(e agent.Event) {
	if s.running++; s.running == 1 {
		s.heading(e)
	}
}

func (s *steps) heading(e agent.Event) {
	s.last = e.Call.ID
	fmt.Fprintf(s.out, "%s %s  %s\n", s.paint(green, "●"), s.paint(bold, label(e)), prose.Row(subject(e.Call.Arguments), 100))
}

func label(e agent.Event) string {
	name := e.Label
	if name == "" {
		name = e.Call.Name
	}
	return prose.Row(name, 60) // a model may have made it up
}

// subject is the argument that says most about a call.
func subject(args json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil {
		return ""
	}
	for _, name := range []string{"command", "path", "pattern", "query", "url", "job", "question", "input"} {
		var v string
		if json.Unmarshal(m[name], &v) == nil && v != "" {
			return v
		}
	}
	if len(m) == 0 {
		return ""
	}
	return string(args)
}

// shownLines is how much of a result is shown.
const shownLines = 6

func (s *steps) end(e agent.Event) {
	s.running--
	if s.last != e.Call.ID {
		s.heading(e)
	}
	s.last = ""
	var d struct {
		Diff     string `json:"diff"`
		Matches  *int   `json:"matches"`
		Files    int    `json:"files"`
		Lines    int    `json:"lines"`
		ExitCode *int   `json:"exitCode"`
	}
	_ = json.Unmarshal(e.Result.Details, &d) // of tools that say nothing more the text is shown
	switch {
	case e.Result.IsError && d.ExitCode == nil:
		s.lines(text(e), red)
	case d.Diff != "":
		s.diff(d.Diff)
	case d.Matches != nil:
		s.note(fmt.Sprintf("%d found in %s", *d.Matches, prose.Count(d.Files, "file")))
	case d.Lines > 0:
		s.note(prose.Count(d.Lines, "line"))
	default:
		s.lines(text(e), dim)
	}
	fmt.Fprintln(s.out)
}

// policy shows what the session does about failures and lengths.
func (s *steps) policy(e session.Event) {
	switch e.Type {
	case session.RetryStart:
		r := e.Data.(*session.RetryInfo)
		if r.Delay == 0 {
			s.note(fmt.Sprintf("%s; asking again (%d of %d)", prose.Row(r.Error, 200), r.Attempt, r.Max))
			break
		}
		s.note(fmt.Sprintf("%s; again in %s (%d of %d)", prose.Row(r.Error, 200), r.Delay.Round(100*time.Millisecond), r.Attempt, r.Max))
	case session.RulesTriggered:
		if d := e.Data.(*session.Triggered); !d.Stopped {
			s.note("rule for the model: " + prose.Row(d.Names(), 200))
		}
	case session.FallbackApplied, session.Promoted:
		s.note(fmt.Sprintf("continuing with %s: %s", e.Data.(*session.Change).To, prose.Row(e.Data.(*session.Change).Why, 200)))
	case session.CompactionStart:
		c := e.Data.(*session.CompactionInfo)
		s.note(fmt.Sprintf("condensing the conversation (%s, about %s tokens)", c.Reason, prose.Tokens(c.Before)))
	case session.CompactionEnd:
		if e.Data.(*session.CompactionInfo).Error == "" {
			s.note("condensed to about " + prose.Tokens(e.Data.(*session.CompactionInfo).After) + " tokens")
		}
	}
}

func text(e agent.Event) string {
	var b strings.Builder
	for _, block := range e.Result.Content {
		if t, ok := block.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

func (s *steps) note(words string) { fmt.Fprintf(s.out, "  %s\n", s.paint(dim, words)) }

// lines shows the end of a text: that is where outcomes stand.
func (s *steps) lines(text, code string) {
	all := strings.Split(text, "\n")
	if n := len(all) - shownLines; n > 1 {
		s.note(fmt.Sprintf("… %d lines", n))
		all = all[n:]
	}
	for _, line := range all {
		fmt.Fprintf(s.out, "  %s\n", s.paint(code, prose.Row(line, 160)))
	}
}

// diff shows the changed lines of a unified diff.
func (s *steps) diff(diff string) {
	shown, more := 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		code := ""
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "@@"), line == "":
			continue
		case line[0] == '+':
			code = green
		case line[0] == '-':
			code = red
		default:
			continue
		}
		if shown++; shown > 4*shownLines {
			more++
			continue
		}
		fmt.Fprintf(s.out, "  %s\n", s.paint(code, prose.Row(line, 160)))
	}
	if more > 0 {
		s.note("… " + prose.Count(more, "more changed line"))
	}
}
