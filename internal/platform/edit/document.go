package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// document is a file that is being edited: its text, which is never changed, and
// its lines. Lines are counted from 0 here and from 1 in what the model reads.
type document struct {
	path   string
	raw    []byte // nil if the file does not exist
	text   string
	enc    encoding
	eol    string // the most frequent line ending; LF if there is none
	crlf   bool   // some lines end in CR LF
	starts []int  // offset of each line, and the text's length; made by lines
}

// load reads a file. One that does not exist is an empty document with raw nil.
func load(src Source, path string) (*document, error) {
	raw, err := read(src, path)
	if err != nil {
		return nil, err
	}
	return parse(path, raw)
}

func parse(path string, raw []byte) (*document, error) {
	d := &document{path: path, raw: raw, eol: "\n"}
	var err error
	if d.text, d.enc, err = decode(raw); err != nil {
		return nil, refuse(path, "%v", err).hint("This tool edits text only.")
	}
	if n := strings.Count(d.text, "\r\n"); n > 0 {
		d.crlf = true
		if 2*n > strings.Count(d.text, "\n") {
			d.eol = "\r\n"
		}
	}
	return d, nil
}

// read gives the bytes of a file, nil if there is none.
func read(src Source, path string) ([]byte, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	tooLarge := func(size int64) error {
		return refuse(path, "has %d MB, and files over %d MB are not edited", size>>20, maxFile>>20).
			hint("Use a shell command.")
	}
	if s, ok := src.(interface {
		Stat(name string) (fs.FileInfo, error)
	}); ok {
		if info, err := s.Stat(path); err == nil && info.Size() > maxFile && !info.IsDir() {
			return nil, tooLarge(info.Size())
		}
	}
	raw, err := src.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(raw) > maxFile:
		return nil, tooLarge(int64(len(raw)))
	case raw == nil:
		raw = []byte{}
	}
	return raw, nil
}

func (d *document) exists() bool { return d.raw != nil }

// lines is the number of lines. A newline at the end ends the last line and
// begins none.
func (d *document) lines() int {
	if d.starts == nil {
		d.starts = make([]int, 1, 2+strings.Count(d.text, "\n"))
		for i := 0; i < len(d.text); {
			n := strings.IndexByte(d.text[i:], '\n')
			if n < 0 {
				n = len(d.text) - i - 1
			}
			i += n + 1
			d.starts = append(d.starts, i)
		}
	}
	return len(d.starts) - 1
}

// line is line i without its ending.
func (d *document) line(i int) string {
	text, _ := d.cutLine(i)
	return text
}

// cutLine is line i and its ending, which only the last line may lack.
func (d *document) cutLine(i int) (text, ending string) {
	return cutEnding(d.text[d.starts[i]:d.starts[i+1]])
}

func cutEnding(line string) (text, ending string) {
	if strings.HasSuffix(line, "\r\n") {
		return line[:len(line)-2], "\r\n"
	}
	if strings.HasSuffix(line, "\n") {
		return line[:len(line)-1], "\n"
	}
	return line, ""
}

// lineAt is the number of the line, from 1, that holds offset.
func (d *document) lineAt(offset int) int { return 1 + strings.Count(d.text[:offset], "\n") }

// around gives lines from to to, as far as there are such.
func (d *document) around(from, to int) []string {
	var lines []string
	for i := max(from, 0); i < min(to, d.lines()); i++ {
		lines = append(lines, d.line(i))
	}
	return lines
}

// endsOpen says that the last line has no ending.
func (d *document) endsOpen() bool { return d.text != "" && !strings.HasSuffix(d.text, "\n") }

// ending is the line ending for text that replaces the bytes from start to end:
// the one they mostly have, or else the file's.
func (d *document) ending(start, end int) string {
	if !d.crlf {
		return "\n"
	}
	all := strings.Count(d.text[start:end], "\n")
	switch crlf := strings.Count(d.text[start:end], "\r\n"); {
	case 2*crlf > all:
		return "\r\n"
	case 2*crlf < all:
		return "\n"
	}
	return d.eol
}

// lf writes all line endings as LF.
func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// withEnding writes all line endings, which are LF, as eol.
func withEnding(text, eol string) string {
	if eol == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", eol)
}
