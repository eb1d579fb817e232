package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm"
)

// gradient has more colours than any palette.
func gradient(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, color.NRGBA{uint8(x * 255 / w), uint8(y * 255 / h), uint8((x + y) * 255 / (w + h)), 255})
		}
	}
	return img
}

func pngOf(t testing.TB, img image.Image) llm.Image {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return llm.Image{MIME: "image/png", Data: b.Bytes()}
}

// sent is the PNG of a sequence of kitty or iTerm2.
func sent(t testing.TB, p Protocol, seq string) image.Image {
	t.Helper()
	var text strings.Builder
	switch p {
	case Kitty:
		for piece := range strings.SplitSeq(strings.TrimSuffix(seq, "\x1b\\"), "\x1b\\") {
			head, payload, ok := strings.Cut(piece, ";")
			if !ok || !strings.HasPrefix(head, "\x1b_G") || len(payload) > chunk || !strings.Contains(head, "q=2") {
				t.Fatalf("a piece of %d bytes with the head %q", len(payload), head)
			}
			if last := text.Len()+len(payload) == base64Len(seq); last == strings.HasSuffix(head, "m=1") {
				t.Fatalf("the head %q at %d", head, text.Len())
			}
			text.WriteString(payload)
		}
	case ITerm2:
		_, payload, _ := strings.Cut(strings.TrimSuffix(seq, "\x07"), ":")
		text.WriteString(payload)
	}
	data, err := base64.StdEncoding.DecodeString(text.String())
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func base64Len(seq string) int {
	n := 0
	for piece := range strings.SplitSeq(seq, "\x1b\\") {
		_, payload, _ := strings.Cut(piece, ";")
		n += len(payload)
	}
	return n
}

// Every protocol's sequence is one that a terminal takes as one picture.
func TestRender(t *testing.T) {
	for _, p := range []Protocol{Kitty, ITerm2, Sixel} {
		t.Run(string(p), func(t *testing.T) {
			pic, err := Render(pngOf(t, gradient(640, 480)), Options{Protocol: p, CellWidth: 10, CellHeight: 20})
			if err != nil {
				t.Fatal(err)
			}
			if pic.Cols != 54 || pic.Rows != 20 { // 400 of 480 rows, and as much of the width
				t.Errorf("%d×%d cells", pic.Cols, pic.Rows)
			}
			term := vt.New(vt.Options{Width: 100, Height: 30})
			term.Write([]byte("before" + pic.Guarded() + "after")) //nolint:errcheck // a buffer
			if s := term.Stats(); s.Graphics != 1 && p != Kitty || s.Graphics == 0 {
				t.Errorf("%d pictures", s.Graphics)
			}
			if u := term.Unknown(); len(u) > 0 {
				t.Errorf("unknown: %.200q", u)
			}
			if got := term.Lines()[0]; got != "beforeafter" {
				t.Errorf("it wrote text: %q", got)
			}
			if p == Sixel {
				return
			}
			if b := sent(t, p, pic.Sequence).Bounds(); b.Dx() != 540 || b.Dy() != 400 {
				t.Errorf("%v was sent", b)
			}
		})
	}
}

// What was inside of a file, beside its picture, does not get out.
func TestNothingForeignIsSent(t *testing.T) {
	img := pngOf(t, gradient(20, 20))
	canary := []byte("canary\x1b]0;evil\x07")
	text := append([]byte("tEXtComment\x00"), canary...)
	var with []byte
	with = append(with, img.Data[:33]...) // signature and IHDR
	with = binary.BigEndian.AppendUint32(with, uint32(len(text)-4))
	with = append(with, text...)
	with = binary.BigEndian.AppendUint32(with, crc32.ChecksumIEEE(text))
	img.Data = append(append(with, img.Data[33:]...), canary...)
	for _, p := range []Protocol{Kitty, ITerm2} {
		pic, err := Render(img, Options{Protocol: p})
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := png.Encode(&again, sent(t, p, pic.Sequence)); err != nil {
			t.Fatal(err)
		}
		payload := pic.Sequence[strings.LastIndexAny(pic.Sequence, ";:")+1:]
		data, _ := base64.StdEncoding.DecodeString(strings.TrimRight(payload, "\x1b\\\x07"))
		if bytes.Contains(data, canary[:6]) || !bytes.Equal(data, again.Bytes()) {
			t.Errorf("%s: bytes of the file were sent", p)
		}
	}
}

func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		w, h, maxCols, maxRows int
		want                   [4]int // columns, rows, pixels
	}{
		{"one pixel", 1, 1, 100, 20, [4]int{1, 1, 1, 1}},
		{"as it is", 200, 100, 100, 20, [4]int{20, 5, 200, 100}},
		{"a bit more than cells", 201, 101, 100, 20, [4]int{21, 6, 201, 101}},
		{"wide", 4000, 100, 100, 20, [4]int{100, 2, 1000, 25}},
		{"high", 100, 4000, 100, 20, [4]int{1, 20, 10, 400}},
		{"a line", 50_000, 1, 100, 20, [4]int{100, 1, 1000, 1}},
		{"less room", 1000, 1000, 10, 20, [4]int{10, 5, 100, 100}},
	} {
		cols, rows, w, h := place(tt.w, tt.h, tt.maxCols, tt.maxRows, 10, 20)
		if diff := cmp.Diff(tt.want, [4]int{cols, rows, w, h}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A file that says it is huge is refused before it takes memory.
func TestBombs(t *testing.T) {
	header := func(w, h uint32, depth byte) llm.Image {
		ihdr := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)...)
		ihdr = append(ihdr, depth, 6, 0, 0, 0)
		data := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), ihdr...)
		return llm.Image{Data: binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(ihdr))}
	}
	for name, img := range map[string]llm.Image{
		"wide and high": header(50_000, 50_000, 8), "a line": header(1<<31-1, 1, 8), "sixteen bits": header(7000, 7000, 16),
		"a long file": {Data: make([]byte, maxBytes+1)},
	} {
		if _, err := Render(img, Options{Protocol: Kitty}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string][]byte{"nothing": nil, "no picture": []byte("hello"), "cut": header(10, 10, 8).Data} {
		if _, err := Render(llm.Image{Data: data}, Options{Protocol: Kitty}); err == nil || errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Render(pngOf(t, gradient(5, 5)), Options{}); err == nil {
		t.Error("a picture without a protocol")
	}
	if _, err := Render(pngOf(t, gradient(5, 5)), Options{Protocol: Sixel}); err == nil {
		t.Error("sixel without the size of a cell: it may reach below its rows")
	}
}

func TestFormats(t *testing.T) {
	img := gradient(30, 20)
	var j, g bytes.Buffer
	if err := jpeg.Encode(&j, img, nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&g, img, nil); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"jpeg": j.Bytes(), "gif": g.Bytes()} {
		if p, err := Render(llm.Image{Data: data}, Options{Protocol: Kitty}); err != nil || p.Cols != 3 || p.Rows != 1 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		env        string
		attributes []int
		want       Protocol
	}{
		{"TERM=xterm-256color", nil, None},
		{"TERM=xterm-256color", []int{62, 22}, None},
		{"TERM=xterm-256color", []int{4, 22}, None}, // the class of the terminal, not sixel
		{"TERM=xterm-256color", []int{62, 4, 22}, Sixel},
		{"TERM=xterm-kitty", nil, Kitty},
		{"TERM=xterm-256color KITTY_WINDOW_ID=1", nil, Kitty},
		{"TERM_PROGRAM=ghostty", nil, Kitty},
		{"TERM_PROGRAM=iTerm.app", []int{62, 4}, ITerm2},
		{"TERM_PROGRAM=WezTerm", nil, ITerm2},
		{"LC_TERMINAL=iTerm2", nil, ITerm2},
		{"TERM=tmux-256color KITTY_WINDOW_ID=1", nil, None},
		{"TMUX=x TERM_PROGRAM=iTerm.app", nil, None},
		{"TMUX=x TERM_PROGRAM=tmux", []int{1, 2, 4}, Sixel},
		{"STY=x KITTY_WINDOW_ID=1", nil, None},
		{"PI_FORCE_IMAGE_PROTOCOL=iterm TMUX=x", nil, ITerm2},
		{"PI_FORCE_IMAGE_PROTOCOL=kitty BURIN_IMAGE_PROTOCOL=none KITTY_WINDOW_ID=1", nil, None},
		{"BURIN_IMAGE_PROTOCOL=Sixel", nil, Sixel},
		{"BURIN_IMAGE_PROTOCOL=typo TERM_PROGRAM=ghostty", nil, Kitty},
	} {
		env := map[string]string{}
		for v := range strings.FieldsSeq(tt.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		if got := Detect(Terminal{Getenv: func(n string) string { return env[n] }, Attributes: tt.attributes}); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.env, tt.attributes, got, tt.want)
		}
	}
}

