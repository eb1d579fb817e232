package vt

import (
	"fmt"
	"strings"
)

// Cell is the cell at column x of row y, both from 0; outside of the screen it is
// blank.
func (t *Terminal) Cell(x, y int) Cell {
	g, _ := t.screen.seen()
	if y < 0 || y >= len(g.rows) || x < 0 || x >= len(g.rows[y].cells) {
		return blank
	}
	return g.rows[y].cells[x]
}

// Lines are the rows of the screen, without blanks at their ends.
func (t *Terminal) Lines() []string {
	g, _ := t.screen.seen()
	return texts(g.rows)
}

func texts(rows []row) []string {
	lines := make([]string, len(rows))
	for i := range rows {
		lines[i] = rows[i].text()
	}
	return lines
}

// Screen is the text of the screen: one line for each row up to the last that is not
// blank, without blanks at the ends of lines.
func (t *Terminal) Screen() string {
	return strings.TrimRight(strings.Join(t.Lines(), "\n"), "\n")
}

// Scrollback is the text of the rows above the screen, oldest first.
func (t *Terminal) Scrollback() []string {
	_, h := t.screen.seen()
	return texts(h)
}

// Lost is the number of rows that left the scrollback because it was full or was
// erased.
func (t *Terminal) Lost() int {
	if t.screen.shown != nil {
		return t.screen.shown.lost
	}
	return t.screen.history.lost
}

// All are the lines of the scrollback and the main screen together. Rows the
// terminal wrapped are joined to the lines they were, and blank rows at the end are
// left out.
func (t *Terminal) All() []string {
	g, h := t.screen.seen()
	if t.Alternate() {
		g = &t.screen.main
	}
	var (
		lines []string
		line  strings.Builder
	)
	add := func(r *row) {
		if r.soft { // blanks at the end of a wrapped row stand between words
			cells := r.cells
			if n := len(cells); n > 0 && cells[n-1] == blank { // a wide character did not fit
				cells = cells[:n-1]
			}
			line.WriteString((&row{cells: cells}).raw())
			return
		}
		line.WriteString(r.text())
		lines = append(lines, line.String())
		line.Reset()
	}
	for i := range h {
		add(&h[i])
	}
	for i := range g.rows {
		add(&g.rows[i])
	}
	if line.Len() > 0 {
		lines = append(lines, line.String())
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Dump is the screen with its styles in words, for golden files. Each row that is
// not blank is a line "3│text│"; below it, each run of cells with a style of its own
// is a line "   columns: style". The last line is the cursor.
//
//	0│error: no such file│
//	   0-4: bold fg=1
//	cursor 0,1 hidden
func (t *Terminal) Dump() string {
	var b strings.Builder
	g, _ := t.screen.seen()
	for y := range g.rows {
		r := &g.rows[y]
		runs := styleRuns(r)
		if r.text() == "" && runs == "" {
			continue
		}
		fmt.Fprintf(&b, "%d│%s│\n%s", y, r.text(), runs)
	}
	c := t.Cursor()
	fmt.Fprintf(&b, "cursor %d,%d", c.X, c.Y)
	if c.Hidden {
		b.WriteString(" hidden")
	}
	if c.Shape != 0 {
		fmt.Fprintf(&b, " shape=%d", c.Shape)
	}
	b.WriteByte('\n')
	return b.String()
}

func styleRuns(r *row) string {
	var b strings.Builder
	for x := 0; x < len(r.cells); {
		style, from := r.cells[x].Style, x
		for x < len(r.cells) && r.cells[x].Style == style {
			x++
		}
		if style != (Style{}) {
			fmt.Fprintf(&b, "   %d-%d: %s\n", from, x-1, style)
		}
	}
	return b.String()
}
