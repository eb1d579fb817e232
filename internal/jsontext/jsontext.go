// Package jsontext reads JSON text without decoding all of it, for paths where nearly all of
// it is text: streamed answers and the records of sessions. [Reader] walks over values,
// [Unquote] decodes a string, [Lines] reads the lines of a protocol.
//
// A string is decoded as encoding/json decodes it, or refused: encoding/json replaces half
// surrogate pairs and bytes that are not UTF-8 with U+FFFD, so these are refused and the
// caller falls back to it.
package jsontext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Unquote is the text of a string literal, given what is between its quotes. The text is
// inside itself if it has no escapes, and else is written over buf, which comes back for the
// next call, grown if need be.
func Unquote(buf, inside []byte) (text, grown []byte, ok bool) {
	n := Plain(inside)
	if n == len(inside) {
		return inside, buf, true
	}
	s := inside[n:]
	for len(s) > 0 && s[0] >= utf8.RuneSelf { // most text has no escape
		if n = letters(s); n == 0 {
			return nil, buf, false
		}
		s = s[n:]
		s = s[Plain(s):]
	}
	if len(s) == 0 {
		return inside, buf, true
	}
	out := append(buf[:0], inside[:len(inside)-len(s)]...)
	for len(s) > 0 {
		switch c := s[0]; {
		case c == '\\':
			r, size := escape(s)
			if size == 0 {
				return nil, out, false
			}
			out = utf8.AppendRune(out, r)
			s = s[size:]
		case c >= utf8.RuneSelf:
			if n = letters(s); n == 0 {
				return nil, out, false
			}
			out = append(out, s[:n]...)
			s = s[n:]
		case c < ' ' || c == '"':
			return nil, out, false
		}
		n = Plain(s)
		out = append(out, s[:n]...)
		s = s[n:]
	}
	return out, out, true
}

// End is the index of the quote that ends the literal that s is inside of, or -1.
func End(s []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(s[from:], '"')
		if i < 0 {
			return -1
		}
		end, slashes := from+i, 0
		for j := end - 1; j >= 0 && s[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

// Plain is how many bytes at the beginning stand for themselves: ASCII, but for control
// characters, the quote and the backslash.
func Plain(s []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		slash, quote := x^ones*'\\', x^ones*'"'
		// The lowest of these bits is right; those above it may come from a borrow.
		if bad := (x | (x-ones*' ')&^x | (slash-ones)&^slash | (quote-ones)&^quote) & tops; bad != 0 {
			return i + bits.TrailingZeros64(bad)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// letters is how many bytes at the beginning are characters beyond ASCII; 0 if the first
// that is no ASCII is not UTF-8.
func letters(s []byte) int {
	i := 0
	for i < len(s) && s[i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			return 0
		}
		i += size
	}
	return i
}

// escape reads an escape; the size is 0 for halves of a pair and for what is none.
func escape(s []byte) (r rune, size int) {
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
			switch {
			case '0' <= c && c <= '9':
				c -= '0'
			case 'a' <= c && c <= 'f':
				c -= 'a' - 10
			case 'A' <= c && c <= 'F':
				c -= 'A' - 10
			default:
				return 0, 0
			}
			r = r<<4 | rune(c)
		}
		if 0xD800 <= r && r < 0xE000 {
			return 0, 0
		}
		return r, 6
	}
	return 0, 0
}
