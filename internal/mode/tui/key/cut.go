package key

import (
	"bytes"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cut finds the first sequence of p: one grapheme of text, one control byte, or
// one escape sequence with all its parts. It reports false when more bytes may
// belong to it. The forms are those of ECMA-48 and of xterm's "Control
// Sequences" (ctlseqs), with the exceptions that terminals are known for.
func (d *decoder) cut(p []byte) (n int, whole bool) {
	if p[0] != esc {
		return cutText(p)
	}
	if len(p) == 1 {
		return 0, false
	}
	switch p[1] {
	case '[':
		return d.cutCSI(p)
	case 'O':
		return cutSS3(p)
	case 'P', ']', '_', '^', 'X':
		return d.cutString(p)
	case esc:
		// Escape before a sequence is Alt in rxvt and iTerm2; before anything else
		// the key itself.
		if len(p) == 2 {
			return 0, false
		}
		if p[2] != '[' && p[2] != 'O' {
			return 1, true
		}
		d.scanned = 0 // it counts from the inner sequence's start
		n, whole = d.cut(p[1:])
		d.scanned = 0
		return n + 1, whole
	}
	// Alt is held for one character; what combines with it is typed after it.
	if !utf8.FullRune(p[1:]) {
		return 0, false
	}
	_, n = utf8.DecodeRune(p[1:])
	return n + 1, true
}

// cutText cuts one control byte or grapheme cluster. A cluster that may go on in
// the next read is cut where the bytes end: holding it back would make each key
// wait for the next one.
func cutText(p []byte) (n int, whole bool) {
	if p[0] < utf8.RuneSelf && (len(p) == 1 || p[1] < utf8.RuneSelf) {
		return 1, true // the common case; CR LF are two keys
	}
	if !utf8.FullRune(p) {
		return 0, false
	}
	if r, n := utf8.DecodeRune(p); r == utf8.RuneError && n == 1 || p[0] < 0x20 || p[0] == 0x7f {
		return n, true
	}
	cluster, _ := ansi.FirstGraphemeCluster(p, ansi.GraphemeWidth)
	for n < len(cluster) { // half a character at the end stays for the next read
		r, size := utf8.DecodeRune(cluster[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n, true
}

// cutCSI cuts ESC [ parameters intermediates final. A byte that cannot be part of
// it ends the sequence before it: a control byte or an escape is a key of its
// own that must not be lost.
func (d *decoder) cutCSI(p []byte) (n int, whole bool) {
	i := 2
	if i < len(p) && p[i] == '[' {
		// Linux console: ESC [ [ A to E are F1 to F5.
		if i+1 == len(p) {
			return 0, false
		}
		return i + 2, true
	}
	i = max(i, d.scanned)
	for i < len(p) && p[i] >= 0x30 && p[i] <= 0x3f {
		i++
	}
	d.scanned = i
	digits := i > 2 && bytes.IndexFunc(p[2:i], func(r rune) bool { return r < '0' || r > '9' }) < 0
	for i < len(p) && p[i] >= 0x20 && p[i] <= 0x2f {
		i++
		if digits && p[i-1] == '$' {
			return i, true // rxvt: ESC [ 7 $ is Shift+Home
		}
	}
	switch {
	case i == len(p):
		return 0, false
	case p[i] < 0x40 || p[i] > 0x7e:
		return i, true
	case p[i] == 'M' && i == 2:
		// A mouse report of the oldest kind has three more bytes.
		if len(p) < 6 {
			return 0, false
		}
		return 6, true
	}
	return i + 1, true
}

// cutSS3 cuts ESC O, digits that some terminals put there for modifiers, final.
func cutSS3(p []byte) (n int, whole bool) {
	i := 2
	for i < len(p) && p[i] >= '0' && p[i] <= '9' {
		i++
	}
	switch {
	case i == len(p):
		return 0, false
	case p[i] < 0x20 || p[i] > 0x7e:
		return i, true
	}
	return i + 1, true
}

// cutString cuts a sequence that carries text: ESC ] and its like up to ESC \, or
// BEL after ESC ]. CAN, SUB and an escape that begins something else cancel it.
// A byte 0x9c is no end: it occurs within UTF-8.
func (d *decoder) cutString(p []byte) (n int, whole bool) {
	for i := max(2, d.scanned); i < len(p); i++ {
		switch c := p[i]; {
		case c == 0x07 && p[1] == ']', c == 0x18, c == 0x1a:
			return i + 1, true
		case c != esc:
		case i+1 == len(p):
			d.scanned = i
			return 0, false
		case p[i+1] == '\\':
			return i + 2, true
		default:
			return i, true
		}
	}
	d.scanned = len(p)
	return 0, false
}
