package snap

import (
	"bytes"
	"context"
	"hash/fnv"
	"image"
	"image/png"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
)

// reader reads frames of a shape back by looking glyphs up. Codes whose glyphs are
// the same in a font are read as the first of them.
type reader struct {
	s    Shape
	g    *glyphs
	code map[[maxCellH]byte]byte
}

func newReader(s Shape) reader {
	f, _ := fontOf(s.Font)
	r := reader{s: s, g: f.glyphs(s.CellH), code: map[[maxCellH]byte]byte{}}
	for c := range r.g {
		if _, ok := r.code[r.g[c]]; !ok {
			r.code[r.g[c]] = byte(c)
		}
	}
	return r
}

// same is a code as it is read.
func (r reader) same(c byte) byte { return r.code[r.g[c]] }

// rows gives the codes of a frame, with those of another color than black and hues
// marked in grey.
func (r reader) rows(t testing.TB, f Frame) (rows [][]byte, dim [][]bool) {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(f.Data))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := decoded.(*image.Paletted)
	if !ok {
		t.Fatalf("the frame is a %T, not indexed", decoded)
	}
	if p.Rect.Dx() != r.s.Size || p.Rect.Dy() != max(f.Rows, 1)*r.s.CellH {
		t.Fatalf("the frame has %v pixels for %d rows", p.Rect.Max, f.Rows)
	}
	width := r.s.Size / r.s.CellW
	for y := range f.Rows {
		row, grey := make([]byte, width), make([]bool, width)
		for x := range width {
			var bits [maxCellH]byte
			for dy := range r.s.CellH {
				for dx := range r.s.CellW {
					red, green, blue, _ := p.At(x*r.s.CellW+dx, y*r.s.CellH+dy).RGBA()
					if red+green+blue == 3*0xffff {
						continue
					}
					bits[dy] |= 0x80 >> dx
					grey[x] = red>>8 == 128 && green>>8 == 128
				}
			}
			if row[x], ok = r.code[bits]; !ok {
				t.Fatalf("cell %d of row %d is no glyph", x, y)
			}
		}
		rows, dim = append(rows, row), append(dim, grey)
	}
	return rows, dim
}

// lines are the lines of a frame: rows, or those of the left column and then of the right one.
func (r reader) lines(t testing.TB, f Frame) []string {
	rows, _ := r.rows(t, f)
	var left, right []string
	text := func(b []byte) string {
		return strings.TrimRight(textOf(bytes.ReplaceAll(b, []byte{0}, []byte{' '})), " ")
	}
	for _, row := range rows {
		if r.s.Columns == 1 {
			left = append(left, text(row))
			continue
		}
		left = append(left, text(row[:r.s.Cols()]))
		right = append(right, text(row[r.s.Cols()+gutter:]))
	}
	return append(left, right...)
}

// printedText is codes as a reader of frames has to find them, without what takes no
// ink: spaces, and where lines are real ones their ends.
func (r reader) printedText(codes []byte) string {
	var out []byte
	for _, c := range codes {
		if toggle(c) || c == ' ' || c == codeBreak && r.s.Columns == 2 {
			continue
		}
		out = append(out, r.same(c))
	}
	return textOf(out)
}

// checkArchive makes sure that every character of a text is in a frame or in the tail,
// in order, or is counted.
func checkArchive(t testing.TB, a Archive, s Shape, text string) {
	t.Helper()
	var k cleaner
	codes := k.append(nil, text, printed)
	if a.TotalChars != cells(codes) {
		t.Errorf("the archive counts %d of %d characters", a.TotalChars, cells(codes))
	}
	r := newReader(s)
	chars := 0
	var read strings.Builder
	for _, f := range a.Frames {
		chars += f.Chars
		for _, l := range r.lines(t, f) {
			read.WriteString(strings.ReplaceAll(l, " ", ""))
		}
	}
	end, _ := skip(codes, chars, false)
	if diff := cmp.Diff(r.printedText(codes[:end]), read.String()); diff != "" {
		t.Fatalf("%s: what is read is not what was printed (-want +got):\n%s", s.Name, diff)
	}
	tail := (&cleaner{}).append(nil, a.TextTail, printed)
	left := a.TotalChars - chars
	if a.TruncatedChars == 0 {
		if got, want := r.printedText(tail), r.printedText(codes[end:]); got != want {
			t.Fatalf("%s: the tail is %q, want %q", s.Name, got, want)
		}
		return
	}
	if got := cells(tail) - len(elided(a.TruncatedChars)) + a.TruncatedChars; got != left {
		t.Fatalf("%s: %d characters are in the tail or counted, %d are left", s.Name, got, left)
	}
}

