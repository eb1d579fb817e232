package regex

import "encoding/binary"

// grams finds any of many literals at the cost of one. It looks at two or three bytes
// of the text at a time, passes over the places between two looks, and compares
// literals only where a table says that these bytes may be some of one.
//
// Each needle has a window, its rarest bytes that are long enough: wherever the needle
// is in the text, one of the looks falls into it.
type grams struct {
	table [1 << 16]uint8 // by hash of a gram: index of spots, 0 for none
	spots [][]spot
	width int // bytes of a look: 2 or 3
	step  int // from one look to the next
	fold  uint32
}

// spot is where a gram stands in a needle.
type spot struct {
	needle *needle
	at     int

	// Four bytes of the needle, or all, to see at once what is none.
	wordAt           int // where in the needle they are
	word, fold, care uint32
}

// stride is how grams look for needles of at least so many bytes; width 0 means that
// they cannot. Three bytes are rarer than two, but cost more to look at: that pays
// with the longest step. Still longer ones would save little, because their windows
// are longer, and with that less rare.
func stride(shortest int) (width, step int) {
	switch {
	case shortest < 2:
		return 0, 0
	case shortest < 6:
		return 2, min(shortest-1, 3)
	}
	return 3, 4
}

func newGrams(needles []needle, width, step int, fold bool) *grams {
	g := &grams{spots: make([][]spot, 1), width: width, step: step}
	if fold {
		g.fold = 0x20202020
	}
	for i := range needles {
		n := &needles[i]
		from, _ := window(n.text, width, step, fold)
		for at := from; at < from+step; at++ {
			g.put(g.hash([]byte(n.text), at), newSpot(n, at))
		}
	}
	return g
}

func newSpot(n *needle, at int) spot {
	s := spot{needle: n, at: at, wordAt: max(0, min(at, len(n.text)-4))}
	for k := range min(4, len(n.text)) {
		s.word |= uint32(n.text[s.wordAt+k]) << (8 * k)
		s.care |= 0xFF << (8 * k)
		if n.mask != nil {
			s.fold |= uint32(n.mask[s.wordAt+k]) << (8 * k)
		}
	}
	return s
}

// put adds a spot to those of a hash. Beyond 255 lists, hashes share them: what is
// found is compared as a whole anyway.
func (g *grams) put(hash uint32, s spot) {
	id := g.table[hash]
	if id == 0 {
		id = uint8(1 + hash%255)
		if len(g.spots) < 256 {
			id = uint8(len(g.spots))
			g.spots = append(g.spots, nil)
		}
		g.table[hash] = id
	}
	g.spots[id] = append(g.spots[id], s)
}

// window is where the bytes of a text begin that a look of some width falls into, and
// the share of looks that find a gram of them.
func window(text string, width, step int, fold bool) (from int, found float64) {
	found = 8
	for i := range len(text) - width - step + 2 {
		sum := 0.0
		for k := i; k < i+step; k++ {
			sum += share(text[k:k+width], fold)
		}
		if sum < found {
			from, found = i, sum
		}
	}
	return from, found
}

// pairOf and tripleOf are the hashes of the gram that b begins with. b has four bytes
// if it is one of three.
func pairOf(b []byte, fold uint32) uint16 { return binary.LittleEndian.Uint16(b) | uint16(fold) }

func tripleOf(b []byte, fold uint32) uint32 {
	return mixed(binary.LittleEndian.Uint32(b) | fold)
}

// mixed makes 14 bits of three bytes: the factor lets the fourth fall out.
func mixed(x uint32) uint32 { return x * (0x9E3779 << 8) >> 18 }

// hash is that of the gram at i, behind which text may end.
func (g *grams) hash(text []byte, i int) uint32 {
	x := uint32(text[i]) | uint32(text[i+1])<<8
	if g.width == 2 {
		return (x | g.fold) & 0xFFFF
	}
	return mixed(x | uint32(text[i+2])<<16 | g.fold)
}

// next is where in text a needle at or after from begins, len(text) if there is none.
// No other one ends before that.
func (g *grams) next(text []byte, from int) int {
	for i := from; ; i += g.step {
		var id uint8
		if i, id = g.skip(text, i); i >= len(text) {
			return len(text)
		}
		spots := g.spots[id]
		for k := range spots {
			s := &spots[k]
			at := i - s.at
			if w := at + s.wordAt; w >= 0 && w+4 <= len(text) && (binary.LittleEndian.Uint32(text[w:])|s.fold)&s.care != s.word {
				continue
			}
			if from <= at && at+len(s.needle.text) <= len(text) && s.needle.matches(text, at) {
				return at
			}
		}
	}
}

// skip is where the first look from i on, or a later one, finds a gram that the table
// knows, and what it says; len(text) if none does. There is a loop for each
// kind of step, because that lets the processor look at several grams at once.
func (g *grams) skip(text []byte, i int) (at int, id uint8) {
	table, fold := &g.table, g.fold
	switch {
	case g.width == 3:
		for ; i+16 <= len(text); i += 16 {
			b := text[i : i+16]
			if table[tripleOf(b, fold)]|table[tripleOf(b[4:], fold)]|table[tripleOf(b[8:], fold)]|table[tripleOf(b[12:], fold)] != 0 {
				break
			}
		}
	case g.step == 3:
		for ; i+12 <= len(text); i += 12 {
			b := text[i : i+12]
			if table[pairOf(b, fold)]|table[pairOf(b[3:], fold)]|table[pairOf(b[6:], fold)]|table[pairOf(b[9:], fold)] != 0 {
				break
			}
		}
	case g.step == 2:
		for ; i+16 <= len(text); i += 16 {
			b := text[i : i+16]
			if table[pairOf(b, fold)]|table[pairOf(b[2:], fold)]|table[pairOf(b[4:], fold)]|table[pairOf(b[6:], fold)]|
				table[pairOf(b[8:], fold)]|table[pairOf(b[10:], fold)]|table[pairOf(b[12:], fold)]|table[pairOf(b[14:], fold)] != 0 {
				break
			}
		}
	default:
		for ; i+8 <= len(text); i += 4 {
			b := text[i : i+8]
			if table[pairOf(b, fold)]|table[pairOf(b[1:], fold)]|table[pairOf(b[2:], fold)]|table[pairOf(b[3:], fold)] != 0 {
				break
			}
		}
	}
	for ; i+g.width <= len(text); i += g.step {
		if id := table[g.hash(text, i)]; id != 0 {
			return i, id
		}
	}
	return len(text), 0
}
