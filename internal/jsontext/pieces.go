package jsontext

import (
	"unicode/utf16"
	"unicode/utf8"
)

// maxKey is how many bytes of a key are kept.
const maxKey = 64

// Pieces reads the strings of one JSON text that arrives in pieces, such as the arguments of
// a call while a model writes them. It never fails: what is not JSON gives other strings, or
// none.
type Pieces struct {
	key   []byte // the last key of an object
	stack []byte // '{' or '[' of the values that are open
	text  []byte // of the string so far that Feed has not given yet

	inside bool // in a string
	naming bool // the string is a key
	keyed  bool // the key is complete, and its value comes next
	slash  bool // after a backslash
	hex    int  // digits of \u that are still to come
	code   rune // of \u so far
	high   rune // first half of a pair; 0 is none
}

// Feed reads the next piece. give gets the text of each string that is a value, as much as is
// there: end says that it is complete. key is the nearest key before it. Both are valid until
// give returns.
func (p *Pieces) Feed(piece string, give func(key, text []byte, end bool)) {
	for i := 0; i < len(piece); i++ {
		c := piece[i]
		switch {
		case !p.inside:
			p.outside(c)
		case p.hex > 0:
			p.digit(c)
		case p.slash:
			p.slash = false
			p.escape(c)
		case c == '\\':
			p.slash = true
		case c == '"':
			p.half()
			p.inside = false
			if p.naming {
				p.naming, p.keyed = false, true
			} else {
				p.keyed = false
				give(p.key, p.text, true)
				p.text = p.text[:0]
			}
		default:
			from := i
			for i+1 < len(piece) && piece[i+1] != '"' && piece[i+1] != '\\' {
				i++
			}
			p.add(piece[from : i+1])
		}
	}
	if len(p.text) > 0 {
		give(p.key, p.text, false)
		p.text = p.text[:0]
	}
}

// outside reads what is between strings.
func (p *Pieces) outside(c byte) {
	switch c {
	case '{', '[':
		if len(p.stack) < 1000 {
			p.stack = append(p.stack, c)
		}
		p.keyed = false
	case '}', ']':
		p.stack = p.stack[:max(0, len(p.stack)-1)]
		p.keyed = false
	case ',':
		p.keyed = false
	case '"':
		p.inside = true
		p.naming = !p.keyed && len(p.stack) > 0 && p.stack[len(p.stack)-1] == '{'
		if p.naming {
			p.key = p.key[:0]
		}
	}
}

func (p *Pieces) escape(c byte) {
	switch c {
	case 'n':
		p.add("\n")
	case 't':
		p.add("\t")
	case 'r':
		p.add("\r")
	case 'b':
		p.add("\b")
	case 'f':
		p.add("\f")
	case 'u':
		p.hex, p.code = 4, 0
	default:
		p.add(string(rune(c)))
	}
}

func (p *Pieces) digit(c byte) {
	var d rune
	switch {
	case '0' <= c && c <= '9':
		d = rune(c - '0')
	case 'a' <= c && c <= 'f':
		d = rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		d = rune(c-'A') + 10
	}
	p.code = p.code<<4 | d
	if p.hex--; p.hex > 0 {
		return
	}
	switch r := p.code; {
	case p.high != 0 && utf16.IsSurrogate(r):
		whole := utf16.DecodeRune(p.high, r)
		p.high = 0
		p.add(string(whole))
	case utf16.IsSurrogate(r):
		p.high = r
	default:
		p.add(string(r))
	}
}

// half gives up waiting for the second half of a pair.
func (p *Pieces) half() {
	if p.high != 0 {
		p.high = 0
		p.put(string(utf8.RuneError))
	}
}

// add adds text to the string.
func (p *Pieces) add(s string) {
	p.half()
	p.put(s)
}

func (p *Pieces) put(s string) {
	if !p.naming {
		p.text = append(p.text, s...)
	} else if len(p.key)+len(s) <= maxKey {
		p.key = append(p.key, s...)
	}
}
