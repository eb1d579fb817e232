package document_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/document"
)

// What a document may cost, whatever is in it. The time is that of one processor of a
// fast machine: tests allow several times as much for slow ones and for measuring.
const (
	bombTime   = 2 * time.Second
	bombMemory = 100 << 20
	slow       = 4
)

// unpacked is how large bombs become: a little more than the limit that they are to
// exceed, or with BURIN_LONG=1 far more.
func unpacked(limit int) int {
	return pacetest.Long(limit+limit/8, 48<<20, 48<<20)
}

// What is read of all parts of an office document, and of a stream of a PDF.
const (
	officeLimit = 24 << 20
	streamLimit = 12 << 20
)

// peak runs work and gives the most memory that lived meanwhile, above what lived
// before.
func peak(work func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // garbage is no need
	// A tenth of little is so little that the collector would do most of the work.
	weight := make([]byte, 64<<20)
	defer runtime.KeepAlive(weight)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	debug.FreeOSMemory()
	metrics.Read(sample)
	base := sample[0].Value.Uint64()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		most := base
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
			metrics.Read(s)
			most = max(most, s[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				done <- most
				return
			}
		}
	}()
	work()
	close(stop)
	return int64(<-done - base)
}

// zipped makes a zip of parts that are too large to be held.
func zipped(t testing.TB, parts map[string]io.Reader) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	pack, err := flate.NewWriter(nil, flate.BestSpeed) // one for all: each has a megabyte of tables
	if err != nil {
		t.Fatal(err)
	}
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		pack.Reset(w)
		return pack, nil
	})
	for name, r := range parts {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.Copy(f, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// repeated gives head, then piece until there are size bytes, then tail.
func repeated(head, piece string, size int, tail string) io.Reader {
	block := strings.Repeat(piece, 1+(64<<10)/len(piece))
	readers := []io.Reader{strings.NewReader(head)}
	for n := 0; n < size; n += len(block) {
		readers = append(readers, strings.NewReader(block))
	}
	return io.MultiReader(append(readers, strings.NewReader(tail))...)
}

func text(s string) io.Reader { return strings.NewReader(s) }

const (
	docHead  = `<?xml version="1.0"?><w:document xmlns:w="w" xmlns:r="r"><w:body>`
	docTail  = `</w:body></w:document>`
	paraHead = `<w:p><w:r><w:t>`
	paraTail = `</w:t></w:r></w:p>`
	first    = paraHead + "the first words" + paraTail
)

// Documents that were made to fill the memory or to take for ever cost no more than
// the largest ones that are read, give what comes before the harm where there is
// something, and say that something is missing.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("some forty documents that are as costly as documents may be")
	}
	size := unpacked(officeLimit)
	word := func(document io.Reader) map[string]io.Reader {
		return map[string]io.Reader{"word/document.xml": document}
	}
	entries := map[string]io.Reader{"word/document.xml": text(docHead + first + docTail)}
	for i := range 60_000 {
		entries[fmt.Sprintf("word/media/%d", i)] = text("")
	}
	link := `<w:hyperlink r:id="long"><w:r><w:t>a</w:t></w:r></w:hyperlink>`
	links := word(repeated(docHead+first+`<w:p>`, link, 16<<20, `</w:p>`+docTail))
	links["word/_rels/document.xml.rels"] = text(`<Relationships><Relationship Id="long" Type="x/hyperlink" TargetMode="External" Target="https://` + strings.Repeat("x", 2000) + `"/></Relationships>`)
	styles := word(text(docHead + first + docTail))
	styles["word/_rels/document.xml.rels"] = text(`<Relationships><Relationship Id="s" Type="x/styles" Target="styles.xml"/></Relationships>`)
	styles["word/styles.xml"] = repeated("<styles>", `<style styleId="x"/>`, size, "</styles>")
	book := func(sheet, shared io.Reader) map[string]io.Reader {
		return map[string]io.Reader{
			"xl/workbook.xml":            text(`<workbook xmlns:r="r"><sheets><sheet name="One" r:id="s"/></sheets></workbook>`),
			"xl/_rels/workbook.xml.rels": text(`<Relationships><Relationship Id="s" Type="x/worksheet" Target="sheet.xml"/><Relationship Id="t" Type="x/sharedStrings" Target="shared.xml"/></Relationships>`),
			"xl/sheet.xml":               sheet, "xl/shared.xml": shared,
		}
	}
	const (
		sheetHead = `<worksheet><sheetData><row><c r="A1" t="inlineStr"><is><t>the first words</t></is></c></row>`
		sheetTail = `</sheetData></worksheet>`
	)
	for name, tt := range map[string]struct {
		kind  document.Kind
		parts map[string]io.Reader
		kept  bool // the first words come out
	}{
		"docx one text":       {document.Word, word(repeated(docHead+first+paraHead, "aaaaaaaaaaaaaaaa", size, paraTail+docTail)), true},
		"docx paragraphs":     {document.Word, word(repeated(docHead+first, paraHead+"a"+paraTail, size, docTail)), true},
		"docx empty elements": {document.Word, word(repeated(docHead+first, `<w:x/>`, size, docTail)), true},
		"docx attributes":     {document.Word, word(repeated(docHead+first+`<w:p`, ` a=""`, size, `/>`+docTail)), true},
		"docx one attribute":  {document.Word, word(repeated(docHead+first+`<w:p a="`, `aaaaaaaaaa`, size, `"/>`+docTail)), true},
		"docx comment":        {document.Word, word(repeated(docHead+first+`<!--`, `aaaaaaaaaa`, size, `-->`+docTail)), true},
		"docx one name":       {document.Word, word(repeated(docHead+first+`<`, `aaaaaaaaaa`, size, `/>`+docTail)), true},
		"docx nesting":        {document.Word, word(repeated(docHead+first, `<w:p>`, size, docTail)), true},
		"docx tables":         {document.Word, word(repeated(docHead+first, `<w:tbl><w:tr><w:tc>`+paraHead+"a"+paraTail+`</w:tc></w:tr></w:tbl>`, size, docTail)), true},
		"docx one row":        {document.Word, word(repeated(docHead+first+`<w:tbl><w:tr>`, `<w:tc><w:tcPr><w:gridSpan w:val="64"/></w:tcPr>`+paraHead+"a"+paraTail+`</w:tc>`, size, docTail)), true},
		"docx links":          {document.Word, links, true},
		"docx styles":         {document.Word, styles, false},
		"docx entities": {document.Word, word(text(`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>` +
			docHead + first + paraHead + strings.Repeat("&b;", 1000) + paraTail + docTail)), true},
		"docx entries":         {document.Word, entries, true},
		"xlsx strings":         {document.Sheet, book(text(sheetHead+sheetTail), repeated(`<sst>`, `<si><t>a</t></si>`, size, `</sst>`)), false},
		"xlsx long strings":    {document.Sheet, book(text(sheetHead+sheetTail), repeated(`<sst>`, `<si><t>`+strings.Repeat("a", 30_000)+`</t></si>`, size, `</sst>`)), false},
		"xlsx repeated string": {document.Sheet, book(repeated(sheetHead, `<row><c t="s"><v>0</v></c></row>`, size, sheetTail), text(`<sst><si><t>`+strings.Repeat("a", 30_000)+`</t></si></sst>`)), true},
		"xlsx wide rows":       {document.Sheet, book(repeated(sheetHead, `<row><c r="XFD1"><v>1</v></c></row>`, size, sheetTail), text(`<sst/>`)), true},
		"xlsx one row":         {document.Sheet, book(repeated(sheetHead+`<row>`, `<c t="s"><v>0</v></c>`, size, `</row>`+sheetTail), text(`<sst><si><t>`+strings.Repeat("a", 30_000)+`</t></si></sst>`)), true},
		"xlsx empty rows":      {document.Sheet, book(repeated(sheetHead, `<row/>`, size, sheetTail), text(`<sst/>`)), true},
		"pptx slide": {document.Slides, map[string]io.Reader{
			"ppt/presentation.xml":            text(`<p:presentation xmlns:r="r"><p:sldIdLst><p:sldId r:id="s"/></p:sldIdLst></p:presentation>`),
			"ppt/_rels/presentation.xml.rels": text(`<Relationships><Relationship Id="s" Type="x/slide" Target="slide.xml"/></Relationships>`),
			"ppt/slide.xml":                   repeated(`<p:sld><p:sp><a:p><a:r><a:t>the first words</a:t></a:r></a:p>`, `<a:p><a:r><a:t>a</a:t></a:r></a:p>`, size, `</p:sp></p:sld>`),
		}, false},
		"odt text": {document.OpenDoc, map[string]io.Reader{
			"content.xml": repeated(`<office:document-content><office:body><office:text><text:p>the first words</text:p>`, `<text:p>a</text:p>`, size, `</office:text></office:body></office:document-content>`),
		}, true},
	} {
		if pacetest.Cases(!fewBombs[name], false) {
			continue
		}
		t.Run(name, func(t *testing.T) { explode(t, tt.kind, zipped(t, tt.parts), tt.kept) })
	}
	for name, tt := range pdfBombs(t) {
		if pacetest.Cases(name != "objects", false) {
			continue
		}
		t.Run("pdf "+name, func(t *testing.T) { explode(t, document.PDF, tt.data, tt.kept) })
	}
	t.Run("rtf", func(t *testing.T) {
		pacetest.Costly(t)
		data, err := io.ReadAll(repeated(`{\rtf1 the first words\par `, `{\b a}`, size, `}`))
		if err != nil {
			t.Fatal(err)
		}
		explode(t, document.RTF, data, true)
	})
}

