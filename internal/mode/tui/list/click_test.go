package list

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
)

// A click selects the row that was drawn where it hit, and chooses the row that is selected.
// Headings, the search and the preview are nothing to click on.
func TestClick(t *testing.T) {
	f := paneltest.New(t)
	var log []string
	note := func(s string) func(string) { return func(id string) { log = append(log, s+" "+id) } }
	l := New(f.Env, Options{
		Title: "Fruits", Items: fruits(), Chips: []string{"here", "everywhere"},
		OnChoose: note("choose"), OnMove: note("move"), OnChip: func(i int) { log = append(log, []string{"here", "everywhere"}[i]) },
		Preview: func(string, int, int) []string { return []string{"apple"} },
	})
	// click hits the first row, and there the first column, in which text was drawn.
	click := func(text string) {
		t.Helper()
		rows, _ := l.Draw(120, 20)
		for y, row := range strings.Split(plain(rows), "\n") {
			if before, _, ok := strings.Cut(row, text); ok {
				l.Handle(key.Click{X: len([]rune(before)), Y: y})
				return
			}
		}
		t.Fatalf("no %q in\n%s", text, plain(rows))
	}
	click("blackberry")
	click("Shrubs")
	click("Type to search")
	click("blackberry")
	click("everywhere")
	click("Fruits")
	click("apple") // in the preview
	click("round and red")
	l.Handle(key.Click{X: 110, Y: 4})
	for _, y := range []int{-1, 19, 1000} {
		l.Handle(key.Click{Y: y})
	}
	if diff := cmp.Diff([]string{"move c", "choose c", "everywhere", "move a"}, log); diff != "" {
		t.Error(diff)
	}

	// Rows that changed since are not taken for those that were seen.
	log = nil
	l.Draw(120, 20)
	l.SetItems(numbered(9))
	was := l.Selected()
	for y := range 20 {
		l.Handle(key.Click{X: 2, Y: y})
	}
	if len(log) > 0 || l.Selected() != was {
		t.Errorf("selected %s, %v", l.Selected(), log)
	}
}
