package picture

import (
	"image"
	"strconv"
)

// colors is how many colours a sixel picture has: all terminals have registers for as
// many.
const colors = 256

// sixel is the picture as DEC's terminals take it: bands of six rows, in each band the
// pixels of one colour after the other. Pixels that are not drawn stay as they are.
func sixel(img *image.NRGBA) string {
	palette, number := quantize(img, colors)
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := make([]byte, 0, w*h/2+len(palette)*16+64)
	out = append(out, "\x1bP0;1;0q\"1;1;"...) // pixels are square; what is not drawn stays
	out = strconv.AppendInt(out, int64(w), 10)
	out = append(out, ';')
	out = strconv.AppendInt(out, int64(h), 10)
	for i, c := range palette {
		out = append(out, '#')
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, ";2"...)
		for _, part := range c {
			out = append(out, ';')
			out = strconv.AppendInt(out, (int64(part)*100+127)/255, 10) // percent
		}
	}
	b := band{img: img, number: number, masks: make([]uint8, colors*w), used: make([]span, colors)}
	for y := 0; y < h; y += 6 {
		if y > 0 {
			out = append(out, '-')
		}
		out = b.append(out, y)
	}
	return string(append(out, "\x1b\\"...))
}

// band is the memory of one band.
type band struct {
	img    *image.NRGBA
	number []uint8 // of a bucket's colour
	masks  []uint8 // for each colour and column, which of the six pixels have it
	used   []span
}

// span is the columns in which a colour stands; empty for one that does not.
type span struct{ from, to int }

// append adds the band that begins at row y.
func (b *band) append(out []byte, y int) []byte {
	w := b.img.Rect.Dx()
	clear(b.used)
	for dy := range min(6, b.img.Rect.Dy()-y) {
		row := b.img.Pix[(y+dy)*b.img.Stride:]
		for x := range w {
			p := row[4*x : 4*x+4]
			if p[3] < opaque {
				continue
			}
			c := int(b.number[bucket(p[0], p[1], p[2])])
			b.masks[c*w+x] |= 1 << dy
			s := &b.used[c]
			if s.to == 0 {
				s.from = x
			}
			s.from, s.to = min(s.from, x), max(s.to, x+1)
		}
	}
	first := true
	for c, s := range b.used {
		if s.to == 0 {
			continue
		}
		if !first {
			out = append(out, '$')
		}
		first = false
		out = append(out, '#')
		out = strconv.AppendInt(out, int64(c), 10)
		mask := b.masks[c*w : c*w+s.to]
		out = repeat(out, '?', s.from)
		for x := s.from; x < s.to; {
			n := 1
			for x+n < s.to && mask[x+n] == mask[x] {
				n++
			}
			out = repeat(out, '?'+mask[x], n)
			x += n
		}
		clear(mask)
	}
	return out
}

// repeat adds n times the same.
func repeat(out []byte, c byte, n int) []byte {
	if n > 3 {
		out = append(out, '!')
		out = strconv.AppendInt(out, int64(n), 10)
		return append(out, c)
	}
	for range n {
		out = append(out, c)
	}
	return out
}
