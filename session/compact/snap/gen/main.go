// Command gen writes the pixel fonts of package snap from X11 fonts in PCF format:
//
//	go run ./gen -out . 5x8-ISO8859-1.pcf.gz 6x12-ISO8859-1.pcf.gz 8x13-ISO8859-1.pcf.gz
//
// The fonts are those of X.Org's font-misc-misc ("Public domain font. Share and
// enjoy."), as Debian's package xfonts-base holds them in /usr/share/fonts/X11/misc.
// For each font it writes font_WxH.bin: the glyphs of the characters 0x20 to 0x7e and
// 0xa0 to 0xff of Latin-1 in that order, one byte for each row from the top, the
// leftmost pixel in the highest bit.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", ".", "the folder to write to")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := convert(name, *out); err != nil {
			fmt.Fprintf(os.Stderr, "gen: convert %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func convert(name, out string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(z, 4<<20))
	if err != nil {
		return err
	}
	var w, h int
	if _, err := fmt.Sscanf(filepath.Base(name), "%dx%d", &w, &h); err != nil {
		return fmt.Errorf("the name does not begin with the size of the cell: %w", err)
	}
	p, err := parse(data)
	if err != nil {
		return err
	}
	var table []byte
	for c := 0x20; c <= 0xff; c++ {
		if c == 0x7f {
			c = 0xa0
		}
		rows, err := p.glyph(c, w, h)
		if err != nil {
			return err
		}
		table = append(table, rows...)
	}
	size, _, _ := strings.Cut(filepath.Base(name), "-")
	return os.WriteFile(filepath.Join(out, "font_"+size+".bin"), table, 0o644)
}

// Types of the tables of a PCF file, and bits of their formats.
const (
	tableAccelerators    = 1 << 1
	tableMetrics         = 1 << 2
	tableBitmaps         = 1 << 3
	tableEncodings       = 1 << 5
	tableBDFAccelerators = 1 << 8

	compressedMetrics = 0x100
	bigEndian         = 4
	bitsFromHigh      = 8
)

// pcf is a font as the file describes it.
type pcf struct {
	metrics   []metric
	bitmaps   []byte
	offsets   []uint32
	pad       int // bytes that rows are padded to
	first     int // character of the first encoding
	glyphs    []uint16
	ascent    int
	highFirst bool
}

type metric struct{ left, width, ascent, descent int }

// table is one table behind its format word.
type table struct {
	format uint32
	order  binary.ByteOrder
	data   []byte
}

func parse(data []byte) (*pcf, error) {
	if len(data) < 8 || string(data[:4]) != "\x01fcp" {
		return nil, errors.New("not a PCF font")
	}
	tables := map[uint32]table{}
	for i := range int(binary.LittleEndian.Uint32(data[4:])) {
		head := data[8+16*i:]
		typ, size, at := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[8:]), binary.LittleEndian.Uint32(head[12:])
		t := table{format: binary.LittleEndian.Uint32(data[at:]), order: binary.LittleEndian, data: data[at+4 : at+size]}
		if t.format&bigEndian != 0 {
			t.order = binary.BigEndian
		}
		tables[typ] = t
	}
	p := &pcf{}
	accelerators, ok := tables[tableBDFAccelerators]
	if !ok {
		accelerators = tables[tableAccelerators]
	}
	p.ascent = int(accelerators.order.Uint32(accelerators.data[8:]))
	p.readMetrics(tables[tableMetrics])
	p.readBitmaps(tables[tableBitmaps])
	e := tables[tableEncodings]
	p.first = int(e.order.Uint16(e.data))
	for i := p.first; i <= int(e.order.Uint16(e.data[2:])); i++ {
		p.glyphs = append(p.glyphs, e.order.Uint16(e.data[10+2*(i-p.first):]))
	}
	return p, nil
}

func (p *pcf) readMetrics(t table) {
	if t.format&compressedMetrics != 0 {
		for b := bytes.NewBuffer(t.data[2:]); b.Len() >= 5 && len(p.metrics) < int(t.order.Uint16(t.data)); {
			m := b.Next(5)
			p.metrics = append(p.metrics, metric{int(m[0]) - 128, int(m[1]) - int(m[0]), int(m[3]) - 128, int(m[4]) - 128})
		}
		return
	}
	for i := range int(t.order.Uint32(t.data)) {
		m := t.data[4+12*i:]
		at := func(i int) int { return int(int16(t.order.Uint16(m[2*i:]))) }
		p.metrics = append(p.metrics, metric{at(0), at(1) - at(0), at(3), at(4)})
	}
}

func (p *pcf) readBitmaps(t table) {
	n := int(t.order.Uint32(t.data))
	for i := range n {
		p.offsets = append(p.offsets, t.order.Uint32(t.data[4+4*i:]))
	}
	p.bitmaps = t.data[4+4*n+16:]
	p.pad = 1 << (t.format & 3)
	p.highFirst = t.format&bitsFromHigh != 0
}

// glyph returns the rows of a character in a cell of that size.
func (p *pcf) glyph(c, w, h int) ([]byte, error) {
	if w > 8 || c < p.first || c >= p.first+len(p.glyphs) || p.glyphs[c-p.first] == 0xffff {
		return nil, fmt.Errorf("no glyph of at most 8 pixels for character %#x", c)
	}
	if !p.highFirst {
		return nil, errors.New("the lowest bit is the leftmost: not written for that")
	}
	n := p.glyphs[c-p.first]
	m := p.metrics[n]
	stride := (m.width + 8*p.pad - 1) / (8 * p.pad) * p.pad
	rows := make([]byte, h)
	for y := range m.ascent + m.descent {
		at := p.ascent - m.ascent + y
		if at < 0 || at >= h {
			return nil, fmt.Errorf("character %#x does not fit into %d rows", c, h)
		}
		row := p.bitmaps[int(p.offsets[n])+y*stride]
		if m.left >= 0 {
			rows[at] = row >> m.left
		} else {
			rows[at] = row << -m.left
		}
	}
	return rows, nil
}
