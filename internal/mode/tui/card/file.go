package card

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/markdown/highlight"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

type changeDetails struct {
	Paths   []string `json:"paths"`
	Diff    string   `json:"diff"`
	Added   int      `json:"added"`
	Removed int      `json:"removed"`
	Created bool     `json:"created"`
}

func (d *changeDetails) subject(args fields) subject {
	name := args.string("path")
	if len(d.Paths) > 0 {
		name = d.Paths[0]
	}
	if name == "" {
		name = patched(args)
	}
	if n := len(d.Paths); n > 1 {
		return place(name).and(fmt.Sprintf(" and %d more", n-1))
	}
	return place(name)
}

// patched is the first file that a patch names.
func patched(args fields) string {
	for _, name := range [...]string{"patch", "input"} {
		for line := range strings.Lines(args.string(name)) {
			for _, mark := range [...]string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"} {
				if rest, ok := strings.CutPrefix(line, mark); ok {
					return strings.TrimSpace(rest)
				}
			}
		}
	}
	return ""
}

func (d *changeDetails) counts(p *painter) styled.Line {
	if d.Added == 0 && d.Removed == 0 {
		return nil
	}
	return styled.Line{
		{Text: fmt.Sprintf("+%d", d.Added), Look: theme.Look{Fg: theme.ToolDiffAdded}},
		{Text: fmt.Sprintf(" %s%d", p.sign.Minus, d.Removed), Look: theme.Look{Fg: theme.ToolDiffRemoved}},
	}
}

// change shows an edit by its diff.
func (p *painter) change(c *Call, args fields) {
	d := read[changeDetails](c.Details)
	p.head(c, d.subject(args), d.counts(p))
	switch {
	case p.failure(c):
	case c.State == Running:
		if planned := plannedDiff(c.Args); planned != "" {
			p.diff(planned)
		}
	case d.Diff != "":
		p.diff(d.Diff)
	case p.Expanded || c.Name == "undo_edit":
		p.text(c.text(), theme.ToolOutput, collapsedLines, head)
	}
}

// write shows a new file by its text and a change by its diff.
func (p *painter) write(c *Call, args fields) {
	d := read[changeDetails](c.Details)
	content := args.string("content")
	switch {
	case c.State == Running:
		p.title(c, d.subject(args), prose.Count(strings.Count(strings.TrimSuffix(content, "\n"), "\n")+1, "line"))
		p.source(path.Ext(args.string("path")), content, tail)
	case c.State == Failed:
		p.title(c, d.subject(args))
		p.failure(c)
	case d.Created || d.Diff == "":
		fact := prose.Count(len(splitLines(content)), "line")
		if d.Created {
			fact = "new, " + fact
		}
		p.title(c, d.subject(args), fact)
		p.source(path.Ext(args.string("path")), content, head)
	default:
		p.head(c, d.subject(args), d.counts(p))
		p.diff(d.Diff)
	}
}

// source shows code, coloured, with the numbers of its lines.
func (p *painter) source(ext, text string, from end) {
	lines := p.split(text)
	lexer := highlight.New(strings.TrimPrefix(ext, "."))
	start, n := 0, min(len(lines), p.limit(collapsedLines+2))
	if from == tail {
		start = len(lines) - n
		p.more(start)
	}
	gutter := len(fmt.Sprint(len(lines)))
	for i, line := range lines {
		if i >= start+n {
			break
		}
		if i < start-2000 { // far before what is shown nothing matters any more
			continue
		}
		code := markdown.Code(&lexer, line, theme.ToolOutput)
		if i < start {
			continue
		}
		number := styled.Span{Text: fmt.Sprintf("%*d  ", gutter, i+1), Look: theme.Look{Fg: theme.Dim}}
		p.hanging(append(styled.Line{number}, code...), gutter+2)
	}
	if from == head {
		p.more(len(lines) - n)
	}
}

type readDetails struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"`
	Lines     int    `json:"lines"`
	Total     int    `json:"totalLines"`
	Truncated bool   `json:"truncated"`
}

