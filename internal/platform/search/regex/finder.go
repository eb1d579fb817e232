package regex

import (
	"bytes"
	"slices"
	"strings"
)

// finder looks for any of some literals in a text. It asks the processor's
// search instructions for the rarest byte of each and compares the rest there, or
// looks for all of them at once where they are many or their bytes are common.
type finder struct {
	needles  []needle
	grams    *grams // nil: one needle after the other
	fold     bool
	kin      bool // a character beyond ASCII has a letter of the literals as its other case
	nonASCII bool
	cr       bool // a literal holds a carriage return, which may not belong to its line
}

type needle struct {
	text string
	mask []byte // with fold: 0x20 where text has a letter
	at   int    // of the rarest byte
	a, b byte   // that byte, and in its other case
}

// cursor is what is known of where a needle is in a text.
type cursor struct {
	hit  int // the first place at or after the last one asked for
	a, b int // the same of the rarest byte
}

func newFinder(l literals) *finder {
	f := &finder{fold: l.fold}
	texts := slices.Clone(l.texts)
	slices.SortFunc(texts, func(a, b string) int { return len(a) - len(b) })
	for i, t := range texts {
		if slices.ContainsFunc(texts[:i], func(short string) bool { return strings.Contains(t, short) }) {
			continue // the shorter one finds it
		}
		f.needles = append(f.needles, newNeedle(t, l.fold))
		f.cr = f.cr || strings.Contains(t, "\r")
		f.kin = f.kin || l.fold && strings.ContainsAny(t, "ks")
		for i := range len(t) {
			f.nonASCII = f.nonASCII || t[i] >= 0x80
		}
	}
	if together, _ := l.finding(); together {
		width, step := stride(l.shortest())
		f.grams = newGrams(f.needles, width, step, l.fold)
	}
	return f
}

func newNeedle(t string, fold bool) needle {
	n := needle{text: t}
	rarest := 2.0
	for i := range len(t) {
		if p, _ := frequency(t[i], fold); p < rarest {
			rarest, n.at = p, i
		}
	}
	n.a = t[n.at]
	n.b = n.a
	if fold {
		n.mask = make([]byte, len(t))
		for i := range len(t) {
			if 'a' <= t[i] && t[i] <= 'z' {
				n.mask[i] = 0x20
			}
		}
		n.b = n.a ^ n.mask[n.at]
	}
	return n
}

// next is where in text a literal at or after from begins, len(text) if there is none.
// No other one ends before that, so none is in an earlier line. The cursors are those
// of f.cursors for a new text and serve as long as from does not go back.
func (f *finder) next(cursors []cursor, text []byte, from int) int {
	if f.grams != nil {
		if c := &cursors[0]; c.hit < from {
			c.hit = f.grams.next(text, from)
		}
		return cursors[0].hit
	}
	first := len(text)
	for i := range f.needles {
		c := &cursors[i]
		if c.hit < from {
			c.hit = f.needles[i].find(c, text, from)
		}
		first = min(first, c.hit)
	}
	return first
}

// cursors are those of a new text; old ones are used again.
func (f *finder) cursors(old []cursor) []cursor {
	old = old[:0]
	for range f.needles {
		old = append(old, cursor{-1, -1, -1})
	}
	return old
}

func (n *needle) find(c *cursor, text []byte, from int) int {
	last := len(text) - len(n.text) + n.at // where the rarest byte can be at most
	for i := from + n.at; i <= last; {
		if c.a < i {
			c.a = indexByte(text, i, n.a)
		}
		p := c.a
		if n.b != n.a {
			if c.b < i {
				c.b = indexByte(text, i, n.b)
			}
			p = min(p, c.b)
		}
		if p > last {
			break
		}
		if n.matches(text, p-n.at) {
			return p - n.at
		}
		i = p + 1
	}
	return len(text)
}

// matches reports whether n is at index i of text, which is long enough.
func (n *needle) matches(text []byte, i int) bool {
	text = text[i : i+len(n.text)]
	if n.mask == nil {
		return string(text) == n.text
	}
	for k, b := range text {
		if b|n.mask[k] != n.text[k] {
			return false
		}
	}
	return true
}

// indexByte is the index of the first b at or after from, len(text) if there is
// none.
func indexByte(text []byte, from int, b byte) int {
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}
