package prose_test

import (
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/burin-dev/burin/internal/prose"
)

const family = "👨‍👩‍👧" // 18 bytes, five code points, one character

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"abcd", 1, "…"},
		{"abcd", 0, ""},
		{"abcd", -1, ""},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äö…"},
		{"a b cd", 3, "a…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"e\u0301e\u0301e\u0301x", 3, "e\u0301e\u0301…"},
		{"a" + family + "b", 3, "a" + family + "b"},
		{"a" + family + "bc", 3, "a" + family + "…"},
		{"🇩🇪🇫🇷🇯🇵", 2, "🇩🇪…"},
		{"x" + strings.Repeat("\u0301", 1000), 5, "…"},
		{"ab" + strings.Repeat("\u0301", 1000), 5, "a…"},
	} {
		if got := prose.Cut(tt.in, tt.n); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{" one\r\n\ttwo  three ", 20, "one two three"},
		{" one\r\n\ttwo  three ", 8, "one two…"},
		{" one\r\n\ttwo  three ", 9, "one two…"},
		{strings.Repeat("\n", 10_000) + "end", 8, "end"},
		{strings.Repeat("word ", 10_000), 8, "word wo…"},
		{strings.Repeat("x", 100_000), 4, "xxx…"},
		{"a\xffb", 4, "a\ufffdb"},
		{"\xff\xfe\xfd\xfc\xfb", 4, "\ufffd"},
		{"", 4, ""},
	} {
		if got := prose.Short(tt.in, tt.n); got != tt.want {
			t.Errorf("Short(%q, %d) = %q, want %q", prose.Clip(tt.in, 40), tt.n, got, tt.want)
		}
	}
}

func TestHead(t *testing.T) {
	for _, tt := range []struct {
		in         string
		n          int
		head, clip string
	}{
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc", "abc…"},
		{"aöb", 2, "a", "a…"},
		{"a👍b", 4, "a", "a…"},
		{"a👍b", 5, "a👍", "a👍…"},
		{"öx", 1, "", "…"},
		{"abc", 0, "", "…"},
		{"abc", -5, "", "…"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80…"},
	} {
		if got := prose.Head(tt.in, tt.n); got != tt.head {
			t.Errorf("Head(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.head)
		}
		if got := prose.Clip(tt.in, tt.n); got != tt.clip {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.clip)
		}
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		n          int
		noun, want string
	}{
		{0, "file", "0 files"},
		{1, "file", "1 file"},
		{2, "file", "2 files"},
		{-1, "file", "-1 files"},
		{2, "match", "2 matches"},
		{2, "other branch", "2 other branches"},
		{2, "entry", "2 entries"},
		{2, "key", "2 keys"},
		{2, "pass", "2 passes"},
		{2, "y", "2 ys"},
	} {
		if got := prose.Count(tt.n, tt.noun); got != tt.want {
			t.Errorf("Count(%d, %q) = %q, want %q", tt.n, tt.noun, got, tt.want)
		}
	}
}

func TestTokens(t *testing.T) {
	for n, want := range map[int64]string{
		-5: "-5", 0: "0", 999: "999", 1000: "1k", 1049: "1k", 1050: "1.1k", 12_345: "12.3k", 99_949: "99.9k", 99_950: "100k",
		200_000: "200k", 999_499: "999k", 999_500: "1M", 1_048_576: "1M", 1_250_000: "1.2M", 123_456_789: "123M",
		4_000_000_000: "4G", 1 << 50: "1.1P", math.MaxInt64: "9.2E",
	} {
		if got := prose.Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, clean, inline string }{
		{"plain\ntext", "plain\ntext", "plain text"},
		{"a\tb", "a   b", "a b"},
		{"\x1b[31m\a", "␛[31m␇", "␛[31m␇"},
		{"\x1b]0;title\x1b\\", "␛]0;title␛\\", "␛]0;title␛\\"},
		{"a\r\nb\rc", "a\nb\nc", "a b c"},
		{"\u202eabc\u2066", "⟨U+202E⟩abc⟨U+2066⟩", "⟨U+202E⟩abc⟨U+2066⟩"},
		{"\u061c\u200e\u200f\u200b\ufeff", "⟨U+061C⟩⟨U+200E⟩⟨U+200F⟩⟨U+200B⟩⟨U+FEFF⟩", "⟨U+061C⟩⟨U+200E⟩⟨U+200F⟩⟨U+200B⟩⟨U+FEFF⟩"},
		{"a\u2028b\u0085", "a⟨U+2028⟩b⟨U+0085⟩", "a⟨U+2028⟩b⟨U+0085⟩"},
		{"\xff\x7f\u009b", "\ufffd␡⟨U+009B⟩", "\ufffd␡⟨U+009B⟩"},
		{"\x9b31m", "\ufffd31m", "\ufffd31m"}, // CSI in one byte
		{"\U000e0041", "⟨U+E0041⟩", "⟨U+E0041⟩"},
		{family + " ok", family + " ok", family + " ok"},
		{"a\ufe0f", "a", "a"},
	} {
		if got := prose.Clean(tt.in, 4); got != tt.clean {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.clean)
		}
		if got := prose.Inline(tt.in); got != tt.inline {
			t.Errorf("Inline(%q) = %q, want %q", tt.in, got, tt.inline)
		}
	}
}

