package card

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/markdown/highlight"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// maxPlanned is how many bytes of a text are shown of what is to be written.
const maxPlanned = 512 << 10

// Planned gives what a call that is asked about would write, whole and wrapped: the text
// of a file, the lines of an edit, the patch; of a tool that is not known its arguments.
// It gives nothing for calls whose accesses say everything. Where a text is longer than
// half a megabyte it says how much is missing. Control characters and what a terminal
// would hide are shown as signs.
func Planned(c Call, v View) []string {
	p := newPainter(v)
	p.Expanded = true
	args := arguments(c.Args)
	_, known := drawers[c.Name]
	switch {
	case (c.Name == "write" || c.Name == "edit") && args["content"] != nil:
		p.plannedText(path.Ext(args.string("path")), args.string("content"))
	case args.string("patch") != "":
		p.plannedPatch(args.string("patch"))
	case args.string("input") != "":
		p.plannedPatch(args.string("input"))
	case c.Name == "edit":
		p.plannedEdits(args)
	case !known:
		for _, name := range slices.Sorted(maps.Keys(args)) {
			p.plannedArgument(name, args[name])
		}
	}
	return p.lines
}

// plannedLines are the lines of a text as they would be written, and how many bytes of it
// are left out.
func (p *painter) plannedLines(text string) (lines []string, missing int) {
	if missing = len(text) - maxPlanned; missing > 0 {
		text = prose.Head(text, maxPlanned)
	}
	if text == "" {
		return nil, 0
	}
	return strings.Split(strings.TrimSuffix(prose.Clean(text, p.Tab), "\n"), "\n"), max(missing, 0)
}

func (p *painter) missing(bytes int) {
	if bytes > 0 {
		p.note(fmt.Sprintf("%s and %d more bytes", p.sign.Ellipsis, bytes))
	}
}

func (p *painter) plannedText(ext, text string) {
	lines, missing := p.plannedLines(text)
	if len(lines) == 0 {
		p.note("an empty file")
	}
	lexer := highlight.New(strings.TrimPrefix(ext, "."))
	gutter := len(fmt.Sprint(len(lines)))
	for i, line := range lines {
		number := styled.Span{Text: fmt.Sprintf("%*d  ", gutter, i+1), Look: theme.Look{Fg: theme.Dim}}
		p.hanging(append(styled.Line{number}, markdown.Code(&lexer, line, theme.Text)...), gutter+2)
	}
	p.missing(missing)
}

// plannedPatch shows a patch as it is written: each format has its own marks, and none of
// its lines may be left out.
func (p *painter) plannedPatch(patch string) {
	lines, missing := p.plannedLines(patch)
	for _, line := range lines {
		fg := theme.ToolDiffContext
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "***"), strings.HasPrefix(line, "@@"):
			fg = theme.Accent
		case strings.HasPrefix(line, "+"):
			fg = theme.ToolDiffAdded
		case strings.HasPrefix(line, "-"):
			fg = theme.ToolDiffRemoved
		}
		p.hanging(styled.Of(line, fg), 2)
	}
	p.missing(missing)
}

// plannedEdits shows each edit: where it is, as far as it says that in words, what goes
// and what comes.
func (p *painter) plannedEdits(args fields) {
	for i, e := range read[[]fields](args["edits"]) {
		if i > 0 {
			p.body(styled.Of(p.sign.Ellipsis, theme.Dim))
		}
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if name != "old" && name != "new" && name != "text" {
				p.plannedArgument(name, e[name])
			}
		}
		p.plannedSide("- ", e.string("old"), theme.ToolDiffRemoved)
		p.plannedSide("+ ", e.string("new"), theme.ToolDiffAdded)
		p.plannedSide("+ ", e.string("text"), theme.ToolDiffAdded)
	}
}

func (p *painter) plannedSide(sign, text string, fg theme.Token) {
	lines, missing := p.plannedLines(text)
	for _, line := range lines {
		p.hanging(styled.Of(sign+line, fg), 2)
	}
	p.missing(missing)
}

func (p *painter) plannedArgument(name string, raw json.RawMessage) {
	value := fields{name: raw}.string(name)
	if value == "" {
		value = indented(raw)
	}
	lines, missing := p.plannedLines(value)
	for i, line := range lines {
		label := styled.Span{Text: prose.Inline(name) + ": ", Look: theme.Look{Fg: theme.Muted}}
		if i > 0 {
			label = styled.Span{Text: bodyIndent}
		}
		p.hanging(styled.Line{label, {Text: line, Look: theme.Look{Fg: theme.Text}}}, 2)
	}
	p.missing(missing)
}
