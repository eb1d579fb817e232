package document

import (
	"image"
	"image/color"
	"image/draw"
	"math"
)

// scale gives the picture in a size that is no larger. A picture that is at least
// twice as large is first averaged over whole pixels, which costs little and
// shows no false patterns; a good filter does the rest.
func scale(src image.Image, width, height int) *image.RGBA {
	b := src.Bounds()
	if factor := min(b.Dx()/width, b.Dy()/height); factor >= 2 {
		src = average(src, factor)
		b = src.Bounds()
	}
	if b.Dx() == width && b.Dy() == height {
		dst := image.NewRGBA(image.Rect(0, 0, width, height))
		draw.Draw(dst, dst.Bounds(), src, b.Min, draw.Src)
		return dst
	}
	return resample(src, width, height)
}

// taps are the pixels of a line that make one pixel of the smaller line.
type taps struct {
	first   int
	weights []float32
}

// kernel is the filter of Catmull and Rom, stretched to the smaller line.
func kernel(from, to int) []taps {
	step := float64(from) / float64(to)
	list := make([]taps, to)
	for i := range list {
		center := (float64(i) + 0.5) * step
		first := max(0, int(math.Ceil(center-2*step-0.5)))
		last := min(from-1, int(math.Floor(center+2*step-0.5)))
		weights := make([]float32, 0, last-first+1)
		var sum float32
		for j := first; j <= last; j++ {
			w := float32(catmullRom(math.Abs(float64(j)+0.5-center) / step))
			weights = append(weights, w)
			sum += w
		}
		for j := range weights {
			weights[j] /= sum
		}
		list[i] = taps{first, weights}
	}
	return list
}

func catmullRom(t float64) float64 {
	switch {
	case t < 1:
		return (1.5*t-2.5)*t*t + 1
	case t < 2:
		return ((-0.5*t+2.5)*t-4)*t + 2
	}
	return 0
}

// resample filters rows, then columns. Of the filtered rows only those are kept
// that the next row of the result needs.
func resample(src image.Image, width, height int) *image.RGBA {
	b := src.Bounds()
	across, down := kernel(b.Dx(), width), kernel(b.Dy(), height)
	dst := image.NewRGBA(image.Rect(0, 0, width, height))
	line := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	most := 0
	for _, t := range down {
		most = max(most, len(t.weights))
	}
	kept := make([][]float32, most)
	filtered := 0 // rows of the source that have been
	sums := make([]float32, 4*width)
	for y, t := range down {
		for ; filtered < t.first+len(t.weights); filtered++ {
			draw.Draw(line, line.Bounds(), src, image.Pt(b.Min.X, b.Min.Y+filtered), draw.Src)
			at := filtered % len(kept)
			if kept[at] == nil {
				kept[at] = make([]float32, 4*width)
			}
			filterRow(kept[at], line.Pix, across)
		}
		clear(sums)
		for i, w := range t.weights {
			for x, v := range kept[(t.first+i)%len(kept)] {
				sums[x] += w * v
			}
		}
		writePixels(dst.Pix[y*dst.Stride:], sums)
	}
	return dst
}

func filterRow(out []float32, pix []uint8, across []taps) {
	for x, t := range across {
		var r, g, b, a float32
		p := pix[4*t.first:]
		for i, w := range t.weights {
			q := p[4*i : 4*i+4 : 4*i+4]
			r += w * float32(q[0])
			g += w * float32(q[1])
			b += w * float32(q[2])
			a += w * float32(q[3])
		}
		o := out[4*x : 4*x+4 : 4*x+4]
		o[0], o[1], o[2], o[3] = r, g, b, a
	}
}

// writePixels rounds. A colour is at most its alpha, by which it is multiplied.
func writePixels(pix []uint8, sums []float32) {
	for i := 0; i < len(sums); i += 4 {
		a := min(max(sums[i+3], 0), 255)
		pix[i+3] = uint8(a + 0.5)
		for j := i; j < i+3; j++ {
			pix[j] = uint8(min(max(sums[j], 0), a) + 0.5)
		}
	}
}

// average reduces a picture by a whole factor. It goes through bands of rows, so
// that a large picture is not held twice.
func average(src image.Image, factor int) *image.RGBA {
	b := src.Bounds()
	width, height := b.Dx()/factor, b.Dy()/factor
	dst := image.NewRGBA(image.Rect(0, 0, width, height))
	band := image.NewRGBA(image.Rect(0, 0, width*factor, factor))
	sums := make([]uint32, 4*width)
	area := uint32(factor) * uint32(factor)
	for y := range height {
		draw.Draw(band, band.Bounds(), src, image.Pt(b.Min.X, b.Min.Y+y*factor), draw.Src)
		clear(sums)
		for row := range factor {
			pix := band.Pix[row*band.Stride:]
			for x := range width {
				s := sums[4*x : 4*x+4 : 4*x+4]
				for range factor {
					s[0] += uint32(pix[0])
					s[1] += uint32(pix[1])
					s[2] += uint32(pix[2])
					s[3] += uint32(pix[3])
					pix = pix[4:]
				}
			}
		}
		out := dst.Pix[y*dst.Stride:]
		for i, s := range sums {
			out[i] = uint8((s + area/2) / area)
		}
	}
	return dst
}

func onWhite(img image.Image) image.Image {
	dst := image.NewRGBA(img.Bounds())
	draw.Draw(dst, dst.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(dst, dst.Bounds(), img, img.Bounds().Min, draw.Over)
	return dst
}

// rotate turns a picture upright. Turn is the orientation of Exif, 1 to 8.
func rotate(img image.Image, turn int) image.Image {
	src, ok := img.(*image.RGBA)
	if !ok || turn < 2 || turn > 8 {
		return img
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	dw, dh := w, h
	if turn >= 5 {
		dw, dh = h, w
	}
	dst := image.NewRGBA(image.Rect(0, 0, dw, dh))
	for y := range h {
		for x := range w {
			dx, dy := x, y
			switch turn {
			case 2:
				dx = w - 1 - x
			case 3:
				dx, dy = w-1-x, h-1-y
			case 4:
				dy = h - 1 - y
			case 5:
				dx, dy = y, x
			case 6:
				dx, dy = h-1-y, x
			case 7:
				dx, dy = h-1-y, w-1-x
			case 8:
				dx, dy = y, w-1-x
			}
			copy(dst.Pix[dst.PixOffset(dx, dy):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return dst
}
