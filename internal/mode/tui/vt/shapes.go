package vt

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// boxArms has four digits for each of U+2500 to U+257F: how heavy the arms are that
// go up, right, down and left. 0 none, 1 light, 2 heavy, 3 double. They are drawn
// here, not taken from a font, so that neighbours join.
const boxArms = "" +
	"0101020210102020010102021010202001010202101020200110021001200220" +
	"0011001200210022110012002100220010011002200120021110121021101120" +
	"2120221012202220101110122011102120212012102220220111011202110212" +
	"0121012202210222110111021201120221012102220122021111111212111212" +
	"2111112121212112221111221221221212222122222122220101020210102020" +
	"0303303003100130033000130031003313003100330010033001300313103130" +
	"3330101330313033031301310333130331013303131331313333011000111001" +
	"1100000000000000000110000100001000022000020000200201102001022010"

// shape draws characters that are made of lines and areas; it reports whether r is
// one.
func (p *painter) shape(cell image.Rectangle, r rune, c color.RGBA) bool {
	switch {
	case r >= 0x256d && r <= 0x2570:
		p.arc(cell, r, c)
	case r >= 0x2571 && r <= 0x2573:
		w, h := float32(cellW), float32(cellH)
		if r != 0x2572 {
			p.stroke(cell, c, 1.4, 0, h, w, 0)
		}
		if r != 0x2571 {
			p.stroke(cell, c, 1.4, 0, 0, w, h)
		}
	case r >= 0x2500 && r <= 0x257f:
		p.box(cell, r, c)
	case r >= 0x2580 && r <= 0x259f:
		p.block(cell, r, c)
	case r >= 0x2800 && r <= 0x28ff:
		p.braille(cell, r, c)
	default:
		return p.mark(cell, r, c)
	}
	return true
}

// part fills a part of a cell, in its units of 10×20.
func (p *painter) part(cell image.Rectangle, c color.RGBA, x0, y0, x1, y1 float64) {
	px := func(v float64) int { return int(math.Round(v * float64(p.s))) }
	p.fill(image.Rect(cell.Min.X+px(x0), cell.Min.Y+px(y0), cell.Min.X+px(x1), cell.Min.Y+px(y1)), c)
}

func (p *painter) box(cell image.Rectangle, r rune, c color.RGBA) {
	arms := boxArms[(r-0x2500)*4:]
	const cx, cy = cellW / 2.0, cellH / 2.0
	half := [...]float64{0, 0.5, 1, 1.5} // half the thickness; of a double line the distance of its middles
	across := max(half[arms[1]-'0'], half[arms[3]-'0'])
	along := max(half[arms[0]-'0'], half[arms[2]-'0'])
	gaps := dashes(r)
	for i, to := range [...]struct{ x, y float64 }{{cx, 0}, {cellW, cy}, {cx, cellH}, {0, cy}} {
		weight := arms[i] - '0'
		if weight == 0 {
			continue
		}
		offsets := []float64{0}
		w := half[weight]
		if weight == 3 {
			offsets, w = []float64{-1.5, 1.5}, 0.5
		}
		for _, o := range offsets {
			if i%2 == 0 { // up or down
				y0, y1 := min(cy-across, to.y), max(cy+across, to.y)
				p.dashed(cell, c, gaps, true, cx+o-w, y0, cx+o+w, y1)
			} else {
				x0, x1 := min(cx-along, to.x), max(cx+along, to.x)
				p.dashed(cell, c, gaps, false, x0, cy+o-w, x1, cy+o+w)
			}
		}
	}
}

// dashes is the number of dashes a box character has in a cell, 0 for a whole line.
func dashes(r rune) int {
	switch {
	case r >= 0x2504 && r <= 0x2507:
		return 3
	case r >= 0x2508 && r <= 0x250b:
		return 4
	case r >= 0x254c && r <= 0x254f:
		return 2
	}
	return 0
}

func (p *painter) dashed(cell image.Rectangle, c color.RGBA, n int, vertical bool, x0, y0, x1, y1 float64) {
	if n == 0 {
		p.part(cell, c, x0, y0, x1, y1)
		return
	}
	for i := range n {
		a, b := (float64(i)+0.2)/float64(n), (float64(i)+0.8)/float64(n)
		if vertical {
			p.part(cell, c, x0, max(y0, a*cellH), x1, min(y1, b*cellH))
		} else {
			p.part(cell, c, max(x0, a*cellW), y0, min(x1, b*cellW), y1)
		}
	}
}

