package screen_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// wire counts the writes on their way to a terminal.
type wire struct {
	*vt.Terminal
	writes int
	last   string
	fail   error
}

func (w *wire) Write(p []byte) (int, error) {
	if w.fail != nil {
		return 0, w.fail
	}
	w.writes++
	w.last = string(p)
	return w.Terminal.Write(p)
}

func pair(t testing.TB, width, height int) (*screen.Screen, *wire) {
	t.Helper()
	w := &wire{Terminal: vt.New(vt.Options{Width: width, Height: height, Reflow: true})}
	t.Cleanup(func() {
		if u := w.Unknown(); len(u) > 0 {
			t.Errorf("sequences a terminal need not know: %v", u)
		}
		if w.Synchronized() {
			t.Error("a synchronised update was not ended")
		}
	})
	return screen.New(w, screen.Options{Width: width, Height: height, Sync: true, Reflow: true}), w
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCommitAndDraw(t *testing.T) {
	s, w := pair(t, 20, 5)
	must(t, s.Draw([]string{"live 1", "> "}, screen.Cursor{X: 2, Y: 1}))
	if got := w.Screen(); got != "live 1\n>" {
		t.Errorf("screen:\n%s", got)
	}
	must(t, s.Commit([]string{"one", "two"}))
	if w.writes != 1 {
		t.Errorf("Commit wrote before Draw: %d writes", w.writes)
	}
	must(t, s.Draw([]string{"live 2", "> x"}, screen.Cursor{X: 3, Y: 1}))
	if got := w.Screen(); got != "one\ntwo\nlive 2\n> x" {
		t.Errorf("screen:\n%s", got)
	}
	if c := w.Cursor(); c != (vt.Cursor{X: 3, Y: 3}) {
		t.Errorf("cursor %+v", c)
	}
	must(t, s.Commit([]string{"three", "four", "five"}))
	must(t, s.Draw([]string{"last"}, screen.Cursor{Hidden: true}))
	want := []string{"one", "two", "three", "four", "five", "last"}
	if d := cmp.Diff(want, w.All()); d != "" {
		t.Error(d)
	}
	if !w.Cursor().Hidden {
		t.Error("the cursor is shown")
	}
	if f := w.Stats().Frames; f != 3 || w.writes != 3 {
		t.Errorf("%d frames in %d writes, want 3", f, w.writes)
	}
}

func TestNothingChangedWritesNothing(t *testing.T) {
	s, w := pair(t, 20, 5)
	live := []string{"\x1b[1ma\x1b[m", "b"}
	must(t, s.Draw(live, screen.Cursor{X: 1, Y: 1}))
	n := w.writes
	must(t, s.Draw(live, screen.Cursor{X: 1, Y: 1}))
	must(t, s.Flush())
	if w.writes != n {
		t.Errorf("wrote %q", w.last)
	}
	must(t, s.Draw(live, screen.Cursor{X: 0, Y: 0}))
	if w.writes != n+1 || len(w.last) > 24 {
		t.Errorf("the cursor moved: wrote %q", w.last)
	}
	for _, hidden := range []bool{true, false} {
		must(t, s.Draw(live, screen.Cursor{Hidden: hidden}))
		if got := w.Cursor().Hidden; got != hidden {
			t.Errorf("hidden %v, want %v", got, hidden)
		}
	}
}

// A change is written where it is, in the style it has, and what is right of it stays.
func TestPatch(t *testing.T) {
	long := strings.Repeat("=", 60)
	for _, tt := range []struct {
		name, from, to string
		max            int // bytes beside the ends of the frame
	}{
		{"spinner", "⠋ " + long, "⠙ " + long, 30},
		{"end", long + "1", long + "2", 16},
		{"appended", long, long + " word", 16},
		{"cut", long + " word", long, 14},
		{"wide appended", long + "你", long + "你好", 30},
		{"mark added", long + "e", long + "e\u0301", 200},
		{"mark gone", long + "e\u0301", long + "e", 200},
		{"coloured middle", "\x1b[31m" + long + "\x1b[m a " + long, "\x1b[31m" + long + "\x1b[m b " + long, 24},
		{"inside a colour", "\x1b[31m" + long + "a" + long + "\x1b[m", "\x1b[31m" + long + "b" + long + "\x1b[m", 30},
		{"colour changes", "\x1b[31mx\x1b[m" + long, "\x1b[32mx\x1b[m" + long, 20},
		{"colour changes up to the end", "\x1b[31m" + long, "\x1b[32m" + long, 200},
		{"bold begins", "a b " + long, "a \x1b[1mb\x1b[m " + long, 200},
		{"nested", "\x1b[1;4mA\x1b[31m" + long + "x\x1b[m", "\x1b[1;4mA\x1b[31m" + long + "y\x1b[m", 40},
		{"link", "\x1b]8;;http://a\x1b\\" + long + "x\x1b]8;;\x1b\\ " + long, "\x1b]8;;http://a\x1b\\" + long + "y\x1b]8;;\x1b\\ " + long, 200},
		{"link changes", "\x1b]8;;http://a\x1b\\" + long + "\x1b]8;;\x1b\\", "\x1b]8;;http://b\x1b\\" + long + "\x1b]8;;\x1b\\", 200},
		{"grows", "a" + long, "aa" + long, 200},
		{"family", "👩‍👩‍👧 " + long + "a", "👩‍👩‍👧 " + long + "b", 200},
		{"full width", strings.Repeat("x", 140), strings.Repeat("x", 139) + "y", 16},
		{"background", "\x1b[41m" + long + "x", "\x1b[41m" + long, 40},
		{"emptied", long, "", 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, w := pair(t, 140, 5)
			must(t, s.Draw([]string{"top", tt.from, "bottom"}, screen.Cursor{Hidden: true}))
			must(t, s.Draw([]string{"top", tt.to, "bottom"}, screen.Cursor{Hidden: true}))
			fresh, want := pair(t, 140, 5)
			must(t, fresh.Draw([]string{"top", tt.to, "bottom"}, screen.Cursor{Hidden: true}))
			if d := cmp.Diff(cells(want.Terminal), cells(w.Terminal)); d != "" {
				t.Errorf("wrote %q\n%s", w.last, d)
			}
			if n := len(w.last) - 16; n > tt.max {
				t.Errorf("%d bytes, want at most %d: %q", n, tt.max, w.last)
			}
		})
	}
}

