package key

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// MaxPaste is how many bytes of one paste are kept; what follows is counted in
// [Paste].Dropped.
const MaxPaste = 32 << 20

// maxSequence is the longest control sequence that is kept, a clipboard's text
// being the longest there is. The rest of a longer one is dropped up to its end.
const maxSequence = 8 << 20

// maxRepeat bounds the presses that one sequence may stand for.
const maxRepeat = 64

const (
	esc        = 0x1b
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// wait says what the decoder's rest waits for.
type wait uint8

const (
	waitNothing wait = iota
	// waitEscape: the rest is a whole key already (Esc, Alt+[), unless the
	// beginning of a sequence is on its way.
	waitEscape
	// waitSequence: the rest is the beginning of a sequence and no key.
	waitSequence
)

// decoder cuts a stream of bytes into sequences and makes events of them. It
// keeps what is not complete. It is not safe for concurrent use.
type decoder struct {
	uv   uv.EventDecoder
	rest []byte // the beginning of a sequence
	// scanned is how much of rest holds no end of a string sequence, so that a
	// long one is looked through once.
	scanned int
	// skipping: the string sequence was too long; all up to its end is dropped.
	skipping bool

	pasting bool
	paste   []byte
	dropped int
	tail    int // bytes of the end mark that the last read ended with
}

// feed takes the next bytes. The events that are complete are emitted in order.
func (d *decoder) feed(p []byte, emit func(Event)) {
	if d.pasting {
		p = d.feedPaste(p, emit)
	}
	if len(d.rest) > 0 {
		d.rest = append(d.rest, p...)
		p = d.rest
	}
	p = d.decode(p, emit)
	if len(p) == 0 {
		d.rest = d.rest[:0]
		if cap(d.rest) > 1<<16 {
			d.rest = nil
		}
		return
	}
	if len(p) != len(d.rest) || &p[0] != &d.rest[0] { // else nothing was taken from it
		d.rest = append(d.rest[:0], p...)
	}
	if len(d.rest) > maxSequence {
		// Two bytes stay to say what kind of sequence it is that ends somewhere.
		d.rest, d.scanned, d.skipping = append([]byte(nil), d.rest[:2]...), 2, true
	}
}

// pending says what the rest waits for.
func (d *decoder) pending() wait {
	switch {
	case d.pasting || len(d.rest) == 0:
		return waitNothing
	case d.rest[0] == esc && (len(d.rest) <= 2 || len(d.rest) == 3 && d.rest[1] == esc):
		return waitEscape
	default:
		return waitSequence
	}
}

// flush decides about the rest as nothing follows it: a lone escape byte is the
// key, with one more byte it is that key with Alt; the beginning of anything
// longer is dropped.
func (d *decoder) flush(emit func(Event)) {
	b := d.rest
	if d.pending() == waitEscape && !d.skipping {
		for len(b) > 0 && b[0] == esc && (len(b) == 1 || b[1] == esc) {
			emit(Press{Key: "esc"})
			b = b[1:]
		}
		if len(b) == 2 && introduces(b[1]) {
			emit(Press{Key: typed(string(b[1:]), modAlt)})
		}
	}
	d.rest, d.scanned, d.skipping = d.rest[:0], 0, false
}

// endPaste delivers what came of a paste whose end never will.
func (d *decoder) endPaste(emit func(Event)) {
	if !d.pasting {
		return
	}
	emit(Paste{Text: cleanPaste(d.paste), Dropped: d.dropped})
	d.pasting, d.paste, d.dropped, d.tail = false, nil, 0, 0
}

// decode emits the complete events of p and returns what is left.
func (d *decoder) decode(p []byte, emit func(Event)) []byte {
	for len(p) > 0 {
		n, whole := d.cut(p)
		if !whole {
			return p
		}
		seq := p[:n]
		p = p[n:]
		d.scanned = 0
		switch {
		case d.skipping:
			d.skipping = false
		case string(seq) == pasteStart:
			d.pasting = true
			p = d.feedPaste(p, emit)
		case string(seq) == pasteEnd: // without a start: nothing to end
		default:
			d.event(seq, emit)
		}
	}
	return nil
}

// feedPaste keeps p up to the end of the paste and returns what follows it.
func (d *decoder) feedPaste(p []byte, emit func(Event)) []byte {
	// The mark may have begun in the last read: those bytes were not kept.
	if d.tail > 0 {
		joined := pasteEnd[:d.tail] + string(p[:min(len(p), len(pasteEnd))])
		switch i := strings.Index(joined, pasteEnd); {
		case i == 0:
			p = p[len(pasteEnd)-d.tail:]
			d.endPaste(emit)
			return p
		case strings.HasPrefix(pasteEnd, joined):
			d.tail += len(p)
			return nil
		}
		d.keep([]byte(pasteEnd[:d.tail]))
		d.tail = 0
	}
	if i := bytes.Index(p, []byte(pasteEnd)); i >= 0 {
		d.keep(p[:i])
		d.endPaste(emit)
		return p[i+len(pasteEnd):]
	}
	for n := min(len(p), len(pasteEnd)-1); n > 0; n-- {
		if strings.HasPrefix(pasteEnd, string(p[len(p)-n:])) {
			d.tail = n
			break
		}
	}
	d.keep(p[:len(p)-d.tail])
	return nil
}

func (d *decoder) keep(p []byte) {
	n := min(len(p), MaxPaste-len(d.paste))
	d.paste = append(d.paste, p[:n]...)
	d.dropped += len(p) - n
}

// cleanPaste makes text of pasted bytes.
func cleanPaste(p []byte) string {
	s := strings.ToValidUTF8(string(p), "\uFFFD")
	if strings.IndexByte(s, esc) >= 0 {
		s = ansi.Strip(s)
	}
	return CleanText(s)
}

// CleanText is s with "\n" as line ends and without control characters other
// than those and tabs. It returns s itself where nothing is to be done.
func CleanText(s string) string {
	i := firstDirty(s)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		b.WriteString(s[:i])
		if i == len(s) {
			return b.String()
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r':
			b.WriteByte('\n')
			if i+1 < len(s) && s[i+1] == '\n' {
				n++
			}
		case r == utf8.RuneError:
			b.WriteRune(r)
		}
		s = s[i+n:]
		i = firstDirty(s)
	}
}

// firstDirty is the offset of the first character CleanText changes.
func firstDirty(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c < 0x20 && c != '\n' && c != '\t', c == 0x7f:
			return i
		case c < utf8.RuneSelf:
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if unicode.IsControl(r) || r == utf8.RuneError && n == 1 {
				return i
			}
			i += n - 1
		}
	}
	return len(s)
}
