package screen_test

import (
	"fmt"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/screen"
)

// CursorRow tells where the live rows are, with what the terminal says of its cursor: below a
// conversation, after commits, with a hidden cursor, and where the live part is cut.
func TestCursorRow(t *testing.T) {
	s, w := pair(t, 20, 6)
	live := func(n int) (rows []string) {
		for i := range n {
			rows = append(rows, fmt.Sprintf("row %d", i))
		}
		return rows
	}
	check := func(n int) {
		t.Helper()
		row, known := s.CursorRow()
		if !known {
			t.Fatal("it is not known where the cursor is")
		}
		lines := w.Lines()
		for y, line := range lines {
			if i := y - w.Cursor().Y + row; i >= 0 && i < n && line == fmt.Sprintf("row %d", i) {
				return // one that fits says that all do
			}
		}
		t.Errorf("the cursor is in row %d of the terminal, and not in row %d of\n%s", w.Cursor().Y, row, w.Screen())
	}
	must(t, s.Draw(live(2), screen.Cursor{X: 1, Y: 1}))
	check(2)
	must(t, s.Commit([]string{"one", "two"}))
	must(t, s.Draw(live(3), screen.Cursor{Y: 0}))
	check(3)
	must(t, s.Draw(live(3), screen.Cursor{Hidden: true}))
	check(3)
	must(t, s.Draw(live(10), screen.Cursor{X: 1, Y: 8}))
	check(10)
	must(t, s.Draw(live(10), screen.Cursor{Hidden: true}))
	check(10)
	must(t, s.Draw(live(2), screen.Cursor{Hidden: true}))
	check(2)
	w.Resize(10, 6)
	s.Resize(10, 6)
	if _, known := s.CursorRow(); known {
		t.Error("who resized the terminal may have moved rows")
	}
	must(t, s.Draw(live(2), screen.Cursor{}))
	check(2)
	must(t, s.EnterFullscreen())
	if _, known := s.CursorRow(); known {
		t.Error("the live part is not on the screen")
	}
}
