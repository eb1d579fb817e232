package viewer

import (
	"fmt"
	"strconv"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// footer is the last row, and the column of the cursor in it; -1 if it has none.
func (v *Viewer) footer(width int) (string, int) {
	s := v.env.Styles
	sign := s.Symbols()
	if v.search.editing {
		return v.prompt(width)
	}
	left, right := v.place(), ""
	switch {
	case v.note != "":
		left = v.note
	case v.search.query != "":
		left = v.results()
		right = "n next " + sign.Dot + " N previous " + sign.Dot + " esc end search"
	default:
		right = "/ search " + sign.Dot + " enter expand " + sign.Dot + " u prompts " + sign.Dot + " c copy " + sign.Dot + " q close"
	}
	line := styled.Truncate(styled.Of(left, theme.Text), width, sign.Ellipsis)
	if room := width - line.Width() - 3; room >= 8 && right != "" {
		line = append(line, styled.Span{Text: "   "})
		line = append(line, styled.Truncate(styled.Of(right, theme.Muted), room, sign.Ellipsis)...)
	}
	return styled.Render(s, line), -1
}

// prompt is the row where the query is written. Of a long one the end is shown.
func (v *Viewer) prompt(width int) (string, int) {
	s := v.env.Styles
	after := ""
	if v.search.query != "" {
		after = "   " + v.progress()
	}
	typed := prose.Inline(v.search.typed)
	for room := max(1, width-2); styled.Width(typed) > room; {
		typed = string([]rune(typed)[1:])
	}
	line := styled.Line{{Text: "/" + typed, Look: theme.Look{Fg: theme.Text}}}
	column := line.Width()
	if room := width - column - 1; room >= 8 {
		line = append(line, styled.Span{Text: " "})
		line = append(line, styled.Truncate(styled.Of(after, theme.Muted), room, s.Symbols().Ellipsis)...)
	}
	return styled.Render(s, styled.Truncate(line, width, "")), column
}

// place says where one is.
func (v *Viewer) place() string {
	n := len(v.branch.items)
	if n == 0 {
		return ""
	}
	at := min(max(0, v.cur.item), n-1) + 1
	return fmt.Sprintf("message %s of %s %s %d %%", number(at), number(n), v.env.Styles.Symbols().Dot, at*100/n)
}

// results say what a search has found, and where one is.
func (v *Viewer) results() string {
	return v.progress() + " " + v.env.Styles.Symbols().Dot + " " + v.place()
}

func (v *Viewer) progress() string {
	s := &v.search
	words := number(s.hits.n) + " found"
	switch {
	case s.run != nil:
		words += fmt.Sprintf(", searched %d %%", s.done*100/max(1, s.total))
	case s.hits.n == 0:
		words = "not found"
	}
	return words
}

// number is a number with its thousands apart.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
