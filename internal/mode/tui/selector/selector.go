// Package selector holds the panes in which people choose: a model, how hard it
// thinks, a theme, tools, an earlier prompt, a provider to log in to, and the list of
// keys.
//
// Each is a [list.List] with rows made of plain facts, and tells its owner what was
// chosen by functions of its options. None reads settings or writes them, keeps state
// beyond its life, or touches the network. What is slow is asked in a goroutine that
// ends with [pane.Env].Post. Names and texts of others (models, tools, prompts) are
// made harmless before they are shown.
package selector

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// sheet is a page of facts about what is selected.
type sheet struct {
	styles        *theme.Styles
	width, height int
	lines         []string
}

// newSheet is an empty page. Lines beyond the height are not kept.
func newSheet(s *theme.Styles, width, height int) *sheet {
	return &sheet{styles: s, width: max(1, width), height: height}
}

func (s *sheet) full() bool { return len(s.lines) >= s.height }

func (s *sheet) add(l styled.Line) {
	if !s.full() {
		s.lines = append(s.lines, styled.Render(s.styles, styled.Truncate(l, s.width, s.styles.Symbols().Ellipsis)))
	}
}

func (s *sheet) blank() {
	if len(s.lines) > 0 {
		s.add(nil)
	}
}

func (s *sheet) title(text string) {
	s.wrap(styled.Line{{Text: prose.Inline(text), Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}}, nil, nil)
}

// factWidth is the width of the names of facts.
const factWidth = 12

// fact is a named value. Names are ours; values may be anybody's, and one without
// text is left out.
func (s *sheet) fact(name, value string) {
	if value == "" {
		return
	}
	first := styled.Pad(styled.Of(name, theme.Muted), factWidth, theme.Look{})
	s.wrap(styled.Of(prose.Inline(value), theme.Text), first, styled.Of(strings.Repeat(" ", factWidth), theme.Plain))
}

// text is a text of several lines, as far as it fits.
func (s *sheet) text(text string, token theme.Token) {
	// A cell has few bytes; what cannot be in view is not looked at.
	text = prose.Head(text, s.width*s.height*8)
	for _, l := range strings.Split(strings.TrimRight(prose.Clean(text, 4), "\n"), "\n") {
		if s.full() {
			return
		}
		s.wrap(styled.Of(l, token), nil, nil)
	}
}

func (s *sheet) wrap(l, first, rest styled.Line) {
	for _, l := range styled.Wrap(nil, l, s.width, first, rest) {
		s.add(l)
	}
}
