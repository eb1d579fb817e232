package vt

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Size of a cell in pixels, in answers and in pictures of scale 1.
const (
	cellW = 10
	cellH = 20
)

// PictureOptions say how a screen is drawn. The zero value is a dark window of double
// size.
type PictureOptions struct {
	Light bool // dark text on light ground
	Scale int  // pixels for each of a cell's 10×20; 2 where not set, at most 8
	Title string
	Bare  bool // no frame of a window
	// Fonts are TrueType or OpenType files for characters Go Mono has not, such as
	// those of Chinese. What is in none of them is drawn as an empty box.
	Fonts [][]byte
}

// palette is the colours of a picture.
type palette struct {
	fg, bg, bar, edge, title color.RGBA
	named                    [16]color.RGBA
}

func hex(rgb uint32) color.RGBA {
	return color.RGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 255}
}

func hexes(rgb ...uint32) (list [16]color.RGBA) {
	for i, c := range rgb {
		list[i] = hex(c)
	}
	return list
}

func newPalette(light bool) palette {
	if light {
		return palette{
			fg: hex(0x2b303b), bg: hex(0xfcfcfa), bar: hex(0xebebe6), edge: hex(0xd0d0ca), title: hex(0x6c6f76),
			named: hexes(0x2b303b, 0xc0362c, 0x3f7d20, 0x9a6700, 0x2460b5, 0x8f3f97, 0x14767b, 0x8a8d93,
				0x6c6f76, 0xd9483b, 0x4f9a2a, 0xb57a00, 0x2f74d6, 0xa94fb2, 0x1a8f95, 0xb9bbbf),
		}
	}
	return palette{
		fg: hex(0xd5d8df), bg: hex(0x16181d), bar: hex(0x22252c), edge: hex(0x343841), title: hex(0x9aa0ac),
		named: hexes(0x2b2f38, 0xe06c75, 0x98c379, 0xe5c07b, 0x6cb2f0, 0xc88ae0, 0x5bc0c8, 0xc3c7d0,
			0x6b7280, 0xf28b91, 0xb5dc93, 0xf2d69b, 0x92c8f7, 0xdcaaf0, 0x86d6dc, 0xf4f5f7),
	}
}

// color is what c looks like; def stands for the terminal's own colour.
func (p *palette) color(c Color, def color.RGBA) color.RGBA {
	if r, g, b, ok := c.RGB(); ok {
		return color.RGBA{r, g, b, 255}
	}
	i, ok := c.Index()
	switch {
	case !ok:
		return def
	case i < 16:
		return p.named[i]
	case i >= 232:
		v := 8 + (i-232)*10
		return color.RGBA{v, v, v, 255}
	}
	level := func(n uint8) uint8 {
		if n == 0 {
			return 0
		}
		return 55 + n*40
	}
	i -= 16
	return color.RGBA{level(i / 36), level(i / 6 % 6), level(i % 6), 255}
}

// of gives the colours of a style, with what dims, reverses and hides worked in.
func (p *palette) of(s Style) (fg, bg color.RGBA) {
	fg, bg = p.color(s.FG, p.fg), p.color(s.BG, p.bg)
	if s.Attr&Reverse != 0 {
		fg, bg = bg, fg
	}
	if s.Attr&Dim != 0 {
		fg = mix(fg, bg, 110)
	}
	if s.Attr&Hidden != 0 {
		fg = bg
	}
	return fg, bg
}

// mix is a with part/256 of b.
func mix(a, b color.RGBA, part int) color.RGBA {
	m := func(x, y uint8) uint8 { return uint8((int(x)*(256-part) + int(y)*part) / 256) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 255}
}

// PNG is the picture of the screen as a PNG file.
func (t *Terminal) PNG(o PictureOptions) ([]byte, error) {
	img, err := t.Picture(o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("write the picture: %w", err)
	}
	return b.Bytes(), nil
}

// Picture draws the screen as it is seen now. It fails only where a font of the
// options cannot be read.
func (t *Terminal) Picture(o PictureOptions) (*image.RGBA, error) {
	if o.Scale <= 0 {
		o.Scale = 2
	}
	p := &painter{palette: newPalette(o.Light), s: min(o.Scale, 8)}
	if err := p.load(o.Fonts); err != nil {
		return nil, err
	}
	w, h := t.screen.w*cellW*p.s, t.screen.h*cellH*p.s
	frame := image.Rect(0, 0, w, h)
	if !o.Bare {
		margin, bar := 12*p.s, 34*p.s
		p.origin = image.Pt(margin, bar+margin/2)
		frame = image.Rect(0, 0, w+2*margin, h+bar+margin*3/2)
	}
	p.img = image.NewRGBA(frame)
	if o.Bare {
		p.fill(frame, p.palette.bg)
	} else {
		p.window(frame, o.Title)
	}
	g, _ := t.screen.seen()
	for y := range g.rows {
		for x, c := range g.rows[y].cells {
			p.cell(x, y, c)
		}
	}
	p.cursor(t)
	return p.img, nil
}

// painter draws one picture.
type painter struct {
	img     *image.RGBA
	palette palette
	s       int // pixels for one of a cell's units
	origin  image.Point
	faces   [4]font.Face // bold 1, italic 2
	fonts   []*opentype.Font
	others  []font.Face
	go4     [4]*opentype.Font
}