// read says what was read; the text itself is for the model, and shown expanded.
func (p *painter) read(c *Call, args fields) {
	d := read[readDetails](c.Details)
	var facts []string
	switch {
	case d.Lines > 0 && d.Total > d.Lines:
		facts = append(facts, fmt.Sprintf("%d of %s", d.Lines, prose.Count(d.Total, "line")))
	case d.Lines > 0:
		facts = append(facts, prose.Count(d.Lines, "line"))
	}
	if d.Kind != "" && d.Kind != "text" {
		facts = append(facts, d.Kind)
	}
	name := args.string("path")
	p.title(c, place(name), facts...)
	if p.failure(c) || !p.Expanded || c.State == Running {
		return
	}
	ext := path.Ext(d.Path)
	lexer := highlight.New(strings.TrimPrefix(ext, "."))
	lines := p.split(c.text())
	n := min(len(lines), expandedLines)
	for _, line := range lines[:n] {
		p.body(markdown.Code(&lexer, line, theme.ToolOutput))
	}
	p.more(len(lines) - n)
}

func (p *painter) ls(c *Call, args fields) {
	name := args.string("path")
	if name == "" {
		name = "."
	}
	p.listed(c, place(name), prose.Count(len(splitLines(c.text())), "entry"))
}

func (p *painter) find(c *Call, args fields) {
	d := read[struct {
		Files        int  `json:"files"`
		LimitReached bool `json:"limitReached"`
	}](c.Details)
	about := words(args.string("pattern"), theme.Text)
	if in := args.string("path"); in != "" {
		about = about.and(" in " + in)
	}
	fact := prose.Count(d.Files, "file")
	if d.LimitReached {
		fact += " and more"
	}
	p.listed(c, about, fact)
}

// listed shows a listing: how much it holds, and expanded all of it.
func (p *painter) listed(c *Call, about subject, fact string) {
	if c.State != Done {
		p.title(c, about)
		p.failure(c)
		return
	}
	p.title(c, about, fact)
	if p.Expanded {
		p.text(c.text(), theme.ToolOutput, 0, head)
	}
}

func (p *painter) grep(c *Call, args fields) {
	d := read[struct {
		Matches      *int `json:"matches"`
		Files        int  `json:"files"`
		LimitReached bool `json:"limitReached"`
	}](c.Details)
	about := words(args.string("pattern"), theme.Text)
	if in := args.string("path"); in != "" {
		about = about.and(" in " + in)
	}
	fact := ""
	if d.Matches != nil {
		fact = fmt.Sprintf("%s in %s", prose.Count(*d.Matches, "match"), prose.Count(d.Files, "file"))
		if d.LimitReached {
			fact += ", and more"
		}
	}
	p.title(c, about, fact)
	if p.failure(c) || !p.Expanded {
		return
	}
	lines := p.split(c.text())
	n := min(len(lines), expandedLines)
	for _, line := range lines[:n] {
		p.body(hit(line))
	}
	p.more(len(lines) - n)
}

// hit is a line of grep's: a path, or "12:text", or "12-context".
func hit(line string) styled.Line {
	digits := strings.TrimLeft(line, "0123456789")
	n := len(line) - len(digits)
	switch {
	case n > 0 && strings.HasPrefix(digits, ":"):
		return styled.Line{{Text: line[:n+1], Look: theme.Look{Fg: theme.Dim}}, {Text: line[n+1:], Look: theme.Look{Fg: theme.ToolOutput}}}
	case n > 0 && strings.HasPrefix(digits, "-"), strings.HasPrefix(line, "["), line == "…":
		return styled.Of(line, theme.Dim)
	}
	return styled.Of(line, theme.Accent)
}

// plannedDiff is what an edit is about to do, as far as its arguments tell it, as a diff;
// "" while they are being written, and where they tell no lines. Where in the file the
// lines are is not known before the edit has been made, so they are numbered from 1.
func plannedDiff(args json.RawMessage) string {
	var a struct {
		Patch string `json:"patch"`
		Edits []struct {
			Old  string `json:"old"`
			New  string `json:"new"`
			Text string `json:"text"`
		} `json:"edits"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	if a.Patch != "" {
		return a.Patch
	}
	var b strings.Builder
	for _, e := range a.Edits {
		old, added := splitLines(e.Old), splitLines(e.New+e.Text)
		if len(old)+len(added) == 0 {
			continue
		}
		fmt.Fprintf(&b, "@@ -1,%d +1,%d @@\n", len(old), len(added))
		for _, l := range old {
			b.WriteString("-" + l + "\n")
		}
		for _, l := range added {
			b.WriteString("+" + l + "\n")
		}
	}
	return b.String()
}
