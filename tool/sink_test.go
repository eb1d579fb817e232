package tool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/tool"
)

// shelf keeps artifacts in memory.
type shelf struct {
	items   []*item
	full    int   // bytes an artifact takes before it fails; 0 is no limit
	refuses error // of Create
}

type item struct {
	shelf  *shelf
	id     string
	kind   string
	data   bytes.Buffer
	closed bool
}

func (s *shelf) Create(kind string) (tool.Artifact, error) {
	if s.refuses != nil {
		return nil, s.refuses
	}
	i := &item{shelf: s, id: strconv.Itoa(len(s.items)), kind: kind}
	s.items = append(s.items, i)
	return i, nil
}

func (s *shelf) Open(string) (tool.ArtifactReader, error) { return nil, errors.New("not here") }

func (i *item) ID() string   { return i.id }
func (i *item) Close() error { i.closed = true; return nil }

func (i *item) Write(p []byte) (int, error) {
	if full := i.shelf.full; full > 0 && i.data.Len()+len(p) > full {
		return 0, errors.New("disk\nfull")
	}
	return i.data.Write(p)
}

// sink gives the output of a sink that text is written to in the given cuts.
func sink(t testing.TB, o tool.SinkOptions, text string, cuts ...int) tool.Output {
	t.Helper()
	s := tool.NewSink(o)
	at := 0
	for _, cut := range append(cuts, len(text)) {
		if n, err := s.Write([]byte(text[at:cut])); err != nil || n != cut-at {
			t.Fatalf("Write took %d of %d bytes: %v", n, cut-at, err)
		}
		at = cut
	}
	if err := s.Close(); err != nil {
		t.Logf("close: %v", err)
	}
	return s.Output()
}

