package pdf

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLexer(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want object
	}{
		{"12", 12},
		{"-7", -7},
		{"+3.5", 3.5},
		{".5", .5},
		{"-.002", -.002},
		{"4.", 4.0},
		{"--5", -5},
		{"1.2.3", 1.2},
		{"12-3", 12},
		{"true", true},
		{"false", false},
		{"null", nil},
		{"BT", operator("BT")},
		{"1e5", operator("1e5")},
		{"/Name", name("Name")},
		{"/A#20b#zz#4", name("A b#zz#4")},
		{"/", name("")},
		{"/a/b", name("a")},
		{"(a(b)c)", text("a(b)c")},
		{`(\n\r\t\b\f\(\)\\\q)`, text("\n\r\t\b\f()\\q")},
		{`(\101\7\0053)`, text("A\x07\x053")},
		{"(a\\\nb\\\r\nc\r\nd\re)", text("abc\nd\ne")},
		{"<48 65\n6c6C 6>", text("Hell`")},
		{"<>", text("")},
		{"[1 /a (s) [2]]", array{1, name("a"), text("s"), array{2}}},
		{"[1 >> 2", array{1}},
		{"<</A 1/B[2]/C<</D null>>>>", dict{"A": 1, "B": array{2}, "C": dict{"D": nil}}},
		{"<</A>>", dict{}},
		{"<</A 1 2 /B 3>>", dict{"A": 1, "B": 3}},
		{"7 0 R", ref{7, 0}},
		{"7 0 Rx", 7},
		{"7 0", 7},
		{"[1 2 3 0 R]", array{1, 2, ref{3, 0}}},
		{"% comment\n 5", 5},
	} {
		l := &lexer{data: []byte(tt.in), whole: true}
		got, err := l.next()
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(ref{})); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", tt.in, err, diff)
		}
	}
	for _, in := range []string{"", "(open", "<41", "[1", "<</A", "<</A 1", "  % only"} {
		if got, err := (&lexer{data: []byte(in), whole: true}).next(); !errors.Is(err, errShort) {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"12", "/Na", "tru", "7 0", "7 "} { // more may follow
		if got, err := (&lexer{data: []byte(in)}).next(); !errors.Is(err, errShort) {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
	if _, err := (&lexer{data: []byte(strings.Repeat("<</A ", 200)), whole: true}).next(); !errors.Is(err, errDeep) {
		t.Errorf("deep: %v", err)
	}
}

// A string that is written with all its escapes is read as it was.
func TestLiteralRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		escaped := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`, "\r", `\r`).Replace(want)
		got, err := (&lexer{data: []byte("(" + escaped + ")")}).next()
		if err != nil || got != text(want) {
			t.Fatalf("%q became %q, %v", want, got, err)
		}
	})
}

func TestCMap(t *testing.T) {
	m := parseCMap([]byte(`2 begincodespacerange <00> <7f> <8140> <9ffc> endcodespacerange
		2 beginbfchar <41> <0058> <8140> /eacute endbfchar
		1 beginbfrange <50> <52> <0061> endbfrange
		1 begincidrange <8150> <8160> 700 endcidrange 1 begincidchar <8170> 9 endcidchar
		1 beginbfrange <60> <61> [<0031>] endbfrange`))
	for _, tt := range []struct {
		s    string
		code uint32
		n    int
		text string
	}{
		{"Arest", 0x41, 1, "X"},
		{"\x81\x40x", 0x8140, 2, "é"},
		{"R", 0x52, 1, "c"},
		{"`", 0x60, 1, "1"},
		{"a", 0x61, 1, ""},
		{"\xff\xff", 0xff, 1, ""},
		{"\x81", 0x81, 1, ""},
		{"\x81\x30", 0x81, 1, ""},
	} {
		code, n := m.split(tt.s)
		text, _ := m.unicode(code)
		if code != tt.code || n != tt.n || text != tt.text {
			t.Errorf("%q: got %x, %d, %q", tt.s, code, n, text)
		}
	}
	for code, want := range map[uint32]int{0x8150: 700, 0x8155: 705, 0x8170: 9} {
		if r, ok := m.find(code); !ok || r.cid+int(code-r.lo) != want {
			t.Errorf("%x: got %+v", code, r)
		}
	}
}

func TestGlyphText(t *testing.T) {
	for glyph, want := range map[string]string{
		"A": "A", "space": " ", "nbspace": "\u00a0", "Aacute": "Á", "cedilla": "¸", "ccedilla": "ç", "Tcommaaccent": "Ț", "uni00410042": "AB", "u1F600": "😀",
		"afii10023": "Ё", "afii10071": "ё", "afii10049": "Я", "afii10097": "я", "afii10065": "а", "afii99": "", "f_f_l": "ffl", "a.sc": "a",
		".notdef": "", "g45": "", "cid77": "", "union": "∪", "universal": "∀", "unicorn1": "", "uhorn": "", "one.alt": "1", "ohungarumlaut": "ő", "é": "é",
	} {
		if got := glyphText(glyph); got != want {
			t.Errorf("%s: got %q, want %q", glyph, got, want)
		}
	}
}

func TestLayout(t *testing.T) {
	at := func(s string, x, y float64) piece {
		return piece{text: s, x: x, y: y, end: x + 5*float64(len(s)), size: 10}
	}
	for _, tt := range []struct {
		name   string
		pieces []piece
		want   string
	}{
		{"none", nil, ""},
		{"a word in parts", []piece{at("one", 0, 0), at("two", 15.5, 0)}, "onetwo\n"},
		{"words", []piece{at("one", 0, 0), at("two", 18, 0), at("three ", 36, 0), at("four", 70, 0)}, "one two three four\n"},
		{"a line", []piece{at("one", 0, 20), at("two", 0, 8)}, "one\ntwo\n"},
		{"a paragraph", []piece{at("one", 0, 40), at("two", 0, 8)}, "one\n\ntwo\n"},
		{"a column", []piece{at("low", 0, 0), at("high", 200, 500)}, "low\n\nhigh\n"},
		{"a column at the same height", []piece{at("right", 300, 0), at("left", 0, 0)}, "right\n\nleft\n"},
		{"spaces in front of a line", []piece{at("one", 0, 20), at("  two", 0, 8)}, "one\ntwo\n"},
		{"what is not for reading", []piece{at("a\x00\u00adb\u00a0c\ufb03", 0, 0)}, "ab cffi\n"},
		{"turned", []piece{{text: "up", size: 10, turned: 1}, at("longer", 0, 0)}, "longer\n\nup\n"},
	} {
		if diff := cmp.Diff(tt.want, layout(tt.pieces)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
