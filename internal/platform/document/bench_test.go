package document_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"image"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/document"
)

func BenchmarkFitImage(b *testing.B) {
	photo := encoded(b, "jpeg", smooth(4000, 3000))
	shot := encoded(b, "png", halves(2560, 1440, blue))
	for _, bm := range []struct {
		name string
		data []byte
	}{{"photo12MP", photo}, {"screenshot", shot}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := document.FitImage(bm.data, document.ImageLimits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// smooth is a picture that compresses as photographs do.
func smooth(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			i := img.PixOffset(x, y)
			img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = byte(x>>3), byte(y>>3), byte((x^y)>>2), 255
		}
	}
	return img
}

func BenchmarkDetect(b *testing.B) {
	text := []byte(strings.Repeat("some text of a file\n", 25))
	b.ReportAllocs()
	for b.Loop() {
		if document.Detect("internal/a.go", text) != document.Text {
			b.Fatal("not text")
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(strings.Repeat("some text of a file\n", 5000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := document.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExtractWord(b *testing.B) {
	data := zipOf(b, "word/document.xml", "<w:document>"+strings.Repeat("<w:p><w:r><w:t>A paragraph of a few words.</w:t></w:r></w:p>", 10_000)+"</w:document>")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := document.Extract(b.Context(), document.Word, bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenArchive(b *testing.B) {
	headers := make([]tar.Header, 2000)
	for i := range headers {
		headers[i] = tar.Header{Name: fmt.Sprintf("dir%d/file%d", i%50, i), Uname: "content"}
	}
	data := gzipped(b, tarOf(b, headers...))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := document.OpenArchive("a.tgz", bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}