var dirty = []struct{ name, in, want string }{
	{"plain", "one\ntwo\tthree\n", "one\ntwo\tthree\n"},
	{"characters", "héllo 世界 🎉\n", "héllo 世界 🎉\n"},
	{"invalid UTF-8", "a\xffb\xc3(\xe2\x82 \xf0\x9f\x8e", "a\uFFFDb\uFFFD(\uFFFD \uFFFD"},
	{"surrogates and overlong forms", "\xed\xa0\x80|\xc0\xaf", "\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD"},
	{"CR LF", "one\r\ntwo\r\n", "one\ntwo\n"},
	{"progress", "  0%\r 50%\r100%\ndone\n", "100%\ndone\n"},
	{"progress that clears its line", "fetching 1\r\x1b[Kfetching 2\r\x1b[K", "fetching 2"},
	{"CR at the end", "one\r", "one"},
	{"several CRs before LF", "one\r\r\ntwo", "one\ntwo"},
	{"backspace", "1%\b\b50%\b\b\b\bé\bx\n", "x\n"},
	{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;5;12mblue\x1b[m", "red blue"},
	{"private modes", "\x1b[?25l\x1b[?2004hx\x1b[>4;1m\x1b[!p", "x"},
	{"title by BEL", "a\x1b]0;a title\ab", "ab"},
	{"link by ST", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
	{"string that never ends", "\x1b]0;lost\nkept", "\nkept"},
	{"string within a string", "\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\x", "x"},
	{"character sets and keys", "\x1b(B\x1b=\x1b7a\x1b8\x1bM", "a"},
	{"escape before a line end", "a\x1b\nb\x1b[3\nc", "a\nb\nc"},
	{"escape before a character", "\x1bé\x1b[é", "éé"},
	{"sequence that is too long", "\x1b[" + strings.Repeat("1", 300) + "m", strings.Repeat("1", 45) + "m"},
	{"other controls", "a\x00b\x07c\x0bd\x7fe\u0085f\u009bg", "abcdefg"},
	{"escape at the end", "a\x1b", "a"},
}

// What is cleaned does not depend on where the stream is cut.
func TestSinkCleans(t *testing.T) {
	for _, tt := range dirty {
		t.Run(tt.name, func(t *testing.T) {
			if got := sink(t, tool.SinkOptions{}, tt.in); got.Text != tt.want {
				t.Errorf("%q became %q, want %q", tt.in, got.Text, tt.want)
			}
			want := sink(t, tool.SinkOptions{}, tt.in)
			for cut := range len(tt.in) {
				for _, other := range []int{cut, min(cut+1, len(tt.in)), len(tt.in)} {
					if diff := cmp.Diff(want, sink(t, tool.SinkOptions{}, tt.in, cut, other)); diff != "" {
						t.Errorf("cut at %d and %d:\n%s", cut, other, diff)
					}
				}
			}
		})
	}
}

// A line of which much has arrived cannot be taken back, so it is ended.
func TestSinkEndsLongLineAtCR(t *testing.T) {
	long := strings.Repeat("x", 9<<10)
	got := sink(t, tool.SinkOptions{Columns: -1}, long+"\rnext")
	if want := long + "\nnext"; got.Text != want || got.Lines != 2 {
		t.Errorf("%d lines, %d bytes", got.Lines, len(got.Text))
	}
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %04d\n", i) // 10 bytes
	}
	return b.String()
}

func TestSinkWindow(t *testing.T) {
	all := lines(1, 1000)
	tests := []struct {
		name   string
		o      tool.SinkOptions
		in     string
		text   string
		notice string
	}{
		{"fits", tool.SinkOptions{Tail: 10000}, all, all, ""},
		{"tail", tool.SinkOptions{Tail: 35}, all, lines(998, 1000), "[Showing lines 998-1000 of 1000. Read artifact://0 for the full output]"},
		{"tail that begins with a line", tool.SinkOptions{Tail: 20}, all, lines(999, 1000), "[Showing lines 999-1000 of 1000. Read artifact://0 for the full output]"},
		{"tail of one line", tool.SinkOptions{Tail: 10}, all, lines(1000, 1000), "[Showing lines 1000 of 1000. Read artifact://0 for the full output]"},
		{
			"head and tail",
			tool.SinkOptions{Head: 35, Tail: 35},
			all,
			lines(1, 3) + "[… 994 lines elided (9.7 KB) …]\n" + lines(998, 1000),
			"[Showing lines 1-3 and 998-1000 of 1000; 994 lines in the middle (9.7 KB) left out. Read artifact://0 for the full output]",
		},
		{
			"unfinished line",
			tool.SinkOptions{Head: 10, Tail: 15},
			all + "the rest",
			lines(1, 1) + "[… 999 lines elided (9.8 KB) …]\nthe rest",
			"[Showing lines 1 and 1001 of 1001; 999 lines in the middle (9.8 KB) left out. Read artifact://0 for the full output]",
		},
		{
			"one long line",
			tool.SinkOptions{Head: 5, Tail: 6, Columns: -1},
			strings.Repeat("é", 1000),
			"éé\n[… 1.9 KB elided …]\nééé", "[Showing 10 B of 2.0 KB. Read artifact://0 for the full output]",
		},
		{
			"columns",
			tool.SinkOptions{Columns: 5},
			"12345\n123456\n1234é\n\n12345678\r\nab",
			"12345\n12345…\n1234…\n\n12345…\nab", "[3 long lines cut to 5 bytes. Read artifact://0 for the full output]",
		},
		{
			"columns and tail",
			tool.SinkOptions{Tail: 20, Columns: 5},
			all, "line …\nline …\n",
			"[Showing lines 999-1000 of 1000. 1000 long lines cut to 5 bytes. Read artifact://0 for the full output]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &shelf{}
			tt.o.Artifacts, tt.o.Kind = s, "bash"
			got := sink(t, tt.o, tt.in)
			if got.Text != tt.text {
				t.Errorf("shows %q, want %q", got.Text, tt.text)
			}
			if notice := got.Notice(); notice != tt.notice {
				t.Errorf("notice %q, want %q", notice, tt.notice)
			}
			if !got.Truncated {
				if len(s.items) > 0 || got.Notice() != "" {
					t.Errorf("nothing is missing, but there is an artifact, or the notice %q", got.Notice())
				}
				return
			}
			whole := strings.ReplaceAll(tt.in, "\r", "")
			if i := s.items[0]; i.data.String() != whole || !i.closed || i.kind != "bash" {
				t.Errorf("the artifact has %d bytes, want %d; closed %v", i.data.Len(), len(whole), i.closed)
			}
			if got.Bytes != int64(len(whole)) {
				t.Errorf("%d bytes in all, want %d", got.Bytes, len(whole))
			}
		})
	}
}

// The artifact can be read while the output still comes, and the window does
// not change what it keeps by being looked at.
func TestSinkBeforeClose(t *testing.T) {
	s := &shelf{}
	k := tool.NewSink(tool.SinkOptions{Head: 20, Tail: 20, Artifacts: s})
	io.WriteString(k, lines(1, 9)+"half a l")
	o := k.Output()
	if want := lines(1, 2) + "[… 6 lines elided (60 B) …]\n" + lines(9, 9) + "half a l"; o.Text != want {
		t.Errorf("shows %q, want %q", o.Text, want)
	}
	if got := s.items[0].data.String(); got != lines(1, 9) || o.Lines != 10 {
		t.Errorf("the artifact has %q; %d lines", got, o.Lines)
	}
	io.WriteString(k, "ine\n"+lines(11, 11))
	if got, want := k.Output().Text, lines(1, 2)+"[… 8 lines elided (82 B) …]\n"+lines(11, 11); got != want {
		t.Errorf("then %q, want %q", got, want)
	}
	k.Close()
	if _, err := k.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write after Close: %v", err)
	}
}