// cells is the screen with styles, without the cursor.
func cells(t *vt.Terminal) string {
	dump := t.Dump()
	return dump[:strings.LastIndex(dump, "cursor")]
}

var styledWords = []string{
	"a", "bc", " ", "你", "é", "e\u0301", "👍", "❤️", "⠋", "\x1b[m", "\x1b[31m", "\x1b[1m", "\x1b[48;5;17m", "\x1b[0;32m", "\x1b[22m",
	"\x1b]8;;http://a\x1b\\", "\x1b]8;;\x1b\\",
}

// Whatever two lines are drawn over each other, the screen is as if the second one
// were drawn alone.
func TestPatchProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom(styledWords)
		words := rapid.SliceOfN(word, 0, 14).Draw(rt, "words")
		a := strings.Join(words, "")
		at := rapid.IntRange(0, len(words)).Draw(rt, "at")
		to := rapid.IntRange(at, min(at+2, len(words))).Draw(rt, "to")
		insert := rapid.SliceOfN(word, 0, 2).Draw(rt, "insert")
		b := strings.Join(words[:at], "") + strings.Join(insert, "") + strings.Join(words[to:], "")
		pad := strings.Repeat("-", rapid.IntRange(0, 40).Draw(rt, "pad"))

		one, got := pair(t, 120, 3)
		must(t, one.Draw([]string{pad + a + pad}, screen.Cursor{Hidden: true}))
		must(t, one.Draw([]string{pad + b + pad}, screen.Cursor{Hidden: true}))
		two, want := pair(t, 120, 3)
		must(t, two.Draw([]string{pad + b + pad}, screen.Cursor{Hidden: true}))
		if d := cmp.Diff(cells(want.Terminal), cells(got.Terminal)); d != "" {
			rt.Fatalf("%q over %q wrote %q:\n%s", b, a, got.last, d)
		}
	})
}

