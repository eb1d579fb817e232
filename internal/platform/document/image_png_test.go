package document_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/document"
)

// A PNG that is read in bands looks like one that was decoded as a whole, whatever its kind.
func TestReducePNGInBands(t *testing.T) {
	pacetest.Costly(t)
	src := noise(300, 900)
	draw.Draw(src, image.Rect(0, 0, 300, 400), halves(300, 400, color.NRGBA{9, 200, 30, 255}), image.Point{}, draw.Src)
	clear := noise(300, 900)
	for i := 3; i < len(clear.Pix); i += 4 {
		clear.Pix[i] = byte(i * 7)
	}
	into := func(dst draw.Image) image.Image {
		draw.Draw(dst, dst.Bounds(), src, image.Point{}, draw.Src)
		return dst
	}
	r := src.Bounds()
	palette := color.Palette{color.Black, color.White, color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 0, 0, 0}, color.NRGBA{0, 90, 0, 255}}
	for name, img := range map[string]image.Image{
		"rgb": src, "alpha": clear, "gray": into(image.NewGray(r)), "16 bits": into(image.NewNRGBA64(r)), "gray, 16 bits": into(image.NewGray16(r)),
		"palette of 4 bits": into(image.NewPaletted(r, palette)), "palette of a bit": into(image.NewPaletted(r, palette[:2])),
	} {
		data := encoded(t, "png", img)
		whole, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for _, edge := range []int{300, 130, 7} {
			got, err := document.ReducePNG(data, edge)
			if err != nil {
				t.Errorf("%s to %d: %v", name, edge, err)
				continue
			}
			if want := document.Average(whole, 900/edge); got.Rect != want.Rect || !bytes.Equal(got.Pix, want.Pix) {
				t.Errorf("%s to %d: %v is not %v", name, edge, got.Rect, want.Rect)
			}
		}
		if _, err := document.ReducePNG(data[:len(data)*2/3], 130); err == nil {
			t.Errorf("%s: half a file was read", name)
		}
	}
}

// The picture of a poster takes little memory.
func TestFitImageHuge(t *testing.T) {
	pacetest.Costly(t)
	row := &image.RGBA{Pix: noise(7000, 1).Pix, Rect: image.Rect(0, 0, 7000, 7000)} // without a stride all rows are the same
	var data bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&data, row); err != nil {
		t.Fatal(err)
	}
	var p *document.Picture
	var err error
	if n := peak(func() { p, err = document.FitImage(data.Bytes(), document.ImageLimits{}) }); n > 100<<20 {
		t.Errorf("it took %d MB", n>>20)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b := decoded(t, p).Bounds(); b.Dx() != 1568 || b.Dy() != 1568 || !p.Resized || p.Width != 7000 || p.ShownWidth != 1568 {
		t.Errorf("%v, %+v", b, p.Resized)
	}
}