// An artifact that fails leaves the window, and the notice says that there is
// nothing more.
func TestSinkWithoutArtifact(t *testing.T) {
	all := lines(1, 20000)
	want := sink(t, tool.SinkOptions{Tail: 100}, all)
	if n := want.Notice(); n != "[Showing lines 19992-20000 of 20000]" {
		t.Errorf("notice %q", n)
	}
	for name, s := range map[string]*shelf{"create": {refuses: errors.New("no room")}, "write": {full: 100_000}} {
		k := tool.NewSink(tool.SinkOptions{Tail: 100, Artifacts: s})
		io.WriteString(k, all)
		err := k.Close()
		got := k.Output()
		if got.Text != want.Text || got.Artifact != "" || err == nil {
			t.Errorf("%s: artifact %q, error %v", name, got.Artifact, err)
		}
		if n := got.Notice(); !strings.Contains(n, "could not be kept") || strings.Contains(n, "\n") {
			t.Errorf("%s: notice %q", name, n)
		}
	}
}

func TestSinkBoundsArtifact(t *testing.T) {
	s := &shelf{}
	all := lines(1, 1000)
	k := tool.NewSink(tool.SinkOptions{Tail: 100, Artifacts: s, Whole: 400})
	for line := range strings.Lines(all) {
		io.WriteString(k, line)
	}
	k.Close()
	want := all[:300] + "\n[artifact cut: the first 300 B and the last 100 B of 9.8 KB are kept; 9.4 KB between them are not]\n" + all[len(all)-100:]
	if got := s.items[0].data.String(); got != want {
		t.Errorf("artifact %q", got)
	}
	if n := k.Output().Notice(); !strings.Contains(n, "artifact://0 for the output without 9.4 KB of its middle") {
		t.Errorf("notice %q", n)
	}
	s = &shelf{}
	sink(t, tool.SinkOptions{Tail: 100, Artifacts: s, Whole: 10_000}, all)
	if got := s.items[0].data.String(); got != all {
		t.Errorf("an artifact that fits exactly has %d bytes", len(got))
	}
}

// Whatever is written, and however it is cut, the window is clean and bounded,
// and the artifact has all of what the window shows a part of.
func TestSinkProperties(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\n", "\r", "\r\n", "\x1b[31m", "\x1b]0;t\a", "\b", "é", "🎉", "\xff", "\xf0\x9f", "\x00"}),
		rapid.StringMatching(`[a-z ]{1,30}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 80).Draw(t, "pieces"), "")
		o := tool.SinkOptions{
			Head: rapid.IntRange(0, 60).Draw(t, "head"), Tail: rapid.IntRange(1, 60).Draw(t, "tail"),
			Columns: rapid.SampledFrom([]int{-1, 3, 10, 0}).Draw(t, "columns"),
		}
		run := func(step int) (tool.Output, string) {
			s := &shelf{}
			o.Artifacts = s
			k := tool.NewSink(o)
			for p := []byte(text); len(p) > 0; {
				n := min(step, len(p))
				k.Write(p[:n])
				p = p[n:]
			}
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
			if len(s.items) == 0 {
				return k.Output(), ""
			}
			return k.Output(), s.items[0].data.String()
		}
		whole, _ := run(len(text) + 1)
		got, kept := run(rapid.IntRange(1, 9).Draw(t, "step"))
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Fatalf("depends on where it is cut:\n%s", diff)
		}
		clean := func(r rune) bool { return r == '\n' || r == '\t' || r >= ' ' && (r < 0x7f || r >= 0xa0) }
		if bad := strings.IndexFunc(got.Text, func(r rune) bool { return !clean(r) }); bad >= 0 || !utf8.ValidString(got.Text) {
			t.Fatalf("shows %q", got.Text)
		}
		if len(got.Text) > o.Head+o.Tail+60 {
			t.Fatalf("shows %d bytes", len(got.Text))
		}
		if got.Truncated != (kept != "") {
			t.Fatalf("truncated %v, but the artifact has %d bytes", got.Truncated, len(kept))
		}
		if kept != "" && int64(len(kept)) != got.Bytes {
			t.Fatalf("the artifact has %d of %d bytes", len(kept), got.Bytes)
		}
		if kept == "" && int64(len(got.Text)) != got.Bytes {
			t.Fatalf("%d bytes, shows %q", got.Bytes, got.Text)
		}
	})
}

func FuzzSink(f *testing.F) {
	for _, tt := range dirty {
		f.Add([]byte(tt.in), 3)
	}
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		if len(p) > 1<<16 {
			return
		}
		cut = max(0, min(cut, len(p)))
		o := tool.SinkOptions{Head: 10, Tail: 20, Columns: 8}
		if diff := cmp.Diff(sink(t, o, string(p)), sink(t, o, string(p), cut)); diff != "" {
			t.Errorf("cut at %d:\n%s", cut, diff)
		}
	})
}

func TestSinkIsSafeForConcurrentUse(t *testing.T) {
	k := tool.NewSink(tool.SinkOptions{Head: 100, Tail: 100, Artifacts: &shelf{}})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				io.WriteString(k, "a line\n")
				_ = k.Output()
			}
		})
	}
	all.Wait()
	k.Close()
	if got := k.Output(); got.Lines != 800 {
		t.Errorf("%d lines", got.Lines)
	}
}
