package office_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
	"github.com/burin-dev/burin/internal/platform/document/office"
)

const limit = 1 << 20

type reader func(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error)

// parts makes a document of name, content pairs.
func parts(tb testing.TB, pairs ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		f, err := w.Create(pairs[i])
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(f, pairs[i+1]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, f reader, data []byte) string {
	t.Helper()
	s, err := f(t.Context(), bytes.NewReader(data), int64(len(data)), limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("text differs (-want +got):\n%s", diff)
	}
}

// rels makes a part of relations of id, type, target triples.
func rels(triples ...string) string {
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="x">`)
	for i := 0; i < len(triples); i += 3 {
		mode := ""
		if strings.Contains(triples[i+2], "://") {
			mode = ` TargetMode="External"`
		}
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="http://schemas/%s" Target="%s"%s/>`, triples[i], triples[i+1], triples[i+2], mode)
	}
	return b.String() + `</Relationships>`
}

func para(props, text string) string {
	return `<w:p><w:pPr>` + props + `</w:pPr><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
}

func TestWord(t *testing.T) {
	cell := func(s string) string { return `<w:tc>` + para("", s) + `</w:tc>` }
	list := func(id, level int) string {
		return fmt.Sprintf(`<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr>`, level, id)
	}
	body := para(`<w:pStyle w:val="Titel"/>`, "Report") +
		para(`<w:pStyle w:val="berschrift1"/>`, "First") +
		para(`<w:tabs><w:tab w:val="left"/></w:tabs>`, "Plain &amp; simple") +
		para(list(1, 0), "one") + para(list(1, 1), "nested") + para(list(2, 0), "a") + para(list(2, 0), "b") +
		para("", "After") +
		`<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink r:id="rId9"><w:r><w:t>the site</w:t></w:r></w:hyperlink>` +
		`<w:r><w:footnoteReference w:id="2"/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>` +
		`<w:moveFrom><w:r><w:t>moved away</w:t></w:r></w:moveFrom><w:ins><w:r><w:t> new</w:t></w:r></w:ins>` +
		`<w:r><w:tab/><w:t>tab</w:t><w:br/><w:t>line</w:t></w:r>` +
		`<mc:AlternateContent><mc:Choice><w:drawing><wp:docPr descr="A chart"/></w:drawing></mc:Choice>` +
		`<mc:Fallback><w:r><w:t>twice</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>` +
		`<w:tbl><w:tr>` + cell("Name") + cell("A|B") + `</w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` +
		para("", "wide") + para("", "two") + `</w:tc></w:tr></w:tbl>`
	data := parts(
		t,
		"_rels/.rels", rels("r1", "officeDocument", "word/main.xml"),
		"word/main.xml", `<w:document><w:body>`+body+`</w:body></w:document>`,
		"word/_rels/main.xml.rels", rels("s", "styles", "styles.xml", "n", "numbering", "numbering.xml",
			"f", "footnotes", "footnotes.xml", "rId9", "hyperlink", "https://example.org/a"),
		"word/styles.xml", `<w:styles><w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>`+
			`<w:style w:styleId="berschrift1"><w:name w:val="heading 2"/></w:style></w:styles>`,
		"word/numbering.xml", `<w:numbering><w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>`+
			`<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>`+
			`<w:abstractNum w:abstractNumId="6"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>`+
			`<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num></w:numbering>`,
		"word/footnotes.xml", `<w:footnotes><w:footnote w:type="separator" w:id="0">`+para("", "---")+`</w:footnote>`+
			`<w:footnote w:id="2">`+para("", "A note.")+`</w:footnote></w:footnotes>`,
	)
	check(t, read(t, office.Word, data), `
# Report

## First

Plain & simple

- one
  - nested
1. a
2. b

After

See [the site](https://example.org/a)[^2] new	tab
line![A chart]

| Name | A\|B |
| --- | --- |
| wide<br>two |  |

[^2]: A note.`)
}

func TestWordOddities(t *testing.T) {
	outline := para(`<w:outlineLvl w:val="2"/>`, "Third") + para(`<w:outlineLvl w:val="9"/>`, "body text")
	inner := `<w:tbl><w:tr><w:tc>` + para("", "in") + `</w:tc><w:tc>` + para("", "ner") + `</w:tc></w:tr></w:tbl>`
	nested := `<w:tbl><w:tr><w:tc>` + para("", "outer") + inner + `</w:tc></w:tr></w:tbl>`
	box := `<w:p><w:r><w:t>before </w:t></w:r><w:txbxContent>` + para("", "in the box") + `</w:txbxContent><w:r><w:t>after</w:t></w:r></w:p>`
	signs := `<w:p><w:r><w:t>a</w:t><w:noBreakHyphen/><w:sym w:font="Symbol" w:char="2022"/><w:sym w:char="F0B7"/><w:cr/><w:t>b</w:t></w:r></w:p>`
	stray := `</w:p></w:tc></w:tr></w:tbl><w:t>nowhere</w:t>`
	data := parts(t, "word/document.xml", `<w:document>`+outline+nested+box+signs+stray+`</w:document>`)
	check(t, read(t, office.Word, data), `
### Third

body text

| outer<br>in ner |
| --- |

before in the box
after

a-•
b`)
}

func TestSlides(t *testing.T) {
	shape := func(kind, paragraphs string) string {
		return `<p:sp><p:nvSpPr><p:nvPr><p:ph type="` + kind + `"/></p:nvPr></p:nvSpPr><p:txBody>` + paragraphs + `</p:txBody></p:sp>`
	}
	p := func(level, text string) string {
		return `<a:p><a:pPr lvl="` + level + `"/><a:r><a:t>` + text + `</a:t></a:r></a:p>`
	}
	tc := func(text string) string { return `<a:tc><a:txBody>` + p("0", text) + `</a:txBody></a:tc>` }
	data := parts(
		t,
		"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", rels("a", "slide", "slides/s1.xml", "b", "slide", "slides/s2.xml"),
		"ppt/slides/s1.xml", `<p:sld>`+shape("title", p("0", "Last"))+
			`<a:tbl><a:tr>`+tc("H1")+tc("H2")+`</a:tr><a:tr>`+tc("1")+tc("2")+`</a:tr></a:tbl></p:sld>`,
		"ppt/slides/s2.xml", `<p:sld>`+shape("ctrTitle", p("0", "Welcome"))+shape("body", p("0", "point")+p("1", "detail"))+
			shape("sldNum", p("0", "7"))+`</p:sld>`,
		"ppt/slides/_rels/s2.xml.rels", rels("n", "notesSlide", "../notesSlides/n2.xml"),
		"ppt/notesSlides/n2.xml", `<p:notes>`+shape("body", p("0", "Say hello"))+shape("sldNum", p("0", "1"))+`</p:notes>`,
	)
	check(t, read(t, office.Slides, data), `
## Slide 1: Welcome

- point
  - detail

Notes: Say hello

## Slide 2: Last

| H1 | H2 |
| --- | --- |
| 1 | 2 |`)
}

func TestSheet(t *testing.T) {
	data := parts(
		t,
		"xl/workbook.xml", `<workbook><workbookPr/><sheets><sheet name="Sales" sheetId="1" r:id="x"/><sheet name="Empty" sheetId="2" r:id="y"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", rels("x", "worksheet", "worksheets/a.xml", "y", "worksheet", "worksheets/b.xml",
			"s", "sharedStrings", "strings.xml", "t", "styles", "styles.xml"),
		"xl/strings.xml", `<sst><si><t>Date</t></si><si><r><t>Am</t></r><r><t>ount</t></r><rPh><t>kana</t></rPh></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd\ hh:mm"/><numFmt numFmtId="165" formatCode="&quot;day&quot; 0.00"/></numFmts>`+
			`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>`,
		"xl/worksheets/a.xml", `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>`+
			`<row r="2"><c r="A2" s="1"><v>45306</v></c><c r="B2" s="2"><v>45306.75</v></c><c r="C2"><v>0.30000000000000004</v></c></row>`+
			`<row r="3"/><row r="4"><c s="3"><v>2.5</v></c><c t="b"><v>1</v></c><c t="inlineStr"><is><t>in line</t></is></c><c><f>SUM(C2:C3)</f></c><c t="e"><v>#DIV/0!</v></c><c s="4"><v>0.5</v></c></row>`+
			`</sheetData></worksheet>`,
		"xl/worksheets/b.xml", `<worksheet><sheetData/></worksheet>`,
	)
	check(t, read(t, office.Sheet, data), `
## Sheet: Sales

| Date |  | Amount |
| --- | --- | --- |
| 2024-01-15 | 2024-01-15 18:00:00 | 0.3 |
| 2.5 | TRUE | in line | =SUM(C2:C3) | #DIV/0! | 12:00:00 |

## Sheet: Empty`)
}