// What the terminal shows, scrollback and screen together, is exactly what was
// committed followed by the live part, whatever happens in between.
func TestHistoryProperty(t *testing.T) {
	for _, reflow := range []bool{true, false} {
		t.Run(fmt.Sprintf("reflow=%v", reflow), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { history(rt, reflow) })
		})
	}
}

func history(rt *rapid.T, reflow bool) {
	const minWidth = 12
	width := rapid.IntRange(minWidth, 40).Draw(rt, "width")
	height := rapid.IntRange(24, 30).Draw(rt, "height")
	term := vt.New(vt.Options{Width: width, Height: height, Reflow: reflow, Scrollback: 100_000})
	s := screen.New(term, screen.Options{Width: width, Height: height, Sync: rapid.Bool().Draw(rt, "sync"), Reflow: reflow})
	var committed, live []string
	line := func(limit int) string {
		n := rapid.IntRange(0, limit).Draw(rt, "length")
		return strings.Repeat(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "letter"), n)
	}
	for range rapid.IntRange(1, 25).Draw(rt, "steps") {
		switch rapid.SampledFrom([]string{"commit", "move", "draw", "draw", "resize", "repaint", "full", "suspend"}).Draw(rt, "step") {
		case "commit":
			for range rapid.IntRange(0, 9).Draw(rt, "lines") {
				limit := width
				if !reflow {
					limit = minWidth // a terminal that cuts loses the rest itself
				}
				l := line(limit) + "."
				l = l[max(0, len(l)-limit):]
				committed = append(committed, l)
				must(rt, s.Commit([]string{l}))
			}
		case "move": // the first live lines are finished, as in a stream
			n := rapid.IntRange(0, len(live)).Draw(rt, "moved")
			for n > 0 && !reflow && len(live[n-1]) > minWidth {
				n--
			}
			for _, l := range live[:n] {
				if !reflow && len(l) > minWidth || len(l) > width {
					n = 0
				}
			}
			committed = append(committed, live[:n]...)
			must(rt, s.Commit(live[:n]))
			live = live[n:]
		case "draw":
			live = nil
			for range rapid.IntRange(0, 6).Draw(rt, "rows") {
				live = append(live, line(width))
			}
		case "resize":
			width = rapid.IntRange(minWidth, 40).Draw(rt, "width")
			height = rapid.IntRange(24, 30).Draw(rt, "height")
			term.Resize(width, height)
			s.Resize(width, height)
		case "repaint":
			s.Repaint()
		case "full":
			must(rt, s.EnterFullscreen())
			must(rt, s.Draw([]string{"viewer", "of", "things"}, screen.Cursor{}))
			must(rt, s.LeaveFullscreen())
		case "suspend":
			must(rt, s.Suspend())
			s.Restore()
		}
		for i, l := range live {
			live[i] = l[:min(len(l), width)]
		}
		c := screen.Cursor{Hidden: rapid.Bool().Draw(rt, "hidden")}
		if len(live) > 0 {
			c.Y = rapid.IntRange(0, len(live)-1).Draw(rt, "row")
			c.X = rapid.IntRange(0, min(len(live[c.Y]), width-1)).Draw(rt, "column")
			if n := len(live[c.Y]); c.X == n && n%minWidth == 0 && n > 0 || !c.Hidden && c.X == n {
				c.X = max(0, n-1) // where terminals differ about a cursor behind the text
			}
		}
		must(rt, s.Draw(live, c))
		want := append(append([]string{}, committed...), live...)
		for len(want) > 0 && want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if d := cmp.Diff(want, term.All()); d != "" {
			rt.Fatal(d)
		}
		if got := term.Cursor(); len(live) > 0 && !c.Hidden && got.X != c.X {
			rt.Fatalf("cursor in column %d, want %d", got.X, c.X)
		}
		if u := term.Unknown(); len(u) > 0 {
			rt.Fatal(u)
		}
	}
	if st := s.Stats(); st.TooWide+st.Unclean > 0 {
		rt.Fatalf("lines that kept the rules are counted: %+v", st)
	}
}