// arc draws the rounded corners U+256D to U+2570.
func (p *painter) arc(cell image.Rectangle, r rune, c color.RGBA) {
	const cx, cy, radius = cellW / 2.0, cellH / 2.0, cellW / 2.0
	dx, dy := 1.0, 1.0 // where the corner opens to
	switch r {
	case 0x256e:
		dx = -1
	case 0x256f:
		dx, dy = -1, -1
	case 0x2570:
		dy = -1
	}
	var points []float32
	for i := range 13 {
		a := float64(i) * math.Pi / 24
		points = append(points, float32(cx+dx*radius*(1-math.Cos(a))), float32(cy+dy*radius*(1-math.Sin(a))))
	}
	p.stroke(cell, c, 1, points...)
	end := cy + dy*cy
	p.part(cell, c, cx-0.5, min(cy+dy*radius, end), cx+0.5, max(cy+dy*radius, end))
}

// stroke draws a line through points, in units of the cell.
func (p *painter) stroke(cell image.Rectangle, c color.RGBA, width float32, points ...float32) {
	area := cell.Inset(-2 * p.s)
	z := vector.NewRasterizer(area.Dx(), area.Dy())
	at := func(i int) (x, y float32) {
		return (points[i] + 2) * float32(p.s), (points[i+1] + 2) * float32(p.s)
	}
	for i := 0; i+3 < len(points); i += 2 {
		x0, y0 := at(i)
		x1, y1 := at(i + 2)
		l := float32(math.Hypot(float64(x1-x0), float64(y1-y0)))
		if l == 0 {
			continue
		}
		nx, ny := (y1-y0)/l*width*float32(p.s)/2, (x0-x1)/l*width*float32(p.s)/2
		// A little longer at both ends, so that joints have no gaps.
		ex, ey := (x1-x0)/l*width*float32(p.s)/4, (y1-y0)/l*width*float32(p.s)/4
		z.MoveTo(x0-ex+nx, y0-ey+ny)
		z.LineTo(x1+ex+nx, y1+ey+ny)
		z.LineTo(x1+ex-nx, y1+ey-ny)
		z.LineTo(x0-ex-nx, y0-ey-ny)
		z.ClosePath()
	}
	p.ink(z, area, c)
}

func (p *painter) triangle(cell image.Rectangle, c color.RGBA, x0, y0, x1, y1, x2, y2 float32) {
	z, s := vector.NewRasterizer(cell.Dx(), cell.Dy()), float32(p.s)
	z.MoveTo(x0*s, y0*s)
	z.LineTo(x1*s, y1*s)
	z.LineTo(x2*s, y2*s)
	z.ClosePath()
	p.ink(z, cell, c)
}

// ink fills what z has in it. It goes over a mask, because an area may reach over the
// edge of the picture.
func (p *painter) ink(z *vector.Rasterizer, area image.Rectangle, c color.RGBA) {
	mask := image.NewAlpha(image.Rect(0, 0, area.Dx(), area.Dy()))
	z.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})
	draw.DrawMask(p.img, area, image.NewUniform(c), image.Point{}, mask, image.Point{}, draw.Over)
}

func (p *painter) disc(x, y, radius float32, c color.RGBA) {
	left, top, side := int(x-radius)-1, int(y-radius)-1, int(2*radius)+3
	area := image.Rect(left, top, left+side, top+side)
	z := vector.NewRasterizer(side, side)
	const n = 32
	for i := range n {
		a := 2 * math.Pi * float64(i) / n
		px, py := x-float32(left)+radius*float32(math.Cos(a)), y-float32(top)+radius*float32(math.Sin(a))
		if i == 0 {
			z.MoveTo(px, py)
		} else {
			z.LineTo(px, py)
		}
	}
	z.ClosePath()
	p.ink(z, area, c)
}

// block draws block elements.
func (p *painter) block(cell image.Rectangle, r rune, c color.RGBA) {
	const w, h = cellW, cellH
	switch {
	case r == 0x2580:
		p.part(cell, c, 0, 0, w, h/2)
	case r <= 0x2588: // lower eighths
		p.part(cell, c, 0, h-h*float64(r-0x2580)/8, w, h)
	case r <= 0x258f: // left eighths
		p.part(cell, c, 0, 0, w*float64(0x2590-r)/8, h)
	case r == 0x2590:
		p.part(cell, c, w/2, 0, w, h)
	case r <= 0x2593: // shades
		a := uint8(64 * (r - 0x2590))
		shade := color.RGBA{mul(c.R, a), mul(c.G, a), mul(c.B, a), a}
		p.part(cell, shade, 0, 0, w, h)
	case r == 0x2594:
		p.part(cell, c, 0, 0, w, h/8.0)
	case r == 0x2595:
		p.part(cell, c, w*7/8.0, 0, w, h)
	default: // quadrants: upper left 1, upper right 2, lower left 4, lower right 8
		q := [...]int{4, 8, 1, 1 | 4 | 8, 1 | 8, 1 | 2 | 4, 1 | 2 | 8, 2, 2 | 4, 2 | 4 | 8}[r-0x2596]
		for i := range 4 {
			if x, y := float64(i%2)*w/2, float64(i/2)*h/2; q>>i&1 != 0 {
				p.part(cell, c, x, y, x+w/2, y+h/2)
			}
		}
	}
}

