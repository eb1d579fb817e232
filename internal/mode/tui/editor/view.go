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
	e.win.height = max(1, maxHeight)
	if e.Empty() && e.opts.Placeholder != "" {
		e.win.top = scroll{}
		text := strings.NewReplacer("\n", " ", "\t", " ").Replace(clean(e.opts.Placeholder))
		return []string{style(e.opts.Styles.Placeholder, ansi.Truncate(text, e.lay.width-1, "…"))}, 0, 0
	}
	l := e.doc.at(e.cur.line)
	at := scroll{e.cur.line, rowOf(e.lay.rows(l), e.cur.col)}
	e.win.scrollTo(at, &e.doc, &e.lay)
	for r := e.win.top; len(lines) < e.win.height; {
		if r == at {
			row = len(lines)
		}
		lines = append(lines, e.lay.draw(e.doc.at(r.line), r.row, &e.opts.Styles))
		next := e.doc.walk(r, 1, &e.lay)
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
	last := e.doc.walk(e.win.top, e.win.height-1, &e.lay)
	return e.win.top != scroll{}, e.doc.walk(last, 1, &e.lay) != last
}

// window is the part of the rows that is shown.
type window struct {
	top    scroll // the first row
	height int    // of the last View
}

// scrollTo moves the top so little that row at is shown, and no room below the
// text is shown while rows above it are not.
func (w *window) scrollTo(at scroll, d *document, lay *layout) {
	first := d.walk(at, -(w.height - 1), lay)
	switch last := d.lines() - 1; {
	case w.top.line > last:
		w.top = at
	default:
		w.top.row = min(w.top.row, len(lay.rows(d.at(w.top.line)))-1)
	}
	if at.less(w.top) {
		w.top = at
	}
	if w.top.less(first) {
		w.top = first
	}
	for r, n := w.top, 1; n < w.height; n++ {
		next := d.walk(r, 1, lay)
		if next == r {
			w.top = d.walk(w.top, n-w.height, lay)
			return
		}
		r = next
	}
}

func (s scroll) less(t scroll) bool {
	return s.line < t.line || s.line == t.line && s.row < t.row
}

// draw is the text of a row of a line.
func (lay *layout) draw(l *line, row int, styles *Styles) string {
	end := lay.rowEnd(l, row)
	var out, plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			out.WriteString(style(styles.Text, plain.String()))
			plain.Reset()
		}
	}
	x := 0
	for i := lay.rows(l)[row]; i < end; {
		n := clusterLen(l.s[i:])
		c := l.s[i : i+n]
		w := lay.clusterWidth(c, x)
		if id, ok := foldID(c); ok {
			flush()
			out.WriteString(style(styles.Fold, ansi.Truncate(lay.label(id), w, "")))
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