// fewBombs are those of office documents that differ most.
var fewBombs = map[string]bool{
	"docx nesting": true, "docx entities": true, "docx entries": true, "xlsx wide rows": true,
}

// explode reads a document and compares what it costs with what it may cost.
func explode(t *testing.T, kind document.Kind, data []byte, kept bool) {
	t.Helper()
	// Nothing is missing where the harm lies beside the text.
	whole := strings.HasSuffix(t.Name(), "_entities") || strings.HasSuffix(t.Name(), "_entries") || strings.HasSuffix(t.Name(), "_object_stream") || strings.HasSuffix(t.Name(), "/pdf_objects")
	var out string
	var err error
	began := spent()
	memory := peak(func() { out, err = document.Extract(t.Context(), kind, bytes.NewReader(data), int64(len(data))) })
	took := spent() - began
	t.Logf("%d KB: %v, %d MB, %d bytes of text, %v", len(data)>>10, took.Round(time.Millisecond), memory>>20, len(out), err)
	if memory > bombMemory {
		t.Errorf("it took %d MB of memory", memory>>20)
	}
	if took > slow*bombTime {
		t.Errorf("it took %v", took)
	}
	switch {
	case kept && (err != nil || !strings.Contains(out, "the first words")):
		t.Errorf("the beginning is lost: %.60q, %v", out, err)
	case err == nil && !whole && !strings.Contains(out[max(0, len(out)-300):], "["):
		t.Errorf("it does not say that something is missing: %q", out[max(0, len(out)-100):])
	}
}