// smallShapes are the shapes with small frames, on which tests are quick.
func smallShapes() []Shape {
	all := Shapes()
	for i := range all {
		all[i].Size = 30*all[i].CellW + 3
	}
	return all
}

func TestFramesHoldTheText(t *testing.T) {
	pacetest.Costly(t)
	rnd := rand.New(rand.NewSource(7))
	alphabet := []rune("aeiotnsr.,![]{}()=\"'\\_-/09AZ éÿ¡ \n\t —…✓│漢\x0e\x0f█  the and ")
	for n := range 60 {
		text := make([]rune, rnd.Intn(3000))
		for i := range text {
			text[i] = alphabet[rnd.Intn(len(alphabet))]
		}
		for _, s := range smallShapes() {
			a, err := Render(context.Background(), string(text), s, RenderOptions{MaxFrames: 1 + n%4})
			if err != nil {
				t.Fatal(err)
			}
			checkArchive(t, a, s, string(text))
		}
	}
}

// A page of each shape, as a hash of its colors; what packs it may change.
func TestGoldenFrames(t *testing.T) {
	const text = "[User]: Is the \"café\" of 0x7f3a9c open? It is not so! Ask a_the_b. Now.\n" +
		"[Tool result]: \x0eport 48213 {the}\n\n[Useful] ÷ yes\x0f\n[Assistant]: It is of use."
	want := map[string]uint64{
		"5x8-bw": 0x1822c771eceac56f, "5x8-sent": 0x781bed5d8d4bf8a5, "6x12-dim": 0xec97e3790da1a646, "8x13-bw": 0xfaf101e350cf866,
		"8on16-bw": 0x716f671c196a1beb, "doc-8on16-bw": 0x3399016c48f1ac23, "doc-8on16-sent": 0xd19e18749cabf309, "doc-8on16-sent-dim": 0xe804c15671c61a50,
	}
	for _, s := range smallShapes() {
		a, err := Render(context.Background(), text, s, RenderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h := fnv.New64a()
		for _, f := range a.Frames {
			m, err := png.Decode(bytes.NewReader(f.Data))
			if err != nil {
				t.Fatal(err)
			}
			for y := range m.Bounds().Dy() {
				for x := range m.Bounds().Dx() {
					r, g, b, _ := m.At(x, y).RGBA()
					h.Write([]byte{byte(r), byte(g), byte(b)})
				}
			}
		}
		if got := h.Sum64(); got != want[s.Name] {
			t.Errorf("%q: %#x, // pixels changed from %#x", s.Name, got, want[s.Name])
		}
	}
}

func TestFramesAreNarrow(t *testing.T) {
	s := smallShapes()[5] // black, two columns
	for _, tt := range []struct {
		text string
		ink  Ink
		bits byte
	}{
		{"black", InkBlack, 1},
		{"black \x0egrey", InkBlack, 2},
		{"1. 2. 3. 4.", InkSentence, 4},
		{"One.", InkSentence, 1},
	} {
		s.Ink = tt.ink
		a, err := Render(context.Background(), tt.text, s, RenderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Frames[0].Data[24]; got != tt.bits {
			t.Errorf("%q has %d bits a pixel, want %d", tt.text, got, tt.bits)
		}
		if a.Frames[0].Rows != 1 {
			t.Errorf("%q has %d rows", tt.text, a.Frames[0].Rows)
		}
	}
}

// greyText is what of a text is grey on the frames of a shape.
func greyText(t *testing.T, s Shape, text string) string {
	t.Helper()
	a, err := Render(context.Background(), text, s, RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range a.Frames {
		rows, dim := newReader(s).rows(t, f)
		for y, row := range rows {
			for x, c := range row {
				if dim[y][x] {
					b.WriteString(textOf([]byte{c}))
				}
			}
		}
	}
	return b.String()
}

func TestGrey(t *testing.T) {
	s := smallShapes()[2]
	for _, tt := range []struct{ text, want string }{
		{"the limit of a_the_b, in: the.go but (not) in the end.", "theofin:butinthe"},
		{"black \x0ethe limit\x0f black", "thelimit"},
		{"\x0eone\ntwo\x0f", "onetwo"}, // a line end is always black
		{"x" + "\x0e" + strings.Repeat("y", 2000) + "\x0fz", strings.Repeat("y", 2000)},
	} {
		want := strings.ReplaceAll(tt.want, ":", "")
		if got := greyText(t, s, tt.text); got != want {
			t.Errorf("%.60q: grey is %q, want %q", tt.text, got, want)
		}
	}
}

func TestTailKeepsGrey(t *testing.T) {
	s := smallShapes()[2]
	half := s.Capacity()
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct{ text, want string }{
		{"\x0e" + x(half) + "grey\x0f black", "\x0egrey\x0f black"},
		{"\x0e" + x(half+10) + "\x0f" + x(half), "\x0e" + x(10) + "\x0f" + x(half)},
		{"\x0e" + x(3*half+7) + "\x0f", "\x0e" + x(half) + "\x0f" + elided(7) + "\x0e" + x(half) + "\x0f"},
		{x(2*half+3) + "\x0e" + x(half+4) + "\x0f", x(half) + elided(7) + "\x0e" + x(half) + "\x0f"},
	} {
		a, err := Render(context.Background(), tt.text, s, RenderOptions{MaxFrames: 1})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, a.TextTail); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestDocumentLines(t *testing.T) {
	s := smallShapes()[5] // 13 cells a line
	a, err := Render(context.Background(), "a few words [User]: go on\n[User]: indeed averyveryverylongword", s, RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range newReader(s).lines(t, a.Frames[0]) {
		if l != "" {
			got = append(got, l)
		}
	}
	// What is only continued never begins a line with a bracket.
	want := []string{"a few words", " [User]: go", "on", "[User]:", "indeed", "averyveryvery", "longword"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShapeErrors(t *testing.T) {
	for _, tt := range []struct {
		change func(*Shape)
		want   string
	}{
		{func(s *Shape) { s.Font = "9x99" }, "unknown font"},
		{func(s *Shape) { s.Ink = "gold" }, "unknown ink"},
		{func(s *Shape) { s.Columns = 3 }, "3 columns"},
		{func(s *Shape) { s.CellW = 0 }, "do not fit the font"},
		{func(s *Shape) { s.CellH = 17 }, "do not fit the font"},
		{func(s *Shape) { s.Size = 0 }, "want 1 to 16384"},
		{func(s *Shape) { s.Size = 16385 }, "want 1 to 16384"},
		{func(s *Shape) { s.Size = 16384 }, "more than"},
		{func(s *Shape) { s.Size = 7 }, "no room"},
		{func(s *Shape) { s.Columns, s.Size = 2, 39 }, "no room"},
	} {
		s := Shapes()[3]
		tt.change(&s)
		_, err := Render(context.Background(), "x", s, RenderOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one with %q", err, tt.want)
		}
	}
}

func TestRenderStopsBetweenFrames(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Render(ctx, "x", Shapes()[2], RenderOptions{}); err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestRenderAllocatesPerFrame(t *testing.T) {
	s := Shapes()[2]
	text := strings.Repeat("the quick brown fox. ", 4*s.Capacity()/21)
	per := testing.AllocsPerRun(1, func() {
		if _, err := Render(context.Background(), text, s, RenderOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	if per > 300 {
		t.Errorf("%v allocations for 4 frames of %d characters", per, s.Capacity())
	}
}

func FuzzRender(f *testing.F) {
	f.Add("[User]: hello\n\x0eworld\x0f\u2588[", uint8(0))
	f.Add("a\x1b[31mred\x1b[0m \x1b]0;title\a b\u200b\u00a0c\xff", uint8(5))
	f.Add(strings.Repeat("the [x] ", 400), uint8(7))
	f.Fuzz(func(t *testing.T, text string, shape uint8) {
		if len(text) > 4096 {
			return
		}
		all := smallShapes()
		s := all[int(shape)%len(all)]
		a, err := Render(context.Background(), text, s, RenderOptions{MaxFrames: 2})
		if err != nil {
			t.Fatal(err)
		}
		checkArchive(t, a, s, text)
		var k cleaner
		once := textOf(k.append(nil, text, printed))
		if again := textOf(k.append(nil, once, printed)); again != once {
			t.Fatalf("cleaned again, %q becomes %q", once, again)
		}
		// As content, nothing of it takes the part of a mark.
		for i, c := range k.append(nil, text, content) {
			if toggle(c) {
				t.Fatalf("a toggle at %d", i)
			}
		}
	})
}
