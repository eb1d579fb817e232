package snap

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
)

// palette has the colors as they are stored: red, green, blue. The hues are dark, so
// that thin strokes keep their contrast.
var palette = [colors][3]byte{
	white: {255, 255, 255},
	1:     {109, 2, 2}, 2: {109, 53, 2}, 3: {24, 109, 2}, 4: {2, 109, 109}, 5: {2, 32, 109}, 6: {75, 2, 109},
	black: {0, 0, 0},
	grey:  {128, 128, 128},
}

// press prints pages as PNG pictures. Its buffers are used again for each page.
type press struct {
	s      Shape
	width  int // cells of a row
	high   int // rows of pixels of a glyph
	glyphs *glyphs
	spread [3]*[256]uint32 // by the logarithm of the depth: the pixels of a row of a glyph
	pixels []byte          // rows of the picture, each behind the byte that names its filter
	packed bytes.Buffer
	zip    *zlib.Writer
}

func newPress(s Shape) *press {
	f, _ := fontOf(s.Font) // checked with the shape
	p := &press{s: s, glyphs: f.glyphs(s.CellH), width: s.Size / s.CellW, high: f.h}
	for log := range p.spread {
		p.spread[log] = spread(1<<log, s.CellW)
	}
	// Pages are mostly white, so that more effort costs a multiple of the time for
	// little. The level is one that there is.
	p.zip, _ = zlib.NewWriterLevel(&p.packed, zlib.BestSpeed)
	return p
}

// spread has for each row of a glyph of that width a mask of depth bits a pixel.
func spread(depth, width int) *[256]uint32 {
	t := &[256]uint32{}
	for b := range t {
		for i := range width {
			if b&(0x80>>i) != 0 {
				t[b] |= (1<<depth - 1) << (depth * (width - 1 - i))
			}
		}
	}
	return t
}

// inks are the colors of one picture.
type inks struct {
	fill  [colors]uint32 // a cell full of the color
	table []byte         // the palette
	log   int            // of the bits of a pixel
}

// inksOf narrows the palette to the colors of a page.
func inksOf(cells []cell) inks {
	used := uint(1 << white)
	for _, c := range cells {
		if c != 0 {
			used |= 1 << c.ink()
		}
	}
	var k inks
	switch n := bits.OnesCount(used); {
	case n > 4:
		k.log = 2
	case n > 2:
		k.log = 1
	}
	unit := uint32(math.MaxUint32) / (1<<(1<<k.log) - 1) // a one for each pixel
	for i, rgb := range palette {
		if used&(1<<i) != 0 {
			k.fill[i] = unit * uint32(len(k.table)/3)
			k.table = append(k.table, rgb[:]...)
		}
	}
	return k
}

// png prints rows of cells as a picture of that height, at least one row.
func (p *press) png(cells []cell, rows int) ([]byte, error) {
	rows = max(rows, 1)
	k := inksOf(cells)
	stride := 1 + (p.s.Size<<k.log+7)/8
	height := rows * p.s.CellH
	p.pixels = append(p.pixels[:0], make([]byte, stride*height)...)
	for r := range rows {
		row := cells[r*p.width : (r+1)*p.width]
		for len(row) > 0 && row[len(row)-1] == 0 {
			row = row[:len(row)-1]
		}
		for y := range p.s.CellH {
			at := (r*p.s.CellH + y) * stride
			if y > p.high { // padding, whose first row was printed
				copy(p.pixels[at:at+stride], p.pixels[at-stride:])
				continue
			}
			p.row(p.pixels[at+1:at+stride], row, y, &k)
		}
	}
	p.packed.Reset()
	p.zip.Reset(&p.packed)
	if _, err := p.zip.Write(p.pixels); err != nil {
		return nil, fmt.Errorf("pack a frame: %w", err)
	}
	if err := p.zip.Close(); err != nil {
		return nil, fmt.Errorf("pack a frame: %w", err)
	}
	return file(p.s.Size, height, k, p.packed.Bytes()), nil
}

// row prints one row of pixels of a row of cells onto white.
func (p *press) row(dst []byte, cells []cell, y int, k *inks) {
	masks := p.spread[k.log]
	wide := p.s.CellW << k.log // bits of a cell, at most 32
	var acc uint64
	n := 0 // bits in acc
	for _, c := range cells {
		acc = acc<<wide | uint64(k.fill[c.ink()]&masks[p.glyphs[c.code()][y]])
		if n += wide; n >= 32 {
			n -= 32
			binary.BigEndian.PutUint32(dst, uint32(acc>>n))
			dst = dst[4:]
		}
	}
	for ; n > 0; n -= 8 {
		if n < 8 {
			acc <<= 8 - n
			n = 8
		}
		dst[0] = byte(acc >> (n - 8))
		dst = dst[1:]
	}
}

// file writes the picture whose pixels are given packed.
func file(width, height int, k inks, packed []byte) []byte {
	out := make([]byte, 0, len(packed)+len(k.table)+128)
	out = append(out, "\x89PNG\r\n\x1a\n"...)
	var head [13]byte
	binary.BigEndian.PutUint32(head[:], uint32(width))
	binary.BigEndian.PutUint32(head[4:], uint32(height))
	head[8], head[9] = 1<<k.log, 3 // bits of a pixel, which is an index of the palette
	out = chunk(out, "IHDR", head[:])
	out = chunk(out, "PLTE", k.table)
	out = chunk(out, "IDAT", packed)
	return chunk(out, "IEND", nil)
}

func chunk(dst []byte, name string, data []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(data)))
	from := len(dst)
	dst = append(dst, name...)
	dst = append(dst, data...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
}
