package tool

import "unicode/utf8"

// Longest control sequences that are recognized. Anything longer is not a terminal's sequence
// but text, and is shown from there on.
const (
	maxSequence = 256     // parameters of a CSI
	maxString   = 1 << 20 // a title, the clipboard, an image
)

// cleaner removes control sequences, control characters and invalid UTF-8 from a stream,
// however the stream is split into writes.
//
// Only the seven-bit forms start a sequence. The C1 characters (U+0080 to U+009F) are dropped
// one by one: text that was decoded twice is full of them, and if one started a string it
// would hide the rest of the line.
type cleaner struct {
	state cleanState
	seen  int    // bytes of the sequence
	held  []byte // first bytes of an incomplete character; at most 3
}

type cleanState uint8

const (
	inText      cleanState = iota
	inEscape               // ESC
	inCSI                  // ESC [
	inString               // ESC ] and similar: up to BEL, ST or the end of the line
	inStringEsc            // ESC in a string: the first half of ST, or of another sequence
)

const escape = 0x1b

// plain reports whether b is text, whatever its neighbors.
func plain(b byte) bool { return b-' ' < 0x7f-' ' || b == '\n' || b == '\t' }

// run returns the length of the clean text at the start of p.
func (c *cleaner) run(p []byte) int {
	if c.state != inText || len(c.held) > 0 {
		return 0
	}
	i := 0
	for i < len(p) {
		if plain(p[i]) {
			i++
			continue
		}
		if p[i] < utf8.RuneSelf {
			return i
		}
		r, n := utf8.DecodeRune(p[i:])
		if r < 0xa0 || r == utf8.RuneError && n < 2 {
			return i
		}
		i += n
	}
	return i
}

// step consumes what p starts with if that is not clean text. It returns how many bytes it
// consumed, at least one, and what replaces them: 0 for nothing, '\r', '\b' or a character.
func (c *cleaner) step(p []byte) (n int, r rune) {
	switch {
	case len(c.held) > 0:
		return c.complete(p)
	case c.state != inText:
		return c.sequence(p)
	case p[0] == escape:
		c.state, c.seen = inEscape, 0
		return 1, 0
	case p[0] == '\r' || p[0] == '\b':
		return 1, rune(p[0])
	case p[0] < utf8.RuneSelf:
		return 1, 0
	case !utf8.FullRune(p):
		c.held = append(c.held, p...)
		return len(p), 0
	}
	r, n = utf8.DecodeRune(p)
	switch {
	case r < 0xa0:
		r = 0
	case r == utf8.RuneError && n == 1: // one for all bytes that could have started the same character
		for n < len(p) && !utf8.FullRune(p[:n+1]) {
			n++
		}
	}
	return n, r
}

// complete adds the first byte of p to an incomplete character.
func (c *cleaner) complete(p []byte) (n int, r rune) {
	c.held = append(c.held, p[0])
	if !utf8.FullRune(c.held) {
		return 1, 0
	}
	r, size := utf8.DecodeRune(c.held)
	if size < len(c.held) { // p[0] does not belong to it
		c.held = c.held[:0]
		return 0, utf8.RuneError
	}
	c.held = c.held[:0]
	if r < 0xa0 {
		r = 0
	}
	return 1, r
}

// sequence consumes one byte of a control sequence, or none if the sequence ends there.
func (c *cleaner) sequence(p []byte) (n int, r rune) {
	b := p[0]
	c.seen++
	switch c.state {
	case inEscape:
		return c.afterEscape(b), 0
	case inCSI:
		switch {
		case b >= 0x20 && b < 0x40 && c.seen < maxSequence:
			return 1, 0
		case b >= 0x40 && b < 0x7f:
			c.state = inText
			return 1, 0
		}
		c.state = inText
		return 0, 0
	case inStringEsc:
		if b == '\\' {
			c.state = inText
			return 1, 0
		}
		c.state, c.seen = inEscape, 0
		return 0, 0
	}
	switch {
	case b == escape:
		c.state = inStringEsc
		return 1, 0
	case b == '\a', b == 0x18, b == 0x1a:
		c.state = inText
		return 1, 0
	case b == '\n', c.seen > maxString:
		c.state = inText
		return 0, 0
	}
	return 1, 0
}

func (c *cleaner) afterEscape(b byte) int {
	switch {
	case b == '[':
		c.state, c.seen = inCSI, 0
	case b == ']', b == 'P', b == 'X', b == '^', b == '_':
		c.state, c.seen = inString, 0
	case b >= 0x20 && b < 0x30 && c.seen < maxSequence, b == escape: // the final byte follows
	case b >= 0x30 && b < 0x7f:
		c.state = inText
	default:
		c.state = inText
		return 0
	}
	return 1
}

// rest ends the stream: an incomplete character becomes U+FFFD.
func (c *cleaner) rest() rune {
	c.state = inText
	if len(c.held) == 0 {
		return 0
	}
	c.held = c.held[:0]
	return utf8.RuneError
}
