package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// encoding is how a server counts the characters of a line.
type encoding string

// The encodings, in burin's order.
const (
	utf8Units  encoding = "utf-8"
	utf16Units encoding = "utf-16" // what is meant if nothing is agreed on
	utf32Units encoding = "utf-32"
)

// wirePosition is a place as the protocol has it.
type wirePosition struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type wireRange struct {
	Start wirePosition `json:"start"`
	End   wirePosition `json:"end"`
}

// units is how many units of an encoding a text has.
func (e encoding) units(text []byte) int {
	switch e {
	case utf8Units:
		return len(text)
	case utf32Units:
		return utf8.RuneCount(text)
	}
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		n++
		if r > 0xffff {
			n++
		}
		i += size
	}
	return n
}

// bytesOf is where in a line so many units end. More than it has is its end; the middle of a
// character is its beginning.
func (e encoding) bytesOf(line []byte, units int) int {
	at := 0
	for at < len(line) {
		_, size := utf8.DecodeRune(line[at:])
		n := e.units(line[at : at+size])
		if units < n {
			break
		}
		units -= n
		at += size
	}
	return at
}

// text is a text by lines, without their ends.
type text struct {
	data  []byte
	start []int // of each line
}

func newText(data []byte) *text {
	t := &text{data: data, start: []int{0}}
	for i, b := range data {
		if b == '\n' || b == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			t.start = append(t.start, i+1)
		}
	}
	return t
}

// line is a line without its end; empty if there is none.
func (t *text) line(n int) []byte {
	if n < 0 || n >= len(t.start) {
		return nil
	}
	end := len(t.data)
	if n+1 < len(t.start) {
		end = t.start[n+1]
	}
	return bytes.TrimRight(t.data[t.start[n]:end], "\r\n")
}

// offset is the byte of a position. One behind the end is the end.
func (t *text) offset(p Position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.start):
		return len(t.data)
	}
	return t.start[p.Line] + min(max(p.Byte, 0), len(t.line(p.Line)))
}

func (t *text) toWire(e encoding, p Position) wirePosition {
	if last := len(t.start) - 1; p.Line > last { // servers refuse what is behind the end
		p = Position{Line: last, Byte: len(t.line(last))}
	}
	line := t.line(p.Line)
	return wirePosition{Line: p.Line, Character: e.units(line[:min(max(p.Byte, 0), len(line))])}
}

func (t *text) fromWire(e encoding, p wirePosition) Position {
	if p.Line >= len(t.start) {
		last := len(t.start) - 1
		return Position{Line: last, Byte: len(t.line(last))}
	}
	return Position{Line: max(p.Line, 0), Byte: e.bytesOf(t.line(p.Line), p.Character)}
}

func (t *text) rangeFrom(e encoding, r wireRange) Range {
	return Range{Start: t.fromWire(e, r.Start), End: t.fromWire(e, r.End)}
}

func (t *text) rangeTo(e encoding, r Range) wireRange {
	return wireRange{Start: t.toWire(e, r.Start), End: t.toWire(e, r.End)}
}

// Apply applies edits to a text. All are about the text as it is, and must not overlap; of those
// at the same place the first comes first.
func Apply(data []byte, edits []Edit) ([]byte, error) {
	t := newText(data)
	type splice struct {
		from, to int
		text     string
	}
	all := make([]splice, 0, len(edits))
	for _, e := range edits {
		s := splice{t.offset(e.Range.Start), t.offset(e.Range.End), e.Text}
		if s.to < s.from {
			return nil, errors.New("the language server's edit ends before it begins")
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b splice) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return min(a.to-a.from, 1) - min(b.to-b.from, 1) // what is inserted comes before what is replaced
	})
	var out bytes.Buffer
	at := 0
	for _, s := range all {
		if s.from < at {
			return nil, errors.New("the language server's edits overlap")
		}
		out.Write(data[at:s.from])
		out.WriteString(s.text)
		at = s.to
	}
	out.Write(data[at:])
	return out.Bytes(), nil
}

// uriOf is the address of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// pathOf is the file of an address.
func pathOf(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("%s is not a file", uri)
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.Clean(filepath.FromSlash(path)), nil
}