type pdfBomb struct {
	data []byte
	kept bool
}

// deflated packs what a reader gives, several times over.
func deflated(t testing.TB, r io.Reader, times int) []byte {
	t.Helper()
	var out []byte
	for range times {
		var buf bytes.Buffer
		w, _ := zlib.NewWriterLevel(&buf, zlib.BestSpeed)
		if _, err := io.Copy(w, r); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		out = buf.Bytes()
		r = bytes.NewReader(out)
	}
	return out
}

// pdfBombs are PDF files whose objects begin with the catalog; they have no table of
// objects, so that readers search for them.
func pdfBombs(t testing.TB) map[string]pdfBomb {
	stream := func(dict string, data []byte) string {
		return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
	}
	file := func(objects ...string) []byte {
		var b bytes.Buffer
		b.WriteString("%PDF-1.7\n")
		for i, o := range objects {
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
		}
		b.WriteString("trailer << /Root 1 0 R >>\nstartxref\n0\n%%EOF\n")
		return b.Bytes()
	}
	const (
		catalog = "<< /Type /Catalog /Pages 2 0 R >>"
		pages   = "<< /Type /Pages /Kids [3 0 R 6 0 R] /Count 2 >>"
		page    = "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F 5 0 R >> >> /Contents 4 0 R >>"
		font    = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
		second  = "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F 5 0 R >> /XObject << /X 8 0 R >> >> /Contents 7 0 R >>"
		flate   = "/Filter /FlateDecode"
	)
	size := unpacked(streamLimit)
	words := stream("", []byte("BT /F 12 Tf 50 700 Td (the first words) Tj ET"))
	two := func(content string, more ...string) []byte {
		return file(append([]string{catalog, pages, page, words, font, second, content}, more...)...)
	}
	forms := []string{stream("", bytes.Repeat([]byte("/X Do "), 1000))}
	for i := range 10 {
		next := fmt.Sprintf("/Type /XObject /Subtype /Form /Resources << /XObject << /X %d 0 R >> >>", 9+i)
		forms = append(forms, stream(next, bytes.Repeat([]byte("/X Do "), 1000)))
	}
	array := stream("/Type /ObjStm /N 1 /First 5 "+flate, deflated(t, repeated("30 0 [", "0 ", size, "]"), 1))
	numbers := make([]string, 0, 40_000)
	for i := range cap(numbers) {
		numbers = append(numbers, fmt.Sprintf("%d 0 obj\n[]\nendobj\n", 20+i))
	}
	kids := strings.Repeat("3 0 R 6 0 R ", 200_000)
	inline := strings.Repeat("<< /Type /Page /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >> ", 100_000)
	return map[string]pdfBomb{
		"content":       {two(stream(flate, deflated(t, repeated("BT /F 12 Tf ", "(a) Tj ", size, "ET"), 1))), true},
		"long strings":  {two(stream(flate, deflated(t, repeated("BT /F 12 Tf ", "("+strings.Repeat("a", 5000)+") Tj ", size, "ET"), 1))), true},
		"one string":    {two(stream(flate, deflated(t, repeated("BT /F 12 Tf (", "aaaaaaaaaa", size, ") Tj ET"), 1))), true},
		"operands":      {two(stream(flate, deflated(t, repeated("BT /F 12 Tf [", "0 ", size, "] TJ ET"), 1))), true},
		"nested arrays": {two(stream(flate, deflated(t, repeated("BT /F 12 Tf ", "[", size, "] TJ ET"), 1))), true},
		"states":        {two(stream(flate, deflated(t, repeated("", "q ", size, ""), 1))), true},
		"names":         {two(stream(flate, deflated(t, repeated("", "/aaaaaaaa ", size, ""), 1))), true},
		"nothing":       {two(stream(flate, deflated(t, repeated("", "          ", size, ""), 1))), true},
		"chain": {two(stream("/Filter [/FlateDecode /FlateDecode /FlateDecode /FlateDecode /FlateDecode]",
			deflated(t, repeated("BT /F 12 Tf ", "(a) Tj ", size, "ET"), 5))), true},
		"run lengths": {two(stream("/Filter [/FlateDecode /RunLengthDecode]", deflated(t, repeated("", "\x81a", size, "\x80"), 1))), true},
		"forms":       {two(forms[0], forms[1:]...), true},
		"many contents": {file(catalog, pages, page, words, font,
			"<< /Type /Page /Resources << /Font << /F 5 0 R >> >> /Contents ["+strings.Repeat("7 0 R ", 5000)+"] >>",
			stream(flate, deflated(t, repeated("BT /F 12 Tf ", "(a) Tj ", 1<<20, "ET"), 1))), true},
		"object stream": {append(two(words, array), []byte("trailer << /Root 1 0 R >>")...), true},
		"objects":       {append(two(words), strings.Join(numbers, "")...), true},
		"kids":          {file(catalog, "<< /Type /Pages /Kids ["+kids+"] >>", page, words, font, second, words), false},
		"pages inline":  {file(catalog, "<< /Type /Pages /Kids ["+strings.Repeat(inline, 2)+"] >>", page, words, font), false},
		"map of characters": {file(catalog, pages, page, words, font,
			"<< /Type /Page /Resources << /Font << /F 8 0 R >> >> /Contents 7 0 R >>", words,
			"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 9 0 R >>",
			stream(flate, deflated(t, repeated("begincmap 1 beginbfrange ", "<0000> <ffff> <0041>\n", size, "endbfrange endcmap"), 1))), true},
	}
}

