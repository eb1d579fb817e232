package vt_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// show makes a terminal of 20×5 and writes input to it, in pieces of one byte.
func show(t *testing.T, input string) *vt.Terminal {
	t.Helper()
	term := vt.New(vt.Options{Width: 20, Height: 5})
	for i := range len(input) {
		_, _ = term.WriteString(input[i : i+1])
	}
	return term
}

func TestDump(t *testing.T) {
	for _, tt := range []struct{ name, input, want string }{
		{"plain", "hello\r\nworld", "0│hello│\n1│world│\ncursor 5,1\n"},
		{"styles", "\x1b[1;31merr\x1b[0m: \x1b[38;5;208ma\x1b[48;2;1;2;3mb\x1b[m", "0│err: ab│\n   0-2: bold fg=1\n   5-5: fg=208\n   6-6: fg=208 bg=#010203\ncursor 7,0\n"},
		{"colons", "\x1b[38:5:9ma\x1b[38:2::1:2:3mb\x1b[4:3mc\x1b[58:5:1md", "0│abcd│\n   0-0: fg=9\n   1-1: fg=#010203\n   2-2: curly-underline fg=#010203\n   3-3: curly-underline fg=#010203 line=1\ncursor 4,0\n"},
		{"link", "\x1b]8;id=1;http://x\x1b\\a\x1b[mb\x1b]8;;\x07c", "0│abc│\n   0-1: link=http://x\ncursor 3,0\n"},
		{"background to the end", "\x1b[44m\x1b[K", "0││\n   0-19: bg=4\ncursor 0,0\n"},
		{"cursor", "\x1b[3;4H\x1b[?25l\x1b[5 q", "cursor 3,2 hidden shape=5\n"},
		{"wide", "你a\x1b[1;2Hx", "0│ xa│\ncursor 2,0\n"},
		{"joined", "e\u0301👩‍👩‍👧🇩🇪❤️x", "0│e\u0301👩‍👩‍👧🇩🇪❤️x│\ncursor 8,0\n"},
		{"a mark after a move", "ab\x1b[1;2H\u0301", "0│a\u0301b│\ncursor 1,0\n"},
		{"a mark on nothing", "\u0301a", "0│a│\ncursor 1,0\n"},
		{"bad utf-8", "a\xffb\xe4\xbd\x1b[mc\xc3", "0│a�b�c│\ncursor 5,0\n"},
		{"wide at the end", strings.Repeat("x", 19) + "你", "0│xxxxxxxxxxxxxxxxxxx│\n1│你│\ncursor 2,1\n"},
		{"wide at the end without wrap", "\x1b[?7l" + strings.Repeat("x", 19) + "你", "0│xxxxxxxxxxxxxxxxxx你│\ncursor 19,0\n"},
		{"cancelled sequence", "a\x1b[31\x18b", "0│ab│\ncursor 2,0\n"},
		{"control inside", "a\x1b[3\r1mb", "0│b│\n   0-0: fg=1\ncursor 1,0\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			term := show(t, tt.input)
			if d := cmp.Diff(tt.want, term.Dump()); d != "" {
				t.Error(d)
			}
			if u := term.Unknown(); len(u) > 0 {
				t.Errorf("unknown: %v", u)
			}
		})
	}
}

func TestReplies(t *testing.T) {
	for _, tt := range []struct{ ask, want string }{
		{"\x1b[c", "\x1b[?62;22;52c"},
		{"\x1b[5n", "\x1b[0n"},
		{"\x1b[2;3H\x1b[6n", "\x1b[2;3R"},
		{"\x1b[?2026$p", "\x1b[?2026;2$y"},
		{"\x1b[?2026h\x1b[?2026$p\x1b[?2026l", "\x1b[?2026;1$y"},
		{"\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"},
		{"\x1b[?2027$p", "\x1b[?2027;3$y"},
		{"\x1b[?9999$p", "\x1b[?9999;0$y"},
		{"\x1b[?u", "\x1b[?0u"},
		{"\x1b[>1u\x1b[?u", "\x1b[?1u"},
		{"\x1b[>1u\x1b[=5;2u\x1b[?u\x1b[<u\x1b[?u", "\x1b[?5u\x1b[?0u"},
		{"\x1b[>1u\x1b[?1049h\x1b[?u\x1b[?1049l\x1b[?u", "\x1b[?0u\x1b[?1u"},
		{"\x1b]10;?\x1b\\\x1b]11;?\x07", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"\x1b]11;#123456\x07\x1b]11;?\x07", "\x1b]11;#123456\x1b\\"},
		{"\x1b[18t", "\x1b[8;5;20t"},
		{"\x1b[>q", "\x1bP>|burin-vt\x1b\\"},
		{"\x1bP+q544e\x1b\\", "\x1bP0+r544e\x1b\\"},
		{"\x1b[?996n", "\x1b[?997;1n"},
		{"\x1bP$q q\x1b\\", "\x1bP1$r0 q\x1b\\"},
		{"\x1b]52;c;?\x07", ""},
	} {
		var got bytes.Buffer
		term := vt.New(vt.Options{Width: 20, Height: 5, Reply: &got})
		_, _ = term.WriteString(tt.ask)
		if got.String() != tt.want {
			t.Errorf("%q: answered %q, want %q", tt.ask, got.String(), tt.want)
		}
		if u := term.Unknown(); len(u) > 0 {
			t.Errorf("%q: unknown %v", tt.ask, u)
		}
	}
}

