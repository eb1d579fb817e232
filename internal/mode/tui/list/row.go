package list

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// rows gives the rows of items that are in view, with their headings.
func (l *List) rows(width, height int) []styled.Line {
	if l.Len() == 0 {
		return l.nothing(width, height)
	}
	l.clamp()
	l.scroll(height)
	w := words(l.query.text())
	var out []styled.Line
	for i := l.top; i < l.Len() && len(out) < height; i++ {
		if l.headed(i, l.top) && (height > 1 || i != l.at) {
			out = append(out, styled.Line{{Text: prose.Inline(l.item(i).Group), Look: theme.Look{Fg: theme.Muted, Mod: theme.Bold}}})
			l.seen.skip(1)
		}
		if len(out) < height { // else the heading says what comes
			row := l.cols.row(l.item(i), i == l.at, l.shown != nil, width, w)
			if l.item(i) == l.hover {
				row = styled.Pointed(row)
			}
			out = append(out, row)
			l.seen.rows = append(l.seen.rows, l.item(i))
		}
	}
	return out
}

// headed reports whether a heading stands above item i, where top is the first in
// view. A search orders items by how well they fit, and headings would cut that up.
func (l *List) headed(i, top int) bool {
	if l.shown != nil {
		return false
	}
	g := l.items[i].Group
	return g != "" && (i == top || l.items[i-1].Group != g)
}

// rowsOf is how many rows item i takes.
func (l *List) rowsOf(i, top int) int {
	if l.headed(i, top) {
		return 2
	}
	return 1
}

// scroll moves the window so little that the selected item is in it, and leaves no
// room below the last one. It looks at no more items than there are rows.
func (l *List) scroll(height int) {
	l.top = max(0, min(l.top, l.at))
	l.top = max(l.top, l.highest(l.at, height))
	used := 0
	for i := l.top; i < l.Len(); i++ {
		if used += l.rowsOf(i, l.top); used >= height {
			return
		}
	}
	l.top = min(l.top, l.highest(l.Len()-1, height))
}

// highest is the first item of a window that ends with item last.
func (l *List) highest(last, height int) int {
	used := 0 // by those below the first, which may have another heading
	for top := last; ; top-- {
		if used+l.rowsOf(top, top) > height && top < last {
			return top + 1
		}
		if top == 0 {
			return 0
		}
		used += l.rowsOf(top, -1)
	}
}

// nothing says why there are no rows.
func (l *List) nothing(width, height int) []styled.Line {
	text := l.o.Empty
	switch {
	case l.find.under != nil:
		return nil
	case len(l.items) > 0:
		if text = l.o.NoMatch; text == "" {
			text = "Nothing matches. Esc clears the search."
		}
	case text == "":
		text = "Nothing here."
	}
	out := styled.Wrap(nil, styled.Of(prose.Inline(text), theme.Muted), width, nil, nil)
	return out[:min(len(out), height)]
}

// columns are how wide the parts of rows are, and how a row is drawn in them.
type columns struct {
	env                *pane.Env
	boxes              bool // a check box stands in front
	mark, label, group int  // in cells
}

const (
	maxMeasured = 1000 // items that are asked for the widths of their labels and groups
	maxMark     = 3    // width of the widest mark
	maxGroup    = 14   // width of the widest group beside a label
)

// measure finds the widths that marks, labels and groups need.
func (c *columns) measure(items []Item) {
	c.mark, c.label, c.group = 0, 0, 0
	last := ""
	for i := range items {
		it := &items[i]
		if it.Mark != "" && c.mark < maxMark {
			c.mark = min(maxMark, max(c.mark, styled.Width(prose.Inline(it.Mark))))
		}
		if i >= maxMeasured {
			continue
		}
		if it.Line == nil && it.Detail != "" {
			c.label = max(c.label, styled.Width(prose.Inline(it.Label)))
		}
		if it.Group != last {
			last = it.Group
			c.group = min(maxGroup, max(c.group, styled.Width(prose.Inline(it.Group))))
		}
	}
}

func (c *columns) signs() theme.Symbols { return c.env.Styles.Symbols() }

