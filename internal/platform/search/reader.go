package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of what is kept of a file in memory.
const (
	blockSize    = 128 << 10 // read at once, and searched at once if lines are not longer
	maxLine      = 16 << 20  // a longer line ends the search of its file
	maxMultiline = 32 << 20  // a larger file is not searched for matches of several lines
)

var (
	errBinary = errors.New("binary file")
	errLine   = fmt.Errorf("has a line of more than %d MB: what comes behind was not searched", maxLine>>20)
	errLarge  = fmt.Errorf("larger than %d MB: not searched for matches of several lines", maxMultiline>>20)
)

// blocks reads a file in pieces of whole lines. It is used again for the next
// file. Files that begin with the byte order mark of UTF-16 become UTF-8, and
// the mark of UTF-8 is taken away.
type blocks struct {
	src   io.Reader
	wide  utf16Reader
	buf   []byte
	begin int // of the piece in buf; what stands before has been kept
	end   int // of the piece
	limit int // of what has been read
	eof   bool
	fresh bool // nothing has been read
	whole bool // the file is wanted as one
}

func (b *blocks) reset(src io.Reader) {
	if len(b.buf) != blockSize+1 { // what a file of long lines needed is given back
		b.buf = make([]byte, blockSize+1)
	}
	*b = blocks{src: src, buf: b.buf, fresh: true, wide: utf16Reader{raw: b.wide.raw}}
}

// all makes buf[:end] the whole file, with a "\n" at the end.
func (b *blocks) all(stop func() bool) error {
	b.whole = true
	for !b.eof && !stop() {
		if err := b.fill(); err != nil {
			return err
		}
	}
	if b.end = b.limit; b.end > 0 && b.buf[b.end-1] != '\n' {
		b.buf[b.end] = '\n'
		b.end++
	}
	return nil
}

// next makes buf[begin:end] the next whole lines, each with its "\n"; the last
// line gets one if it has none. keep is how many bytes before end stay in front of
// them. It gives io.EOF behind the last line, and errBinary when it meets a NUL.
func (b *blocks) next(keep int) error {
	copy(b.buf, b.buf[b.end-keep:b.limit])
	b.limit -= b.end - keep
	b.begin, b.end = keep, keep
	for searched := keep; ; {
		for !b.eof && (b.limit < len(b.buf)-1 || b.limit == searched) {
			if err := b.fill(); err != nil {
				return err
			}
		}
		if b.eof {
			if b.limit == b.begin {
				return io.EOF
			}
			if b.buf[b.limit-1] != '\n' {
				b.buf[b.limit] = '\n' // there is always room for one
				b.limit++
			}
			b.end = b.limit
			return nil
		}
		if i := bytes.LastIndexByte(b.buf[searched:b.limit], '\n'); i >= 0 {
			b.end = searched + i + 1
			return nil
		}
		searched = b.limit
	}
}

// last reports whether nothing comes behind the present lines.
func (b *blocks) last() bool { return b.eof && b.end == b.limit }

// fill reads more, into a larger buffer if the line demands it.
func (b *blocks) fill() error {
	if b.limit == len(b.buf)-1 {
		switch {
		case b.whole && len(b.buf) > maxMultiline:
			return errLarge
		case !b.whole && len(b.buf) > maxLine:
			return errLine
		}
		grown := make([]byte, 2*len(b.buf))
		copy(grown, b.buf[:b.limit])
		b.buf = grown
	}
	into := b.buf[b.limit : len(b.buf)-1]
	n, err := b.src.Read(into)
	switch {
	case errors.Is(err, io.EOF):
		b.eof = true
	case err != nil:
		return err
	}
	if b.fresh {
		b.fresh = false
		if n < 3 && !b.eof { // a mark may not have arrived whole
			more, err := io.ReadFull(b.src, into[n:3])
			if n += more; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
		}
		if n = b.mark(into[:n]); n < 0 {
			return b.fill()
		}
	}
	if bytes.IndexByte(into[:n], 0) >= 0 {
		return errBinary
	}
	b.limit += n
	return nil
}

// mark deals with a byte order mark and gives what is left of the first bytes; -1
// says that they must be read again, as UTF-8.
func (b *blocks) mark(head []byte) int {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return copy(head, head[3:])
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		b.wide.begin(binary.LittleEndian, head[2:], b.src)
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		b.wide.begin(binary.BigEndian, head[2:], b.src)
	default:
		return len(head)
	}
	b.src, b.eof = &b.wide, false
	return -1
}

// utf16Reader gives UTF-16 as UTF-8. Half characters become U+FFFD.
type utf16Reader struct {
	src   io.Reader
	order binary.ByteOrder
	raw   []byte // read and not yet decoded
	eof   bool
}

func (r *utf16Reader) begin(order binary.ByteOrder, head []byte, src io.Reader) {
	*r = utf16Reader{src: src, order: order, raw: append(r.raw[:0], head...)}
}

// Read needs room for a few characters.
func (r *utf16Reader) Read(p []byte) (int, error) {
	if !r.eof && len(r.raw) < 4 {
		n := len(r.raw)
		r.raw = append(r.raw, make([]byte, 32<<10)...)
		m, err := r.src.Read(r.raw[n:])
		r.raw = r.raw[:n+m]
		if errors.Is(err, io.EOF) {
			r.eof = true
		} else if err != nil {
			return 0, err
		}
	}
	out := p[:0]
	for len(r.raw) > 0 && len(out)+utf8.UTFMax <= len(p) {
		if len(r.raw) == 1 {
			if r.eof {
				out, r.raw = utf8.AppendRune(out, utf8.RuneError), nil
			}
			break
		}
		c, n := rune(r.order.Uint16(r.raw)), 2
		if utf16.IsSurrogate(c) {
			if len(r.raw) < 4 && !r.eof {
				break
			}
			low := rune(utf8.RuneError)
			if len(r.raw) >= 4 {
				low = rune(r.order.Uint16(r.raw[2:]))
			}
			if c = utf16.DecodeRune(c, low); c != utf8.RuneError {
				n = 4
			}
		}
		out = utf8.AppendRune(out, c)
		r.raw = r.raw[n:]
	}
	if len(out) == 0 && r.eof && len(r.raw) == 0 {
		return 0, io.EOF
	}
	return len(out), nil
}
