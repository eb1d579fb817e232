package markdown

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/markdown/syntax"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// minColumn is the narrowest a column is made; a table that needs narrower ones is
// shown as a list of its rows.
const minColumn = 7

// cell is a cell's text by its own lines.
type cell []styled.Line

func (c cell) width() (n int) {
	for _, l := range c {
		n = max(n, l.Width())
	}
	return n
}

func (r *renderer) table(dst []string, b *syntax.Block, base theme.Look, first, rest styled.Line) []string {
	rows := r.cells(b, base)
	least := max(0, r.width-minColumn)
	first, rest = styled.Truncate(first, least, ""), styled.Truncate(rest, least, "")
	room := r.width - rest.Width()
	if !b.Continued {
		r.widths = fit(rows, room)
	}
	if r.widths == nil || len(r.widths) < len(rows[0]) || r.sign.Rule == "" { // a screen reader gets words
		return r.tableList(dst, rows, b.Continued, first, rest)
	}
	wrapped := false
	grid := make([][]cell, len(rows))
	for i, row := range rows {
		for k, c := range row {
			lines := cell{}
			for _, l := range c {
				lines = styled.Wrap(lines, l, r.widths[k], nil, nil)
			}
			wrapped = wrapped || len(lines) > 1
			grid[i] = append(grid[i], lines)
		}
	}
	head := !b.Continued
	for i, row := range grid {
		if i == 1 && head || wrapped && i > 1 {
			dst = append(dst, r.line(r.ruler(rest, len(rows[0]))))
		}
		height := 1
		for _, c := range row {
			height = max(height, len(c))
		}
		for n := range height {
			dst = append(dst, r.line(r.row(row, n, b.Align, first)))
			first = rest
		}
	}
	if len(grid) == 1 && head {
		dst = append(dst, r.line(r.ruler(rest, len(rows[0]))))
	}
	return dst
}

// cells reads the cells of a table; every row has as many as the head.
func (r *renderer) cells(b *syntax.Block, base theme.Look) [][]cell {
	rows := make([][]cell, len(b.Rows))
	count := len(b.Align)
	if count == 0 && len(b.Rows) > 0 {
		count = len(b.Rows[0])
	}
	count = max(count, 1)
	for i, row := range b.Rows {
		look := base
		if i == 0 && !b.Continued {
			look.Mod |= theme.Bold
		}
		for k := range count {
			text := ""
			if k < len(row) {
				text = row[k]
			}
			open := b.Open && i == len(b.Rows)-1 && k == len(row)-1
			rows[i] = append(rows[i], r.inline(text, look, open))
		}
	}
	return rows
}

// separator is the number of cells between columns.
const separator = 3

// fit is the widths of the columns in so many cells: as wide as their text if
// there is room, or else the widest are made narrower, all to the same width. Nil
// says that the table does not fit.
func fit(rows [][]cell, room int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for k, c := range row {
			widths[k] = max(widths[k], c.width(), 1)
		}
	}
	room -= separator * (len(widths) - 1)
	sum := 0
	for _, w := range widths {
		sum += w
	}
	if sum <= room {
		return widths
	}
	sorted := slices.Clone(widths)
	slices.Sort(sorted)
	left, limit := room, 0
	for i, w := range sorted {
		limit = left / (len(sorted) - i)
		if w > limit {
			break
		}
		left -= w
	}
	if limit < minColumn {
		return nil
	}
	for k := range widths {
		widths[k] = min(widths[k], limit)
	}
	return widths
}

// row is line n of a row.
func (r *renderer) row(row []cell, n int, align []syntax.Align, prefix styled.Line) styled.Line {
	line := slices.Clone(prefix)
	border := theme.Look{Fg: theme.BorderMuted}
	for k, c := range row {
		if k > 0 {
			line = append(line, styled.Span{Text: " " + r.sign.Column + " ", Look: border})
		}
		var text styled.Line
		if n < len(c) {
			text = c[n]
		}
		free := max(0, r.widths[k]-text.Width())
		before := 0
		if k < len(align) {
			switch align[k] {
			case syntax.Right:
				before = free
			case syntax.Center:
				before = free / 2
			}
		}
		line = append(line, styled.Span{Text: strings.Repeat(" ", before)})
		line = append(line, text...)
		if k < len(row)-1 {
			line = append(line, styled.Span{Text: strings.Repeat(" ", free-before)})
		}
	}
	return line
}

func (r *renderer) ruler(prefix styled.Line, columns int) styled.Line {
	var b strings.Builder
	for k := range columns {
		if k > 0 {
			b.WriteString(r.sign.Rule + r.sign.Cross + r.sign.Rule)
		}
		b.WriteString(strings.Repeat(r.sign.Rule, r.widths[k]))
	}
	return append(slices.Clone(prefix), styled.Span{Text: b.String(), Look: theme.Look{Fg: theme.BorderMuted}})
}

// tableList shows the rows of a table that is too wide as lists of its columns.
func (r *renderer) tableList(dst []string, rows [][]cell, continued bool, first, rest styled.Line) []string {
	var head []cell
	if !continued {
		head, rows = rows[0], rows[1:]
	}
	if len(rows) == 0 {
		rows, head = [][]cell{head}, nil
	}
	for i, row := range rows {
		if i > 0 || continued {
			dst = append(dst, r.line(rest))
		}
		for k, c := range row {
			var line styled.Line
			if k < len(head) {
				for _, l := range head[k] {
					line = append(line, l...)
				}
				line = append(line, styled.Span{Text: ": "})
			}
			for n, l := range c {
				if n > 0 {
					line = append(line, styled.Span{Text: " "})
				}
				line = append(line, l...)
			}
			dst = r.wrap(dst, line, first, append(rest[:len(rest):len(rest)], styled.Span{Text: "  "}))
			first = rest
		}
	}
	return dst
}
