package pdf_test

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/document/pdf"
)

const limit = 1 << 20

// stream is an object with data.
func stream(entries, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(data), data)
}

// build makes a file of objects 1, 2, …; the first is the catalogue.
func build(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, at)
	return b.Bytes()
}

const (
	catalogue = "<< /Type /Catalog /Pages 2 0 R >>"
	onePage   = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
	helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
)

// page makes a file of one page with a font F and more objects from 6 on.
func page(content, font, resources string, more ...string) []byte {
	return build(append([]string{
		catalogue, onePage,
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F 5 0 R >> " + resources + " >> >>",
		stream("", content), font,
	}, more...)...)
}

func text(t *testing.T, data []byte) string {
	t.Helper()
	s, err := pdf.Text(t.Context(), bytes.NewReader(data), int64(len(data)), limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t *testing.T, got, want string) {
	t.Helper()
	want = "## Page 1\n\n" + want + "\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text differs (-want +got):\n%s", diff)
	}
}

func deflate(data string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = io.WriteString(w, data)
	_ = w.Close()
	return b.String()
}

func TestOperators(t *testing.T) {
	wide := "<< /Subtype /TrueType /Encoding /WinAnsiEncoding /FirstChar 32 /Widths [" + strings.Repeat("500 ", 95) + "] >>"
	for _, tt := range []struct{ name, content, font, want string }{
		{"one line", "BT /F 12 Tf 72 720 Td (Hello \\(you\\)) Tj ET", helvetica, "Hello (you)"},
		{"kerning and words", "BT /F 10 Tf 72 720 Td [(W) 80 (orld) -400 (of) -90 (t)] TJ ET", wide, "World oft"},
		{"cells", "BT /F 10 Tf 72 720 Td (ab) Tj 100 0 Td (cd) Tj ET", wide, "ab\tcd"},
		{"lines and paragraphs", "BT /F 10 Tf 12 TL 72 720 Td (a) Tj T* (b) Tj (c) ' 0 -30 Td (d) Tj 3 1 (e) \" ET", wide, "a\nb\nc\n\nd\ne"},
		{"matrices", "q 2 0 0 2 0 0 cm BT /F 5 Tf 1 0 0 1 10 300 Tm (a) Tj ET Q BT /F 10 Tf 1 0 0 1 25 600 Tm (b) Tj ET", wide, "ab"},
		{"superscript", "BT /F 10 Tf 72 720 Td (x) Tj 4 Ts (2) Tj ET", wide, "x2"},
		{"drawn twice", "BT /F 10 Tf 72 720 Td (bold) Tj ET BT /F 10 Tf 72.5 720 Td (bold) Tj ET", wide, "bold"},
		{"turned", "BT /F 10 Tf 72 720 Td (level text) Tj 0 1 -1 0 20 100 Tm (side) Tj ET", wide, "level text\n\nside"},
		{"picture in the content", "BI /W 1 /H 1 ID \x00EIx\xff EI BT /F 9 Tf (seen) Tj ET", wide, "seen"},
		{"replaced text", "BT /F 10 Tf 72 720 Td /Span << /ActualText <FEFF00660069> >> BDC (\x01) Tj EMC (ne) Tj ET", wide, "fine"},
		{
			"names of glyphs", "BT /F 10 Tf (abcdefgA) Tj ET",
			"<< /Subtype /Type1 /Encoding << /Differences [97 /eacute /uni20AC /f_f_i /afii10017 /Scaron.alt /g77 /Omega] >> >>", "é€ffiАŠfΩA",
		},
		{"ligatures of the standard encoding", "BT /F 10 Tf (\xae\xafx\xd0') Tj ET", helvetica, "fiflx—’"},
		{"symbols", "BT /F 10 Tf (ab\xa5) Tj ET", "<< /Subtype /Type1 /BaseFont /ABCDEF+Symbol >>", "αβ∞"},
	} {
		t.Run(tt.name, func(t *testing.T) { check(t, text(t, page(tt.content, tt.font, "")), tt.want) })
	}
}

func TestCompositeFonts(t *testing.T) {
	cmap := "1 begincodespacerange <0000> <FFFF> endcodespacerange\n2 beginbfchar <0001> <0048> <0002> <D83DDE00> endbfchar\n" +
		"2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<0058> <00590059>] endbfrange"
	font := "<< /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [7 0 R] /ToUnicode 6 0 R >>"
	got := text(t, page("BT /F 10 Tf <000100020010001200200021> Tj ET", font, "",
		stream("/Filter /FlateDecode", deflate(cmap)), "<< /Subtype /CIDFontType2 /DW 600 /W [1 [700 800] 16 18 500] >>"))
	check(t, got, "H😀acXYY")

	named := "<< /Subtype /Type0 /Encoding /90ms-RKSJ-H /DescendantFonts [6 0 R] >>"
	check(t, text(t, page("BT /F 10 Tf <83658358> Tj ET", named, "", "<< /DW 1000 >>")), "テス")
}

