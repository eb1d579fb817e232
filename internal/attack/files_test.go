//go:build linux

package attack

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	gigabyte   = 1 << 30
	fileMemory = 500 << 20
)

// hollow makes a file of one line without an end: what begins it, and then zeros that
// take no place on the disk.
func (b *box) hollow(t *testing.T, name, begin string, size int64) string {
	t.Helper()
	path := b.put(t, name, begin)
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

// A session with an endless record is opened, shown, searched and repaired in little memory.
func TestFilesSession(t *testing.T) {
	for _, filled := range []bool{false, true} {
		b := newBox(t)
		b.put(t, "ws/a.txt", "alpha\n")
		b.play(t, limits{}, []step{{name: "read", tool: "read", args: map[string]any{"path": "a.txt"}}}, "--approval", "full")
		found, _ := filepath.Glob(filepath.Join(b.own, "sessions", "*", "*.jsonl"))
		if len(found) != 1 {
			t.Fatalf("sessions: %v", found)
		}
		whole, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		spoil := func() {
			f, err := os.Create(found[0])
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			lines := strings.SplitAfterN(string(whole), "\n", 3)
			if _, err := f.WriteString(lines[0] + lines[1] + `{"type":"custom","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x","data":"`); err != nil {
				t.Fatal(err)
			}
			if filled {
				block := bytes.Repeat([]byte("a"), 1<<20)
				for range 1024 {
					if _, err := f.Write(block); err != nil {
						t.Fatal(err)
					}
				}
			} else if _, err := f.Seek(gigabyte, io.SeekEnd); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString("\"}\n" + lines[2]); err != nil {
				t.Fatal(err)
			}
		}
		commands := [][]string{
			{"sessions", "show", found[0]},
			{"sessions"},
			{"sessions", "search", "work"},
			{"sessions", "export", found[0], "-o", filepath.Join(b.out, "x.html")},
			{"sessions", "doctor", "--all"},
			{"sessions", "scrub", "--all", "--write"},
			{"sessions", "replay", found[0]},
			{"sessions", "import", found[0]},
			{"-p", "on", "--continue"},
			{"-p", "on", "--session", found[0]},
		}
		if filled { // the same code reads both
			commands = commands[:1]
		}
		spoil()
		for _, args := range commands {
			if info, err := os.Stat(found[0]); err != nil || info.Size() < gigabyte {
				spoil()
			}
			name := strings.ReplaceAll(strings.Join(args, " "), found[0], "FILE")
			if filled {
				name += ", filled"
			}
			does := "a session with a record of 1 GB: burin " + strings.Join(args, " ")
			if args[0] == "-p" {
				args = append(args, model(serve(t))...)
			}
			e := b.start(t, limits{memory: fileMemory, time: time.Minute, quiet: true}, nil, args...)
			hole(t, strings.ReplaceAll(name, b.root, ""), does, e.killed)
		}
	}
}

// Files that burin reads for itself, and those that a repository brings, may have any size.
func TestFilesEndlessLine(t *testing.T) {
	for _, f := range []struct{ file, begin string }{
		{"ws/AGENTS.md", "hello "},
		{"ws/CLAUDE.md", "hello "},
		{"ws/.gitignore", "*.o"},
		{"ws/.burin/secrets.yml", "- type: plain\n  content: "},
		{"ws/.burin/commands/x.md", "do "},
		{"ws/.git/HEAD", "ref: refs/heads/"},
		{"ws/.git/config", "[core]\n\tx = "},
		{"ws/.git/index", "DIRC"},
		{"ws/package.json", `{"name":"`},
		{"ws/go.mod", "module x"},
		{"home/.env", "A="},
		{"home/.burin/.env", "A="},
		{"home/.burin/AGENTS.md", "hello "},
		{"home/.burin/permissions.json", `{"rules":["`},
		{"home/.burin/keybindings.json", `{"`},
		{"home/.burin/secrets.yml", "- type: plain\n  content: "},
		{"home/.bashrc", "# "},
		{"home/.claude/CLAUDE.md", "hello "},
		{"home/.burin/placeholder.key", "x"},
	} {
		b := newBox(t)
		b.put(t, "ws/a.txt", "alpha\n")
		b.repository(t)
		b.hollow(t, f.file, f.begin, gigabyte)
		srv := serve(t, call("grep", `{"pattern":"alpha"}`), call("bash", `{"command":"cat a.txt"}`))
		e := b.start(t, limits{memory: fileMemory, time: 25 * time.Second}, nil, append([]string{"-p", "hi", "--approval", "full"}, model(srv)...)...)
		t.Logf("%s: took %s, held %d MB: %s", f.file, e.took.Round(time.Millisecond), e.peak>>20, clip(e.err, 200))
		hole(t, f.file, f.file+" of 1 GB in one line", e.killed)
	}
	b := newBox(t)
	big := b.hollow(t, "ws/big.txt", "alpha ", gigabyte)
	in, err := os.Open(big)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	e := b.start(t, limits{memory: fileMemory, time: 25 * time.Second, stdin: in}, nil, append([]string{"-p", "hi"}, model(serve(t))...)...)
	hole(t, "standard input", "1 GB in one line on standard input", e.killed)
	e = b.start(t, limits{memory: fileMemory, time: 25 * time.Second}, nil, append([]string{"-p", "hi", "@big.txt"}, model(serve(t))...)...)
	hole(t, "attached file", "burin -p hi @big.txt", e.killed)
}

// Tools read, search and print files and outputs of any size.
func TestFilesTools(t *testing.T) {
	for _, s := range []step{
		{name: "read", tool: "read", args: map[string]any{"path": "big.txt"}},
		{name: "read range", tool: "read", args: map[string]any{"path": "big.txt:5-9"}},
		{name: "read raw", tool: "read", args: map[string]any{"path": "big.txt:raw"}},
		{name: "grep", tool: "grep", args: map[string]any{"pattern": "alp.*z", "ignored": true}},
		{name: "grep lines", tool: "grep", args: map[string]any{"pattern": "alp.*z", "path": "big.txt", "multiline": true}},
		{name: "edit", tool: "edit", args: map[string]any{"path": "big.txt", "edits": []map[string]string{{"old": "alpha", "new": "beta"}}}},
		{name: "output", command: "head -c 100M /dev/zero | tr '\\0' a"},
		{name: "output in lines", command: "yes | head -c 100M"},
		{name: "errors", command: "head -c 100M /dev/zero | tr '\\0' a >&2"},
		{name: "output of zeros", command: "head -c 100M /dev/zero"},
		{name: "names", command: "cd sub && seq 1 20000 | xargs touch"},
		{name: "long folder", command: "for i in $(seq 1 100); do mkdir -p dddddddddd; cd dddddddddd; done"},
		{name: "list", tool: "ls", args: map[string]any{"path": "sub", "depth": 5}},
	} {
		b := newBox(t)
		b.put(t, "ws/sub/a.txt", "x\n")
		b.hollow(t, "ws/big.txt", "alpha ", gigabyte)
		s.seen = nil
		c := b.play(t, limits{memory: fileMemory, time: 40 * time.Second}, []step{s}, "--approval", "full")
		seen := c.killed
		for _, r := range c.requests {
			if len(r) > 4<<20 {
				seen = fmt.Sprintf("a request of %d MB went to the model", len(r)>>20)
			}
		}
		t.Logf("%s: took %s, held %d MB", s.name, c.took.Round(time.Millisecond), c.peak>>20)
		hole(t, s.name, s.does(), seen)
	}
}

// repeated packs text n times; what it makes is small.
func repeated(t *testing.T, z io.WriteCloser, begin, text, end string, size int) {
	t.Helper()
	block := []byte(strings.Repeat(text, max(1, 1<<20/len(text))))
	if _, err := io.WriteString(z, begin); err != nil {
		t.Fatal(err)
	}
	for written := 0; written < size; written += len(block) {
		if _, err := z.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(z, end); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// office is an archive with one large member.
func office(t *testing.T, others map[string]string, name, begin, text, end string, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for name, text := range others {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	repeated(t, nopCloser{w}, begin, text, end, size)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// pdf is a document of one page whose content is packed, once or more often.
func pdf(t *testing.T, text string, size, times int) []byte {
	t.Helper()
	var content bytes.Buffer
	z, err := zlib.NewWriterLevel(&content, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	repeated(t, z, "", text, "", size)
	filter := "/FlateDecode"
	for range times - 1 {
		var next bytes.Buffer
		z := zlib.NewWriter(&next)
		repeated(t, z, content.String(), "\n", "", 0)
		content = next
		filter += " /FlateDecode"
	}
	var out bytes.Buffer
	var at []int
	object := func(text string) {
		at = append(at, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", len(at), text)
	}
	out.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>")
	object(fmt.Sprintf("<< /Length %d /Filter [%s] >>\nstream\n%s\nendstream", content.Len(), filter, content.String()))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&out, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return out.Bytes()
}

// png is a picture that is all one color, and very large.
func png(t *testing.T, side uint32) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	part := func(kind string, data []byte) {
		_ = binary.Write(&out, binary.BigEndian, uint32(len(data)))
		sum := crc32.NewIEEE()
		_, _ = io.MultiWriter(&out, sum).Write(append([]byte(kind), data...))
		_ = binary.Write(&out, binary.BigEndian, sum.Sum32())
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, side), side)
	part("IHDR", append(head, 8, 0, 0, 0, 0))
	var data bytes.Buffer
	z, err := zlib.NewWriterLevel(&data, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	repeated(t, z, "", strings.Repeat("\x00", 1<<20), "", int(side)*int(side+1))
	part("IDAT", data.Bytes())
	part("IEND", nil)
	return out.Bytes()
}

// Small files that unpack to very large ones are read in bounded time and memory.
func TestFilesBombs(t *testing.T) {
	const word = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`
	const sheet = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`
	types := map[string]string{"[Content_Types].xml": `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`}
	book := map[string]string{
		"[Content_Types].xml": types["[Content_Types].xml"], "xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`,
	}
	gz := func(text string, size int) []byte {
		var out bytes.Buffer
		z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		repeated(t, z, "", text, "", size)
		return out.Bytes()
	}
	for _, bomb := range []struct {
		name, file, path string
		make             func() []byte
	}{
		{"docx of paragraphs", "bomb.docx", "", func() []byte {
			return office(t, types, "word/document.xml", word, "<w:p><w:r><w:t>x</w:t></w:r></w:p>", "</w:body></w:document>", 300<<20)
		}},
		{"docx of one word", "bomb.docx", "", func() []byte {
			return office(t, types, "word/document.xml", word+"<w:p><w:r><w:t>", "x", "</w:t></w:r></w:p></w:body></w:document>", 600<<20)
		}},
		{"docx of open elements", "bomb.docx", "", func() []byte { return office(t, types, "word/document.xml", word, "<w:p>", "", 200<<20) }},
		{"docx of attributes", "bomb.docx", "", func() []byte {
			return office(t, types, "word/document.xml", word+"<w:p ", `a="b" `, "/></w:body></w:document>", 200<<20)
		}},
		{"docx of tables", "bomb.docx", "", func() []byte {
			return office(t, types, "word/document.xml", word, "<w:tbl><w:tr><w:tc>", "", 200<<20)
		}},
		{"xlsx of rows", "bomb.xlsx", "", func() []byte {
			return office(t, book, "xl/worksheets/sheet1.xml", sheet, `<row><c><v>1</v></c></row>`, "</sheetData></worksheet>", 300<<20)
		}},
		{"xlsx of strings", "bomb.xlsx", "", func() []byte {
			return office(t, book, "xl/sharedStrings.xml", `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`, "<si><t>x</t></si>", "</sst>", 300<<20)
		}},
		{"xlsx with a far cell", "bomb.xlsx", "", func() []byte {
			return office(t, book, "xl/worksheets/sheet1.xml", sheet+`<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`, " ", "</sheetData></worksheet>", 1)
		}},
		{"pptx", "bomb.pptx", "", func() []byte {
			return office(t, types, "ppt/slides/slide1.xml", `<p:sld xmlns:p="p" xmlns:a="a">`, "<a:p><a:r><a:t>x</a:t></a:r></a:p>", "</p:sld>", 300<<20)
		}},
		{"pdf of text", "bomb.pdf", "", func() []byte { return pdf(t, "BT /F1 12 Tf (aaaaaaaaaa) Tj ET\n", 250<<20, 1) }},
		{"pdf of spaces", "bomb.pdf", "", func() []byte { return pdf(t, " ", 400<<20, 1) }},
		{"pdf packed twice", "bomb.pdf", "", func() []byte { return pdf(t, "BT /F1 12 Tf (a) Tj ET\n", 400<<20, 2) }},
		{"pdf of one string", "bomb.pdf", "", func() []byte { return pdf(t, "(aaaaaaaaaaaaaaaaaaaa", 250<<20, 1) }},
		{"pdf of brackets", "bomb.pdf", "", func() []byte { return pdf(t, "[<<", 200<<20, 1) }},
		{"picture", "bomb.png", "", func() []byte { return png(t, 15000) }},
		{"zip member", "bomb.zip", ":a.txt", func() []byte { return office(t, nil, "a.txt", "", "x\n", "", 300<<20) }},
		{"gzip", "bomb.gz", "", func() []byte { return gz("x\n", 200<<20) }},
		{"tar.gz", "bomb.tar.gz", "", func() []byte { return gz("\x00", 200<<20) }},
		{"notebook", "bomb.ipynb", "", func() []byte { return []byte(strings.Repeat("[", 20<<20)) }},
		{"notebook of cells", "bomb.ipynb", "", func() []byte {
			return []byte(`{"cells":[` + strings.Repeat(`{"cell_type":"code","source":["x"],"outputs":[]},`, 400_000) + `{}]}`)
		}},
	} {
		b := newBox(t)
		if err := os.WriteFile(filepath.Join(b.ws, bomb.file), bomb.make(), 0o644); err != nil {
			t.Fatal(err)
		}
		c := b.play(t, limits{memory: 300 << 20, time: 6 * time.Second}, []step{{name: "read", tool: "read", args: map[string]any{"path": bomb.file + bomb.path}}}, "--approval", "full")
		t.Logf("%s: took %s, held %d MB: %s", bomb.name, c.took.Round(time.Millisecond), c.peak>>20, clip(c.results[0], 100))
		hole(t, bomb.name, "read of "+bomb.name, c.killed)
	}
}
