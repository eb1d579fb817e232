package document_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/platform/document"
)

// zipOf makes a zip of stored members.
func zipOf(tb testing.TB, pairs ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: pairs[i], Method: zip.Store})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write([]byte(pairs[i+1])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(tb testing.TB, headers ...tar.Header) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := h.Uname // the content stands there, for brevity
		h.Uname, h.Size, h.Mode = "", int64(len(content)), 0o600
		if h.Typeflag != 0 && h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(&h); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(content)[:h.Size]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestDetect(t *testing.T) {
	types := func(folder string) []byte { return zipOf(t, "[Content_Types].xml", "<x/>", folder+"a.xml", "<x/>") }
	oldTar := tarOf(t, tar.Header{Name: "a", Uname: "b"})
	copy(oldTar[257:], make([]byte, 8)) // the format before "ustar"; its sum follows
	copy(oldTar[148:], "        ")
	sum := 0
	for _, c := range oldTar[:512] {
		sum += int(c)
	}
	copy(oldTar[148:], []byte{'0' + byte(sum>>12&7), '0' + byte(sum>>9&7), '0' + byte(sum>>6&7), '0' + byte(sum>>3&7), '0' + byte(sum&7), 0})
	for _, tt := range []struct {
		name string
		head []byte
		want document.Kind
	}{
		{"a.txt", nil, document.Text},
		{"a.png", []byte("not a picture"), document.Text},
		{"a.txt", []byte("\x89PNG\r\n\x1a\n\x00"), document.Image},
		{"a", []byte("\xff\xd8\xff\xe0"), document.Image},
		{"a", []byte("GIF89a"), document.Image},
		{"a", []byte("RIFF\x00\x00\x00\x00WEBPVP8 "), document.Image},
		{"a", []byte("RIFF\x00\x00\x00\x00WAVEfmt "), document.Binary},
		{"a", append([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28"), 0, 0, 0), document.Image},
		{"a", []byte("BMW is a car maker."), document.Text},
		{"a", []byte("II*\x00"), document.Image},
		{"a.bin", []byte("%PDF-1.7"), document.PDF},
		{"a.pdf", []byte("\n\n%PDF-1.7"), document.PDF},
		{"a.txt", []byte("it says %PDF-1.7"), document.Text},
		{"a", []byte("SQLite format 3\x00\x10"), document.SQLite},
		{"a.db", []byte("text after all"), document.Text},
		{"a", []byte(`{\rtf1\ansi`), document.RTF},
		{"a.ipynb", []byte("\n {\"cells\""), document.Notebook},
		{"a.ipynb", []byte("<html>"), document.Text},
		{"a.json", []byte(`{"cells"`), document.Text},
		{"a", types("word/"), document.Word},
		{"a.zip", types("xl/"), document.Sheet},
		{"a", types("ppt/"), document.Slides},
		{"a.docx", zipOf(t, "x", "y"), document.Word},
		{"a.jar", zipOf(t, "META-INF/MANIFEST.MF", "x"), document.Archive},
		{"a", zipOf(t), document.Archive},
		{"a", zipOf(t, "mimetype", "application/epub+zip"), document.EPUB},
		{"a", zipOf(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet"), document.OpenDoc},
		{"a.tgz", []byte{0x1f, 0x8b, 8}, document.Archive},
		{"a.TAR.GZ", []byte{0x1f, 0x8b, 8}, document.Archive},
		{"a.gz", []byte{0x1f, 0x8b, 8}, document.Binary},
		{"a", tarOf(t, tar.Header{Name: "a", Uname: "b"})[:512], document.Archive},
		{"a", oldTar[:512], document.Archive},
		{"a", []byte("\x7fELF\x02\x01\x01\x00"), document.Binary},
		{"a", []byte("\xff\xfeh\x00i\x00"), document.Text},
		{"a", []byte("\xff\xfe\x00\x00h\x00\x00\x00"), document.Binary},
		{"a", []byte("caf\xe9"), document.Text},
		{"a", []byte("euro \xe2\x82"), document.Text}, // cut within a character
		{"a", bytes.Repeat([]byte{0x01, 0x80, 0xfe}, 100), document.Binary},
		{"a", []byte("\x1b[31mred\x1b[0m"), document.Text},
	} {
		if got := document.Detect(tt.name, tt.head); got != tt.want {
			t.Errorf("%s %.20q: got %s, want %s", tt.name, tt.head, got, tt.want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ data, text, encoding string }{
		{"", "", "utf-8"},
		{"é\r\n", "é\r\n", "utf-8"},
		{"\xef\xbb\xbfx", "x", "utf-8-bom"},
		{"\xff\xfea\x00=\xd8\x00\xde", "a😀", "utf-16le"},
		{"\xfe\xff\x00a\x20\xac", "a€", "utf-16be"},
		{"na\xefve", "naïve", "latin-1"},
	} {
		text, encoding, err := document.Decode([]byte(tt.data))
		if err != nil || text != tt.text || encoding != tt.encoding {
			t.Errorf("%q: got %q, %q, %v", tt.data, text, encoding, err)
		}
	}
	for _, data := range []string{"a\x00b", "\xff\xfea", "\xff\xfe\x00\xd8a\x00", "\xff\xfe\x00\xd8", "\xff\xfe\x00\x00", "\x01\x02\x03\xff"} {
		if text, _, err := document.Decode([]byte(data)); !errors.Is(err, document.ErrBinary) {
			t.Errorf("%q: got %q, %v", data, text, err)
		}
	}
}

// Nothing of a file is lost when it is decoded.
func TestDecodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
			rapid.Map(rapid.String(), func(s string) []byte { b, _ := encode(s, "utf-16le"); return b }),
			rapid.Map(rapid.String(), func(s string) []byte { b, _ := encode(s, "utf-8-bom"); return b }),
		).Draw(t, "data")
		text, encoding, err := document.Decode(data)
		if err != nil {
			return
		}
		back, err := encode(text, encoding)
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%q as %s became %q, %v", data, encoding, back, err)
		}
	})
}

func TestExtract(t *testing.T) {
	get := func(k document.Kind, data []byte) (string, error) {
		return document.Extract(t.Context(), k, bytes.NewReader(data), int64(len(data)))
	}
	for _, tt := range []struct {
		kind document.Kind
		data []byte
	}{
		{document.Word, zipOf(t, "word/document.xml", "<w:p><w:t>found</w:t></w:p>")},
		{document.Slides, zipOf(t, "ppt/presentation.xml", `<p><sldId r:id="a"/></p>`, "ppt/_rels/presentation.xml.rels", `<r><Relationship Id="a" Target="s.xml"/></r>`, "ppt/s.xml", "<a:p><a:t>found</a:t></a:p>")},
		{document.Sheet, zipOf(t, "xl/workbook.xml", `<w><sheet name="found"/></w>`)},
		{document.OpenDoc, zipOf(t, "content.xml", "<d><text:p>found</text:p></d>")},
		{document.EPUB, zipOf(t, "META-INF/container.xml", `<c><rootfile full-path="o"/></c>`, "o", "<p><title>found</title></p>")},
		{document.RTF, []byte(`{\rtf1 found}`)},
		{document.PDF, []byte("%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[<</Contents 3 0 R/Resources<</Font<</F<</Subtype/Type1>>>>>>>>]>>\nendobj\n" +
			"3 0 obj\n<</Length 30>>\nstream\nBT /F 1 Tf (found) Tj ET\nendstream\nendobj\n")},
	} {
		text, err := get(tt.kind, tt.data)
		if err != nil || !strings.Contains(text, "found") {
			t.Errorf("%s: got %q, %v", tt.kind, text, err)
		}
	}
	for _, kind := range []document.Kind{document.Text, document.Image, document.SQLite, "nonsense"} {
		if text, err := get(kind, []byte("x")); err == nil {
			t.Errorf("%s: got %q", kind, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := document.Extract(ctx, document.RTF, strings.NewReader(`{\rtf1 x}`), 9); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("a.ipynb", []byte("{"))
	f.Add("a.tar.gz", []byte{0x1f, 0x8b})
	f.Add("a", []byte("PK\x03\x04word/"))
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		kind := document.Detect(name, head)
		if _, _, err := document.Decode(head); err == nil && kind == document.Binary && len(head) < 2 {
			t.Errorf("%q can be decoded and is called binary", head)
		}
	})
}

// encode is the reverse of Decode. Text that the encoding has no bytes for is
// an error that names the first such character.
func encode(text, encoding string) ([]byte, error) {
	switch encoding {
	case "utf-8", "":
		return []byte(text), nil
	case "utf-8-bom":
		return append([]byte("\ufeff"), text...), nil
	case "utf-16le":
		return encodeUTF16(text, binary.LittleEndian), nil
	case "utf-16be":
		return encodeUTF16(text, binary.BigEndian), nil
	case "latin-1":
		out := make([]byte, 0, len(text))
		for _, r := range text {
			if r > 0xff {
				return nil, fmt.Errorf("the file is encoded in Latin-1, which has no %q", r)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	return nil, fmt.Errorf("unknown encoding %q", encoding)
}

func encodeUTF16(text string, order binary.AppendByteOrder) []byte {
	out := order.AppendUint16(make([]byte, 0, 2+2*len(text)), 0xfeff)
	for _, r := range text {
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(hi)), uint16(lo))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return out
}