func TestStrings(t *testing.T) {
	term := show(t, "\x1b]2;a ✓ title\x07\x1b]7;file:///tmp\x1b\\\x1b]52;c;aGVsbG8=\x07x\r\n\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n\x1b]133;D;1\x07"+
		"\x1b]9;done\x07\x1b]9;4;1;50\x07\x07\x1b_Ga=T;AAAA\x1b\\\x1bPq#0\x1b\\")
	if got := term.Title(); got != "a ✓ title" {
		t.Errorf("title %q", got)
	}
	if got := term.Directory(); got != "file:///tmp" {
		t.Errorf("directory %q", got)
	}
	if got := string(term.Clipboard()); got != "hello" {
		t.Errorf("clipboard %q", got)
	}
	marks := []vt.Mark{{Kind: 'A', Row: 1}, {Kind: 'B', Row: 1}, {Kind: 'D', Row: 2, Args: "1"}}
	if d := cmp.Diff(marks, term.Marks()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"done"}, term.Notes()); d != "" {
		t.Error(d)
	}
	if s := term.Stats(); s.Bells != 1 || s.Graphics != 2 {
		t.Errorf("stats %+v", s)
	}
	if u := term.Unknown(); len(u) > 0 {
		t.Errorf("unknown %v", u)
	}
}

func TestUnknown(t *testing.T) {
	term := show(t, "\x1b[5z\x1b[5za\x1b[?12345h\x1b]999;x\x07\x1b#9\x1b[77m\x1b^x\x1b\\"+"\x1b["+strings.Repeat("1;", 200)+"m\x1b[1\x01mb")
	want := []string{
		`CSI "5z" ×2`, `CSI "77m" ×1`, `CSI "?12345h" ×1`, `CSI "` + strings.Repeat("1;", 32) + `" ×1`,
		`ESC "#9" ×1`, `OSC "999;x" ×1`, `PM "x" ×1`,
	}
	got := term.Unknown()
	less := map[string]bool{}
	for _, s := range got {
		less[s] = true
	}
	for _, s := range want {
		if !less[s] {
			t.Errorf("%s is not listed in %q", s, got)
		}
	}
	if len(got) != len(want) || term.Screen() != "ab" {
		t.Errorf("listed %q, screen %q", got, term.Screen())
	}
}

// Within a synchronised update one sees what was there before it.
func TestSynchronized(t *testing.T) {
	term := show(t, "before\x1b[?2026h\x1b[2J\x1b[Hafter\r\n\n\n\n\n\x1b[?1049h\x1b[?25l")
	want := "0│before│\ncursor 6,0\n"
	if d := cmp.Diff(want, term.Dump()); d != "" {
		t.Error(d)
	}
	if term.Alternate() || len(term.Scrollback()) != 0 || !term.Synchronized() || term.Stats().Frames != 0 {
		t.Error("the update is seen before its end")
	}
	term.Resize(30, 6)
	_, _ = term.WriteString("\x1b[?1049l\x1b[?2026l")
	if got := term.All(); len(got) != 1 || got[0] != "after" || term.Stats().Frames != 1 {
		t.Errorf("after the update: %q", got)
	}
}

func TestScrollbackIsBounded(t *testing.T) {
	term := vt.New(vt.Options{Width: 20, Height: 2, Scrollback: 10})
	for i := range 1000 {
		fmt.Fprintf(term, "line %d\r\n", i)
	}
	got := term.Scrollback()
	if len(got) != 10 || got[0] != "line 989" || got[9] != "line 998" {
		t.Errorf("scrollback %q", got)
	}
	if n := term.Lost(); n < 900 || n > 989 {
		t.Errorf("%d rows lost", n)
	}
	_, _ = term.WriteString("\x1b[3J")
	if len(term.Scrollback()) != 0 {
		t.Error("the scrollback is not erased")
	}
}

