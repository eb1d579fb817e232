package panel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

// Part is one source of what fills the context: the system prompt, tools, messages.
type Part struct {
	Name   string
	Tokens int
	Detail string // a few words, as "24 tools"
}

// Context is what the next request holds.
type Context struct {
	Parts   []Part
	Window  int    // tokens that the model takes; 0 is unknown
	Reserve int    // of them, kept free for the answer and for condensing
	Largest []Part // single items, in any order
	Note    string // a last line, as how the numbers were come by
}

// Used is the sum of the parts.
func (c *Context) Used() int {
	n := 0
	for _, p := range c.Parts {
		n += max(0, p.Tokens)
	}
	return n
}

// NewContext makes the pane that shows what fills the context.
func NewContext(env *pane.Env, c Context, onClose func()) *Report {
	return NewReport(env, ReportOptions{Title: "Context", Draw: c.Draw, OnClose: onClose})
}

const (
	largest  = 10  // items that are listed
	gridWide = 40  // cells of the grid in a row, at most
	gridRows = 5   // of the grid
	barWide  = 24  // cells of a part's bar, at most
	nameWide = 24  // of a part
	maxParts = 100 // that are listed
)

// partColors tell parts apart; signs do so where there are no colours.
var (
	partColors = [...]theme.Token{theme.Accent, theme.Success, theme.Warning, theme.SyntaxKeyword, theme.SyntaxString, theme.SyntaxNumber, theme.SyntaxType, theme.MdHeading}
	partSigns  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// Draw gives the lines of the report.
func (c *Context) Draw(width int, s *theme.Styles) []styled.Line {
	sign := s.Symbols()
	used := c.Used()
	var out []styled.Line
	head := prose.Tokens(used) + " tokens"
	if c.Window > 0 {
		head = fmt.Sprintf("%s of %s tokens (%d%%)", prose.Tokens(used), prose.Tokens(c.Window), percent(used, c.Window))
	}
	out = append(out, styled.Line{{Text: head, Look: theme.Look{Fg: fill(used, c.Window), Mod: theme.Bold}}}, nil)
	if c.Window > 0 && drawn(sign) {
		out = append(out, c.grid(min(gridWide, max(4, width-2)), s)...)
		out = append(out, nil)
	}
	out = append(out, c.table(width, s)...)
	items := slices.Clone(c.Largest)
	sorting.Stable(items, func(a, b Part) int { return cmp.Compare(b.Tokens, a.Tokens) })
	if len(items) > 0 {
		out = append(out, nil, styled.Line{{Text: "Largest", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}})
		for _, it := range items[:min(len(items), largest)] {
			l := styled.Line{{Text: fmt.Sprintf("  %6s  ", prose.Tokens(it.Tokens)), Look: theme.Look{Fg: theme.StatusLineContext}}, {Text: brief(it.Name), Look: theme.Look{Fg: theme.Text}}}
			if it.Detail != "" {
				l = append(l, styled.Span{Text: "  " + brief(it.Detail), Look: theme.Look{Fg: theme.Muted}})
			}
			out = append(out, styled.Truncate(l, width, sign.Ellipsis))
		}
	}
	if c.Note != "" {
		out = append(out, nil, styled.Of(brief(c.Note), theme.Dim))
	}
	return out
}

// grid shows the window as cells: each part's letter, dots for what is free, and
// crosses for the reserve at the end. A part that is there has one cell at least.
func (c *Context) grid(wide int, s *theme.Styles) []styled.Line {
	total := wide * gridRows
	cells := make([]styled.Span, 0, total)
	add := func(n int, text string, fg theme.Token) {
		for ; n > 0 && len(cells) < total; n-- {
			cells = append(cells, styled.Span{Text: text, Look: theme.Look{Fg: fg}})
		}
	}
	reserve := share(min(c.Reserve, c.Window), c.Window, total)
	for i, p := range c.Parts {
		add(share(p.Tokens, c.Window, total), letter(i), partColors[i%len(partColors)])
	}
	add(total-reserve-len(cells), s.Symbols().Dot, theme.Dim)
	add(total-len(cells), "x", theme.Muted)
	var out []styled.Line
	for row := range gridRows {
		l := styled.Line{{Text: "  "}}
		for _, cell := range cells[row*wide : (row+1)*wide] {
			if last := &l[len(l)-1]; last.Look == cell.Look {
				last.Text += cell.Text
			} else {
				l = append(l, cell)
			}
		}
		out = append(out, l)
	}
	return out
}

func letter(i int) string {
	if i >= len(partSigns) {
		return "*"
	}
	return partSigns[i : i+1]
}

// share is how many of so many cells a part of the whole takes, at least one.
func share(part, whole, cells int) int {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return max(1, int(int64(part)*int64(cells)/int64(whole)))
}

func percent(part, whole int) int {
	if whole <= 0 {
		return 0
	}
	return int(int64(part) * 100 / int64(whole))
}

// fill is the colour of how full the window is.
func fill(used, window int) theme.Token {
	switch p := percent(used, window); {
	case p >= 90:
		return theme.Error
	case p >= 70:
		return theme.Warning
	}
	return theme.Text
}

// table lists the parts with a bar each, and what is free. Where there is little room
// the details go first, then the bars, the shares and the ends of the names.
func (c *Context) table(width int, s *theme.Styles) []styled.Line {
	const mark, count, share100 = 4, 7, 5 // cells of the columns before and behind the names
	sign := s.Symbols()
	kept := "reserved for answers"
	parts := c.Parts[:min(len(c.Parts), maxParts)]
	name := styled.Width(kept)
	for _, p := range parts {
		name = max(name, styled.Width(brief(p.Name)))
	}
	figures := count
	if width >= mark+8+count+share100 {
		figures += share100
	}
	name = min(name, nameWide, max(1, width-mark-figures))
	bar := min(barWide, width-mark-name-figures-9)
	whole := cmp.Or(c.Window, c.Used())
	var out []styled.Line
	row := func(sig, words string, tokens int, detail string, fg theme.Token) {
		label := styled.Truncate(styled.Of(words, theme.Text), name, sign.Ellipsis)
		l := append(styled.Line{{Text: "  " + sig + " ", Look: theme.Look{Fg: fg}}}, styled.Pad(label, name, theme.Look{})...)
		text := fmt.Sprintf(" %6s", prose.Tokens(tokens))
		if figures > count {
			text += fmt.Sprintf(" %3d%%", percent(tokens, whole))
		}
		l = append(l, styled.Span{Text: text, Look: theme.Look{Fg: theme.Muted}})
		if bar >= 8 && drawn(sign) { // shorter ones say nothing
			l = append(l, styled.Span{Text: " " + strings.Repeat(block(sign), min(bar, share(tokens, whole, bar))), Look: theme.Look{Fg: fg}})
		}
		if detail != "" && width-l.Width() >= 8 {
			l = append(l, styled.Span{Text: " " + detail, Look: theme.Look{Fg: theme.Dim}})
		}
		out = append(out, styled.Truncate(l, width, sign.Ellipsis))
	}
	for i, p := range parts {
		row(letter(i), brief(p.Name), p.Tokens, brief(p.Detail), partColors[i%len(partColors)])
	}
	if c.Window > 0 {
		reserve := min(c.Reserve, c.Window)
		row(sign.Dot, "free", max(0, c.Window-reserve-c.Used()), "", theme.Dim)
		if reserve > 0 {
			row("x", kept, reserve, "", theme.Muted)
		}
	}
	return out
}

// drawn reports whether there are pictures made of signs: a screen reader would read
// them out.
func drawn(sign theme.Symbols) bool { return sign.Rule != "" }

func block(sign theme.Symbols) string {
	if sign.Ellipsis == "..." {
		return "#"
	}
	return "█"
}
