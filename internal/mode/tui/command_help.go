package tui

import (
	"regexp"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	widestCall = 30 // room for a command and what may follow it
	leastHelp  = 20 // room beside it below which the help stands under its command
)

// helpTable has a row for each command: how it is called, and what it does, which is
// wrapped in its own column. Where there is no room for two columns, or for a call in its
// own, what it does stands below it.
func helpTable(commands []complete.Command, width int) []styled.Line {
	withArgs := width >= 80
	calls := make([]styled.Line, len(commands))
	column := 0
	for i := range commands {
		calls[i] = callOf(&commands[i], withArgs)
		if w := calls[i].Width(); w <= widestCall {
			column = max(column, w+2)
		}
	}
	stacked := width-column < leastHelp
	if stacked {
		column = min(2, width/4)
	}
	indent := styled.Line{{Text: strings.Repeat(" ", column)}}
	var out []styled.Line
	for i := range commands {
		help := styled.Line{{Text: prose.Inline(commands[i].Help), Look: theme.Look{Fg: theme.Text}}}
		if args := prose.Inline(commands[i].Args); args != "" && !withArgs {
			help = append(styled.Line{{Text: args + " ", Look: theme.Look{Fg: theme.Muted}}}, help...)
		}
		first := indent
		if w := calls[i].Width(); !stacked && w+2 <= column {
			first = styled.Pad(calls[i], column, theme.Look{})
		} else {
			out = styled.Wrap(out, calls[i], width, nil, indent)
		}
		out = styled.Wrap(out, help, width, first, indent)
	}
	return out
}

// callOf is how a command is called.
func callOf(c *complete.Command, withArgs bool) styled.Line {
	call := styled.Of("/"+prose.Inline(c.Name), theme.Accent)
	if withArgs && c.Args != "" {
		call = append(call, styled.Span{Text: " " + prose.Inline(c.Args), Look: theme.Look{Fg: theme.Muted}})
	}
	return call
}

// pageOf is a file of Markdown for the terminal: without its title, which is that of the
// pane, without breaks within paragraphs, which answers have and files do not mean, and
// without links to other files, which are not here.
func pageOf(text string) string {
	if at := strings.Index(text, "\n## "); at >= 0 {
		text = text[at+1:]
	}
	var lines []string
	open := false // the line before may go on
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		words := strings.TrimLeft(line, " ")
		if open && words != "" && !begins.MatchString(words) {
			lines[len(lines)-1] += " " + words
			continue
		}
		lines = append(lines, line)
		open = words != "" && !strings.HasPrefix(words, "#")
	}
	return fileLink.ReplaceAllString(strings.Join(lines, "\n"), "$1")
}

// begins is how a line starts that does not go on with the one before.
var begins = regexp.MustCompile("^(#+ |[-*+] |[0-9]+[.)] )")

// fileLink is a link to another file.
var fileLink = regexp.MustCompile(`\[([^\]\n]+)\]\([^):\n]+\)`)

// openHelp lists the commands.
func (vs *views) openHelp(string) {
	twice := "; twice, while nothing runs, it opens /" + vs.show.doubleEscape
	if vs.show.doubleEscape == "none" {
		twice = ""
	}
	below := []styled.Line{
		nil,
		styled.Of("@ names a file, ! runs a command and shows it to the model, !! runs one that the model does not see.", theme.Muted),
		styled.Of(vs.keyFor("app.interrupt")+" stops what runs"+twice+". /hotkeys lists all keys.", theme.Muted),
	}
	var p pane.Pane
	p = panel.FullReport{Report: panel.NewReport(vs.env, panel.ReportOptions{
		Title: "Commands", OnClose: func() { vs.panes.remove(p) },
		Draw: func(width int, _ *theme.Styles) []styled.Line {
			return append(helpTable(vs.commands.offered(), width), below...)
		},
	})}
	vs.panes.push(p)
}

// openChangelog shows what changed, from the file that the program was built with.
func (vs *views) openChangelog(string) { vs.panes.report("What changed", pageOf(vs.changes)) }
