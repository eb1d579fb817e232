package jsontext

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong reports a line that is longer than its reader allows.
var ErrTooLong = errors.New("the line is too long")

// Lines reads lines that end with LF or CRLF. Nothing else ends one: what Unicode also calls
// a line end may be part of a JSON string. A line that fits the buffer costs no allocation.
type Lines struct {
	r       *bufio.Reader
	limit   int
	head    int
	long    []byte // a line longer than the buffer, as far as it was read
	resting bool   // the rest of a line that is too long is still to be read
}

// NewLines reads lines of at most limit bytes from r. Of a longer one it keeps the first
// head bytes.
func NewLines(r io.Reader, limit, head int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 64<<10), limit: limit, head: head}
}

// Next returns the next line without its end. It is valid until the next call. The last line
// needs no end; after it the error is [io.EOF].
//
// For a line that is too long, Next returns its beginning and [ErrTooLong] as soon as it has
// read more than the limit. The next call skips the rest of it.
func (l *Lines) Next() ([]byte, error) {
	l.long = nil // no memory is held for a long line while short ones follow
	for l.resting {
		switch _, err := l.r.ReadSlice('\n'); {
		case err == nil:
			l.resting = false
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
	for {
		line, err := l.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if more || len(l.long) > 0 {
			l.long = append(l.long, line...)
			line = l.long
		}
		if err != nil && !more && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			return nil, err
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) > l.limit {
			l.long, l.resting = nil, more
			return bytes.Clone(line[:min(l.head, l.limit)]), ErrTooLong
		}
		if !more {
			return line, nil
		}
	}
}