func TestRow(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"  two\nlines", 12, "  two lines"},
		{"  two\nlines", 8, "  two l…"},
		{"a\x1b[2Jb", 9, "a␛[2Jb"},
		{"a\u202eb", 4, "a⟨U…"},
		{strings.Repeat("a\r\n", 1000), 4, "a a…"},
		{strings.Repeat(family, 1000), 2, family + "…"},
		{"abc", 0, ""},
	} {
		if got := prose.Row(tt.in, tt.n); got != tt.want {
			t.Errorf("Row(%q, %d) = %q, want %q", prose.Clip(tt.in, 40), tt.n, got, tt.want)
		}
	}
}

// The properties of the Unicode tables, and a parser of sequences that is not ours,
// say whether a terminal would obey something.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"text", "\x1b[2J\x9b\u009b", "\u202e\u2066\u200f\u061c", "\r\n\t\x00\x7f", "\xc2\xff\xed\xa0\x80", "1\ufe0f\u20e3 " + family} {
		f.Add(s, 4)
	}
	f.Fuzz(func(t *testing.T, s string, tab int) {
		got := prose.Clean(s, 1+(tab&7))
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp) || prose.Steers(r)) {
				t.Fatalf("%q holds %U", got, r)
			}
		}
		if plain := ansi.Strip(got); plain != got {
			t.Fatalf("%q holds a sequence: without it, it is %q", got, plain)
		}
		if again := prose.Clean(got, 4); again != got {
			t.Fatalf("%q changes when it is cleaned again: %q", got, again)
		}
		if line := prose.Inline(s); strings.ContainsFunc(line, prose.Steers) {
			t.Fatalf("%q holds what steers a terminal", line)
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add("some words 日本語 👍🏽 and more", 7)
	f.Add(" \ufe0f e\u0301 🇩🇪🇩 \u200d \t\xff", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n %= 1000
		head := prose.Head(s, n)
		if len(head) > max(n, 0) || !strings.HasPrefix(s, head) || utf8.ValidString(s) && !utf8.ValidString(head) {
			t.Fatalf("Head(%q, %d) = %q", s, n, head)
		}
		for _, got := range []string{prose.Cut(s, n), prose.Short(s, n)} {
			if len(got) > 16*max(n, 0)+len(prose.Ellipsis) {
				t.Fatalf("%d bytes for %d characters: %q", len(got), n, got)
			}
			count := 0
			for it := graphemes.FromString(got); it.Next(); count++ {
			}
			if count > max(n, 0) {
				t.Fatalf("%d characters of %d: %q", count, n, got)
			}
		}
		if short := prose.Short(s, n); !utf8.ValidString(short) || strings.ContainsFunc(short, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }) {
			t.Fatalf("Short(%q, %d) = %q is not one line", s, n, short)
		}
	})
}

func TestMiddle(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"src/a.go", 8, "src/a.go"},
		{"internal/server/handler.go", 15, "interna…dler.go"},
		{"internal/server/handler.go", 1, "…"},
		{"internal", 0, ""},
		{"internal", -3, ""},
		{"例え例え例え", 7, "例…え"},
		{"e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301…e\u0301"},
		{"👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 5, "👩‍👩‍👧‍👦…👩‍👩‍👧‍👦"},
	} {
		got := prose.Middle(tt.text, tt.n)
		if got != tt.want || prose.Width(got) > max(tt.n, 0) {
			t.Errorf("Middle(%q, %d) is %q, %d columns; want %q", tt.text, tt.n, got, prose.Width(got), tt.want)
		}
	}
}