// Only what leaves the main screen at its first row is kept.
func TestWhatScrollbackKeeps(t *testing.T) {
	const fill = "1\r\n2\r\n3\r\n4\r\n5"
	for _, tt := range []struct {
		name, input string
		want        []string
	}{
		{"line feed", fill + "\n\n", []string{"1", "2"}},
		{"region of the top", fill + "\x1b[1;3r\x1b[3;1H\n", []string{"1"}},
		{"region in the middle", fill + "\x1b[2;4r\x1b[4;1H\n\n", []string{}},
		{"deleted line", fill + "\x1b[H\x1b[2M", []string{}},
		{"scrolled up", fill + "\x1b[2S", []string{"1", "2"}},
		{"alternate screen", "\x1b[?1049h" + fill + "\n\n\x1b[?1049l", []string{}},
	} {
		if d := cmp.Diff(tt.want, show(t, tt.input).Scrollback()); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestResize(t *testing.T) {
	const input = "one\r\n12345678901234567890abcdef\r\nthree\r\n> x"
	for _, tt := range []struct {
		name       string
		reflow     bool
		w, h       int
		want       string
		cursor     vt.Cursor
		scrollback int
	}{
		{"narrower", false, 10, 5, "one\n1234567890\nabcdef\nthree\n> x", vt.Cursor{X: 3, Y: 4}, 0},
		{"narrower, wrapped anew", true, 10, 5, "1234567890\n1234567890\nabcdef\nthree\n> x", vt.Cursor{X: 3, Y: 4}, 1},
		{"wider, wrapped anew", true, 40, 5, "one\n12345678901234567890abcdef\nthree\n> x", vt.Cursor{X: 3, Y: 3}, 0},
		{"lower", false, 20, 3, "abcdef\nthree\n> x", vt.Cursor{X: 3, Y: 2}, 2},
		{"higher", false, 20, 8, "one\n12345678901234567890\nabcdef\nthree\n> x", vt.Cursor{X: 3, Y: 4}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			term := vt.New(vt.Options{Width: 20, Height: 5, Reflow: tt.reflow})
			_, _ = term.WriteString(input)
			term.Resize(tt.w, tt.h)
			if got := term.Screen(); got != tt.want || term.Cursor() != tt.cursor || len(term.Scrollback()) != tt.scrollback {
				t.Errorf("screen\n%s\ncursor %+v, scrollback %q", got, term.Cursor(), term.Scrollback())
			}
			if tt.reflow {
				want := strings.Split(strings.ReplaceAll(input, "\r", ""), "\n")
				if d := cmp.Diff(want, term.All()); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// A row that left at the top comes back when the screen becomes higher.
func TestResizeTakesBack(t *testing.T) {
	term := show(t, "1\r\n2\r\n3\r\n4\r\n5\r\n6")
	term.Resize(20, 3)
	term.Resize(20, 6)
	if got := term.Screen(); got != "1\n2\n3\n4\n5\n6" || term.Cursor().Y != 5 {
		t.Errorf("screen\n%s\ncursor %+v", got, term.Cursor())
	}
}

func FuzzWrite(f *testing.F) {
	for _, s := range []string{
		"plain\r\n", "\x1b[2J\x1b[3;4Hx\x1b[K", "\x1b[1;3r\x1b[5L\x1b[9M\x1b[99S\x1b[99T", "你\x1b[1@\x1b[P\x1b[X\b你",
		"\x1b[?1049h\x1b[?2026h\x1b[99;99H\n\x1b[?1049l", "\x1b]8;;x\x07a\x1b]52;c;!\x07\x1bP$qm\x1b\\", "e\u0301\x1b[4h👩‍👧\x1b[65535b",
		"\x1b[?6h\x1b[2;3r\x1b[A\x1bM\x1b7\x1b8\x1bc", "\x1b[38;2;1m\x1b[38:2m\x1b[58;5m\xff\xe4", "\x1b(0q\x0e\x0f\t\x1b[3g\t\x1b[Z",
	} {
		f.Add([]byte(s), uint8(7), uint8(3))
	}
	f.Add([]byte("你\xe4\xbd0"), uint8(0), uint8(3)) // wider than the screen
	f.Fuzz(func(t *testing.T, data []byte, w, h uint8) {
		term := vt.New(vt.Options{Width: 12, Height: 5, Scrollback: 20, Reflow: w%2 == 0, Reply: &bytes.Buffer{}})
		half := len(data) / 2
		_, _ = term.Write(data[:half])
		term.Resize(int(w%40), int(h%20))
		_, _ = term.Write(data[half:])
		// Wide characters are whole, and the cursor is on the screen.
		width, height := term.Size()
		_, _ = term.WriteString("\x1b\\\x18\x1b[?2026l")
		if c := term.Cursor(); c.X < 0 || c.X >= width || c.Y < 0 || c.Y >= height {
			t.Fatalf("cursor %+v on %d×%d", c, width, height)
		}
		for y := range height {
			for x := range width {
				switch c := term.Cell(x, y); {
				case c.Width == 2 && (x == width-1 || term.Cell(x+1, y).Width != 0),
					c.Width == 0 && (x == 0 || term.Cell(x-1, y).Width != 2):
					t.Fatalf("half of a wide character at %d,%d", x, y)
				}
			}
		}
		_, _ = term.Dump(), term.All()
	})
}

func BenchmarkWrite(b *testing.B) {
	b.ReportAllocs()
	term := vt.New(vt.Options{Width: 100, Height: 30})
	data := []byte(strings.Repeat("\x1b[32mword\x1b[m and some plain text that goes on for a while\r\n", 100))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, _ = term.Write(data)
	}
}

func BenchmarkFrame(b *testing.B) {
	b.ReportAllocs()
	term := vt.New(vt.Options{Width: 100, Height: 30})
	for b.Loop() {
		_, _ = term.WriteString("\x1b[?2026hx\r\x1b[?2026l")
	}
}
