package question

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	ruleWidth = 64 // of the line a pane begins with, at most
	minBody   = 3  // rows of what it is about that are shown before other choices are
	maxEdit   = 4  // rows of a line to write in
)

// sheet is what a pane shows, sorted by what it is.
type sheet struct {
	env   *pane.Env
	width int
	sign  theme.Symbols

	title    []styled.Line
	body     []string // can be scrolled
	choices  []styled.Line
	owner    []int // which choice each of these rows is of
	count    int   // of choices
	from, to int   // the rows of choices that are selected
	below    []styled.Line
	hint     styled.Line
	cursor   screen.Cursor // in choices
}

func newSheet(env *pane.Env, width int) *sheet {
	return &sheet{env: env, width: max(width, 1), sign: env.Styles.Symbols(), cursor: screen.Cursor{Hidden: true}}
}

// place is how far the body of a pane is scrolled, by how much a key scrolls it, and where
// the choices stand.
type place struct {
	at, page int
	first    int   // the row of the first choice
	choices  []int // the choice in each row from there on; -1 for none
}

// turn scrolls by pages.
func (p *place) turn(by int) { p.at += by * max(p.page, 1) }

// wheelRows is how far one click of a mouse's wheel scrolls.
const wheelRows = 3

// wheel scrolls by the wheel of a mouse; false for other keys.
func (p *place) wheel(k key.Key) bool {
	switch k {
	case "wheelup":
		p.at -= wheelRows
	case "wheeldown":
		p.at += wheelRows
	default:
		return false
	}
	return true
}

// choice is what stands in a row that was drawn; -1 if it is no choice.
func (p *place) choice(row int) int {
	if row -= p.first; row < 0 || row >= len(p.choices) {
		return -1
	}
	return p.choices[row]
}

// heading is the row a pane begins with: a title on a line across, where lines are drawn.
func (s *sheet) heading(title, more string, fg theme.Token) {
	rule := s.sign.Rule != ""
	l := styled.Line{{Text: title, Look: theme.Look{Fg: fg, Mod: theme.Bold}}}
	if rule {
		l = append(styled.Line{{Text: s.sign.Rule + " ", Look: theme.Look{Fg: fg}}}, l...)
	}
	if more != "" {
		l = append(l, styled.Span{Text: " " + s.sign.Dot + " " + more, Look: theme.Look{Fg: theme.Muted}})
	}
	if n := min(ruleWidth, s.width) - l.Width() - 1; rule && n > 0 {
		l = append(l, styled.Span{Text: " " + strings.Repeat(s.sign.Rule, n), Look: theme.Look{Fg: fg}})
	}
	s.title = append(s.title, l)
}

// text wraps words below an indent of two.
func (s *sheet) text(dst []styled.Line, l styled.Line) []styled.Line {
	indent := styled.Line{{Text: "  "}}
	return styled.Wrap(dst, l, s.width, indent, indent)
}

// choice adds a row that can be chosen, with its number.
func (s *sheet) choice(number int, mark, label string, note string, selected bool) {
	look := theme.Look{Fg: theme.Text}
	if selected {
		look = theme.Look{Fg: theme.Accent, Mod: theme.Bold}
	}
	first := s.pointer(selected)
	if number > 0 {
		first = append(first, styled.Span{Text: fmt.Sprintf("%d ", number), Look: theme.Look{Fg: theme.Muted}})
	}
	if mark != "" {
		first = append(first, styled.Span{Text: mark + " ", Look: look})
	}
	l := styled.Line{{Text: label, Look: look}}
	if note != "" {
		l = append(l, styled.Span{Text: " " + note, Look: theme.Look{Fg: theme.Muted}})
	}
	rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
	if selected {
		s.from = len(s.choices)
	}
	s.choices = styled.Wrap(s.choices, l, s.width, first, rest)
	if selected {
		s.to = len(s.choices)
	}
	s.own()
}

// own says that the rows which were added are those of the next choice.
func (s *sheet) own() {
	for len(s.owner) < len(s.choices) {
		s.owner = append(s.owner, s.count)
	}
	s.count++
}

// pointer stands before a choice.
func (s *sheet) pointer(selected bool) styled.Line {
	n := styled.Width(s.sign.Arrow)
	if selected {
		return styled.Line{{Text: s.sign.Arrow + " ", Look: theme.Look{Fg: theme.Accent}}}
	}
	return styled.Line{{Text: strings.Repeat(" ", n+1)}}
}

// writing adds the rows of a line that is being written, with the cursor in it.
func (s *sheet) writing(number int, label string, e *editor.Editor) {
	first := s.pointer(true)
	if number > 0 {
		first = append(first, styled.Span{Text: fmt.Sprintf("%d ", number), Look: theme.Look{Fg: theme.Muted}})
	}
	first = append(first, styled.Span{Text: label + " ", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}})
	s.from = len(s.choices)
	if first.Width() > s.width/2 { // the words get rows of their own
		s.choices = append(s.choices, first)
		first = styled.Line{{Text: strings.Repeat(" ", min(4, s.width/4))}}
	}
	indent := first.Width()
	rows, row, col := e.View(s.width-indent, maxEdit)
	look := theme.Look{Fg: theme.Text}
	if e.Empty() {
		look.Fg = theme.Dim
	}
	s.cursor = screen.Cursor{X: min(indent+col, s.width-1), Y: len(s.choices) + row}
	for i, r := range rows {
		l := styled.Line{{Text: strings.Repeat(" ", indent)}}
		if i == 0 {
			l = first
		}
		s.choices = append(s.choices, append(l[:len(l):len(l)], styled.Span{Text: r, Look: look}))
	}
	s.to = len(s.choices)
	s.own()
}