func (p *painter) load(extra [][]byte) error {
	// An em of Go Mono is 1/0.6 of the width of its characters.
	opts := &opentype.FaceOptions{Size: float64(cellW*p.s) / 0.6001, DPI: 72, Hinting: font.HintingNone}
	open := func(ttf []byte) (*opentype.Font, font.Face, error) {
		f, err := opentype.Parse(ttf)
		if err != nil {
			return nil, nil, fmt.Errorf("read a font: %w", err)
		}
		face, err := opentype.NewFace(f, opts)
		if err != nil {
			return nil, nil, fmt.Errorf("read a font: %w", err)
		}
		return f, face, nil
	}
	var err error
	for i, ttf := range [][]byte{gomono.TTF, gomonobold.TTF, gomonoitalic.TTF, gomonobolditalic.TTF} {
		if p.go4[i], p.faces[i], err = open(ttf); err != nil {
			return err
		}
	}
	for _, ttf := range extra {
		f, face, err := open(ttf)
		if err != nil {
			return err
		}
		p.fonts, p.others = append(p.fonts, f), append(p.others, face)
	}
	return nil
}

func (p *painter) fill(r image.Rectangle, c color.RGBA) {
	draw.Draw(p.img, r, image.NewUniform(c), image.Point{}, draw.Over)
}

// cell draws one cell with its background.
func (p *painter) cell(x, y int, c Cell) {
	if c.Width == 0 {
		return
	}
	fg, bg := p.palette.of(c.Style)
	p.glyph(p.rect(x, y, c.Width), c, fg, bg)
}

func (p *painter) rect(x, y, width int) image.Rectangle {
	at := p.origin.Add(image.Pt(x*cellW*p.s, y*cellH*p.s))
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(width*cellW*p.s, cellH*p.s))}
}

func (p *painter) glyph(r image.Rectangle, c Cell, fg, bg color.RGBA) {
	if bg != p.palette.bg {
		p.fill(r, bg)
	}
	if c.Text != "" && c.Text != " " && !p.shape(r, []rune(c.Text)[0], fg) {
		p.letter(r, c, fg)
	}
	p.lines(r, c.Style, fg)
}

// letter draws a character of a font.
func (p *painter) letter(r image.Rectangle, c Cell, fg color.RGBA) {
	i := 0
	if c.Style.Attr&Bold != 0 {
		i |= 1
	}
	if c.Style.Attr&Italic != 0 {
		i |= 2
	}
	first := []rune(c.Text)[0]
	face := p.faces[i]
	if !has(p.go4[i], first) {
		face = nil
		for k, f := range p.fonts {
			if has(f, first) {
				face = p.others[k]
				break
			}
		}
	}
	if face == nil {
		in := r.Inset(2 * p.s)
		p.outline(in, fg)
		return
	}
	d := font.Drawer{Dst: p.img, Src: image.NewUniform(fg), Face: face}
	x := fixed.I(r.Min.X) + (fixed.I(r.Dx())-d.MeasureString(c.Text))/2
	d.Dot = fixed.Point26_6{X: x, Y: fixed.I(r.Min.Y + cellH*p.s*3/4)}
	d.DrawString(c.Text)
}

func has(f *opentype.Font, r rune) bool {
	i, err := f.GlyphIndex(nil, r)
	return err == nil && i != 0
}

func (p *painter) outline(r image.Rectangle, c color.RGBA) {
	p.fill(image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+p.s), c)
	p.fill(image.Rect(r.Min.X, r.Max.Y-p.s, r.Max.X, r.Max.Y), c)
	p.fill(image.Rect(r.Min.X, r.Min.Y, r.Min.X+p.s, r.Max.Y), c)
	p.fill(image.Rect(r.Max.X-p.s, r.Min.Y, r.Max.X, r.Max.Y), c)
}

// lines draws what stands under, over and through a character.
func (p *painter) lines(r image.Rectangle, s Style, fg color.RGBA) {
	bar := func(y int, c color.RGBA) {
		p.fill(image.Rect(r.Min.X, r.Min.Y+y*p.s, r.Max.X, r.Min.Y+(y+1)*p.s), c)
	}
	under := p.palette.color(s.Line, fg)
	switch {
	case s.Attr&Underline != 0:
		bar(17, under)
	case s.Attr&DoubleUnderline != 0:
		bar(16, under)
		bar(18, under)
	case s.Attr&CurlyUnderline != 0:
		for x := r.Min.X; x < r.Max.X; x += p.s { // a wave of four steps
			up := []int{0, 1, 2, 1}[(x-p.origin.X)/p.s/2%4]
			p.fill(image.Rect(x, r.Min.Y+(18-up)*p.s, x+p.s, r.Min.Y+(19-up)*p.s), under)
		}
	}
	if s.Attr&Strike != 0 {
		bar(10, fg)
	}
	if s.Attr&Overline != 0 {
		bar(0, fg)
	}
}

// cursor draws the cursor over its cell.
func (p *painter) cursor(t *Terminal) {
	c := t.Cursor()
	if c.Hidden {
		return
	}
	cell := t.Cell(c.X, c.Y)
	r := p.rect(c.X, c.Y, max(cell.Width, 1))
	switch c.Shape {
	case 3, 4:
		p.fill(image.Rect(r.Min.X, r.Max.Y-2*p.s, r.Max.X, r.Max.Y), p.palette.fg)
	case 5, 6:
		p.fill(image.Rect(r.Min.X, r.Min.Y, r.Min.X+2*p.s, r.Max.Y), p.palette.fg)
	default:
		_, bg := p.palette.of(cell.Style)
		p.glyph(r, cell, bg, p.palette.fg)
	}
}
