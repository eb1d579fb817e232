package transcript

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// name reads a word that is likely to come again.
func (d *decoder) name(to *string) bool {
	s, ok := d.str()
	if !ok {
		return false
	}
	if known, found := d.names[string(s)]; found {
		*to = known
		return true
	}
	*to = string(s)
	if len(s) <= longName {
		if d.names == nil || len(d.names) >= maxNames {
			d.names = map[string]string{}
		}
		d.names[*to] = *to
	}
	return true
}

// text reads a string.
func (d *decoder) text(to *string) bool {
	s, ok := d.str()
	*to = string(s)
	return ok
}

// str goes over a string and gives it without escapes, until the next call.
func (d *decoder) str() ([]byte, bool) {
	s, ok := d.w.str()
	if !ok {
		return nil, false
	}
	n := clean(s)
	if n == len(s) {
		return s, true
	}
	out := append(d.plain[:0], s[:n]...)
	for s = s[n:]; len(s) > 0; {
		switch c := s[0]; {
		case c == '\\':
			r, size := unescape(s)
			if size == 0 {
				return nil, false
			}
			out = utf8.AppendRune(out, r)
			s = s[size:]
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(s)
			if r == utf8.RuneError && size == 1 {
				return nil, false
			}
			out = append(out, s[:size]...)
			s = s[size:]
			continue // it seldom stands alone
		case c < ' ':
			return nil, false
		}
		n = clean(s)
		out = append(out, s[:n]...)
		s = s[n:]
	}
	d.plain = out
	return out, true
}

// clean is how many bytes at the beginning stand for themselves: ASCII, but for
// control characters and the backslash.
func clean(s []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		slash := x ^ ones*'\\'
		// The lowest of these bits is right; those above it may come from a borrow.
		if bad := (x | (x-ones*' ')&^x | (slash-ones)&^slash) & tops; bad != 0 {
			return i + bits.TrailingZeros64(bad)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// unescape reads an escape; the size is 0 for halves of a pair and for what is none.
func unescape(s []byte) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		if len(s) < 6 {
			return 0, 0
		}
		for _, c := range s[2:6] {
			digit, ok := hexDigit(c)
			if !ok {
				return 0, 0
			}
			r = r<<4 | digit
		}
		if 0xD800 <= r && r < 0xE000 {
			return 0, 0
		}
		return r, 6
	}
	return 0, 0
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

// raw goes over a value and gives its text.
func (d *decoder) raw() ([]byte, bool) {
	if d.w.peek() == 'n' {
		return nil, false
	}
	from := d.w.at
	if !d.w.skip() {
		return nil, false
	}
	text := d.w.text[from:d.w.at]
	return text, json.Valid(text)
}

func (d *decoder) count(to *int) bool {
	var n int64
	ok := d.integer(&n)
	*to = int(n)
	return ok && int64(*to) == n
}

// integer reads a number without a fraction, of at most 18 digits.
func (d *decoder) integer(to *int64) bool {
	digits, fraction := d.number()
	n, err := strconv.ParseInt(string(digits), 10, 64)
	*to = n
	return err == nil && !fraction
}

func (d *decoder) dollars(to *llm.USD) bool {
	text, _ := d.number()
	f, err := strconv.ParseFloat(string(text), 64)
	*to = llm.Dollars(f)
	return err == nil
}

// number goes over a number; none is one with an exponent, or of more than 18 bytes.
func (d *decoder) number() (text []byte, fraction bool) {
	d.w.peek()
	from := d.w.at
	digits := func() int {
		was := d.w.at
		for d.w.at < len(d.w.text) && '0' <= d.w.text[d.w.at] && d.w.text[d.w.at] <= '9' {
			d.w.at++
		}
		return d.w.at - was
	}
	d.skipByte('-')
	first := d.w.at
	n := digits()
	if n == 0 || n > 1 && d.w.text[first] == '0' {
		return nil, false
	}
	if d.skipByte('.') {
		if fraction = true; digits() == 0 {
			return nil, false
		}
	}
	if text = d.w.text[from:d.w.at]; len(text) > 18 {
		return nil, false
	}
	return text, fraction
}

// skipByte goes over c if it is the next byte.
func (d *decoder) skipByte(c byte) bool {
	if d.w.at < len(d.w.text) && d.w.text[d.w.at] == c {
		d.w.at++
		return true
	}
	return false
}

func (d *decoder) boolean(to *bool) bool {
	*to = d.w.peek() == 't'
	if *to {
		return d.word("true")
	}
	return d.word("false")
}

// word goes over a word that is not in quotes.
func (d *decoder) word(s string) bool {
	d.w.peek()
	if len(d.w.text)-d.w.at < len(s) || string(d.w.text[d.w.at:d.w.at+len(s)]) != s {
		return false
	}
	d.w.at += len(s)
	return true
}