// keys is the last row: what keys do, as pairs of a key and words.
func (s *sheet) keys(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			s.hint = append(s.hint, styled.Span{Text: " " + s.sign.Dot + " ", Look: theme.Look{Fg: theme.Dim}})
		} else {
			s.hint = append(s.hint, styled.Span{Text: "  "})
		}
		s.hint = append(s.hint, styled.Span{Text: pairs[i], Look: theme.Look{Fg: theme.Muted, Mod: theme.Bold}},
			styled.Span{Text: " " + pairs[i+1], Look: theme.Look{Fg: theme.Dim}})
	}
}

// arrange gives at most height rows. Scroll is how far the body is scrolled; it is put
// right where there is not so much, and told how much a page is.
func (s *sheet) arrange(height int, scroll *place) ([]string, screen.Cursor) {
	left := max(height, 1)
	take := func(want int) int {
		n := min(left, max(want, 0))
		left -= n
		return n
	}
	chosen := take(s.to - s.from)
	title := take(len(s.title))
	body := take(min(len(s.body), minBody))
	below := take(len(s.below))
	chosen += take(len(s.choices) - chosen)
	hint := take(len(s.hint[:min(1, len(s.hint))]))
	body += take(len(s.body) - body)
	var air [2]int // blank rows around the choices, where there is room for them
	if body > 0 && chosen > 0 {
		air[0] = take(1)
	}
	if below > 0 {
		air[1] = take(1)
	}

	out := make([]string, 0, max(height, 1)-left)
	add := func(lines []styled.Line) {
		for _, l := range lines {
			out = append(out, styled.Render(s.env.Styles, styled.Truncate(l, s.width, s.sign.Ellipsis)))
		}
	}
	add(s.title[:title])
	out = s.scrolled(out, body, scroll)
	add(make([]styled.Line, air[0]))
	start := min(max(0, s.from-max(0, chosen-(s.to-s.from))/2), len(s.choices)-chosen)
	if !s.cursor.Hidden { // the row that is written is never the one that is cut
		start = max(start, s.cursor.Y-chosen+1)
	}
	cursor := s.cursor
	cursor.Y += len(out) - start
	if s.cursor.Y < start || s.cursor.Y >= start+chosen {
		cursor = screen.Cursor{Hidden: true}
	}
	rows, owner := s.window(start, start+chosen)
	scroll.first, scroll.choices = len(out), owner
	add(rows)
	add(make([]styled.Line, air[1]))
	if below < len(s.below) && below > 0 {
		s.below = append(s.below[:below-1:below-1], s.more(len(s.below)-below+1))
	}
	add(s.below[:below])
	if hint > 0 {
		add([]styled.Line{s.hint})
	}
	return out, cursor
}

// window are rows of the choices, and which choice each is of. What is cut says so, in a row
// that is not of the selected one.
func (s *sheet) window(start, end int) (rows []styled.Line, owner []int) {
	rows, owner = slices.Clone(s.choices[start:end]), slices.Clone(s.owner[start:end])
	cut := styled.Of("  "+s.sign.Ellipsis, theme.Dim)
	if start > 0 && start < s.from {
		rows[0], owner[0] = cut, -1
	}
	if end < len(s.choices) && end > s.to {
		rows[len(rows)-1], owner[len(rows)-1] = cut, -1
	}
	return rows, owner
}

// scrolled adds n rows of the body, from where it is scrolled to. A page is a row less
// than is shown, so that one sees where it goes on.
func (s *sheet) scrolled(out []string, n int, scroll *place) []string {
	if n >= len(s.body) || n <= 1 {
		*scroll = place{}
		return append(out, s.body[:min(n, len(s.body))]...)
	}
	shown := n - 1 // the last row says what is missing
	scroll.page = max(shown-1, 1)
	scroll.at = min(max(0, scroll.at), len(s.body)-shown)
	out = append(out, s.body[scroll.at:scroll.at+shown]...)
	l := s.missing(scroll.at, len(s.body)-shown-scroll.at)
	return append(out, styled.Render(s.env.Styles, styled.Truncate(l, s.width, s.sign.Ellipsis)))
}

// missing says how many rows are not shown, and which keys show them.
func (s *sheet) missing(above, below int) styled.Line {
	up, down := keyText(s.env, key.SelectPageUp), keyText(s.env, key.SelectPageDown)
	words := fmt.Sprintf("%d more %s (%s)", below, prose.Noun(below, "line"), down)
	switch {
	case above > 0 && below > 0:
		words = fmt.Sprintf("%d %s above %s %d below (%s, %s)", above, prose.Noun(above, "line"), s.sign.Dot, below, up, down)
	case above > 0:
		words = fmt.Sprintf("%d %s above (%s)", above, prose.Noun(above, "line"), up)
	}
	return styled.Of("  "+s.sign.Ellipsis+" "+words, theme.Warning)
}

// more says that n lines are left out.
func (s *sheet) more(n int) styled.Line {
	return styled.Of(fmt.Sprintf("  %s %d more %s", s.sign.Ellipsis, n, prose.Noun(n, "line")), theme.Warning)
}

// fit cuts a row that others drew to the width.
func fit(row string, width int) string {
	if ansi.StringWidth(row) > width {
		return ansi.Truncate(row, width, "")
	}
	return row
}

// body draws lines to scroll.
func (s *sheet) render(dst []string, lines []styled.Line) []string {
	for _, l := range lines {
		dst = append(dst, styled.Render(s.env.Styles, styled.Truncate(l, s.width, s.sign.Ellipsis)))
	}
	return dst
}
