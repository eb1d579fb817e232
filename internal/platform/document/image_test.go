package document_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/burin-dev/burin/internal/platform/document"
)

// halves is red on the left and blue on the right, or half clear.
func halves(w, h int, right color.Color) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			if x < w/2 {
				img.Set(x, y, color.NRGBA{255, 0, 0, 255})
			} else {
				img.Set(x, y, right)
			}
		}
	}
	return img
}

var blue = color.NRGBA{0, 0, 255, 255}

// noise compresses badly in any format.
func noise(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func encoded(tb testing.TB, format string, img image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 95})
	case "gif":
		err = gif.Encode(&b, img, nil)
	case "bmp":
		err = bmp.Encode(&b, img)
	case "tiff":
		err = tiff.Encode(&b, img, &tiff.Options{Compression: tiff.Deflate})
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func decoded(t *testing.T, p *document.Picture) image.Image {
	t.Helper()
	img, format, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	if "image/"+format != p.MIME {
		t.Errorf("is %s and says %s", format, p.MIME)
	}
	return img
}

func animation(t *testing.T) []byte {
	t.Helper()
	var g gif.GIF
	for _, c := range []color.Color{color.White, color.Black} {
		frame := image.NewPaletted(image.Rect(0, 0, 8, 8), color.Palette{c, blue})
		g.Image, g.Delay = append(g.Image, frame), append(g.Delay, 1)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFitImage(t *testing.T) {
	limits := document.ImageLimits{MaxEdge: 100}
	for _, tt := range []struct {
		name          string
		data          []byte
		mime          string
		width, height int // as sent
		same          bool
	}{
		{"small png", encoded(t, "png", halves(50, 40, blue)), "image/png", 50, 40, true},
		{"small jpeg", encoded(t, "jpeg", halves(100, 100, blue)), "image/jpeg", 100, 100, true},
		{"small gif", encoded(t, "gif", halves(20, 20, blue)), "image/gif", 20, 20, true},
		{"animation", animation(t), "image/png", 8, 8, false},
		{"bmp", encoded(t, "bmp", halves(20, 10, blue)), "image/png", 20, 10, false},
		{"tiff", encoded(t, "tiff", halves(20, 10, blue)), "image/png", 20, 10, false},
		{"wide png", encoded(t, "png", halves(300, 30, blue)), "image/png", 100, 10, false},
		{"tall jpeg", encoded(t, "jpeg", halves(130, 260, blue)), "image/jpeg", 50, 100, false},
		{"a line", encoded(t, "png", halves(500, 1, blue)), "image/png", 100, 1, false},
		{"half clear", encoded(t, "png", halves(400, 400, color.NRGBA{0, 0, 0, 0})), "image/png", 100, 100, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := document.FitImage(tt.data, limits)
			if err != nil {
				t.Fatal(err)
			}
			img := decoded(t, p)
			if b := img.Bounds(); p.MIME != tt.mime || b.Dx() != tt.width || b.Dy() != tt.height || bytes.Equal(p.Data, tt.data) != tt.same {
				t.Errorf("got %s %dx%d, the same: %v", p.MIME, b.Dx(), b.Dy(), bytes.Equal(p.Data, tt.data))
			}
			original, _, err := image.DecodeConfig(bytes.NewReader(tt.data))
			if err != nil || p.Width != original.Width || p.Height != original.Height {
				t.Errorf("says it was %dx%d, %v", p.Width, p.Height, err)
			}
			if resized := p.Width != tt.width || p.Height != tt.height; resized != p.Resized {
				t.Errorf("resized: %v", p.Resized)
			}
			if tt.name == "animation" || tt.same {
				return
			}
			if r, _, b, _ := img.At(2, 0).RGBA(); r < 0xe000 || b > 0x2000 {
				t.Errorf("the left is not red: %x %x", r, b)
			}
			if _, _, _, a := img.At(tt.width-3, 0).RGBA(); (a == 0) != (tt.name == "half clear") {
				t.Errorf("the right has alpha %x", a)
			}
		})
	}
}

func TestFitImageBytes(t *testing.T) {
	photo := encoded(t, "png", noise(300, 200))
	p, err := document.FitImage(photo, document.ImageLimits{MaxBytes: 50_000})
	if err != nil {
		t.Fatal(err)
	}
	if b := decoded(t, p).Bounds(); p.MIME != "image/jpeg" || len(p.Data) > 50_000 || b.Dx() != 300 || p.Resized {
		t.Errorf("%s, %d bytes, %v: quality goes before size", p.MIME, len(p.Data), b)
	}
	p, err = document.FitImage(photo, document.ImageLimits{MaxBytes: 3_000})
	if err != nil {
		t.Fatal(err)
	}
	if b := decoded(t, p).Bounds(); len(p.Data) > 3_000 || b.Dx() >= 300 || !p.Resized {
		t.Errorf("%s, %d bytes, %v", p.MIME, len(p.Data), b)
	}
	clear := noise(300, 200)
	clear.Pix[3] = 0
	p, err = document.FitImage(encoded(t, "png", clear), document.ImageLimits{MaxBytes: 50_000})
	if err != nil || p.MIME != "image/jpeg" || len(p.Data) > 50_000 {
		t.Errorf("transparent noise: %v", err)
	}
	if _, err := document.FitImage(photo, document.ImageLimits{MaxBytes: 50}); err == nil {
		t.Error("a picture fit in 50 bytes")
	}
}

// withOrientation puts an Exif segment in front of a JPEG's others.
func withOrientation(t *testing.T, data []byte, turn byte) []byte {
	t.Helper()
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(rune(turn)) + "\x00\x00\x00\x00\x00\x00"
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+2))
	return append(append(append([]byte{}, data[:2]...), append(segment, exif...)...), data[2:]...)
}