func TestForms(t *testing.T) {
	got := text(t, page("/X Do BT /F 10 Tf (last) Tj ET", helvetica, "/XObject << /X 6 0 R >>",
		stream("/Subtype /Form /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> /Matrix [1 0 0 1 0 500]", "BT /F 10 Tf (inner) Tj ET /X Do")))
	if strings.Count(got, "inner") < 2 || !strings.Contains(got, "last") { // it draws itself, within limits
		t.Errorf("got %q", got)
	}
}

func TestFields(t *testing.T) {
	data := build(catalogue, onePage, "<< /Type /Page /Annots [4 0 R 5 0 R << /Subtype /Link >>] >>",
		"<< /Subtype /Widget /T (name) /V <FEFF00C4> >>", "<< /Subtype /Widget /T (box) /Parent << /V /Yes >> >>")
	check(t, text(t, data), "\n[name: Ä]\n[box: Yes]")
}

func TestPages(t *testing.T) {
	data := build(catalogue, "<< /Type /Pages /Kids [3 0 R 6 0 R] /Resources << /Font << /F 5 0 R >> >> >>",
		"<< /Type /Pages /Kids [7 0 R] >>", stream("", "BT /F 9 Tf (first) Tj ET"), helvetica,
		"<< /Type /Page >>", "<< /Type /Page /Contents [4 0 R 8 0 R] >>", stream("", "BT /F 9 Tf 0 -10 Td (again) Tj ET"))
	want := "## Page 1\n\nfirst\nagain\n\n## Page 2\n\n[no text on this page]\n\n"
	if diff := cmp.Diff(want, text(t, data)); diff != "" {
		t.Error(diff)
	}
}

func TestFilters(t *testing.T) {
	const content = "BT /F 9 Tf (through the filter) Tj ET"
	var lz bytes.Buffer
	w := lzw.NewWriter(&lz, lzw.MSB, 8)
	_, _ = io.WriteString(w, content)
	_ = w.Close()
	a85 := make([]byte, ascii85.MaxEncodedLen(len(content)))
	a85 = a85[:ascii85.Encode(a85, []byte(content))]
	padded := content + strings.Repeat(" ", 40-len(content))
	var rows strings.Builder // each row of 10 bytes by another kind of difference
	for i := 0; i < 40; i += 10 {
		kind := byte(i / 10)
		rows.WriteByte(kind)
		for j := range 10 {
			c := padded[i+j]
			left, up := byte(0), byte(0)
			if j > 0 {
				left = padded[i+j-1]
			}
			if i > 0 {
				up = padded[i+j-10]
			}
			switch kind {
			case 1:
				c -= left
			case 2:
				c -= up
			case 3:
				c -= byte((int(left) + int(up)) / 2)
			}
			rows.WriteByte(c)
		}
	}
	for _, tt := range []struct{ name, entries, data string }{
		{"flate", "/Filter /FlateDecode", deflate(content)},
		{"flate that breaks off", "/Filter /FlateDecode", deflate(content)[:len(deflate(content))-4]},
		{"hex", "/Filter /ASCIIHexDecode", hex.EncodeToString([]byte(content)) + ">"},
		{"ascii85 and flate", "/Filter [/ASCII85Decode]", string(a85) + "~>"},
		{"lzw, late", "/Filter /LZWDecode /DecodeParms << /EarlyChange 0 >>", lz.String()},
		{"run lengths", "/Filter /RunLengthDecode", string(rune(len(content)-1)) + content + "\x80"},
		{"png rows", "/Filter /FlateDecode /DecodeParms [<< /Predictor 15 /Columns 10 >>]", deflate(rows.String())},
		{"two", "/Filter [/AHx /Fl]", hex.EncodeToString([]byte(deflate(content))) + ">"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := build(catalogue, onePage, "<< /Type /Page /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
				stream(tt.entries, tt.data), helvetica)
			check(t, text(t, data), "through the filter")
		})
	}
}

// The example of the standard, whose codes grow early.
func TestLZWExample(t *testing.T) {
	font := "<< /Subtype /Type1 /ToUnicode 6 0 R >>"
	cmap := "1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <2D> <42> <002D> endbfrange"
	data := build(catalogue, onePage, "<< /Type /Page /Contents [7 0 R 4 0 R 8 0 R] /Resources << /Font << /F 5 0 R >> >> >>",
		stream("/Filter [/AHx /LZW]", "800B6050220C0C8501>"), font, stream("", cmap),
		stream("", "BT /F 9 Tf ("), stream("", ") Tj ET"))
	got := text(t, data)
	if !strings.Contains(got, "-----A---B") {
		t.Errorf("got %q", got)
	}
}

