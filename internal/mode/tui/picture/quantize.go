package picture

import (
	"cmp"
	"image"
	"slices"
)

// Colours are counted in boxes of five bits for each part, so that what follows costs
// the same for every picture.
const (
	bits    = 5
	side    = 1 << bits
	buckets = side * side * side
)

// rgb is a colour.
type rgb [3]uint8

// opaque is the alpha from which a pixel is drawn; below, the terminal's ground shows.
const opaque = 128

// bucket is the place of a colour in the count.
func bucket(r, g, b uint8) int {
	return int(r>>(8-bits))<<(2*bits) | int(g>>(8-bits))<<bits | int(b>>(8-bits))
}

// entry is a bucket that has pixels: how many, and the sums of their parts.
type entry struct {
	at    int
	n     uint64
	parts [3]uint64
}

func (e *entry) mean(part int) uint64 { return e.parts[part] / e.n }

// quantize chooses at most n colours by median cut, and gives for each bucket the
// number of its colour.
func quantize(img *image.NRGBA, n int) (palette []rgb, number []uint8) {
	entries := count(img)
	number = make([]uint8, buckets)
	if len(entries) == 0 {
		return nil, number
	}
	boxes := [][]entry{entries}
	for len(boxes) < n {
		at, part := widest(boxes)
		if at < 0 {
			break
		}
		a, b := split(boxes[at], part)
		boxes[at] = a
		boxes = append(boxes, b)
	}
	for i, box := range boxes {
		var sum entry
		for _, e := range box {
			sum.n += e.n
			for k := range sum.parts {
				sum.parts[k] += e.parts[k]
			}
			number[e.at] = uint8(i)
		}
		palette = append(palette, rgb{uint8(sum.mean(0)), uint8(sum.mean(1)), uint8(sum.mean(2))})
	}
	return palette, number
}

// count counts the colours of the pixels that are drawn.
func count(img *image.NRGBA) []entry {
	all := make([]entry, buckets)
	for y := range img.Rect.Dy() {
		row := img.Pix[y*img.Stride : y*img.Stride+4*img.Rect.Dx()]
		for x := 0; x < len(row); x += 4 {
			if row[x+3] < opaque {
				continue
			}
			e := &all[bucket(row[x], row[x+1], row[x+2])]
			e.n++
			for k := range e.parts {
				e.parts[k] += uint64(row[x+k])
			}
		}
	}
	var used []entry
	for i := range all {
		if all[i].n > 0 {
			all[i].at = i
			used = append(used, all[i])
		}
	}
	return used
}

// widest is the box whose colours lie the farthest apart, with the weight of its
// pixels, and in which part; -1 where no box can be split.
func widest(boxes [][]entry) (at, part int) {
	at = -1
	var best uint64
	for i, box := range boxes {
		if len(box) < 2 {
			continue
		}
		var n uint64
		low, high := [3]uint64{255, 255, 255}, [3]uint64{}
		for j := range box {
			n += box[j].n
			for k := range low {
				m := box[j].mean(k)
				low[k], high[k] = min(low[k], m), max(high[k], m)
			}
		}
		for k := range low {
			// A few pixels of another colour are seen too: their weight grows slowly.
			if w := (high[k] - low[k] + 1) * root(n); w > best {
				best, at, part = w, i, k
			}
		}
	}
	return at, part
}

func root(n uint64) uint64 {
	r := uint64(1)
	for r*r < n {
		r *= 2
	}
	return r
}

// split cuts a box in two with about as many pixels each.
func split(box []entry, part int) (a, b []entry) {
	slices.SortFunc(box, func(x, y entry) int { return cmp.Or(cmp.Compare(x.mean(part), y.mean(part)), cmp.Compare(x.at, y.at)) })
	var n, half uint64
	for i := range box {
		n += box[i].n
	}
	cut := 0
	for cut < len(box)-1 && half+box[cut].n <= n/2 {
		half += box[cut].n
		cut++
	}
	cut = max(1, cut)
	return box[:cut], box[cut:]
}
