// Package card renders what a session shows beside answers: calls of tools with
// their results, what the user said, thinking, notices, pictures, use of tokens.
//
// Each is a pure function of what happened and of a [View], and gives lines no
// wider than the view, with no sequences but for looks and hyperlinks. A card is
// collapsed to a few lines, or expanded. What tools and models wrote is made
// harmless before it is shown.
//
// [Tool] knows the tools by name and reads the details that they leave for faces;
// a tool it does not know, or details it cannot read, are shown as they are.
package card

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// View is how cards are shown.
type View struct {
	Width    int
	Styles   *theme.Styles
	Expanded bool
	Links    bool   // the terminal knows hyperlinks
	Tab      int    // cells of a tab; 0 is 4
	Hint     string // the key that leads to all of a card, as "Alt+O"; "" says nothing
}

// Limits of what is shown.
const (
	collapsedLines = 6    // of a text
	collapsedDiff  = 16   // of a diff
	expandedLines  = 2000 // of an expanded card; what is beyond is counted only
	maxText        = 1 << 20
)

// painter collects the lines of one card.
type painter struct {
	View
	sign  theme.Symbols
	lines []string
	buf   []byte
}

func newPainter(v View) *painter {
	v.Width = max(v.Width, 1)
	if v.Tab <= 0 {
		v.Tab = 4
	}
	return &painter{View: v, sign: v.Styles.Symbols()}
}

// add adds a line that fits.
func (p *painter) add(l styled.Line) {
	p.buf = styled.Append(p.buf[:0], p.Styles, styled.Truncate(l, p.Width, p.sign.Ellipsis))
	p.lines = append(p.lines, string(p.buf))
}

// bodyIndent stands before everything below a card's first line.
const bodyIndent = "  "

// body adds a line below the first: cut to one line in a collapsed card, wrapped
// in an expanded one.
func (p *painter) body(l styled.Line) { p.hanging(l, 0) }

// hanging is body with so many cells before the lines that a long one goes on in.
func (p *painter) hanging(l styled.Line, hang int) {
	indent := styled.Line{{Text: bodyIndent}}
	if !p.Expanded {
		p.add(append(indent, l...))
		return
	}
	rest := styled.Line{{Text: bodyIndent + strings.Repeat(" ", hang)}}
	for _, line := range styled.Break(nil, l, p.Width, indent, rest) {
		p.add(line)
	}
}

// prose adds a sentence below the first line, wrapped at its spaces.
func (p *painter) prose(l styled.Line) {
	indent := styled.Line{{Text: bodyIndent}}
	for _, line := range styled.Wrap(nil, l, p.Width, indent, indent) {
		p.add(line)
	}
}

func (p *painter) note(words string) { p.body(styled.Of(words, theme.Muted)) }

// more tells that n lines are not shown.
func (p *painter) more(n int) {
	if n <= 0 {
		return
	}
	words := fmt.Sprintf("%s %s", p.sign.Ellipsis, prose.Count(n, "more line"))
	if p.Hint != "" && !p.Expanded {
		words += " (" + prose.Inline(p.Hint) + ")"
	}
	p.add(styled.Line{{Text: bodyIndent}, {Text: words, Look: theme.Look{Fg: theme.Muted}}})
}

// limit is how many lines a card shows that shows n collapsed.
func (p *painter) limit(collapsed int) int {
	if p.Expanded {
		return expandedLines
	}
	return collapsed
}

// end is which part of a text a collapsed card shows.
type end bool

const (
	head end = false
	tail end = true
)

// text adds the lines of a text, as many as may be, from one of its ends.
func (p *painter) text(text string, fg theme.Token, collapsed int, from end) {
	lines := p.split(text)
	n := len(lines)
	limit := p.limit(collapsed)
	if n <= limit+1 { // a line that only says that one is missing is no gain
		limit = n
	}
	if from == tail {
		p.more(n - limit)
		lines = lines[n-limit:]
	}
	for _, line := range lines[:limit] {
		p.body(styled.Of(line, fg))
	}
	if from == head {
		p.more(n - limit)
	}
}

// splitLines are the lines of a text, made harmless, without blank ones at its end.
func splitLines(text string) []string { return split(text, 4) }

// split is splitLines with tabs of the person's width.
func (p *painter) split(text string) []string { return split(text, p.Tab) }

func split(text string, tab int) []string {
	if len(text) > maxText {
		text = text[len(text)-maxText:]
	}
	text = strings.TrimRight(styled.Output(text, tab), " \n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// size is a number of bytes for reading.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