func TestTallLiveIsClipped(t *testing.T) {
	s, w := pair(t, 30, 4)
	must(t, s.Commit([]string{"before"}))
	live := strings.Split("1 2 3 4 5 6 7", " ")
	must(t, s.Draw(live, screen.Cursor{X: 1, Y: 6}))
	want := []string{"before", "… 4 more lines above", "5", "6", "7"}
	if d := cmp.Diff(want, w.All()); d != "" {
		t.Error(d)
	}
	if c := w.Cursor(); c.X != 1 || c.Y != 3 {
		t.Errorf("cursor %+v", c)
	}
	must(t, s.Commit([]string{"1", "2"}))
	must(t, s.Draw(live[2:5], screen.Cursor{}))
	if d := cmp.Diff([]string{"before", "1", "2", "3", "4", "5"}, w.All()); d != "" {
		t.Error(d)
	}
}

// A terminal that becomes too low for the live part pushes rows of it into its
// scrollback, where nobody can take them back. What was committed stays, once, and
// the live part is right.
func TestTooLowForLive(t *testing.T) {
	s, w := pair(t, 30, 10)
	committed := []string{"one", "two", "three"}
	must(t, s.Commit(committed))
	live := []string{"a", "b", "c", "d", "e", "f"}
	must(t, s.Draw(live, screen.Cursor{X: 1, Y: 5}))
	w.Resize(30, 4)
	s.Resize(30, 4)
	must(t, s.Draw(live, screen.Cursor{X: 1, Y: 5}))
	if got := w.Screen(); got != "… 3 more lines above\nd\ne\nf" {
		t.Errorf("screen:\n%s", got)
	}
	if got := w.All()[:3]; !cmp.Equal(got, committed) {
		t.Errorf("scrollback %q", w.Scrollback())
	}
	w.Resize(30, 10)
	s.Resize(30, 10)
	must(t, s.Draw(live, screen.Cursor{X: 1, Y: 5}))
	if got := w.Screen(); !strings.HasSuffix(got, strings.Join(live, "\n")) {
		t.Errorf("screen:\n%s", got)
	}
	if got := w.All()[:3]; !cmp.Equal(got, committed) {
		t.Errorf("scrollback %q", w.Scrollback())
	}
}

// A frame may reach the terminal after it became narrower and before the program is
// told. Committed lines stay, also where the clock cannot tell which came first.
func TestNarrowerBeforeTold(t *testing.T) {
	now := time.Unix(1000, 0)
	w := vt.New(vt.Options{Width: 40, Height: 12, Reflow: true})
	s := screen.New(w, screen.Options{Width: 40, Height: 12, Sync: true, Reflow: true, Now: func() time.Time { return now }})
	rule := strings.Repeat("─", 40)
	live := []string{rule, "› one", rule, "status"}
	must(t, s.Commit([]string{"first", "second", "third"}))
	must(t, s.Draw(live, screen.Cursor{X: 2, Y: 1}))
	now = now.Add(time.Hour)
	w.Resize(20, 12)
	live[1] = "› two"
	s.Repaint()
	must(t, s.Draw(live, screen.Cursor{X: 2, Y: 3}))
	s.Resize(20, 12)
	rule = strings.Repeat("─", 20)
	must(t, s.Draw([]string{rule, "› two", rule, "status"}, screen.Cursor{X: 2, Y: 1}))
	if got := w.All(); !cmp.Equal(got[:3], []string{"first", "second", "third"}) {
		t.Errorf("committed lines are lost:\n%s", strings.Join(got, "\n"))
	}
	if got := w.Screen(); !strings.HasSuffix(got, rule+"\n› two\n"+rule+"\nstatus") {
		t.Errorf("screen:\n%s", got)
	}
}

