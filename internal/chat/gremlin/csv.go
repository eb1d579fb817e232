package gremlin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A backup is a CSV file: fields with commas, quotes or ends of lines stand in quotes, and quotes
// are doubled.

// header is the first row of a backup.
var header = []string{"tableName", "id", "encryptedData", "timestamp", "parentId", "unencryptedData"}

const maxLine = 256 << 20 // bytes of a row

// writeRow writes a row.
func writeRow(w *bufio.Writer, fields ...string) error {
	for i, f := range fields {
		if i > 0 {
			_ = w.WriteByte(',') // the last write says whether all were good
		}
		if strings.ContainsAny(f, ",\"\n\r") {
			_ = w.WriteByte('"')
			for part := range strings.SplitAfterSeq(f, `"`) {
				_, _ = w.WriteString(part)
				if strings.HasSuffix(part, `"`) {
					_ = w.WriteByte('"')
				}
			}
			_ = w.WriteByte('"')
			continue
		}
		_, _ = w.WriteString(f)
	}
	return w.WriteByte('\n')
}

// reader reads the rows of a CSV file, of any length, as the application does.
type reader struct {
	in     *bufio.Reader
	quoted bool
	quote  bool // the last byte was a quote within quotes: the next one says which
	field  []byte
	row    []string
	size   int // bytes of the row
	most   int // that it may have
}

func newReader(r io.Reader) (*reader, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	mark, err := in.Peek(3)
	if string(mark) == "\ufeff" {
		_, err = in.Discard(3)
	}
	if errors.Is(err, io.EOF) {
		err = nil // a short file
	}
	return &reader{in: in, most: maxLine}, err
}

// next gives the next row that isn't blank; io.EOF after the last.
func (r *reader) next() ([]string, error) {
	for {
		c, err := r.in.ReadByte()
		if errors.Is(err, io.EOF) {
			if row := r.end(); row != nil {
				return row, nil
			}
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		if r.size++; r.size > r.most {
			return nil, fmt.Errorf("a row has more than %d MB: it isn't a backup of GremlinOFA", r.most>>20)
		}
		if r.quote {
			r.quote = false
			if c == '"' { // doubled
				r.field = append(r.field, c)
				continue
			}
			r.quoted = false
		}
		switch {
		case r.quoted && c == '"':
			r.quote = true
		case r.quoted:
			r.field = append(r.field, c)
		case c == '"':
			r.quoted = true
		case c == ',':
			r.take()
		case c == '\n' || c == '\r': // of "\r\n" the second one ends a blank line
			if row := r.end(); row != nil {
				return row, nil
			}
		default:
			r.field = append(r.field, c)
		}
	}
}

// take ends a field.
func (r *reader) take() {
	if len(r.row) < len(header) { // further ones mean nothing
		r.row = append(r.row, strings.ToValidUTF8(string(r.field), "\ufffd"))
	}
	if cap(r.field) > 1<<20 {
		r.field = nil // one large record must not keep its memory
	}
	r.field = r.field[:0]
}

// end ends a row; nil: it was blank.
func (r *reader) end() []string {
	r.size = 0
	if len(r.field) == 0 && len(r.row) == 0 {
		return nil
	}
	r.take()
	row := r.row
	r.row = nil
	return row
}
