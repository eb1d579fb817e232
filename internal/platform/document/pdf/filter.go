package pdf

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/ascii85"
	"errors"
	"fmt"
	"io"
)

// errPicture is a stream whose filter is one of pictures.
var errPicture = errors.New("pdf: data of a picture")

// filtered puts one filter in front of r.
func filtered(r io.Reader, filter name, params dict) (io.Reader, error) {
	switch filter {
	case "FlateDecode", "Fl":
		return predicted(inflate(r), params)
	case "LZWDecode", "LZW":
		early, known := params["EarlyChange"]
		z := &lzwReader{r: bufio.NewReader(r)}
		if !known || toInt(early) != 0 {
			z.early = 1
		}
		return predicted(z, params)
	case "ASCIIHexDecode", "AHx":
		return &hexReader{r: bufio.NewReader(r)}, nil
	case "ASCII85Decode", "A85":
		return ascii85.NewDecoder(&until85{r: bufio.NewReader(r)}), nil
	case "RunLengthDecode", "RL":
		return &runLength{r: bufio.NewReader(r)}, nil
	case "Crypt":
		return r, nil
	case "DCTDecode", "DCT", "JPXDecode", "CCITTFaxDecode", "CCF", "JBIG2Decode":
		return nil, errPicture
	}
	return nil, fmt.Errorf("pdf: unknown filter %q", filter)
}

// inflate reads zlib data. Neither a wrong header nor a wrong sum matters, and of
// data that breaks off one gets what there is.
func inflate(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if head, err := b.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		_, _ = b.Discard(2) // just peeked
	}
	return lenient{flate.NewReader(b)}
}

// lenient ends where its reader fails because of the data.
type lenient struct{ r io.Reader }

func (l lenient) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// lzwReader reads LZW as PDF has it: codes of 9 to 12 bits, the highest bit first,
// which grow one code before they must unless the stream says otherwise.
type lzwReader struct {
	r      *bufio.Reader
	early  int
	bits   uint32
	have   uint
	width  uint
	table  [4096]struct{ prev, length uint16 }
	last   [4096]byte
	next   int
	before int
	out    []byte
	err    error
}

const (
	lzwClear = 256
	lzwEnd   = 257
)

func (z *lzwReader) Read(p []byte) (int, error) {
	for len(z.out) == 0 {
		if z.err != nil {
			return 0, z.err
		}
		z.step()
	}
	n := copy(p, z.out)
	z.out = z.out[n:]
	return n, nil
}

func (z *lzwReader) step() {
	if z.width == 0 {
		z.reset()
	}
	for z.have < z.width {
		c, err := z.r.ReadByte()
		if err != nil {
			z.err = err
			return
		}
		z.bits = z.bits<<8 | uint32(c)
		z.have += 8
	}
	code := int(z.bits >> (z.have - z.width) & (1<<z.width - 1))
	z.have -= z.width
	switch {
	case code == lzwClear:
		z.reset()
		return
	case code == lzwEnd, code > z.next, code == z.next && z.before < 0:
		z.err = io.EOF
		return
	}
	if code < z.next {
		z.out = z.expand(code, z.out[:0])
	} else { // the code that is about to be made
		z.out = z.expand(z.before, z.out[:0])
		z.out = append(z.out, z.out[0])
	}
	if z.before >= 0 && z.next < 4096 {
		z.table[z.next].prev = uint16(z.before)
		z.table[z.next].length = z.size(z.before) + 1
		z.last[z.next] = z.out[0]
		z.next++
		if z.next+z.early >= 1<<z.width && z.width < 12 {
			z.width++
		}
	}
	z.before = code
}

func (z *lzwReader) reset() { z.width, z.next, z.before = 9, 258, -1 }

func (z *lzwReader) size(code int) uint16 {
	if code < 256 {
		return 1
	}
	return z.table[code].length
}

func (z *lzwReader) expand(code int, out []byte) []byte {
	n := int(z.size(code))
	out = append(out, make([]byte, n)...)
	for i := n - 1; i >= 0; i-- {
		if code < 256 {
			out[i] = byte(code)
			break
		}
		out[i] = z.last[code]
		code = int(z.table[code].prev)
	}
	return out
}

// hexReader reads hexadecimal digits until ">".
type hexReader struct{ r *bufio.Reader }

