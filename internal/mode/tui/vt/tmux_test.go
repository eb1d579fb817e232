package vt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/mode/tui/vt/tmuxtest"
	"github.com/burin-dev/burin/internal/pacetest"
)

// look is a screen in a form in which those of tmux and ours can be compared: tmux
// does not tell written spaces from erased cells, and leaves those at the ends of
// rows out.
func look(t *vt.Terminal) []string {
	w, h := t.Size()
	rows := make([]string, h)
	for y := range h {
		var b strings.Builder
		end := 0 // without blanks
		for x := range w {
			c := t.Cell(x, y)
			if c.Text == "" && c.Width == 1 {
				c.Text = " "
			}
			c.Style.Link = ""
			b.WriteString(c.Text)
			if c.Style != (vt.Style{}) && c.Width > 0 {
				fmt.Fprintf(&b, "{%s}", c.Style)
			}
			if c.Text != " " {
				end = b.Len()
			}
		}
		rows[y] = b.String()[:end]
	}
	return rows
}

// compareTmux shows input to both and compares screens, cursors and scrollback.
func compareTmux(t *testing.T, input string) {
	t.Helper()
	const w, h = 24, 8
	ours := vt.New(vt.Options{Width: w, Height: h})
	_, _ = ours.WriteString(input)
	pane := tmuxtest.Start(t, w, h)
	if _, err := pane.Write([]byte(input)); err != nil {
		t.Fatal(err)
	}
	theirs := vt.New(vt.Options{Width: w, Height: h})
	_, _ = theirs.WriteString("\x1b)0\x1b[?7l" + strings.Join(pane.Screen(), "\r\n"))
	if d := cmp.Diff(look(theirs), look(ours)); d != "" {
		t.Errorf("%q: screen (-tmux +vt):\n%s", input, d)
	}
	// tmux counts the column behind the last where the next character wraps.
	x := min(atoi(t, pane.Value("cursor_x")), w-1)
	if c := ours.Cursor(); c.X != x || c.Y != atoi(t, pane.Value("cursor_y")) {
		t.Errorf("%q: cursor %d,%d, tmux has %d,%s", input, c.X, c.Y, x, pane.Value("cursor_y"))
	}
	// tmux keeps what leaves a region in the middle of the screen; xterm does not.
	if n := len(ours.Scrollback()); !strings.Contains(input, "\x1b[2;5r") && n != atoi(t, pane.Value("history_size")) {
		t.Errorf("%q: %d rows of scrollback, tmux has %s", input, n, pane.Value("history_size"))
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatalf("%q is not a number", s)
	}
	return n
}

func TestLikeTmux(t *testing.T) {
	pacetest.Costly(t)
	fill := ""
	for i := range 8 {
		fill += fmt.Sprintf("%d%s", i, strings.Repeat(string(rune('a'+i)), 23))
	}
	for name, input := range map[string]string{
		"wrap":              strings.Repeat("x", 30) + "\r\ny",
		"pending wrap":      strings.Repeat("x", 24) + "\rA",
		"no autowrap":       "\x1b[?7l" + strings.Repeat("x", 24) + "yz\x1b[?7h",
		"scroll":            strings.Repeat("line\r\n", 20),
		"colours":           "\x1b[31ma\x1b[92mb\x1b[38;5;200mc\x1b[38;2;1;2;3md\x1b[48;5;9me\x1b[38:2::9:8:7mf\x1b[39;49mg",
		"attributes":        "\x1b[1ma\x1b[2mb\x1b[22;3mc\x1b[4md\x1b[24;7me\x1b[27;9mf\x1b[0mg\x1b[4:3mh\x1b[4:0mi",
		"background erase":  "\x1b[44mab\x1b[K\r\n\x1b[Jx\x1b[m",
		"erase left":        fill + "\x1b[3;5H\x1b[1K\x1b[1J",
		"erase right":       fill + "\x1b[3;5H\x1b[K\x1b[6;3H\x1b[J",
		"insert and delete": fill + "\x1b[2;4H\x1b[3@\x1b[4;4H\x1b[5P\x1b[5;4H\x1b[6X",
		"insert line":       fill + "\x1b[3;1H\x1b[2L",
		"delete line":       fill + "\x1b[3;1H\x1b[2M",
		"region":            fill + "\x1b[2;5r\x1b[5;1H\nnew\x1b[2;1H\x1bMtop\x1b[r",
		"region of the top": fill + "\x1b[1;5r\x1b[5;1H\n\n\nnew",
		"scroll up":         fill + "\x1b[3S",
		"scroll down":       fill + "\x1b[3T",
		"origin":            fill + "\x1b[3;6r\x1b[?6h\x1b[1;1HX\x1b[9;9HY\x1b[?6l",
		"insert mode":       fill + "\x1b[2;2H\x1b[4hNEW\x1b[4l",
		"wide":              "你好，世界\r\n" + strings.Repeat("你", 13) + "\x1b[1;3H你x\x1b[2;5H\x1b[2P",
		"marks":             "e\u0301a\u0308 x",
		"tabs":              "a\tb\tc\r\n\x1b[5C\x1bH\ra\tb\x1b[Zc\x1b[3g\r\td",
		"moves":             "\x1b[99;99Hx\x1b[A\x1b[2DY\x1b[3FZ\x1b[5GA\x1b[3dB\x1b[2EC",
		"save":              "ab\x1b[31m\x1b7\x1b[5;5H\x1b[mx\x1b8c",
		"alternate":         "main\x1b[?1049hother\x1b[3;3Hx",
		"alternate ended":   "main\x1b[?1049hother\x1b[3;3Hx\x1b[?1049lback",
		"reverse index":     "one\x1b[H\x1bMzero",
		"graphics":          "\x1b(0lqk\x1b(Bx",
		"repeat":            "ab\x1b[5b",
		"wrap over wide":    strings.Repeat("x", 23) + "你y",
		"reset":             "\x1b[31m\x1b[2;4r\x1b[?7l\x1bcx",
	} {
		t.Run(name, func(t *testing.T) { compareTmux(t, input) })
	}
}

// Random streams of what we may write, and more, look the same in tmux.
func TestRandomStreamsLikeTmux(t *testing.T) {
	pacetest.Costly(t)
	r := rand.New(rand.NewPCG(5, 28))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for range 25 {
		var b strings.Builder
		for range 40 {
			switch r.IntN(8) {
			case 0, 1, 2:
				b.WriteString(strings.Repeat(pick("a", "b", "é", "─", " "), 1+r.IntN(12)))
			case 3:
				b.WriteString("\r\n")
			case 4:
				fmt.Fprintf(&b, "\x1b[%d;%dH", 1+r.IntN(8), 1+r.IntN(24))
			case 5:
				fmt.Fprintf(&b, "\x1b[%sm", pick("", "1", "31", "3", "7", "38;5;99", "0;4"))
			case 6:
				fmt.Fprintf(&b, "\x1b[%d%s", 1+r.IntN(5), pick("A", "B", "G", "E", "F"))
			case 7: // at a fixed column, since terminals differ behind the last one
				fmt.Fprintf(&b, "\x1b[%dG%s", 1+r.IntN(20), pick("\x1b[K", "\x1b[J", "\x1b[1K", "\x1b[2K", "\x1b[3X", "\x1b[2P", "\x1b[2@", "\r\x1b[L", "\r\x1b[M"))
			}
		}
		compareTmux(t, b.String())
		if t.Failed() {
			return
		}
	}
}
