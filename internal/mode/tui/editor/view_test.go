package editor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
)

func TestView(t *testing.T) {
	for _, tt := range []struct {
		name          string
		text          string
		width, height int
		keys          []string
		want          []string
		row, col      int
	}{
		{"empty", "", 10, 3, nil, []string{""}, 0, 0},
		{"fits", "hello", 10, 3, nil, []string{"hello"}, 0, 5},
		{"words", "one two three", 9, 5, nil, []string{"one two ", "three"}, 1, 5},
		{"word of full width", "one abcdefgh x", 9, 5, nil, []string{"one ", "abcdefgh ", "x"}, 2, 1},
		{"long word", "abcdefghijkl", 6, 5, nil, []string{"abcde", "fghij", "kl"}, 2, 2},
		{"space in the last column", "abcde ", 6, 5, nil, []string{"abcde ", ""}, 1, 0},
		{"full row", "abcde", 6, 5, nil, []string{"abcde"}, 0, 5},
		{"wide", "漢字漢字", 6, 5, nil, []string{"漢字", "漢字"}, 1, 4},
		{"wide after a word", "ab 漢字", 6, 5, nil, []string{"ab 漢", "字"}, 1, 2},
		{"wide at the end of a row", "a bc漢", 6, 5, nil, []string{"a bc", "漢"}, 1, 2},
		{"what shows nothing", "a\u202eb\u200b", 9, 5, nil, []string{"a◌b◌"}, 0, 4},
		{"combining", "e\u0301e\u0301e\u0301", 3, 5, nil, []string{"e\u0301e\u0301", "e\u0301"}, 1, 1},
		{"family", "a👨‍👩‍👧b", 10, 5, nil, []string{"a👨‍👩‍👧b"}, 0, 4},
		{"tabs", "a\tb\t", 20, 5, nil, []string{"a   b   "}, 0, 8},
		{"cursor at a border", "abcdefghij", 6, 5, []string{"left", "left", "left", "left", "left"}, []string{"abcde", "fghij"}, 1, 0},
		{"scrolled to the end", "a\nb\nc\nd", 10, 2, nil, []string{"c", "d"}, 1, 1},
		{"scrolled up", "a\nb\nc\nd", 10, 2, []string{"up", "up"}, []string{"b", "c"}, 0, 1},
		{"up over rows", "abcdefgh", 6, 5, []string{"up"}, []string{"abcde", "fgh"}, 0, 3},
		{"up into a shorter row keeps out of the next", "abcd efghi", 6, 5, []string{"up"}, []string{"abcd ", "efghi"}, 0, 4},
		{"page up", "a\nb\nc\nd\ne\nf", 10, 3, []string{"pageup"}, []string{"d", "e", "f"}, 0, 1},
		{"too narrow", "漢a", 1, 5, nil, []string{"漢", "a"}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := New(Options{})
			if err := e.SetText(tt.text); err != nil {
				t.Fatal(err)
			}
			e.View(tt.width, tt.height)
			for _, k := range tt.keys {
				do(t, e, k)
				e.View(tt.width, tt.height)
			}
			lines, row, col := e.View(tt.width, tt.height)
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if row != tt.row || col != tt.col {
				t.Errorf("cursor at %d,%d, want %d,%d", row, col, tt.row, tt.col)
			}
		})
	}
}

func TestViewStyles(t *testing.T) {
	mark := func(c string) func(string) string { return func(s string) string { return c + s + c } }
	e := New(Options{
		Placeholder: "Ask\nanything you like",
		Styles:      Styles{Text: mark("_"), Fold: mark("*"), Placeholder: mark("~")},
	})
	lines, row, col := e.View(14, 4)
	if diff := cmp.Diff([]string{"~Ask anything…~"}, lines); diff != "" || row+col != 0 {
		t.Errorf("cursor %d,%d (-want +got):\n%s", row, col, diff)
	}
	do(t, e, `"a"`)
	e.Handle(key.Paste{Text: strings.Repeat("x\n", 20)})
	do(t, e, `"b"`)
	lines, _, col = e.View(40, 4)
	if diff := cmp.Diff([]string{"_a_*[paste #1 +20 lines]*_b_"}, lines); diff != "" || col != 22 {
		t.Errorf("column %d (-want +got):\n%s", col, diff)
	}
	lines, _, _ = e.View(11, 4)
	if diff := cmp.Diff([]string{"_a_", "*[paste #1 *", "_b_"}, lines); diff != "" {
		t.Errorf("a label wider than the row (-want +got):\n%s", diff)
	}
	if above, below := e.Clipped(); above || below {
		t.Error("nothing is out of sight")
	}
	e.View(11, 2)
	if above, below := e.Clipped(); !above || below {
		t.Errorf("above %v, below %v; want the first row out of sight", above, below)
	}
}

// A view after its text has become shorter does not show room below it.
func TestViewFillsUp(t *testing.T) {
	e := New(Options{})
	_ = e.SetText(strings.Repeat("x\n", 50))
	e.View(10, 5)
	do(t, e, "backspace", "backspace", "backspace", "backspace")
	lines, row, _ := e.View(10, 5)
	if len(lines) != 5 || row != 4 {
		t.Errorf("%d lines, cursor in %d; want 5 and 4", len(lines), row)
	}
	_ = e.SetText("y")
	if lines, _, _ = e.View(10, 5); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

// prose is n bytes of text in lines of the length given.
func prose(n, lineLength int) string {
	var b strings.Builder
	b.Grow(n + 16)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "word%d ", i%997)
		if (i+1)%(lineLength/8) == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// middle is an editor with the cursor in the middle of text, drawn once.
func middle(text string) *Editor {
	e := New(Options{})
	if err := e.SetText(text); err != nil {
		panic(err)
	}
	line := e.doc.lines() / 2
	e.place(pos{line, len(e.doc.at(line).s) / 2})
	e.View(100, 20)
	return e
}

func BenchmarkKey(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("lines/%dKB", size>>10), func(b *testing.B) {
			benchmarkKey(b, prose(size, 80), "x", "ctrl+j", "backspace", "backspace")
		})
	}
	long := strings.ReplaceAll(prose(1<<20, 80), "\n", " ")
	b.Run("one line/1024KB", func(b *testing.B) { benchmarkKey(b, long, "x", "left", "right", "backspace") })
	b.Run("split one line/1024KB", func(b *testing.B) { benchmarkKey(b, long, "ctrl+j", "backspace") })
}

// benchmarkKey handles keys that end where they began, and draws after each.
func benchmarkKey(b *testing.B, text string, keys ...key.Key) {
	e := middle(text)
	press := func() {
		for _, k := range keys {
			p := key.Press{Key: k}
			if len(k) == 1 {
				p.Text = string(k)
			}
			e.Handle(p)
			e.View(100, 20)
		}
	}
	press() // the first view counts all lines, however often keys are pressed then
	b.ReportAllocs()
	for b.Loop() {
		press()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
}

func BenchmarkPaste10MB(b *testing.B) {
	text := prose(10<<20, 80)
	b.ReportAllocs()
	for b.Loop() {
		e := New(Options{})
		if err := e.Paste(text); err != nil {
			b.Fatal(err)
		}
		e.View(100, 20)
	}
}

func BenchmarkSetText10MB(b *testing.B) {
	text := prose(10<<20, 80)
	b.ReportAllocs()
	for b.Loop() {
		e := New(Options{})
		if err := e.SetText(text); err != nil {
			b.Fatal(err)
		}
		e.View(100, 20)
	}
}