func TestOrientation(t *testing.T) {
	// Red is on the left of what is stored; where it is on what is shown:
	shown := []string{1: "left", 2: "right", 3: "right", 4: "left", 5: "top", 6: "top", 7: "bottom", 8: "bottom"}
	stored := encoded(t, "jpeg", halves(200, 100, blue))
	for turn := byte(1); turn <= 8; turn++ {
		p, err := document.FitImage(withOrientation(t, stored, turn), document.ImageLimits{MaxEdge: 100})
		if err != nil {
			t.Fatal(err)
		}
		img := decoded(t, p)
		w, h := img.Bounds().Dx(), img.Bounds().Dy()
		if turned := turn >= 5; (w == 50 && h == 100) != turned || (p.Width == 100) != turned {
			t.Errorf("%d: %dx%d of %dx%d", turn, w, h, p.Width, p.Height)
		}
		at := map[string]image.Point{"left": {5, h / 2}, "right": {w - 6, h / 2}, "top": {w / 2, 5}, "bottom": {w / 2, h - 6}}[shown[turn]]
		if r, _, b, _ := img.At(at.X, at.Y).RGBA(); r < 0xc000 || b > 0x4000 {
			t.Errorf("%d: red is not at the %s", turn, shown[turn])
		}
	}
}

func TestFitImageRefuses(t *testing.T) {
	vast := encoded(t, "png", halves(1, 1, blue))
	binary.BigEndian.PutUint32(vast[16:], 20_000) // the sum of the header is wrong now; the size is read first
	binary.BigEndian.PutUint32(vast[20:], 20_000)
	deep := encoded(t, "bmp", halves(2, 2, blue))
	binary.LittleEndian.PutUint32(deep[18:], 30_000)
	binary.LittleEndian.PutUint32(deep[22:], 3_000)
	progressive := encoded(t, "jpeg", halves(8, 8, blue))
	at := bytes.Index(progressive, []byte{0xff, 0xc0})
	progressive[at+1] = 0xc2
	binary.BigEndian.PutUint16(progressive[at+5:], 9_000)
	binary.BigEndian.PutUint16(progressive[at+7:], 9_000)
	broken := encoded(t, "jpeg", halves(300, 300, blue))
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"text", []byte("text"), "known format"},
		{"nothing", nil, "known format"},
		{"broken png", []byte("\x89PNG\r\n\x1a\nrest"), "image/png"},
		{"vast png", vast, ""},
		{"vast bmp", deep, ""},
		{"vast progressive jpeg", progressive, "to decode"},
		{"broken jpeg", broken[:len(broken)/3], "decode picture"},
		{"broken webp", []byte("RIFF\x10\x00\x00\x00WEBPVP8X\x00\x00\x00\x00"), "image/webp"},
	} {
		_, err := document.FitImage(tt.data, document.ImageLimits{MaxEdge: 100})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func FuzzFitImage(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif", "bmp", "tiff"} {
		f.Add(encoded(f, format, halves(20, 10, blue)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := document.FitImage(data, document.ImageLimits{MaxEdge: 16, MaxBytes: 4000})
		if err != nil {
			return
		}
		if len(p.Data) > 4000 || p.Width < 1 || p.Height < 1 {
			t.Errorf("%+v", p)
		}
	})
}