// Pictures are refused by their size before a pixel is decoded.
func TestPictureBomb(t *testing.T) {
	pacetest.Costly(t)
	for _, edge := range []uint32{8_000, 60_000, 1 << 30} {
		var buf bytes.Buffer
		buf.WriteString("\x89PNG\r\n\x1a\n")
		chunk := func(kind string, data []byte) {
			_ = binary.Write(&buf, binary.BigEndian, uint32(len(data)))
			body := append([]byte(kind), data...)
			buf.Write(body)
			_ = binary.Write(&buf, binary.BigEndian, crc32.ChecksumIEEE(body))
		}
		head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, edge), edge)
		chunk("IHDR", append(head, 8, 6, 0, 0, 0))
		chunk("IDAT", deflated(t, repeated("", "\x00\x00\x00\x00\x00\x00\x00\x00", 16<<20, ""), 1))
		chunk("IEND", nil)
		var err error
		began := spent()
		if n := peak(func() { _, err = document.FitImage(buf.Bytes(), document.ImageLimits{}) }); n > 160<<20 || err == nil {
			t.Errorf("%d×%d: %d MB, %v", edge, edge, n>>20, err)
		}
		if took := spent() - began; took > slow*bombTime {
			t.Errorf("%d×%d: %v", edge, edge, took)
		}
	}
}