// packed is a file whose objects and table are in compressed streams.
func packed() []byte {
	inner := []string{catalogue, onePage, "<< /Type /Page /Contents 5 0 R /Resources << /Font << /F 4 0 R >> >> >>", helvetica}
	var head, body string
	for i, o := range inner {
		head += fmt.Sprintf("%d %d ", i+1, len(body))
		body += o + " "
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	at := map[int]int{}
	add := func(num int, o string) {
		at[num] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", num, o)
	}
	add(5, stream("", "BT /F 9 Tf (packed) Tj ET"))
	add(6, stream(fmt.Sprintf("/Type /ObjStm /N 4 /First %d /Filter /FlateDecode", len(head)), deflate(head+body)))
	var table bytes.Buffer
	for num := 1; num <= 7; num++ {
		switch num {
		case 5, 6, 7:
			if num == 7 {
				at[7] = b.Len()
			}
			table.Write([]byte{1, byte(at[num] >> 8), byte(at[num]), 0})
		default:
			table.Write([]byte{2, 0, 6, byte(num - 1)})
		}
	}
	add(7, stream("/Type /XRef /W [1 2 1] /Index [1 7] /Size 8 /Root 1 0 R /Filter /FlateDecode", deflate(table.String())))
	fmt.Fprintf(&b, "startxref\n%d\n%%%%EOF", at[7])
	return b.Bytes()
}

func TestCompressedObjects(t *testing.T) {
	check(t, text(t, packed()), "packed")
	check(t, text(t, bytes.Replace(packed(), []byte("startxref"), []byte("startzref"), 1)), "packed")
}

func TestBrokenFiles(t *testing.T) {
	whole := page("BT /F 10 Tf (still here) Tj ET", helvetica, "")
	for name, data := range map[string][]byte{
		"junk in front":    append([]byte("junk\n"), whole...),
		"no tables":        whole[:bytes.Index(whole, []byte("xref"))],
		"wrong offsets":    bytes.ReplaceAll(whole, []byte("00000 n"), []byte("0000 n")),
		"wrong length":     bytes.Replace(whole, []byte("/Length 30"), []byte("/Length 3"), 1),
		"length too large": bytes.Replace(whole, []byte("/Length 30"), []byte("/Length 99999999"), 1),
	} {
		t.Run(name, func(t *testing.T) { check(t, text(t, data), "still here") })
	}
}

// Fixtures were made with qpdf 11.3 of a page that says "locked away" and has a
// field. They are also read without their tables.
func TestEncryption(t *testing.T) {
	for _, name := range []string{"rc4-40", "rc4-128", "aes-128", "aes-256-r5", "aes-256", "aes-256-packed"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name+".pdf"))
			if err != nil {
				t.Fatal(err)
			}
			check(t, text(t, data), "locked away\n\n[field: secret value]")
			rebuilt := bytes.Replace(data, []byte("startxref"), []byte("startzref"), 1)
			check(t, text(t, rebuilt), "locked away\n\n[field: secret value]")
		})
	}
	data, err := os.ReadFile("testdata/password.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pdf.Text(t.Context(), bytes.NewReader(data), int64(len(data)), limit); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("a file with a password: %v", err)
	}
}