func TestOpenDocument(t *testing.T) {
	text := parts(t, "content.xml", `<office:document-content><office:body><office:text>
<text:h text:outline-level="2">Top</text:h><text:p>Two
lines<text:s text:c="3"/>x <text:a xlink:href="https://e.org">link</text:a><office:annotation><text:p>secret</text:p></office:annotation></text:p>
<text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>
<text:p>End<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>foot</text:p></text:note-body></text:note></text:p>
</office:text></office:body></office:document-content>`)
	check(t, read(t, office.OpenDocument, text), `
## Top

Two lines   x [link](https://e.org)

- a
  - b

End [1] [foot ]`)

	sheet := parts(t, "content.xml", `<d><office:spreadsheet><table:table table:name="S"><table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"/>`+
		`<table:table-cell><text:p>v</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row>`+
		`<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table></office:spreadsheet></d>`)
	check(t, read(t, office.OpenDocument, sheet), `
## Sheet: S

|  |  | v |
| --- | --- | --- |
|  |  | v |`)

	show := parts(t, "content.xml", `<d><draw:page><draw:frame><draw:text-box><text:p>Hi</text:p></draw:text-box></draw:frame>`+
		`<presentation:notes><draw:frame><draw:text-box><text:p>psst</text:p></draw:text-box></draw:frame></presentation:notes></draw:page><draw:page/></d>`)
	check(t, read(t, office.OpenDocument, show), "## Slide 1\n\nHi\n\nNotes: psst\n\n## Slide 2")
}