// A terminal that becomes narrower just after a frame wraps the rows of it. What is known
// of them in any case is taken away, so that words do not stand in the scrollback twice.
func TestNarrowerJustAfterAFrame(t *testing.T) {
	now := time.Unix(1000, 0)
	w := vt.New(vt.Options{Width: 40, Height: 8, Reflow: true})
	s := screen.New(w, screen.Options{Width: 40, Height: 8, Sync: true, Reflow: true, Now: func() time.Time { return now }})
	rule := strings.Repeat("─", 40)
	must(t, s.Commit([]string{"first", "second", "third"}))
	must(t, s.Draw([]string{"", strings.Repeat("word ", 7) + "tail", "last words", rule, "› one", rule}, screen.Cursor{X: 2, Y: 4}))
	w.Resize(20, 8)
	s.Resize(20, 8)
	rule = strings.Repeat("─", 20)
	live := []string{"", "word word word", "word word word word", "tail", "last words", rule, "› one", rule}
	must(t, s.Draw(live, screen.Cursor{X: 2, Y: 6}))
	got := strings.Join(w.All(), "\n")
	if !strings.HasPrefix(got, "first\nsecond\nthird\n") || !strings.HasSuffix(got, strings.Join(live, "\n")) || strings.Count(got, "word") != 7+1 {
		t.Errorf("it shows:\n%s", got)
	}
}

// A terminal of one row shows the last line only.
func TestOneRow(t *testing.T) {
	s, w := pair(t, 30, 1)
	must(t, s.Commit([]string{"before"}))
	must(t, s.Draw([]string{"1", "2"}, screen.Cursor{Y: 1}))
	if d := cmp.Diff([]string{"before", "2"}, w.All()); d != "" {
		t.Error(d)
	}
}

// Lines that break the rules are shown without harm, and counted.
func TestBadLines(t *testing.T) {
	s, w := pair(t, 10, 6)
	must(t, s.Draw([]string{
		"0123456789abc", "a\nb", "c\x1b[2Jd", "e\tf", "\x1b]0;title\x07g", "你好你好你好",
	}, screen.Cursor{}))
	want := []string{"0123456789", "a b", "cd", "e f", "g", "你好你好你"}
	if d := cmp.Diff(want, w.Lines()); d != "" {
		t.Error(d)
	}
	if st := s.Stats(); st.TooWide != 2 || st.Unclean != 4 {
		t.Errorf("stats %+v", st)
	}
	if w.Title() != "" {
		t.Error("the line set the title")
	}
}

// Styles and links that a line leaves open do not reach the next one.
func TestStylesEnd(t *testing.T) {
	s, w := pair(t, 20, 4)
	must(t, s.Commit([]string{"\x1b[31mred"}))
	must(t, s.Draw([]string{"\x1b]8;;http://a\x1b\\link", "plain"}, screen.Cursor{}))
	want := "0│red│\n   0-2: fg=1\n1│link│\n   0-3: link=http://a\n2│plain│\ncursor 0,1\n"
	if d := cmp.Diff(want, w.Dump()); d != "" {
		t.Error(d)
	}
}

func TestSuspend(t *testing.T) {
	s, w := pair(t, 20, 6)
	must(t, s.Commit([]string{"one"}))
	must(t, s.Draw([]string{"box", "> hi"}, screen.Cursor{X: 4, Y: 1, Hidden: true}))
	must(t, s.Suspend())
	if d := cmp.Diff("0│one│\ncursor 0,1\n", w.Dump()); d != "" {
		t.Error(d)
	}
	must(t, s.Commit([]string{"two"}))
	must(t, s.Draw([]string{"box"}, screen.Cursor{}))
	if got := w.Screen(); got != "one" {
		t.Errorf("a suspended screen drew:\n%s", got)
	}
	_, err := w.WriteString("$ vi\r\n")
	must(t, err)
	s.Restore()
	must(t, s.Draw([]string{"box"}, screen.Cursor{}))
	if got := w.Screen(); got != "one\n$ vi\ntwo\nbox" {
		t.Errorf("screen:\n%s", got)
	}
}

// While suspended, lines are held up to a limit, and refused whole beyond it.
func TestSuspendedIsBounded(t *testing.T) {
	s, _ := pair(t, 20, 6)
	must(t, s.Suspend())
	big := strings.Repeat("x", 1<<20)
	n := 0
	var err error
	for ; err == nil && n < 100; n++ {
		err = s.Commit([]string{big})
	}
	if !errors.Is(err, screen.ErrFull) || n != 64 {
		t.Errorf("after %d MiB: %v", n, err)
	}
	if got := s.Stats().Committed; got != n-1 {
		t.Errorf("%d lines are taken, want %d", got, n-1)
	}
}

