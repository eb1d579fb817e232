package card

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/markdown/highlight"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

type runDetails struct {
	Command    string   `json:"command"` // as it ran, where that is not as it was written
	ExitCode   *int     `json:"exitCode"`
	WallTimeMS int64    `json:"wallTimeMs"`
	TimedOut   bool     `json:"timedOut"`
	Cancelled  bool     `json:"cancelled"`
	Changed    []string `json:"changed"`
	Job        string   `json:"jobId"`
	Output     *struct {
		Lines    int    `json:"totalLines"`
		Artifact string `json:"artifactId"`
	} `json:"output"`
}

// facts are what is worth knowing of a command that ended.
func (d *runDetails) facts() []string {
	var facts []string
	switch {
	case d.TimedOut:
		facts = append(facts, "timed out")
	case d.Cancelled || d.ExitCode != nil && *d.ExitCode < 0: // it has no code of its own
		facts = append(facts, "stopped")
	case d.ExitCode != nil && *d.ExitCode != 0:
		facts = append(facts, fmt.Sprintf("exit %d", *d.ExitCode))
	}
	if d.WallTimeMS >= 100 {
		facts = append(facts, elapsed(time.Duration(d.WallTimeMS)*time.Millisecond))
	}
	if n := len(d.Changed); n > 0 {
		facts = append(facts, prose.Count(n, "file")+" changed")
	}
	return facts
}

func elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
}

// bash shows a command and the end of what it wrote: that is where outcomes stand.
func (p *painter) bash(c *Call, args fields) {
	d := read[runDetails](c.Details)
	facts := d.facts()
	if d.Job != "" {
		facts = append(facts, "job "+d.Job)
	}
	command := cmp.Or(d.Command, args.string("command"))
	p.title(c, p.command(command), facts...)
	if lines := splitLines(command); p.Expanded && len(lines) > 1 {
		lexer := highlight.New("bash")
		for _, line := range lines[:min(len(lines), 200)] {
			p.body(append(styled.Line{{Text: "$ ", Look: theme.Look{Fg: theme.BashMode}}}, markdown.Code(&lexer, line, theme.Text)...))
		}
	}
	p.output(c, &d)
	if p.Expanded {
		for _, name := range d.Changed[:min(len(d.Changed), 20)] {
			p.body(styled.Line{{Text: "changed ", Look: theme.Look{Fg: theme.Muted}}, {Text: prose.Inline(name), Look: theme.Look{Fg: theme.Accent}}})
		}
	}
}

// command is the first line of a command, coloured.
func (p *painter) command(command string) subject {
	lexer := highlight.New("bash")
	lines := splitLines(strings.TrimLeft(command, "\n "))
	if len(lines) == 0 {
		return subject{}
	}
	line := markdown.Code(&lexer, lines[0], theme.Text)
	about := subject{line: line}
	if len(lines) > 1 {
		about = about.and(fmt.Sprintf(" %s +%s", p.sign.Ellipsis, prose.Count(len(lines)-1, "line")))
	}
	return about
}

// output shows what a command wrote. The remark about how it ended is left out: the first
// line says it.
func (p *painter) output(c *Call, d *runDetails) {
	text := strings.TrimSpace(strings.TrimLeft(c.text(), "\n"))
	switch {
	case d.Cancelled:
		text = withoutLine(text, "[Cancelled.]")
	case d.ExitCode != nil:
		text = withoutLine(text, fmt.Sprintf("[Exit code %d.]", *d.ExitCode))
	}
	fg := theme.ToolOutput
	if c.State == Failed && c.Details == nil {
		fg = theme.Error // it did not run
	}
	switch text = strings.TrimRight(text, " \n"); {
	case text == "(no output)" || text == "" && c.State == Done:
		if p.Expanded {
			p.note("no output")
		}
	default:
		p.text(text, fg, collapsedLines, tail)
	}
}

// withoutLine leaves out a line near the end of a text, where only a remark may follow.
func withoutLine(text, line string) string {
	i := strings.LastIndex(text, line)
	if i < 0 || i > 0 && text[i-1] != '\n' || strings.Count(text[i:], "\n") > 1 {
		return text
	}
	return strings.TrimRight(text[:i], "\n") + text[i+len(line):]
}

// job shows what became of a command in the background.
func (p *painter) job(c *Call, args fields) {
	d := read[runDetails](c.Details)
	about := words(args.string("job"), theme.Text)
	if input := args.string("input"); input != "" {
		about = about.and(" " + p.sign.Arrow + " " + firstLine(input))
	}
	p.title(c, about, d.facts()...)
	p.output(c, &d)
}
