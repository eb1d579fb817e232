package theme

import (
	"fmt"
	"math"
	"strconv"
)

// Color is a colour of a theme. Its zero value is the terminal's default.
type Color struct {
	kind    colorKind
	r, g, b uint8 // of rgb
	index   uint8 // of indexed
}

type colorKind uint8

const (
	terminalDefault colorKind = iota
	indexed
	rgb
)

// RGB is a colour from 0xRRGGBB.
func RGB(v uint32) Color {
	return Color{kind: rgb, r: uint8(v >> 16), g: uint8(v >> 8), b: uint8(v)}
}

// Indexed is one of the 256 colours of xterm.
func Indexed(i uint8) Color { return Color{kind: indexed, index: i} }

// Hex is the colour as "#rrggbb", or "" for the terminal's default. The first 16
// indexed colours are what users have set; xterm's stand for them.
func (c Color) Hex() string {
	if c.kind == terminalDefault {
		return ""
	}
	r, g, b := c.components()
	return fmt.Sprintf("#%02x%02x%02x", r, g, b)
}

// basic are xterm's first 16 colours.
var basic = [16][3]uint8{
	{0, 0, 0},
	{205, 0, 0},
	{0, 205, 0},
	{205, 205, 0},
	{0, 0, 238},
	{205, 0, 205},
	{0, 205, 205},
	{229, 229, 229},
	{127, 127, 127},
	{255, 0, 0},
	{0, 255, 0},
	{255, 255, 0},
	{92, 92, 255},
	{255, 0, 255},
	{0, 255, 255},
	{255, 255, 255},
}

var cube = [6]uint8{0, 95, 135, 175, 215, 255}

func (c Color) components() (r, g, b uint8) {
	if c.kind != indexed {
		return c.r, c.g, c.b
	}
	switch i := c.index; {
	case i < 16:
		return basic[i][0], basic[i][1], basic[i][2]
	case i < 232:
		i -= 16
		return cube[i/36], cube[i/6%6], cube[i%6]
	default:
		v := 8 + (i-232)*10
		return v, v, v
	}
}

// Luminance is WCAG's relative luminance, 0 to 1.
func (c Color) Luminance() float64 {
	r, g, b := c.components()
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func linear(v uint8) float64 {
	f := float64(v) / 255
	if f <= 0.04045 {
		return f / 12.92
	}
	return math.Pow((f+0.055)/1.055, 2.4)
}

// distance is how different two colours look, by the red mean: near enough to
// the eye for choosing among 240, and cheap.
func distance(r1, g1, b1, r2, g2, b2 uint8) int {
	mean := (int(r1) + int(r2)) / 2
	dr, dg, db := int(r1)-int(r2), int(g1)-int(g2), int(b1)-int(b2)
	return (512+mean)*dr*dr>>8 + 4*dg*dg + (767-mean)*db*db>>8
}

// to256 is the nearest of xterm's fixed 240 colours; the first 16 are the user's
// and may be anything.
func (c Color) to256() uint8 {
	if c.kind == indexed {
		return c.index
	}
	best, at := math.MaxInt, 0
	for i := 16; i < 256; i++ {
		r, g, b := Indexed(uint8(i)).components()
		if d := distance(c.r, c.g, c.b, r, g, b); d < best {
			best, at = d, i
		}
	}
	return uint8(at)
}

// to16 is the one of the 16 colours that has the hue of c, or, of a colour
// without one, the grey of about its brightness. Ok is false if the terminal's
// default says it better: near black and near white depend on what is behind.
func (c Color) to16() (i uint8, ok bool) {
	if c.kind == indexed && c.index < 16 {
		return c.index, true
	}
	r, g, b := c.components()
	high, low := max(r, g, b), min(r, g, b)
	chroma := int(high) - int(low)
	if chroma < 40 || chroma*4 < int(high) {
		switch l := c.Luminance(); {
		case l < 0.03 || l > 0.45:
			return 0, false
		default:
			return 8, true
		}
	}
	middle := int(low) + chroma/2
	for bit, v := range [3]uint8{r, g, b} {
		if int(v) >= middle {
			i |= 1 << bit
		}
	}
	if c.Luminance() > 0.35 {
		i += 8
	}
	return i, true
}

// sgr is the parameters that select c, "" for none. Backgrounds of few colours
// are left out: what a terminal has there hides text more often than it helps.
func (c Color) sgr(p Profile, background bool) string {
	base := 38
	if background {
		base = 48
	}
	switch {
	case p < ANSI16 || c.kind == terminalDefault:
		return ""
	case p == TrueColor && c.kind == rgb:
		return fmt.Sprintf("%d;2;%d;%d;%d", base, c.r, c.g, c.b)
	case p >= ANSI256:
		return fmt.Sprintf("%d;5;%d", base, c.to256())
	case background:
		return ""
	}
	i, ok := c.to16()
	switch {
	case !ok:
		return ""
	case i < 8:
		return strconv.Itoa(30 + int(i))
	}
	return strconv.Itoa(90 + int(i) - 8)
}
