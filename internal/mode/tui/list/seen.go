package list

import (
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// seen is what the last frame showed where. A click means what the person saw, should the rows
// have changed since.
type seen struct {
	title styled.Line // of the first row, with a span for each chip behind the title's; nil: no title
	rows  []*Item     // nil is nothing to click on
	width int         // of these rows
}

// skip adds rows that are no items.
func (s *seen) skip(n int) {
	for range n {
		s.rows = append(s.rows, nil)
	}
}

// at is the chip that a click hit, -1 for none, or the item, nil for none.
func (s *seen) at(c key.Click) (chip int, it *Item) {
	if c.Y == 0 && s.title != nil {
		return max(-1, s.title.At(c.X)-1), nil
	}
	if c.Y < 0 || c.Y >= len(s.rows) || c.X >= s.width {
		return -1, nil
	}
	return -1, s.rows[c.Y]
}