func TestRTF(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", `{\rtf1\ansi\ansicpg1252 Caf\'e9 \'93q\'94\par Second\line third}`, "Café “q”\n\nSecond\nthird"},
		{"unicode with stand-ins", `{\rtf1\uc1 \u8364?5 {\uc2\u8211\'81\'81}x \u-10179?\u-8704?}`, "€5 –x 😀"},
		{"fonts have pages", `{\rtf1\ansi{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}}\f0 a \f1 \'cf\'f0\f2 \'83\'65}`, "a Прテ"},
		{"what is no text", `{\rtf1{\stylesheet{\s1 Heading;}}{\info{\title T}}{\pict\bin4 }}}}}{\*\generator X}{\header H}shown{\v hidden}{\deleted gone}}`, "shown"},
		{"table", `{\rtf1\trowd\intbl A\cell B|\cell\row\trowd\intbl 1\cell 2\cell\row\pard after\par}`, "| A | B\\| |\n| --- | --- |\n| 1 | 2 |\nafter"},
		{"heading and list", `{\rtf1\outlinelevel0 Top\par\pard{\listtext\'b7\tab}one\par{\listtext 2.\tab}two\par\pard end\par}`, "# Top\n\n- one\n2. two\n\nend"},
		{"note", `{\rtf1 a{\footnote b}c}`, "a [b]c"},
		{"hyphens and braces", `{\rtf1 \{x\}\~y\_z \par-dash}`, "{x}\u00a0y-z\n\n-dash"},
		{"cut", `{\rtf1 begin{\b bold`, "beginbold"},
	} {
		t.Run(tt.name, func(t *testing.T) { check(t, read(t, office.RTF, []byte(tt.in)), tt.want) })
	}
}

