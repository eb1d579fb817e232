package secret

import (
	"slices"
	"strings"
	"sync"
)

// index finds many literals in one pass. Each literal is filed under three of
// its bytes, those rarest in ordinary text, without regard to letter case. A
// text is passed over by a table of bits that says which three bytes are the
// mark of some literal; only where it says yes are literals compared. Literals
// may be added at any time.
//
// What all vaults look for is in one index, which none of them changes: a server has
// hundreds. One that looks for more has marks of its own, and its literals behind those.
type index struct {
	*marks
	owned  bool      // the marks are not those of other indexes
	shared []literal // of all; the numbers of lits begin behind them
	lits   []literal

	genuine func(found) bool // reports whether a placeholder is one
}

// marks say where a text may have a literal.
type marks struct {
	bits  [1 << 10]uint64 // by hash of the mark
	heads [1 << 10]int32  // 1 + number of the first literal of a chain
}

// detecting is the index of all detectors, and placeholding that of placeholders alone.
var (
	detecting    = sync.OnceValue(func() index { return indexOf(true) })
	placeholding = sync.OnceValue(func() index { return indexOf(false) })
)

func indexOf(detect bool) index {
	x := index{marks: new(marks), owned: true}
	x.add(literal{text: strings.ToLower(placeholderStart), fold: true})
	if detect {
		x.addDetectors()
	}
	return index{marks: x.marks, shared: slices.Clip(x.lits)}
}

func (x *index) addDetectors() {
	for _, sh := range shapes {
		for _, p := range sh.patterns {
			parts := parsePattern(p)
			x.add(literal{text: parts[0].lit, kind: sh.kind, find: sh.find(parts)})
		}
	}
	for _, d := range detectors {
		for _, a := range d.anchors {
			x.add(literal{text: a, fold: d.fold, kind: d.kind, find: d.find, all: d.all})
		}
	}
}

// literal is what the index finds: a value, the anchor of a detector, or the
// beginning of a placeholder.
type literal struct {
	text string
	fold bool   // text is lower case and matches any letter case
	mark uint32 // three bytes, folded
	off  int32  // of the mark within text
	next int32

	kind  string  // of a detector
	find  finder  // of a detector; nil for values and placeholders
	all   finders // of a detector
	value *value  // of a value
}

// span is a piece of a text that must not leave.
type span struct {
	lo, hi  int
	kind    string
	value   *value // when the text of the span is known
	replace *Entry // when it must not be restored
	pattern bool   // an entry's expression matched
	barrier bool   // a placeholder: stays as it is
	piece   bool   // of a secret that is known as a whole
	guess   bool   // by its form alone: nothing is learned from it
}

const foldMask = 0x202020

// hash spreads three folded bytes over 16 bits.
func hash(mark uint32) uint32 { return mark * 0x9E3779B1 >> 16 }

// plainness orders letters by how often they stand in text and code.
const plainness = "etaoinsrlcdupmhfgbyvwkxjqz"

// rarest is the offset in text of its rarest three bytes.
func rarest(text string) int {
	cost := func(c byte) int {
		if i := strings.IndexByte(plainness, c|0x20); i >= 0 && alnum[c] {
			return 40 - i
		}
		if c == ' ' || c == '\n' || c == '\t' {
			return 45
		}
		return 8
	}
	best, at := 1<<30, 0
	for i := 0; i+3 <= len(text) && i < 64; i++ {
		if c := cost(text[i]) + cost(text[i+1]) + cost(text[i+2]); c < best {
			best, at = c, i
		}
	}
	return at
}

func markAt(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | foldMask
}

// add files a literal of at least three bytes.
func (x *index) add(l literal) {
	if !x.owned {
		own := *x.marks
		x.marks, x.owned = &own, true
	}
	at := rarest(l.text)
	l.mark, l.off = markAt(l.text, at), int32(at)
	h := hash(l.mark)
	x.bits[h>>6] |= 1 << (h & 63)
	l.next = x.heads[h>>6]
	x.lits = append(x.lits, l)
	x.heads[h>>6] = int32(len(x.shared) + len(x.lits))
}

// scan appends the spans of s to out, in the order in which they are found.
func (x *index) scan(s string, out []span) []span {
	i := 0
	// Eight bytes hold six marks. One test covers all six.
	for ; i+8 <= len(s); i += 6 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		w |= 0x2020202020202020
		h0, h1, h2 := hash(uint32(w)&0xffffff), hash(uint32(w>>8)&0xffffff), hash(uint32(w>>16)&0xffffff)
		h3, h4, h5 := hash(uint32(w>>24)&0xffffff), hash(uint32(w>>32)&0xffffff), hash(uint32(w>>40)&0xffffff)
		hit := x.bits[h0>>6&1023]>>(h0&63) | x.bits[h1>>6&1023]>>(h1&63) | x.bits[h2>>6&1023]>>(h2&63) |
			x.bits[h3>>6&1023]>>(h3&63) | x.bits[h4>>6&1023]>>(h4&63) | x.bits[h5>>6&1023]>>(h5&63)
		if hit&1 == 0 {
			continue
		}
		for k := i; k < i+6; k++ {
			out = x.look(s, k, out)
		}
	}
	for ; i+3 <= len(s); i++ {
		out = x.look(s, i, out)
	}
	return out
}

// look compares the literals whose mark may stand at i.
func (x *index) look(s string, i int, out []span) []span {
	mark := markAt(s, i)
	h := hash(mark)
	if x.bits[h>>6]>>(h&63)&1 == 0 {
		return out
	}
	for n := x.heads[h>>6]; n != 0; {
		var l *literal
		if k := int(n) - 1; k < len(x.shared) {
			l = &x.shared[k]
		} else {
			l = &x.lits[k-len(x.shared)]
		}
		n = l.next
		at := i - int(l.off)
		if l.mark != mark || at < 0 || at+len(l.text) > len(s) || !l.matches(s[at:at+len(l.text)]) {
			continue
		}
		switch {
		case l.value != nil:
			out = append(out, span{lo: at, hi: at + len(l.text), kind: l.value.kind, value: l.value, replace: l.value.replace})
		case l.all != nil:
			out = l.all(s, at, out)
		case l.find != nil:
			if lo, hi := l.find(s, at); hi > lo {
				out = append(out, span{lo: lo, hi: hi, kind: l.kind})
			}
		default:
			if p, ok := parsePlaceholder(s, at); ok && x.genuine(p) {
				out = append(out, span{lo: at, hi: p.end, barrier: true})
			}
		}
	}
	return out
}

func (l *literal) matches(s string) bool {
	if !l.fold {
		return s == l.text
	}
	return equalFold(s, l.text)
}