// draw reads a sixel picture back, as a terminal would.
func drawSixel(t testing.TB, seq string) *image.NRGBA {
	t.Helper()
	body, ok := strings.CutPrefix(strings.TrimSuffix(seq, "\x1b\\"), "\x1bP0;1;0q\"1;1;")
	if !ok {
		t.Fatalf("it begins with %.20q", seq)
	}
	at := 0
	number := func() (n int) {
		for at < len(body) && body[at] >= '0' && body[at] <= '9' {
			n, at = n*10+int(body[at]-'0'), at+1
		}
		return n
	}
	w := number()
	at++
	h := number()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	var palette [256]color.NRGBA
	x, y, c, n := 0, 0, 0, 1
	for at < len(body) {
		ch := body[at]
		at++
		switch {
		case ch == '#':
			c = number()
			if at < len(body) && body[at] == ';' {
				var v [4]int
				for i := range v {
					at++
					v[i] = number()
				}
				palette[c] = color.NRGBA{uint8(v[1] * 255 / 100), uint8(v[2] * 255 / 100), uint8(v[3] * 255 / 100), 255}
			}
		case ch == '!':
			n = number()
		case ch == '$':
			x = 0
		case ch == '-':
			x, y = 0, y+6
		case ch >= '?' && ch <= '~':
			for ; n > 0; n-- {
				for bit := range 6 {
					if (ch-'?')>>bit&1 == 0 {
						continue
					}
					if x >= w || y+bit >= h {
						t.Fatalf("a pixel at %d,%d of %d×%d", x, y+bit, w, h)
					}
					img.SetNRGBA(x, y+bit, palette[c])
				}
				x++
			}
			n = 1
		default:
			t.Fatalf("a strange byte %q", ch)
		}
	}
	return img
}

