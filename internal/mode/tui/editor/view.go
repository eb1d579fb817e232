package editor

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Styles decorate parts of the text; a nil one leaves them plain. None may change
// the width of what it is given.
type Styles struct {
	Text        func(string) string
	Fold        func(string) string // the label of a folded paste
	Placeholder func(string) string
}

// scroll is a row: that many rows into a line.
type scroll struct{ line, row int }

// View is the part of the text around the cursor: at most maxHeight rows, none
// wider than width (at least 3) columns, and the row and column in them where
// the cursor is. It costs what the rows cost that are shown.
func (e *Editor) View(width, maxHeight int) (lines []string, row, col int) {
	e.lay.width = max(minWidth, width)
	e.height = max(1, maxHeight)
	if e.Empty() && e.opts.Placeholder != "" {
		e.top = scroll{}
		text := strings.NewReplacer("\n", " ", "\t", " ").Replace(clean(e.opts.Placeholder))
		return []string{style(e.opts.Styles.Placeholder, ansi.Truncate(text, e.lay.width-1, "…"))}, 0, 0
	}
	l := e.doc.at(e.cur.line)
	at := scroll{e.cur.line, rowOf(e.lay.rows(l), e.cur.col)}
	e.scrollTo(at)
	for r := e.top; len(lines) < e.height; {
		if r == at {
			row = len(lines)
		}
		lines = append(lines, e.draw(r))
		next := e.walk(r, 1)
		if next == r {
			break
		}
		r = next
	}
	return lines, row, e.lay.column(l, e.cur.col)
}

// Clipped reports whether there are rows above and below those that the last
// View gave.
func (e *Editor) Clipped() (above, below bool) {
	last := e.walk(e.top, e.height-1)
	return e.top != scroll{}, e.walk(last, 1) != last
}

// scrollTo moves the top so little that row at is shown, and no room below the
// text is shown while rows above it are not.
func (e *Editor) scrollTo(at scroll) {
	first := e.walk(at, -(e.height - 1))
	switch last := e.doc.lines() - 1; {
	case e.top.line > last:
		e.top = at
	default:
		e.top.row = min(e.top.row, len(e.lay.rows(e.doc.at(e.top.line)))-1)
	}
	if at.less(e.top) {
		e.top = at
	}
	if e.top.less(first) {
		e.top = first
	}
	for r, n := e.top, 1; n < e.height; n++ {
		next := e.walk(r, 1)
		if next == r {
			e.top = e.walk(e.top, n-e.height)
			return
		}
		r = next
	}
}

func (s scroll) less(t scroll) bool {
	return s.line < t.line || s.line == t.line && s.row < t.row
}

// draw is the text of row r.
func (e *Editor) draw(r scroll) string {
	l := e.doc.at(r.line)
	end := e.lay.rowEnd(l, r.row)
	var out, plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			out.WriteString(style(e.opts.Styles.Text, plain.String()))
			plain.Reset()
		}
	}
	x := 0
	for i := e.lay.rows(l)[r.row]; i < end; {
		n := clusterLen(l.s[i:])
		c := l.s[i : i+n]
		w := e.lay.clusterWidth(c, x)
		if id, ok := foldID(c); ok {
			flush()
			out.WriteString(style(e.opts.Styles.Fold, ansi.Truncate(e.folds.label(id), w, "")))
		} else if c[0] == '\t' {
			plain.WriteString("    "[:w])
		} else {
			plain.WriteString(glyph(c))
		}
		x += w
		i += n
	}
	flush()
	return out.String()
}

func style(f func(string) string, s string) string {
	if f == nil {
		return s
	}
	return f(s)
}