func TestFullscreen(t *testing.T) {
	s, w := pair(t, 20, 4)
	must(t, s.Commit([]string{"one"}))
	must(t, s.Draw([]string{"box", "> hi"}, screen.Cursor{X: 4, Y: 1}))
	must(t, s.EnterFullscreen())
	must(t, s.Draw([]string{"viewer", "a", "b", "c", "d"}, screen.Cursor{X: 1, Y: 2}))
	if got := w.Screen(); !w.Alternate() || got != "viewer\na\nb\nc" {
		t.Errorf("viewer:\n%s", got)
	}
	must(t, s.Commit([]string{"two"}))
	must(t, s.Draw([]string{"viewer", "A"}, screen.Cursor{}))
	if got := w.Screen(); got != "viewer\nA" {
		t.Errorf("viewer:\n%s", got)
	}
	w.Resize(30, 5)
	s.Resize(30, 5)
	must(t, s.Draw([]string{"viewer", "", "B"}, screen.Cursor{}))
	if got := w.Screen(); got != "viewer\n\nB" {
		t.Errorf("viewer after a change of size:\n%s", got)
	}
	must(t, s.LeaveFullscreen())
	must(t, s.Draw([]string{"box"}, screen.Cursor{X: 3}))
	if got := w.Screen(); w.Alternate() || got != "one\ntwo\nbox" {
		t.Errorf("after the viewer:\n%s", got)
	}
}

// Many lines that are committed while the viewer is shown pass behind it.
func TestCommitBehindFullscreen(t *testing.T) {
	s, w := pair(t, 40, 5)
	must(t, s.EnterFullscreen())
	must(t, s.Draw([]string{"viewer"}, screen.Cursor{}))
	var want []string
	for i := range 6000 {
		want = append(want, fmt.Sprintf("line %d of those that pass", i))
	}
	must(t, s.Commit(want))
	if got := w.Screen(); !w.Alternate() || got != "viewer" {
		t.Errorf("viewer:\n%s", got)
	}
	if n := len(w.Scrollback()); n < 4000 {
		t.Errorf("%d lines in the scrollback: they wait in memory", n)
	}
	must(t, s.LeaveFullscreen())
	if d := cmp.Diff(want, w.All()); d != "" {
		t.Error(d)
	}
}

// What others write does not stay in the live part, and costs nothing committed.
func TestRepaint(t *testing.T) {
	s, w := pair(t, 20, 6)
	must(t, s.Commit([]string{"one"}))
	must(t, s.Draw([]string{"box", "> hi", "status"}, screen.Cursor{X: 4, Y: 1}))
	_, err := w.WriteString("NOISE")
	must(t, err)
	s.Repaint()
	must(t, s.Draw([]string{"box", "> hi", "status"}, screen.Cursor{X: 4, Y: 1}))
	if got := w.Screen(); got != "one\nbox\n> hi\nstatus" {
		t.Errorf("screen:\n%s", got)
	}
}

// After a write that failed the whole live part is drawn, and lines are not lost.
func TestWriteFails(t *testing.T) {
	s, w := pair(t, 20, 6)
	must(t, s.Draw([]string{"a", "b"}, screen.Cursor{}))
	w.fail = errors.New("no terminal")
	if err := s.Draw([]string{"a", "c"}, screen.Cursor{}); !errors.Is(err, w.fail) {
		t.Errorf("error %v", err)
	}
	w.fail = nil
	must(t, s.Draw([]string{"a", "c"}, screen.Cursor{}))
	if got := w.Screen(); got != "a\nc" {
		t.Errorf("screen:\n%s", got)
	}
}

func TestReflows(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, true},
		{map[string]string{"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}, false},
		{map[string]string{"TERM": "tmux-256color", "TMUX": "/tmp/x"}, true},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/x"}, true},
		{map[string]string{"TERM": "screen", "STY": "1.pts"}, false},
		{map[string]string{"TERM": "linux"}, false},
	} {
		if got := screen.Reflows(func(k string) string { return tt.env[k] }); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.env, got, tt.want)
		}
	}
}

