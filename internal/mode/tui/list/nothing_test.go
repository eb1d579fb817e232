package list

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
)

// Without items neither a preview nor its room is left, however large the screen is; a
// search that finds nothing leaves the pane as high as it was.
func TestNoPreviewOfNothing(t *testing.T) {
	asked := 0
	preview := func(string, int, int) []string { asked++; return []string{"PREVIEW"} }
	for _, width := range []int{20, 40, 100, 200} {
		f := paneltest.New(t)
		l := New(f.Env, Options{Title: "Sessions", Empty: "No sessions.", Hint: "Ctrl+D deletes", Preview: preview})
		rows, _ := l.Draw(width, 24)
		if diff := cmp.Diff("Sessions\n> Type to search\nNo sessions.\n\n\n", plain(rows)); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
		l = New(f.Env, Options{Title: "Sessions", Items: fruits(), Preview: preview})
		before, _ := l.Draw(width, 24)
		drawn := asked
		paneltest.Press(l, "qqq")
		rows, _ = l.Draw(width, 24)
		if len(rows) != len(before) {
			t.Errorf("%d columns: the pane jumps from %d to %d rows", width, len(before), len(rows))
		}
		if asked != drawn || strings.Contains(plain(rows), "PREVIEW") {
			t.Errorf("%d columns: a preview of nothing is shown", width)
		}
		paneltest.Press(l, "esc")
		if again, _ := l.Draw(width, 24); cmp.Diff(before, again) != "" {
			t.Errorf("%d columns: it does not come back", width)
		}
	}
}

// What is said of nothing is said whole, also where it takes many rows.
func TestNothingIsSaidWhole(t *testing.T) {
	f := paneltest.New(t)
	l := New(f.Env, Options{Title: "Jobs", Empty: "Nothing runs in the background. What the model leaves running is listed here."})
	rows, _ := l.Draw(20, 24)
	if text := plain(rows); !strings.Contains(text, "listed here.") {
		t.Errorf("it is cut:\n%s", text)
	}
}
