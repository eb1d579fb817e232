package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/question"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// panes are what stands in the prompt's place, one in front of the other.
type panes struct {
	*base
	display *display
	stack   []pane.Pane     // the last one has the keys
	front   pane.Pane       // the question that is shown: it keeps the keys; nil: none is
	typed   func(key.Event) // takes what was typed while a question appeared
}

// push gives a pane the keys. A question keeps them: what opens by itself meanwhile waits
// behind it, so that no key that was meant for one of them reaches the other.
func (ps *panes) push(p pane.Pane) {
	at := len(ps.stack)
	if at > 0 && ps.front != nil && ps.stack[at-1] == ps.front {
		at--
	}
	ps.stack = slices.Insert(ps.stack, at, p)
	ps.setFull()
}

// raise puts a pane in front of all others, a question included.
func (ps *panes) raise(p pane.Pane) {
	ps.remove(p)
	ps.stack = append(ps.stack, p)
	ps.setFull()
}

// remove takes a pane away, wherever it stands.
func (ps *panes) remove(p pane.Pane) {
	for i, other := range ps.stack {
		if other == p {
			ps.stack = append(ps.stack[:i], ps.stack[i+1:]...)
			break
		}
	}
	ps.setFull()
}

// top is the pane that has the keys; nil: the prompt has.
func (ps *panes) top() pane.Pane {
	if n := len(ps.stack); n > 0 {
		return ps.stack[n-1]
	}
	return nil
}

// setFull shows the alternate screen while the pane with the keys wants it.
func (ps *panes) setFull() {
	_, want := ps.top().(pane.Full)
	ps.display.showFull(want)
}

// confirm asks before something is done.
func (ps *panes) confirm(title, text string, yes func()) {
	var p pane.Pane
	p = question.NewConfirm(ps.env, question.ConfirmOptions{Title: title, Text: text, OnTyped: ps.typed, OnDone: func(sure bool) {
		ps.remove(p)
		if sure {
			yes()
		}
	}})
	ps.push(p)
}

// askLine asks for a line of text.
func (ps *panes) askLine(title, text string, done func(string)) {
	var p pane.Pane
	p = list.NewInput(ps.env, list.InputOptions{
		Title: title, Text: text, OnCancel: func() { ps.remove(p) },
		OnDone: func(text string) { ps.remove(p); done(text) },
	})
	ps.push(p)
}

// report shows Markdown to read.
func (ps *panes) report(title, text string) {
	var p pane.Pane
	p = panel.FullReport{Report: panel.NewReport(ps.env, panel.ReportOptions{
		Title: title, OnClose: func() { ps.remove(p) },
		Rows: func(width int, s *theme.Styles) []string {
			return markdown.Render(text, width, markdown.Options{Styles: s, Links: ps.env.Links})
		},
	})}
	ps.push(p)
}

// reportLines shows lines to read: in the place of the prompt where they fit there, else
// on the whole screen.
func (ps *panes) reportLines(title string, draw func(width int, s *theme.Styles) []styled.Line) {
	var p pane.Pane
	r := panel.NewReport(ps.env, panel.ReportOptions{Title: title, Draw: draw, OnClose: func() { ps.remove(p) }})
	p = r
	if width, height := ps.display.screen.Size(); len(draw(width, ps.env.Styles)) > height/2 {
		p = panel.FullReport{Report: r}
	}
	ps.push(p)
}

// reportText shows plain text.
func (ps *panes) reportText(title, text string) {
	lines := textLines(text)
	ps.reportLines(title, func(int, *theme.Styles) []styled.Line { return lines })
}

// reportFacts shows facts with their names in front; those without a word are left out.
func (ps *panes) reportFacts(title string, facts [][2]string) {
	const column = 10
	indent := styled.Of(strings.Repeat(" ", column), theme.Plain)
	ps.reportLines(title, func(width int, _ *theme.Styles) (lines []styled.Line) {
		for _, f := range facts {
			if f[1] != "" {
				name := styled.Pad(styled.Of(f[0], theme.Muted), column, theme.Look{})
				lines = styled.Wrap(lines, styled.Of(prose.Inline(f[1]), theme.Text), width, name, indent)
			}
		}
		return lines
	})
}

// searchFor types words into the search of a pane.
func (ps *panes) searchFor(p pane.Pane, words string) {
	if words != "" {
		p.Handle(key.Paste{Text: words})
	}
}

// due is when the pane with the keys wants to be told of the time; zero: never.
func (ps *panes) due() time.Time {
	if p, ok := ps.top().(pane.Timed); ok {
		return p.Due()
	}
	return time.Time{}
}

// clear takes all of them away.
func (ps *panes) clear() { ps.stack = nil }

// textLines are the lines of plain text.
func textLines(text string) (lines []styled.Line) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		lines = append(lines, styled.Of(prose.Inline(strings.TrimRight(line, "\n")), theme.Text))
	}
	return lines
}
