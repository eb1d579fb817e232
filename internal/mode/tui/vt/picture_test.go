package vt_test

import (
	"bytes"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

const demoScreen = "\x1b[1;38;5;110mburin\x1b[m  \x1b[2mgpt · main ✓ · 12%\x1b[m\r\n" +
	"\x1b[36m╭──────────────┬─────────╮\x1b[m ┏━┳━┓ ╔═╦═╗\r\n" +
	"\x1b[36m│\x1b[m box drawing  \x1b[36m│\x1b[m \x1b[32m████\x1b[90m░░▒▓\x1b[m\x1b[36m│\x1b[m ┣━╋━┫ ╠═╬═╣\r\n" +
	"\x1b[36m╰──────────────┴─────────╯\x1b[m ┗━┻━┛ ╚═╩═╝\r\n" +
	"\x1b[31m- \x1b[48;5;52mreturn a\x1b[m  \x1b[3mitalic\x1b[m \x1b[4munderline\x1b[m \x1b[4:3;58;5;9mcurly\x1b[m \x1b[9mstrike\x1b[m\r\n" +
	"\x1b[32m+ \x1b[48;5;22mreturn b\x1b[m  \x1b[7m reverse \x1b[m \x1b[1;3mboth\x1b[m ⠋⠙⠹⠸ ▁▂▃▄▅▆▇█ ▸▾❯✗\r\n" +
	"\x1b[38;2;255;120;0mtrue colour\x1b[m ┄┄┈┈╌╌ ╱╲╳ ▖▗▘▙▚▛▜▝▞▟ 你\r\n❯ write a test"

func TestPicture(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    vt.PictureOptions
		bg   color.RGBA
	}{
		{"dark", vt.PictureOptions{Title: "burin"}, color.RGBA{0x16, 0x18, 0x1d, 255}},
		{"light", vt.PictureOptions{Title: "burin", Light: true, Scale: 1}, color.RGBA{0xfc, 0xfc, 0xfa, 255}},
		{"bare", vt.PictureOptions{Bare: true, Scale: 1}, color.RGBA{0x16, 0x18, 0x1d, 255}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			term := vt.New(vt.Options{Width: 56, Height: 10})
			_, _ = term.WriteString(demoScreen)
			data, err := term.PNG(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("BURIN_PICTURES"); dir != "" { // to look at them
				if err := os.WriteFile(filepath.Join(dir, tt.name+".png"), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			img, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			b := img.Bounds()
			if got := color.RGBAModel.Convert(img.At(b.Max.X-20, b.Max.Y-30)); got != tt.bg {
				t.Errorf("background %v, want %v", got, tt.bg)
			}
		})
	}
}

// Lines of neighbouring cells join: no gap is left between them, in either direction.
func TestBoxesJoin(t *testing.T) {
	for _, rows := range []string{"───", "━━━", "═══", "██", "▄▄"} {
		term := vt.New(vt.Options{Width: 3, Height: 3})
		_, _ = term.WriteString("\x1b[?25l" + rows)
		img, err := term.Picture(vt.PictureOptions{Bare: true, Scale: 2})
		if err != nil {
			t.Fatal(err)
		}
		bg := img.RGBAAt(0, img.Bounds().Max.Y-1)
		// Every drawn pixel at the border of two cells has a drawn one on the other side.
		for y := range img.Bounds().Max.Y {
			for _, x := range []int{20, 40} {
				a, b := img.RGBAAt(x-1, y) != bg, img.RGBAAt(x, y) != bg
				if a != b && term.Cell(x/20, y/40).Text != "" {
					t.Errorf("%q: a gap at %d,%d", rows, x, y)
				}
			}
		}
	}
	term := vt.New(vt.Options{Width: 2, Height: 3})
	_, _ = term.WriteString("\x1b[?25l╭─\r\n│\r\n╰─")
	img, err := term.Picture(vt.PictureOptions{Bare: true, Scale: 2})
	if err != nil {
		t.Fatal(err)
	}
	for y := 30; y < 90; y++ {
		if img.RGBAAt(10, y) == img.RGBAAt(0, 0) {
			t.Errorf("a gap in a vertical line at %d", y)
		}
	}
	for _, x := range []int{18, 19, 20, 21} {
		if img.RGBAAt(x, 20) == img.RGBAAt(0, 0) {
			t.Errorf("a gap between a corner and a line at %d", x)
		}
	}
}

func TestPictureBadFont(t *testing.T) {
	if _, err := vt.New(vt.Options{}).PNG(vt.PictureOptions{Fonts: [][]byte{[]byte("no font")}}); err == nil {
		t.Error("a font that cannot be read is taken")
	}
}

func BenchmarkPicture(b *testing.B) {
	b.ReportAllocs()
	term := vt.New(vt.Options{Width: 100, Height: 30})
	_, _ = term.WriteString(demoScreen)
	for b.Loop() {
		if _, err := term.Picture(vt.PictureOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