// A frame is one write that begins and ends an update; without updates the cursor is
// hidden while it is drawn.
func TestFrameEnds(t *testing.T) {
	var b bytes.Buffer
	s := screen.New(&b, screen.Options{Width: 20, Height: 5})
	must(t, s.Draw([]string{"a"}, screen.Cursor{}))
	if got := b.String(); !strings.HasPrefix(got, "\x1b[?25l") || !strings.HasSuffix(got, "\x1b[?25h") || strings.Contains(got, "2026") {
		t.Errorf("wrote %q", got)
	}
}

// Where the last frames moved no row, it does not matter whether the terminal was narrower
// already: what they drew is taken away whole, and stands nowhere twice.
func TestNarrowerWhileALineGrows(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, late := range []bool{false, true} {
		w := vt.New(vt.Options{Width: 40, Height: 12, Reflow: true})
		s := screen.New(w, screen.Options{Width: 40, Height: 12, Sync: true, Reflow: true, Now: func() time.Time { return now }})
		rule := strings.Repeat("─", 40)
		live := []string{"", "", "  ⠋ Working", rule, "› one", rule}
		line := "  x := compute(first"
		draw := func() {
			now = now.Add(33 * time.Millisecond)
			live[0] = line
			must(t, s.Draw(live, screen.Cursor{X: 5, Y: 4}))
		}
		must(t, s.Commit([]string{"func main() {", "  a := 1"}))
		draw()
		draw()
		line += ", second"
		draw()
		if late {
			w.Resize(24, 12)
		}
		line += ", third"
		draw()
		w.Resize(24, 12)
		s.Resize(24, 12)
		rule = strings.Repeat("─", 24)
		final := []string{"  x := compute(first, se", "  cond, third)", "", "  ⠋ Working", rule, "› one", rule}
		must(t, s.Draw(final, screen.Cursor{X: 5, Y: 5}))
		got := strings.Join(w.All(), "\n")
		if !strings.HasPrefix(got, "func main() {\n  a := 1\n") || !strings.HasSuffix(got, strings.Join(final, "\n")) {
			t.Errorf("late %v: it shows:\n%s", late, got)
		}
		if n := strings.Count(got, "compute"); !late && n != 1 {
			t.Errorf("the line stands there %d times:\n%s", n, got)
		}
	}
}

// What was committed before the terminal became narrower is never lost, however late a
// program hears of that.
func TestLateNewsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1000, 0)
		width := rapid.IntRange(30, 60).Draw(rt, "width")
		height := rapid.IntRange(20, 30).Draw(rt, "height")
		term := vt.New(vt.Options{Width: width, Height: height, Reflow: true, Scrollback: 100_000})
		s := screen.New(term, screen.Options{Width: width, Height: height, Sync: true, Reflow: true, Now: func() time.Time { return now }})
		n, grown := 0, 0
		frame := func(most int) {
			now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "pause")) * time.Millisecond)
			for range rapid.IntRange(0, most).Draw(rt, "commits") {
				n++
				must(rt, s.Commit([]string{fmt.Sprintf("line %d.", n)}))
			}
			w, _ := s.Size()
			grown = min(w, grown+rapid.IntRange(0, 9).Draw(rt, "grown"))
			live := []string{
				strings.Repeat("x", grown), "",
				rapid.SampledFrom([]string{"⠋", "⠙"}).Draw(rt, "spinner") + " Working", strings.Repeat("─", w), "› one",
			}
			must(rt, s.Draw(live, screen.Cursor{X: 3, Y: 4}))
			if most > 0 {
				grown = 0
			}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "frames") {
			frame(2)
		}
		narrow := rapid.IntRange(12, width).Draw(rt, "narrow")
		term.Resize(narrow, height)
		for range rapid.IntRange(0, 2).Draw(rt, "late") {
			frame(0)
		}
		s.Resize(narrow, height)
		frame(2)
		all := strings.Join(term.All(), "\n")
		for rest, i := all, 1; i <= n; i++ {
			_, after, found := strings.Cut(rest, fmt.Sprintf("line %d.", i))
			if !found {
				rt.Fatalf("line %d is lost:\n%s", i, all)
			}
			rest = after
		}
	})
}