// Sixel pictures look like what they were made of, and keep what is not drawn.
func TestSixel(t *testing.T) {
	few := image.NewNRGBA(image.Rect(0, 0, 23, 13))
	for i := range 23 * 13 {
		few.SetNRGBA(i%23, i/23, []color.NRGBA{{255, 0, 0, 255}, {0, 0, 255, 255}, {}, {250, 250, 250, 200}}[i*7%4])
	}
	r := rand.New(rand.NewPCG(1, 5))
	noise := image.NewNRGBA(image.Rect(0, 0, 64, 50))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(r.IntN(256)) | uint8(i%4/3)*opaque
	}
	for name, tt := range map[string]struct {
		img  *image.NRGBA
		most int // average distance of a part, in 255
	}{"few colours": {few, 2}, "gradient": {gradient(300, 200), 6}, "noise": {noise, 24}, "nothing drawn": {image.NewNRGBA(image.Rect(0, 0, 9, 9)), 0}} {
		got := drawSixel(t, sixel(tt.img))
		if got.Rect != tt.img.Rect {
			t.Errorf("%s: %v", name, got.Rect)
			continue
		}
		sum, n := 0, 0
		for i := 0; i < len(got.Pix); i += 4 {
			if drawn := tt.img.Pix[i+3] >= opaque; drawn != (got.Pix[i+3] > 0) {
				t.Fatalf("%s: pixel %d drawn %v", name, i/4, !drawn)
			} else if !drawn {
				continue
			}
			for k := range 3 {
				sum += max(int(got.Pix[i+k])-int(tt.img.Pix[i+k]), int(tt.img.Pix[i+k])-int(got.Pix[i+k]))
				n++
			}
		}
		if n > 0 && sum/n > tt.most {
			t.Errorf("%s: parts are %d off on average, at most %d", name, sum/n, tt.most)
		}
	}
}

// A photograph is shrunk in two steps, and looks as in one.
func TestLargePicture(t *testing.T) {
	src := gradient(3000, 2000)
	got := shrink(src, 300, 200, 300, 200)
	want := gradient(300, 200)
	for i := range got.Pix {
		if d := int(got.Pix[i]) - int(want.Pix[i]); d < -4 || d > 4 {
			t.Fatalf("part %d is %d, want %d", i, got.Pix[i], want.Pix[i])
		}
	}
}

func TestMaxEdge(t *testing.T) {
	pic, err := Render(pngOf(t, gradient(6000, 60)), Options{Protocol: Kitty, CellWidth: 100, CellHeight: 200})
	if err != nil {
		t.Fatal(err)
	}
	img := sent(t, Kitty, pic.Sequence)
	if b := img.Bounds(); b.Dx() != maxEdge || b.Dy() != 67 { // a row of 200 pixels, a third as large
		t.Errorf("%v was sent", b)
	}
	if _, _, _, a := img.At(1000, 19).RGBA(); a == 0 {
		t.Error("nothing is drawn where the picture ends")
	}
	if _, _, _, a := img.At(1000, 21).RGBA(); a != 0 {
		t.Error("the ground below the picture is drawn")
	}
	if pic.Cols != 60 || pic.Rows != 1 {
		t.Errorf("%d×%d cells", pic.Cols, pic.Rows)
	}
}

func FuzzRender(f *testing.F) {
	f.Add(pngOf(f, gradient(3, 3)).Data, uint8(0), 10, 20)
	f.Fuzz(func(t *testing.T, data []byte, p uint8, cw, ch int) {
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width*c.Height > 1<<16 {
			return // slow, and no different
		}
		pic, err := Render(llm.Image{Data: data}, Options{Protocol: []Protocol{Kitty, ITerm2, Sixel}[p%3], CellWidth: cw, CellHeight: ch})
		if err == nil && (pic.Cols < 1 || pic.Cols > MaxCols || pic.Rows < 1 || pic.Rows > MaxRows || pic.Sequence == "") {
			t.Errorf("%d×%d cells", pic.Cols, pic.Rows)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	img := pngOf(b, gradient(1568, 1000))
	for _, p := range []Protocol{Kitty, Sixel} {
		b.Run(string(p), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Render(img, Options{Protocol: p, CellWidth: 10, CellHeight: 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