// line writes a line that fits.
func (c *columns) line(s styled.Line, width int) string {
	return styled.Render(c.env.Styles, styled.Truncate(s, width, c.signs().Ellipsis))
}

// row is the row of one item.
func (c *columns) row(it *Item, selected, searched bool, width int, words []string) styled.Line {
	sign := c.signs()
	look := func(t theme.Token) theme.Look {
		k := theme.Look{Fg: t}
		if selected {
			k.Bg, k.Mod = theme.SelectedBg, theme.Bold
		}
		return k
	}
	front := sign.Arrow
	if !selected {
		front = strings.Repeat(" ", styled.Width(front))
	}
	row := styled.Line{{Text: front + " ", Look: look(theme.Accent)}}
	if c.boxes {
		box, token := sign.TaskOpen, theme.Muted
		if it.On {
			box, token = sign.TaskDone, theme.Success
		}
		row = append(row, styled.Span{Text: box + " ", Look: look(token)})
	}
	if c.mark > 0 {
		mark := styled.Pad(styled.Truncate(styled.Of(prose.Inline(it.Mark), theme.Plain), c.mark, ""), c.mark, theme.Look{})
		row = append(row, styled.Span{Text: mark.Text() + " ", Look: look(theme.Success)})
	}
	if it.Line != nil {
		return styled.Truncate(append(row, over(it.Line, selected)...), width, sign.Ellipsis)
	}
	return c.text(row, it, selected, searched, width, words, look)
}

// over puts the look of a selected row behind spans that have looks of their own.
func over(line styled.Line, selected bool) styled.Line {
	if !selected {
		return line
	}
	out := make(styled.Line, len(line))
	for i, s := range line {
		if s.Look.Bg == theme.Plain {
			s.Look.Bg = theme.SelectedBg
		}
		s.Look.Mod |= theme.Bold
		out[i] = s
	}
	return out
}

// minDetail is the room below which a detail is left out.
const minDetail = 6

// text appends label and detail to a row.
func (c *columns) text(row styled.Line, it *Item, selected, searched bool, width int, words []string, look func(theme.Token) theme.Look) styled.Line {
	token, beside := theme.Text, theme.Muted
	switch {
	case it.Dim:
		token, beside = theme.Dim, theme.Dim
	case selected:
		token = theme.Accent
	}
	front := row.Width()
	label := prose.Inline(it.Label)
	row = append(row, highlight(label, words, look(token), look(theme.Warning))...)
	detail := prose.Inline(it.Detail)
	if searched && c.group > 0 && it.Group+detail != "" {
		group := styled.Pad(styled.Truncate(styled.Of(prose.Inline(it.Group), theme.Plain), c.group, c.signs().Ellipsis), c.group, theme.Look{})
		detail = strings.TrimRight(group.Text()+"  "+detail, " ")
	}
	if detail == "" {
		return styled.Truncate(row, width, c.signs().Ellipsis)
	}
	column := front + min(c.label, max(0, (width-front)/2))
	gap := max(2, column+2-row.Width())
	if room := width - row.Width() - gap; room < min(minDetail, styled.Width(detail)) {
		return styled.Truncate(row, width, c.signs().Ellipsis)
	}
	k := look(beside)
	k.Mod &^= theme.Bold
	row = append(row, styled.Span{Text: strings.Repeat(" ", gap), Look: k}, styled.Span{Text: detail, Look: k})
	return styled.Truncate(row, width, c.signs().Ellipsis)
}

// highlight marks in a label what was searched.
func highlight(label string, words []string, plain, hit theme.Look) styled.Line {
	lower := strings.ToLower(label)
	if len(words) == 0 || len(lower) != len(label) {
		return styled.Line{{Text: label, Look: plain}}
	}
	hit.Mod |= theme.Bold
	marks := ranges(words, lower)
	var out styled.Line
	from := 0
	for i := 1; i <= len(label); i++ {
		if i < len(label) && marks[i] == marks[from] {
			continue
		}
		k := plain
		if marks[from] {
			k = hit
		}
		out = append(out, styled.Span{Text: label[from:i], Look: k})
		from = i
	}
	return out
}
