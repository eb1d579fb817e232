package list

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	// sideWidth is the width from which a preview stands beside the list.
	sideWidth = 100
	// sideRows is how many rows a preview beside the list has at least, and belowRows
	// how many one below it has at most.
	sideRows, belowRows = 12, 10
)

// plan says how the rows of a frame are shared.
type plan struct {
	title, query, hint bool
	body               int // rows of items
	side               int // width of the preview beside them
	below              int // rows of the preview below them
}

// plan shares height rows: the query and items come first, then the title, the hint
// and the preview. How many rows there are does not depend on the search, so that the
// pane does not jump while one types. Where no item is shown there is no preview.
func (l *List) plan(width, height int) plan {
	p := plan{query: !l.o.NoSearch && height > 1}
	h := height
	if p.query {
		h--
	}
	if p.title = l.o.Title != "" && h >= 3; p.title {
		h--
	}
	// What keys do with a row is of no use without one.
	if p.hint = l.o.Hint != "" && h >= 3 && len(l.items)+len(l.o.Chips) > 0; p.hint {
		h--
	}
	limit := h
	if l.o.Rows > 0 {
		limit = min(h, l.o.Rows)
	}
	p.body = l.need(width, limit)
	switch {
	case l.o.Preview == nil, len(l.items) == 0 && l.query.ed.Empty(): // nothing to look at
	case width >= sideWidth && l.cols.signs().Rule != "": // two columns are no lines to be read out
		p.side = width*2/5 - 3
		p.body = max(p.body, min(h, sideRows))
	case h >= 10:
		p.below = min(belowRows, max(h/3, h-p.body-1))
		p.body = min(p.body, h-p.below-1)
	}
	if l.Len() == 0 && l.find.under == nil { // what is said instead takes the room of the preview
		if p.below > 0 {
			p.body += p.below + 1
		}
		p.side, p.below = 0, 0
	}
	return p
}

// need is how many rows all items take, up to limit, at least one.
func (l *List) need(width, limit int) int {
	n := 0
	for i := 0; i < len(l.items) && n < limit; i++ {
		n++
		if g := l.items[i].Group; g != "" && (i == 0 || l.items[i-1].Group != g) {
			n++
		}
	}
	if len(l.items) == 0 {
		n = max(3, len(l.nothing(width, limit)))
	}
	return max(1, min(n, limit))
}

// Draw is [pane.Pane]'s.
func (l *List) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	p := l.plan(width, height)
	l.page = p.body
	out := make([]string, 0, height)
	l.seen = seen{rows: l.seen.rows[:0]}
	cursor := screen.Cursor{Hidden: true}
	if p.title {
		out = append(out, l.titleRow(width))
	}
	if p.query {
		row, x := l.queryRow(width, !p.title)
		cursor = screen.Cursor{X: x, Y: len(out)}
		out = append(out, row)
	}
	out = l.body(out, p, width)
	if p.below > 0 {
		out = append(out, l.cols.line(styled.Of(strings.Repeat(l.cols.signs().Rule, width), theme.BorderMuted), width))
		out = append(out, l.preview(width, p.below)...)
	}
	if p.hint {
		out = append(out, l.cols.line(styled.Of(prose.Inline(l.o.Hint), theme.Dim), width))
	}
	return out, cursor
}

// count says how many there are, and how many of them the search has found.
func (l *List) count() string {
	switch n := len(l.items); {
	case l.find.under != nil:
		return "searching" + l.cols.signs().Ellipsis
	case l.shown != nil && len(l.shown) != n:
		return strconv.Itoa(len(l.shown)) + " of " + strconv.Itoa(n)
	case n > l.page:
		return strconv.Itoa(n)
	}
	return ""
}

func (l *List) titleRow(width int) string {
	row := styled.Line{{Text: prose.Inline(l.o.Title), Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}}
	for i, c := range l.o.Chips {
		// The brackets say which it is where there are no colours.
		text, look := "  "+prose.Inline(c)+" ", theme.Look{Fg: theme.Muted}
		if i == l.o.Chip {
			text, look = " ["+prose.Inline(c)+"]", theme.Look{Fg: theme.Accent}
		}
		row = append(row, styled.Span{Text: text, Look: look})
	}
	l.seen.title = row
	return l.cols.line(withCount(row, l.count(), width), width)
}

// withCount puts a count at the right end where there is room.
func withCount(row styled.Line, c string, width int) styled.Line {
	if gap := width - row.Width() - styled.Width(c); c != "" && gap >= 2 {
		row = append(row, styled.Span{Text: strings.Repeat(" ", gap)}, styled.Span{Text: c, Look: theme.Look{Fg: theme.Muted}})
	}
	return row
}

// queryRow is the line of the search, and the column of the cursor in it.
func (l *List) queryRow(width int, counted bool) (string, int) {
	prompt := "> "
	if width < 8 {
		prompt = ""
	}
	text, x := l.query.view(width - len(prompt) - 1)
	look := theme.Look{Fg: theme.Text}
	if l.query.ed.Empty() {
		text, look = "Type to search", theme.Look{Fg: theme.Dim}
	}
	row := styled.Line{{Text: prompt, Look: theme.Look{Fg: theme.Accent}}, {Text: text, Look: look}}
	if counted {
		row = withCount(row, l.count(), width)
	}
	return l.cols.line(row, width), min(len(prompt)+x, width-1)
}

// body appends the rows of items, with the preview beside them.
func (l *List) body(out []string, p plan, width int) []string {
	listWidth := width
	if p.side > 0 {
		listWidth = width - p.side - 3
	}
	l.seen.width = listWidth
	l.seen.skip(len(out))
	rows := l.rows(listWidth, p.body)
	var side []string
	if p.side > 0 {
		side = l.preview(p.side, p.body)
	}
	for i := range p.body {
		var row styled.Line
		if i < len(rows) {
			row = rows[i]
		}
		row = styled.Truncate(row, listWidth, l.cols.signs().Ellipsis)
		if p.side == 0 {
			out = append(out, styled.Render(l.env.Styles, row))
			continue
		}
		row = styled.Pad(row, listWidth, theme.Look{})
		row = append(row, styled.Span{Text: " " + l.cols.signs().Column, Look: theme.Look{Fg: theme.BorderMuted}})
		text := styled.Render(l.env.Styles, row)
		if i < len(side) && side[i] != "" {
			text += " " + side[i]
		}
		out = append(out, text)
	}
	return out
}

// preview asks for the preview and holds it to its size.
func (l *List) preview(width, height int) []string {
	out := make([]string, height)
	if l.Len() == 0 { // nothing was found yet
		return out
	}
	for i, s := range l.o.Preview(l.Selected(), width, height) {
		if i == height {
			break
		}
		if ansi.StringWidth(s) > width {
			s = ansi.Truncate(s, width, l.cols.signs().Ellipsis)
		}
		out[i] = s
	}
	return out
}
