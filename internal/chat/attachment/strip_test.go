package attachment

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/webp"
)

const canary = "52.5200N 13.4050E quince"

func picture() image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	for i := range 1200 {
		img.Set(i%40, i/40, color.NRGBA{uint8(i), uint8(i / 3), uint8(i * 7), 255})
	}
	return img
}

// exif says that a picture is turned, and where it was made.
func exif(turned uint16, order binary.AppendByteOrder) []byte {
	b := []byte("Exif\x00\x00MM\x00*")
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		b = []byte("Exif\x00\x00II*\x00")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, entry := range []struct{ tag, value uint16 }{{0x0110, 7}, {0x0112, turned}} {
		b = order.AppendUint16(order.AppendUint16(b, entry.tag), 3)
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(order.AppendUint16(b, entry.value), 0)
	}
	return append(b, "\x00\x00\x00\x00"+canary...)
}

func segment(marker byte, data string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(data)+2)), data...)
}

func jpegWith(t testing.TB, turned uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture(), nil); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	var order binary.AppendByteOrder = binary.BigEndian
	if turned%2 == 0 {
		order = binary.LittleEndian
	}
	return slices.Concat(whole[:2], segment(0xe0, "JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x01\x01abc"), segment(0xe1, string(exif(turned, order))),
		segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00"+canary), segment(0xed, "Photoshop 3.0\x00"+canary), segment(0xfe, canary),
		segment(0xe2, "ICC_PROFILE\x00\x01\x01profile"), segment(0xe2, "MPF\x00"+canary), whole[2:], []byte("ftyp a film "+canary))
}

func pngChunk(name, data string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(b, name+data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(name+data)))
}

func pngWith(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, picture()); err != nil {
		t.Fatal(err)
	}
	head := 8 + 12 + 13
	return slices.Concat(b.Bytes()[:head], pngChunk("eXIf", canary), pngChunk("gAMA", "\x00\x00\xb1\x8f"), pngChunk("tEXt", "Place\x00"+canary), pngChunk("iTXt", canary),
		pngChunk("zTXt", canary), pngChunk("prVt", canary), b.Bytes()[head:], []byte(canary))
}

func webpWith(t testing.TB) []byte {
	t.Helper()
	small, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	chunk := func(name, data string) []byte {
		b := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(data)))
		return append(b, data+strings.Repeat("\x00", len(data)%2)...)
	}
	body := slices.Concat([]byte("WEBP"), chunk("VP8X", "\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00"), small[12:], chunk("EXIF", canary+"!"), chunk("XMP ", canary), chunk("note", canary))
	return slices.Concat(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body, []byte(canary))
}

func stripped(t testing.TB, data []byte) ([]byte, error) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(data))
	r := stripping(in, sniff(data))
	defer r.Close()
	return io.ReadAll(r)
}

func TestStrip(t *testing.T) {
	for turned := range uint16(10) {
		out, err := stripped(t, jpegWith(t, turned))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "JPEG", jpegWith(t, turned), out)
		if !bytes.Contains(out, []byte("ICC_PROFILE")) || bytes.Contains(out, []byte("MPF")) {
			t.Error("the colors are lost, or other things kept")
		}
		want := uint16(0)
		if turned > 1 && turned <= 8 {
			want = turned
		}
		found := uint16(0)
		if _, after, ok := bytes.Cut(out, []byte("Exif\x00\x00")); ok {
			found = orientation(after)
		}
		if found != want {
			t.Errorf("turned %d, and was %d", found, turned)
		}
	}
	out, err := stripped(t, pngWith(t))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "PNG", pngWith(t), out)
	if !bytes.Contains(out, []byte("gAMA")) {
		t.Error("the brightness is lost")
	}
	if out, err = stripped(t, webpWith(t)); err != nil {
		t.Fatal(err)
	}
	same(t, "WebP", webpWith(t), out)
	pdf := []byte("%PDF-1.7 " + canary)
	if out, err := stripped(t, pdf); err != nil || !bytes.Equal(out, pdf) {
		t.Errorf("a PDF: %q, %v", out, err)
	}
	for _, data := range [][]byte{jpegWith(t, 1), pngWith(t), webpWith(t)} {
		for _, n := range []int{20, 100, len(data) / 2} {
			if n < len(data)/2+1 {
				if _, err := stripped(t, data[:n]); !errors.Is(err, ErrImage) {
					t.Errorf("cut off at %d of %d: %v", n, len(data), err)
				}
			}
		}
	}
}

func decode(data []byte) (image.Image, error) {
	switch sniff(data) {
	case "image/webp":
		return webp.Decode(bytes.NewReader(data))
	case "image/png":
		return png.Decode(bytes.NewReader(data))
	}
	return jpeg.Decode(bytes.NewReader(data))
}

func same(t *testing.T, name string, before, after []byte) {
	t.Helper()
	if bytes.Contains(after, []byte(canary)) || !bytes.Contains(before, []byte(canary)) {
		t.Errorf("%s still says where it was made", name)
	}
	a, err := decode(before)
	if err != nil {
		t.Fatal(err)
	}
	b, err := decode(after)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if a.Bounds() != b.Bounds() {
		t.Fatalf("%s: %v became %v", name, a.Bounds(), b.Bounds())
	}
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if a.At(x, y) != b.At(x, y) {
				t.Fatalf("%s: a dot at %d, %d differs", name, x, y)
			}
		}
	}
}

// Whatever comes, it ends, and is not longer than it was but for one small segment.
func FuzzStrip(f *testing.F) {
	for _, data := range [][]byte{jpegWith(f, 6), jpegWith(f, 3), pngWith(f), webpWith(f), []byte("\xff\xd8\xff"), []byte("RIFF\xff\xff\xff\xffWEBPVP8X")} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := stripped(t, data)
		if err == nil && len(out) > len(data)+40*bytes.Count(data, []byte("Exif")) {
			t.Errorf("%d bytes became %d", len(data), len(out))
		}
	})
}

func TestSniff(t *testing.T) {
	zip := func(names ...string) string {
		s := ""
		for _, n := range names {
			s += "PK\x03\x04" + strings.Repeat("\x00", 26) + n
		}
		return s
	}
	for want, start := range map[string]string{
		"image/avif": "\x00\x00\x00\x20ftypavif\x00\x00", "image/heic": "\x00\x00\x00\x20ftypheic\x00\x00", "application/pdf": "%PDF-1.4\n",
		"image/svg+xml": "<?xml version=\"1.0\"?>\n<svg onload=x>", "text/html; charset=utf-8": "<html><svg>", "text/plain; charset=utf-8": "an <svg> is a picture",
		"application/epub+zip": zip("mimetypeapplication/epub+zipPK\x03\x04"), "application/vnd.oasis.opendocument.text": zip("mimetypeapplication/vnd.oasis.opendocument.textPK"),
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": zip("[Content_Types].xml", "word/document.xml"),
		"application/zip": zip("word/a"), "image/tiff": "II*\x00", "application/octet-stream": "\x00\x01\x02", "image/gif": "GIF89a",
		"audio/wav": "RIFF\x24\x00\x00\x00WAVEfmt ", "audio/mpeg": "ID3\x04", "audio/mp4": "\x00\x00\x00\x20ftypM4A \x00\x00", "video/mp4": "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2mp41....vide....soun",
		"audio/webm": "\x1a\x45\xdf\xa3....webm....A_OPUS", "video/webm": "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm....V_VP9....A_OPUS", "audio/midi": "MThd\x00\x00\x00\x06",
	} {
		if got := sniff([]byte(start)); got != want {
			t.Errorf("%q is %s, not %s", start, got, want)
		}
	}
}
