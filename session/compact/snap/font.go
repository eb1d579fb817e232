package snap

import (
	_ "embed"
)

// The glyphs of X.Org's misc-fixed fonts, which are in the public domain. The
// command in folder gen made these tables and says how they are laid out.
var (
	//go:embed font_5x8.bin
	rows5x8 string
	//go:embed font_6x12.bin
	rows6x12 string
	//go:embed font_8x13.bin
	rows8x13 string
)

// font is a table of glyphs that are at most 8 pixels wide.
type font struct {
	w, h int
	rows string
}

func fontOf(name string) (font, bool) {
	switch name {
	case "5x8":
		return font{5, 8, rows5x8}, true
	case "6x12":
		return font{6, 12, rows6x12}, true
	case "8x13":
		return font{8, 13, rows8x13}, true
	}
	return font{}, false
}

// maxCellH is the height of the highest cell.
const maxCellH = 16

// glyphs has the rows of each code in its cell, the leftmost pixel in the highest
// bit. Where the cell is higher than the font, the rest is blank, but the mark of
// a line end fills its cell. Codes without a glyph are blank.
type glyphs [256][maxCellH]byte

func (f font) glyphs(cellH int) *glyphs {
	g := &glyphs{}
	for i := range len(f.rows) / f.h {
		code := 0x20 + i
		if code > 0x7e {
			code += 0xa0 - 0x7f
		}
		copy(g[code][:cellH], f.rows[i*f.h:(i+1)*f.h])
	}
	for y := range cellH {
		g[codeBreak][y] = 0xff << (8 - f.w)
	}
	return g
}