func TestHostile(t *testing.T) {
	loop := page("BT /F 10 Tf (x) Tj ET", helvetica, "")
	prev := bytes.Replace(loop, []byte("/Root"), []byte(fmt.Sprintf("/Prev %d /Root", bytes.LastIndex(loop, []byte("xref\n0")))), 1)
	table := stream("/Type /XRef /W [1 8 1] /Size 999999999999 /Index [0 999999999999] /Root 1 0 R", "\x01\x7f\xff\xff\xff\xff\xff\xff\xff\x00")
	huge := []byte("%PDF-1.5\n1 0 obj\n" + table + "\nendobj\nstartxref\n9\n%%EOF")
	// A stream of objects, of which only the beginning is looked at, unpacks to
	// more than a stream may have.
	bomb := stream("/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode", deflate("9 0 "+catalogue+strings.Repeat(" ", 65<<20)))
	for _, tt := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"tables in a circle", prev, true},
		{"table of a trillion", huge, false},
		{"pages in a circle", build(catalogue, "<< /Type /Pages /Kids [2 0 R 3 0 R] >>", "<< /Type /Pages /Kids [2 0 R] >>"), false},
		{"length of itself", build(catalogue, onePage, "<< /Type /Page /Contents 4 0 R >>", "<< /Length 4 0 R >>\nstream\nBT\nendstream"), false},
		{"deep arrays", build(catalogue, onePage, strings.Repeat("[", 1<<20)), false},
		{"wide rows", page("", helvetica, "", stream("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 99999999999 >>", "x")), false},
		{"bomb", []byte("%PDF-1.5\n1 0 obj\n" + bomb + "\nendobj\n"), false},
		{"many filters", page("", helvetica, "", stream("/Filter ["+strings.Repeat("/Fl ", 100)+"]", "x")), false},
		{"a cmap without end", page("BT /F 1 Tf (abc) Tj ET", "<< /Subtype /Type1 /ToUnicode 6 0 R >>", "", stream("", "1 beginbfrange <00> <ffffffff> <ffffffff>")), true},
		{"a long name of a glyph", page("BT /F 1 Tf (a) Tj ET", "<< /Subtype /Type1 /Encoding << /Differences [97 /"+strings.Repeat("acute", 1<<18)+"] >> >>", ""), true},
		{"nothing", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := pdf.Text(t.Context(), bytes.NewReader(tt.data), int64(len(tt.data)), limit)
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	data := page("BT /F 10 Tf "+strings.Repeat("(0123456789) Tj ", 1000)+"ET", helvetica, "")
	s, err := pdf.Text(t.Context(), bytes.NewReader(data), int64(len(data)), 500)
	if err != nil || len(s) > 700 || !strings.Contains(s, "cut here") {
		t.Errorf("%d bytes, %v: %.80q", len(s), err, s)
	}
	empty := page("", helvetica, "")
	if _, err := pdf.Text(t.Context(), bytes.NewReader(empty), int64(len(empty)), limit); !errors.Is(err, pdf.ErrNoText) {
		t.Errorf("a page without text: %v", err)
	}
}

func TestContextEndsWork(t *testing.T) {
	form := stream("/Subtype /Form /Resources << /XObject << /X 6 0 R >> >>", strings.Repeat("/X Do ", 50)) // 50¹² forms
	data := page("/X Do", helvetica, "/XObject << /X 6 0 R >>", form)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := pdf.Text(ctx, bytes.NewReader(data), int64(len(data)), limit); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("ended after %v", d)
	}
}

// Wherever a file is cut or has a wrong byte, it gives text or an error, soon.
func TestDamage(t *testing.T) {
	locked, err := os.ReadFile("testdata/aes-128.pdf")
	if err != nil {
		t.Fatal(err)
	}
	whole := page("BT /F 10 Tf [(a) -300 (b)] TJ (\\101) ' ET", "<< /Subtype /Type0 /Encoding /Identity-H /ToUnicode 6 0 R >>", "",
		stream("/Filter /FlateDecode", deflate("1 beginbfchar <0001> <0041> endbfchar")))
	for _, original := range [][]byte{locked, packed(), whole} {
		for i := range original {
			flipped := bytes.Clone(original)
			flipped[i] ^= 1 << (i % 8)
			for _, damaged := range [][]byte{flipped, original[:i]} {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				_, err := pdf.Text(ctx, bytes.NewReader(damaged), int64(len(damaged)), limit)
				if cancel(); errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "malformed: runtime") {
					t.Fatalf("%d bytes, damaged at %d: %v", len(damaged), i, err)
				}
			}
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(page("BT /F 10 Tf [(a) -300 (b)] TJ ET /X Do BI ID EI", helvetica, "/XObject << /X 4 0 R >>"))
	f.Add(page("BT /F 10 Tf <0001> Tj ET", "<< /Subtype /Type0 /Encoding 6 0 R /DescendantFonts [<< /W [0 [1] 1 2 3] >>] /ToUnicode 6 0 R >>", "",
		stream("", "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00> <01> [<41>] endbfrange 1 begincidrange <00> <01> 1 endcidrange")))
	for _, entries := range []string{"/Filter /LZWDecode", "/Filter /RL", "/Filter /A85", "/Filter /Fl /DecodeParms << /Predictor 2 /Colors 3 >>"} {
		f.Add(build(catalogue, onePage, "<< /Type /Page /Contents 4 0 R >>", stream(entries, "x\x9cabc~>")))
	}
	for _, name := range []string{"rc4-40", "aes-128", "aes-256"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".pdf"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s, err := pdf.Text(ctx, bytes.NewReader(data), int64(len(data)), 5000)
		if len(s) > 6000 || ctx.Err() != nil {
			t.Errorf("%d bytes, %v", len(s), err)
		}
	})
}
