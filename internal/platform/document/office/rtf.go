package office

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
)

// RTF gives the text of an RTF file: headings, lists, tables, notes. Hidden text,
// pictures, headers and footers are left out.
func RTF(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error) {
	left := int64(maxUnpacked)
	d := &rtf{
		in:  bufio.NewReaderSize(bounded.Reader(ctx, io.NewSectionReader(r, 0, size), &left), 64<<10),
		out: out{max: max}, fonts: map[int]int{}, states: []rtfState{{uc: 1}},
	}
	err := d.run()
	if err == nil {
		err = d.endParagraph()
	}
	return d.out.text(err)
}

// rtf is a file that is being read. Its grammar is that of Microsoft's
// specification 1.9.1.
type rtf struct {
	in     *bufio.Reader
	out    out
	states []rtfState  // one for each open group
	fonts  map[int]int // number of a font -> code page
	page   int         // code page of the document

	bytes []byte // characters that wait to be decoded: some need two bytes
	high  rune   // first half of a surrogate pair
	skip  int    // characters that stand in for the last \u

	text    strings.Builder // of the paragraph
	label   strings.Builder // of the item of a list
	level   int             // of a heading
	inTable bool
	cells   []string
	rows    int
	inList  bool
}

// rtfState is what a group changes until it ends.
type rtfState struct {
	target rtfTarget
	hidden bool
	uc     int // characters after \u that stand in for it
	font   int
	closer string // what to write at the end of the group
}

// rtfTarget is where the text of a group goes.
type rtfTarget uint8

const (
	toText rtfTarget = iota
	toNothing
	toFonts
	toLabel
)

func (d *rtf) top() *rtfState { return &d.states[len(d.states)-1] }

func (d *rtf) run() error {
	for {
		c, err := d.in.ReadByte()
		if errors.Is(err, io.EOF) {
			d.flush()
			return nil
		}
		if err != nil {
			return err
		}
		switch c {
		case '{':
			d.flush()
			d.skip = 0
			if len(d.states) > maxDepth {
				return errors.New("rtf: groups too deep within each other")
			}
			d.states = append(d.states, *d.top())
			d.top().closer = ""
		case '}':
			d.flush()
			d.skip = 0
			if n := len(d.states); n > 1 {
				closer := d.top().closer
				d.states = d.states[:n-1]
				d.write(closer)
			}
		case '\\':
			err = d.control()
		case '\r', '\n', 0:
		default:
			d.char(c)
		}
		if err != nil {
			return err
		}
	}
}

// control reads what follows a backslash.
func (d *rtf) control() error {
	c, err := d.in.ReadByte()
	if err != nil {
		return eofIsFine(err)
	}
	switch {
	case c == '\'':
		var hex [2]byte
		if _, err := io.ReadFull(d.in, hex[:]); err != nil {
			return eofIsFine(err)
		}
		if n, err := strconv.ParseUint(string(hex[:]), 16, 8); err == nil {
			d.char(byte(n))
		}
		return nil
	case isLetter(c):
		return d.word(c)
	}
	d.flush()
	switch c {
	case '\\', '{', '}':
		d.char(c)
	case '*':
		d.top().target = toNothing
	case '~':
		d.write("\u00a0")
	case '_':
		d.write("-")
	case '\r', '\n':
		return d.endParagraph()
	}
	return nil
}

func eofIsFine(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// word reads a control word and its number.
func (d *rtf) word(first byte) error {
	name := []byte{first}
	var digits []byte
	for {
		next, err := d.in.Peek(2)
		if len(next) == 0 {
			if err = eofIsFine(err); err != nil {
				return err
			}
			break
		}
		c := next[0]
		switch {
		case isLetter(c) && digits == nil && len(name) < 32:
			name = append(name, c)
		case isDigit(c) && len(digits) < 11, c == '-' && digits == nil && len(next) == 2 && isDigit(next[1]):
			digits = append(digits, c)
		default:
			if c == ' ' {
				_, _ = d.in.Discard(1) // just peeked
			}
			n, err := strconv.Atoi(string(digits))
			return d.do(string(name), n, err == nil)
		}
		_, _ = d.in.Discard(1)
	}
	n, err := strconv.Atoi(string(digits))
	return d.do(string(name), n, err == nil)
}

// char takes one byte of text.
func (d *rtf) char(c byte) {
	if d.skip > 0 {
		d.skip--
		return
	}
	d.bytes = append(d.bytes, c)
	if len(d.bytes) >= 4096 && c < 0x80 {
		d.flush()
	}
}

// flush decodes the bytes that wait.
func (d *rtf) flush() {
	if len(d.bytes) == 0 {
		return
	}
	b := d.bytes
	d.bytes = d.bytes[:0]
	page, known := d.fonts[d.top().font]
	if !known || page == 0 {
		page = d.page
	}
	d.write(decodePage(b, page))
}

func (d *rtf) write(s string) {
	st := d.top()
	if st.hidden || s == "" {
		return
	}
	switch st.target {
	case toText:
		if d.text.Len() <= d.out.max {
			d.text.WriteString(s)
		}
	case toLabel:
		if d.label.Len() < 100 {
			d.label.WriteString(s)
		}
	}
}

// unicode takes the number of \u.
func (d *rtf) unicode(n int) {
	d.flush()
	r := rune(uint16(n)) // negative from 0x8000 on
	d.skip = d.top().uc
	if !utf16.IsSurrogate(r) {
		d.write(string(r))
		return
	}
	if d.high == 0 {
		d.high = r
		return
	}
	d.write(string(utf16.DecodeRune(d.high, r)))
	d.high = 0
}

func (d *rtf) endParagraph() error {
	d.flush()
	text := strings.TrimSpace(d.text.String())
	if d.inTable {
		d.text.WriteByte('\n') // a line of the cell
		return nil
	}
	d.text.Reset()
	d.rows = 0
	label := strings.TrimSpace(d.label.String())
	d.label.Reset()
	switch {
	case text == "":
		return nil
	case d.level > 0:
		text = strings.Repeat("#", d.level) + " " + strings.ReplaceAll(text, "\n", " ")
	case label != "":
		d.inList = true
		if strings.IndexFunc(label, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
			label = "-"
		}
		return d.out.add(label + " " + text + "\n")
	}
	if d.inList {
		d.inList = false
		text = "\n" + text
	}
	return d.out.add(text + "\n\n")
}

func (d *rtf) endCell() {
	d.flush()
	if len(d.cells) < maxColumns {
		d.cells = append(d.cells, strings.TrimSpace(d.text.String()))
	}
	d.text.Reset()
	d.label.Reset()
}

func (d *rtf) endRow() error {
	d.flush()
	cells := d.cells
	d.cells, d.inTable = nil, false
	d.text.Reset()
	if len(cells) == 0 {
		return nil
	}
	if d.rows++; d.rows == 1 {
		if err := d.out.add("\n"); err != nil {
			return err
		}
		return head(&d.out, cells)
	}
	return row(&d.out, cells)
}