func book(t testing.TB, extra ...string) []byte {
	return parts(t, append([]string{
		"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/p.opf"/></rootfiles></container>`,
		"OEBPS/p.opf", `<package><metadata><dc:title>The  Book</dc:title><dc:creator>A. Uthor</dc:creator></metadata><manifest>` +
			`<item id="two" href="c%202.xhtml" media-type="application/xhtml+xml"/><item id="one" href="t/c1.xhtml" media-type="application/xhtml+xml"/>` +
			`<item id="img" href="x.png" media-type="image/png"/></manifest><spine><itemref idref="one"/><itemref idref="two"/><itemref idref="img"/></spine></package>`,
		"OEBPS/t/c1.xhtml", `<html><head><title>no</title></head><body><h1>One</h1><p>It <b>began</b><a href="#n1">1</a>.</p><img src="x" alt="Map"/><script>no()</script></body></html>`,
		"OEBPS/c 2.xhtml", `<html><body><h1>Two</h1><table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table></body></html>`,
	}, extra...)...)
}

func TestEPUB(t *testing.T) {
	check(t, read(t, office.EPUB, book(t)), `
# The Book

By A. Uthor

# One

It **began**1.

![Map]

# Two

| k | v |
| --- | --- |
| a | 1 |`)

	locked := book(t, "META-INF/encryption.xml", `<e><CipherReference URI="OEBPS/t/c1.xhtml"/><CipherReference URI="OEBPS/c%202.xhtml"/></e>`)
	_, err := office.EPUB(t.Context(), bytes.NewReader(locked), int64(len(locked)), limit)
	if err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("a locked book: %v", err)
	}
}

// Wherever a document is cut or has a wrong byte, it gives text or an error.
func TestDamage(t *testing.T) {
	xml := `<d><office:text><text:h>Top</text:h><text:list><text:list-item><text:p>a<text:s/></text:p></text:list-item></text:list></office:text></d>`
	rtf := `{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}\f0 \'cf\u8364?\bin3 abc\intbl a\cell\row\pard{\listtext x}b\par}`
	for i := range len(xml) {
		for _, s := range []string{xml[:i], xml[:i] + "<" + xml[i+1:], xml[:i] + "/>" + xml[i:]} {
			file := parts(t, "content.xml", s)
			_, _ = office.OpenDocument(t.Context(), bytes.NewReader(file), int64(len(file)), limit) // must not panic
		}
	}
	for i := range len(rtf) {
		for _, s := range []string{rtf[:i], rtf[:i] + `\` + rtf[i+1:], rtf[:i] + "}" + rtf[i:], rtf[:i] + "{" + rtf[i:]} {
			if _, err := office.RTF(t.Context(), strings.NewReader(s), int64(len(s)), limit); err != nil {
				t.Errorf("%q: %v", s, err)
			}
		}
	}
}

func TestTextIsCut(t *testing.T) {
	data := parts(t, "word/document.xml", `<w:document>`+strings.Repeat(para("", "äöü"), 50)+`</w:document>`)
	s, err := office.Word(t.Context(), bytes.NewReader(data), int64(len(data)), 100)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s, "cut here, at 100 bytes") || len(s) > 200 || strings.Contains(s, "\ufffd") {
		t.Errorf("got %d bytes: %q", len(s), s)
	}
}

func TestHostile(t *testing.T) {
	bomb := parts(t, "word/document.xml", `<w:document>`+strings.Repeat(" ", 1<<20))
	deep := parts(t, "content.xml", strings.Repeat("<a>", 5000))
	for _, tt := range []struct {
		name string
		f    reader
		data []byte
		want string
	}{
		{"bomb", func(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error) {
			return office.WordWithin(ctx, r, size, max, 1<<20-1)
		}, bomb, bounded.ErrTooLarge.Error()},
		{"deep", office.OpenDocument, deep, "within each other"},
		{"no zip", office.Sheet, []byte("PK\x03\x04 nothing"), "zip"},
		{"missing part", office.Slides, parts(t, "a", "b"), "missing"},
		{"deep groups", office.RTF, []byte(strings.Repeat("{", 5000)), "too deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.f(t.Context(), bytes.NewReader(tt.data), int64(len(tt.data)), limit)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := office.Word(ctx, bytes.NewReader(bomb), int64(len(bomb)), limit); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}

func FuzzOffice(f *testing.F) {
	f.Add(0, []byte(`<w:document><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>x</w:t></w:r></w:p><w:tbl><w:tr><w:tc/></w:tr></w:tbl></w:document>`))
	f.Add(1, []byte(`<p:sld><p:sp><p:ph/><a:p><a:t>x</a:t></a:p></p:sp><a:tbl><a:tr><a:tc/></a:tr></a:tbl></p:sld>`))
	f.Add(2, []byte(`<worksheet><row><c r="XFD1" t="s"><v>9</v></c><c><v>1e400</v></c></row></worksheet>`))
	f.Add(3, []byte(`<d><text:p>a<text:a xlink:href="x">b</text:a></text:p><table:table><table:table-row><table:table-cell/></table:table-row></table:table></d>`))
	f.Add(4, []byte(`{\rtf1\ansi{\fonttbl{\f0\fcharset204;}}\u-1?\'ff\intbl\cell\row}`))
	f.Add(5, []byte(`<html><body><table><tr><td><a href="x">y</a></table><ul><li>`))
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		var file []byte
		var read reader
		s := string(data)
		switch kind % 6 {
		case 0:
			read, file = office.Word, parts(t, "word/document.xml", s, "word/_rels/document.xml.rels", rels("a", "styles", "s.xml", "b", "numbering", "s.xml", "c", "footnotes", "s.xml"), "word/s.xml", s)
		case 1:
			read, file = office.Slides, parts(t, "ppt/presentation.xml", `<p:sldId r:id="a"/>`, "ppt/_rels/presentation.xml.rels", rels("a", "slide", "s.xml"), "ppt/s.xml", s)
		case 2:
			read, file = office.Sheet, parts(t, "xl/workbook.xml", `<sheet name="n" r:id="a"/>`, "xl/_rels/workbook.xml.rels", rels("a", "worksheet", "s.xml", "b", "sharedStrings", "s.xml", "c", "styles", "s.xml"), "xl/s.xml", s)
		case 3:
			read, file = office.OpenDocument, parts(t, "content.xml", s)
		case 4:
			read, file = office.RTF, data
		default:
			read, file = office.EPUB, book(t, "OEBPS/t/c1.xhtml", s)
		}
		text, err := read(t.Context(), bytes.NewReader(file), int64(len(file)), 10_000)
		if len(text) > 11_000 {
			t.Errorf("%d bytes of text, %v", len(text), err)
		}
	})
}