func (h *hexReader) Read(p []byte) (int, error) {
	for i := range p {
		var digits [2]int
		for j := 0; j < 2; {
			c, err := h.r.ReadByte()
			if err != nil || c == '>' {
				if j == 1 {
					p[i] = byte(digits[0] << 4)
					i++
				}
				return i, io.EOF
			}
			if digits[j] = unhex(c); digits[j] >= 0 {
				j++
			}
		}
		p[i] = byte(digits[0]<<4 | digits[1])
	}
	return len(p), nil
}

// until85 ends where Ascii85 data does, and leaves out what is none.
type until85 struct {
	r    *bufio.Reader
	done bool
}

func (u *until85) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && !u.done {
		c, err := u.r.ReadByte()
		switch {
		case err != nil || c == '~':
			u.done = true
		case c >= '!' && c <= 'u', c == 'z':
			p[n] = c
			n++
		}
	}
	if n == 0 && u.done {
		return 0, io.EOF
	}
	return n, nil
}

// runLength reads runs of equal bytes and of others.
type runLength struct {
	r      *bufio.Reader
	left   int
	repeat bool
	value  byte
}

func (z *runLength) Read(p []byte) (int, error) {
	for i := range p {
		if z.left == 0 {
			c, err := z.r.ReadByte()
			if err != nil || c == 128 {
				return i, io.EOF
			}
			if z.repeat = c > 128; z.repeat {
				z.left = 257 - int(c)
				if z.value, err = z.r.ReadByte(); err != nil {
					return i, io.EOF
				}
			} else {
				z.left = int(c) + 1
			}
		}
		z.left--
		if !z.repeat {
			c, err := z.r.ReadByte()
			if err != nil {
				return i, io.EOF
			}
			z.value = c
		}
		p[i] = z.value
	}
	return len(p), nil
}

const maxRow = 1 << 20 // bytes of a predicted row

// predicted undoes what made rows of data differences of their neighbours.
func predicted(r io.Reader, params dict) (io.Reader, error) {
	predictor := toInt(params["Predictor"])
	if predictor < 2 {
		return r, nil
	}
	get := func(key name, usual int) int {
		if n := toInt(params[key]); n > 0 {
			return n
		}
		return usual
	}
	colors, bits, columns := get("Colors", 1), get("BitsPerComponent", 8), get("Columns", 1)
	if colors > 32 || bits > 16 || columns > maxRow {
		return nil, fmt.Errorf("pdf: predicted rows of %d×%d×%d bits", columns, colors, bits)
	}
	size := (colors*bits*columns + 7) / 8
	if size > maxRow {
		return nil, fmt.Errorf("pdf: predicted rows of %d bytes", size)
	}
	p := &rowReader{r: bufio.NewReader(r), pixel: max(1, colors*bits/8), png: predictor >= 10}
	if !p.png && bits != 8 {
		return nil, fmt.Errorf("pdf: TIFF predictor of %d bits", bits)
	}
	p.row, p.above = make([]byte, size), make([]byte, size)
	return p, nil
}

type rowReader struct {
	r          *bufio.Reader
	pixel      int
	png        bool
	row, above []byte
	rest       []byte
}

func (p *rowReader) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *rowReader) next() error {
	p.row, p.above = p.above, p.row
	kind := byte(1)
	if p.png {
		var err error
		if kind, err = p.r.ReadByte(); err != nil {
			return err
		}
	}
	n, err := io.ReadFull(p.r, p.row)
	if n == 0 {
		return err
	}
	clear(p.row[n:])
	for i := range p.row {
		var left, corner byte
		if i >= p.pixel {
			left, corner = p.row[i-p.pixel], p.above[i-p.pixel]
		}
		switch kind {
		case 1:
			p.row[i] += left
		case 2:
			p.row[i] += p.above[i]
		case 3:
			p.row[i] += byte((int(left) + int(p.above[i])) / 2)
		case 4:
			p.row[i] += paeth(left, p.above[i], corner)
		}
	}
	p.rest = p.row[:n]
	return nil
}

func paeth(left, up, corner byte) byte {
	base := int(left) + int(up) - int(corner)
	a, b, c := abs(base-int(left)), abs(base-int(up)), abs(base-int(corner))
	switch {
	case a <= b && a <= c:
		return left
	case b <= c:
		return up
	}
	return corner
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// all reads what is left of r, at most limit bytes; more is left out.
func all(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(io.LimitReader(r, limit))
	return b.Bytes(), err
}