func mul(v, a uint8) uint8 { return uint8(int(v) * int(a) / 255) }

func (p *painter) braille(cell image.Rectangle, r rune, c color.RGBA) {
	for i := range 8 {
		if (r-0x2800)>>i&1 == 0 {
			continue
		}
		x, y := i/3, i%3 // dots 1–6 go down in two columns, 7 and 8 are below
		if i >= 6 {
			x, y = i-6, 3
		}
		s := float32(p.s)
		p.disc(float32(cell.Min.X)+(3+4*float32(x))*s, float32(cell.Min.Y)+(4+4*float32(y))*s, 1.3*s, c)
	}
}

// mark draws marks that the font has not, as lines.
func (p *painter) mark(cell image.Rectangle, r rune, c color.RGBA) bool {
	switch r {
	case '✓', '✔':
		p.stroke(cell, c, 1.5, 1.5, 11, 4, 14.5, 8.5, 5.5)
	case '✗', '✘', '✕', '✖':
		p.stroke(cell, c, 1.5, 2, 6, 8, 14)
		p.stroke(cell, c, 1.5, 8, 6, 2, 14)
	case '❯':
		p.stroke(cell, c, 1.5, 3, 5, 7, 10, 3, 15)
	case '❮':
		p.stroke(cell, c, 1.5, 7, 5, 3, 10, 7, 15)
	case '⎿':
		p.stroke(cell, c, 1, 3, 0, 3, 10, 9, 10)
	case '▸':
		p.triangle(cell, c, 3, 5.5, 8, 10, 3, 14.5)
	case '▾':
		p.triangle(cell, c, 1, 7.5, 9, 7.5, 5, 12.5)
	case '⏺':
		p.disc(float32(cell.Min.X)+float32(5*p.s), float32(cell.Min.Y)+float32(10*p.s), 3.6*float32(p.s), c)
	default:
		return false
	}
	return true
}

// window draws the frame of a window with its title.
func (p *painter) window(r image.Rectangle, title string) {
	radius := 10 * p.s
	p.rounded(r, radius, p.palette.edge)
	in := r.Inset(max(1, p.s/2))
	p.rounded(in, radius-1, p.palette.bg)
	bar := in
	bar.Max.Y = bar.Min.Y + 30*p.s
	p.rounded(image.Rect(bar.Min.X, bar.Min.Y, bar.Max.X, bar.Max.Y+radius), radius-1, p.palette.bar)
	p.fill(image.Rect(in.Min.X, bar.Max.Y, in.Max.X, bar.Max.Y+radius), p.palette.bg)
	p.fill(image.Rect(in.Min.X, bar.Max.Y, in.Max.X, bar.Max.Y+max(1, p.s/2)), p.palette.edge)
	for i, c := range []uint32{0xed6a5e, 0xf5bf4f, 0x61c554} {
		p.disc(float32(bar.Min.X+(18+20*i)*p.s), float32(bar.Min.Y+15*p.s), float32(6*p.s), hex(c))
	}
	d := font.Drawer{Dst: p.img, Src: image.NewUniform(p.palette.title), Face: p.faces[0]}
	d.Dot = fixed.Point26_6{X: (fixed.I(r.Dx()) - d.MeasureString(title)) / 2, Y: fixed.I(bar.Min.Y + 21*p.s)}
	d.DrawString(title)
}

func (p *painter) rounded(r image.Rectangle, radius int, c color.RGBA) {
	z := vector.NewRasterizer(r.Dx(), r.Dy())
	w, h, q := float32(r.Dx()), float32(r.Dy()), float32(radius)
	z.MoveTo(q, 0)
	z.LineTo(w-q, 0)
	z.QuadTo(w, 0, w, q)
	z.LineTo(w, h-q)
	z.QuadTo(w, h, w-q, h)
	z.LineTo(q, h)
	z.QuadTo(0, h, 0, h-q)
	z.LineTo(0, q)
	z.QuadTo(0, 0, q, 0)
	z.ClosePath()
	p.ink(z, r, c)
}
