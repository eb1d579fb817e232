package screen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/vt/tmuxtest"
)

// In tmux, which wraps anew, neither changes of size nor the viewer cost or double a
// line.
func TestResizeInTmux(t *testing.T) {
	pane := tmuxtest.Start(t, 60, 20)
	s := screen.New(pane, screen.Options{Width: 60, Height: 20, Sync: true, Reflow: true})
	var committed []string
	draw := func(width int) {
		t.Helper()
		n := len(committed)
		lines := []string{
			fmt.Sprintf("committed %d %s", n, strings.Repeat("x", min(width, 50)-15)),
			fmt.Sprintf("\x1b[1mcommitted %d\x1b[m", n+1),
		}
		for _, l := range lines {
			committed = append(committed, strings.NewReplacer("\x1b[1m", "", "\x1b[m", "").Replace(l))
		}
		must(t, s.Commit(lines))
		live := []string{strings.Repeat("─", width-1), "> typed words", strings.Repeat("─", width-1), "status"}
		must(t, s.Draw(live, screen.Cursor{X: 4, Y: 1}))
		want := append(append([]string{}, committed...), live...)
		if d := cmp.Diff(want, pane.All()); d != "" {
			t.Fatalf("width %d (-want +tmux):\n%s", width, d)
		}
		if x := pane.Value("cursor_x"); x != "4" {
			t.Errorf("cursor in column %s", x)
		}
	}
	for range 6 {
		draw(60)
	}
	for _, size := range [][2]int{{40, 20}, {30, 24}, {60, 24}, {60, 12}, {25, 16}, {80, 30}, {80, 8}, {60, 20}} {
		pane.Resize(size[0], size[1])
		s.Resize(size[0], size[1])
		draw(size[0])
	}
	must(t, s.EnterFullscreen())
	must(t, s.Draw([]string{"viewer"}, screen.Cursor{}))
	if on := pane.Value("alternate_on"); on != "1" {
		t.Errorf("alternate_on is %s in the viewer", on)
	}
	must(t, s.LeaveFullscreen())
	draw(60)
}

// A live part that fills the screen is erased where it stands: tmux keeps in its
// scrollback what is cleared from the first cell of the screen on.
func TestFullScreenOfLiveRowsInTmux(t *testing.T) {
	pane := tmuxtest.Start(t, 60, 12)
	s := screen.New(pane, screen.Options{Width: 60, Height: 12, Sync: true, Reflow: true})
	live := strings.Fields("one two three four five six seven eight nine ten eleven last")
	must(t, s.Draw(live, screen.Cursor{Y: 5}))
	for range 2 {
		s.Repaint()
		must(t, s.Draw(live, screen.Cursor{Y: 5}))
	}
	if d := cmp.Diff(live, pane.All()); d != "" {
		t.Errorf("(-want +tmux):\n%s", d)
	}
}
