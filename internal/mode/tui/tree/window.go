package tree

import (
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// rows are the rows of the window, the selected one in its middle as far as there
// are rows.
func (t *Tree) rows(width int) []styled.Line {
	t.drawn = t.drawn[:0]
	if len(t.layout.rows) == 0 {
		words := "Nothing matches."
		switch {
		case t.search.run != nil:
			words = "Searching."
		case t.search.query == "":
			words = "Nothing to show yet."
		}
		return []styled.Line{styled.Of(words, theme.Muted)}
	}
	first, above := t.step(t.cur, -(t.window / 2))
	_, below := t.step(t.cur, t.window-1-above)
	if missing := t.window - 1 - above - below; missing > 0 {
		first, _ = t.step(first, -missing)
	}
	var lines []styled.Line
	for r := first; len(lines) < t.window; {
		row := t.row(r, width)
		if len(lines) == t.hover-1 {
			row = styled.Pointed(row)
		}
		lines = append(lines, row)
		t.drawn = append(t.drawn, r)
		next, n := t.step(r, 1)
		if n == 0 {
			break
		}
		r = next
	}
	t.facts.trim()
	return lines
}

// step goes n rows down, or up, past those that are left out, and says how many it
// were.
func (t *Tree) step(r, n int) (at, moved int) {
	dir := 1
	if n < 0 {
		dir, n = -1, -n
	}
	at = r
	for moved < n {
		next := t.visible(at+dir, dir)
		if next < 0 {
			break
		}
		at, moved = next, moved+1
	}
	return at, moved
}

// maxSkip is how many rows are read in vain for one that is shown.
const maxSkip = 200

// visible is the first row that is shown from r on, or with dir -1 back; -1 if there
// is none.
func (t *Tree) visible(r, dir int) int {
	for skipped := 0; r >= 0 && r < len(t.layout.rows); r += dir {
		if skipped >= maxSkip || !t.quiet(r) {
			return r
		}
		skipped++
	}
	return -1
}

// row is row r as it is drawn.
func (t *Tree) row(r, width int) styled.Line {
	at := t.layout.rows[r]
	i := int(at.node)
	f, sign := t.fact(i), t.sign()
	l := styled.Line{{Text: "  "}}
	if r == t.cur {
		l = styled.Line{{Text: ">", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}, {Text: " "}}
	}
	gutter := t.layout.prefix(r, width/3, linesOf(sign.Column == "|"), sign.Ellipsis)
	l = append(l, styled.Span{Text: gutter, Look: theme.Look{Fg: theme.BorderMuted}})
	if t.active[i] {
		l = append(l, styled.Span{Text: sign.Bullets[0] + " ", Look: theme.Look{Fg: theme.Accent}})
	}
	if label := t.nodes[i].Label; label != "" {
		l = append(l, styled.Span{Text: "[" + line(label) + "] ", Look: theme.Look{Fg: theme.Warning}})
	}
	color := theme.Text
	if f.fail {
		color = theme.Error
	} else if f.color == theme.Muted || f.color == theme.Dim {
		color = theme.Muted
	}
	l = append(l, styled.Span{Text: prose.Inline(f.role) + ":", Look: theme.Look{Fg: f.color}}, styled.Span{Text: " " + f.text, Look: theme.Look{Fg: color}})
	if r == t.cur {
		for k := range l {
			l[k].Look.Bg = theme.SelectedBg
			l[k].Look.Mod |= theme.Bold
		}
	}
	return l
}
