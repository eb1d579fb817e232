package status

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// part is a segment as it was drawn.
type part struct {
	name     string
	from, to int // spans of the pen
	width    int
	gone     bool
}

// maxSegments is how many segments a line can have.
const maxSegments = len(segments)

// minPath is how many cells a path is cut to before other segments go.
const minPath = 12

// Render draws the line, at most width-1 cells wide: a line that is full to the last
// column would be wrapped where a terminal gets narrower. It is "" where there is
// nothing to say.
func (l *Line) Render(f *Facts, s *theme.Styles, width int) string {
	var spans [2 * maxSegments]styled.Span
	var store [maxSegments]part
	p := pen{line: spans[:0], icons: l.icons, ascii: l.ascii || s.Symbols().Ellipsis == "..."}
	if !l.transparent {
		p.bg = theme.StatusLineBg
	}
	width = max(width-1, 1)
	parts := l.draw(store[:0], l.left, &p, f)
	left := len(parts)
	parts = l.draw(parts, l.right, &p, f)
	r := row{parts: parts, left: left, pen: &p, sep: l.separator(p.ascii), width: width}
	r.sepWidth = styled.Width(r.sep.left)
	return r.fit(f, s)
}

// draw draws segments; those with nothing to say leave no part.
func (l *Line) draw(parts []part, list []segment, p *pen, f *Facts) []part {
	for i := range list {
		from := len(p.line)
		list[i].draw(p, f)
		if to := len(p.line); to > from {
			parts = append(parts, part{name: list[i].name, from: from, to: to, width: p.line[from:to].Width()})
		}
	}
	return parts
}

// separator is the line's, or one that ASCII has.
func (l *Line) separator(ascii bool) separator {
	if !ascii || l.sep.left[1] < 0x80 {
		return l.sep
	}
	return separator{" | ", " | "}
}

// row puts parts into the room there is.
type row struct {
	parts    []part
	left     int // so many of them stand at the left
	pen      *pen
	sep      separator
	sepWidth int
	width    int
}

// need is how many cells the parts take. Between left and right are two at least.
func (r *row) need() int {
	n, left, right := 2, 0, 0 // a space at each end
	for i := range r.parts {
		if r.parts[i].gone {
			continue
		}
		n += r.parts[i].width
		if i < r.left {
			left++
		} else {
			right++
		}
	}
	n += r.sepWidth * (max(0, left-1) + max(0, right-1))
	if left > 0 && right > 0 {
		n += 2
	}
	return n
}

func (r *row) fit(f *Facts, s *theme.Styles) string {
	path, git := -1, -1
	for i := range r.parts {
		switch r.parts[i].name {
		case "path":
			path = i
		case "git":
			git = i
		}
	}
	need := r.need()
	if path >= 0 && need > r.width {
		r.shorten(path, f, minPath)
		need = r.need()
	}
	if git >= 0 && need > r.width {
		r.branchOnly(git)
		need = r.need()
	}
	need = r.drop(need)
	if path >= 0 && !r.parts[path].gone && need < r.width { // what went made room for more of it
		r.shorten(path, f, min(longPath, styled.Width(r.pen.line[r.parts[path].to-1].Text)+r.width-need))
	}
	return r.line(s)
}

// branchOnly leaves out the numbers of git; a star says that something is changed.
func (r *row) branchOnly(i int) {
	p := &r.parts[i]
	at := p.from
	if r.pen.icons && !r.pen.ascii {
		at++
	}
	branch := &r.pen.line[at]
	if branch.Look.Fg == theme.StatusLineGitDirty {
		branch.Text += "*"
	}
	p.to = at + 1
	p.width = r.pen.line[p.from:p.to].Width()
}

// drop takes parts out until the rest fits, or one is left.
func (r *row) drop(need int) int {
	kept := len(r.parts)
	for _, seg := range segments {
		if need <= r.width || kept <= 1 {
			break
		}
		for i := range r.parts {
			if r.parts[i].name == seg.name {
				r.parts[i].gone = true
				kept--
				need = r.need()
			}
		}
	}
	return need
}

// shorten makes the path fit so many cells.
func (r *row) shorten(i int, f *Facts, cells int) {
	span := &r.pen.line[r.parts[i].to-1]
	span.Text = shortPath(f.Dir, f.Home, cells, r.pen.ellipsis())
	r.parts[i].width = r.pen.line[r.parts[i].from:r.parts[i].to].Width()
}

const blanks = "                                                                "

// line joins the parts.
func (r *row) line(s *theme.Styles) string {
	out := make([]styled.Span, 0, len(r.pen.line)+len(r.parts)+3)
	plain := theme.Look{Bg: r.pen.bg}
	sep := theme.Look{Fg: theme.StatusLineSep, Bg: r.pen.bg}
	space := styled.Span{Text: " ", Look: plain}
	gap := r.width - r.need() + 2
	side := func(from, to int, between string) (any bool) {
		for _, p := range r.parts[from:to] {
			if p.gone {
				continue
			}
			if any {
				out = append(out, styled.Span{Text: between, Look: sep})
			}
			any = true
			out = append(out, r.pen.line[p.from:p.to]...)
		}
		return any
	}
	out = append(out, space)
	if !side(0, r.left, r.sep.left) {
		gap -= 2 // that stand between both sides
	}
	at := len(out)
	out = append(out, styled.Span{Look: plain})
	if side(r.left, len(r.parts), r.sep.right) && gap > 0 {
		out[at].Text = spaces(gap)
	}
	if len(out) == 2 {
		return ""
	}
	out = append(out, space)
	if r.need() > r.width {
		out = styled.Truncate(out, r.width, r.pen.ellipsis())
	}
	var buf [1024]byte
	return string(styled.Append(buf[:0], s, out))
}

func spaces(n int) string {
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}
