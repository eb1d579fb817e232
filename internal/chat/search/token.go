package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxText = 1 << 20 // bytes of a text that are indexed
	maxTerm = 64      // bytes of a term; of a longer word the beginning counts
)

// token is a term of a text, and where it stands: its number and its bytes.
type token struct {
	term            string
	at              int
	start, end      int
	single, ongoing bool // of a script without spaces: a sign alone, and a pair that the next continues
}

// Words calls yield with the words of a text as they are compared: in small letters and without accents. Scripts without
// spaces give pairs of signs. Of a text, 1 MB counts.
func Words(text string, yield func(word string)) { tokens(text, func(t token) { yield(t.term) }) }

// tokens calls yield with the terms of a text. Words are runs of letters and digits, in small
// letters and without accents. Scripts without spaces give pairs of signs, and the last one of a
// run alone, so that any part of it is found.
func tokens(text string, yield func(token)) {
	if len(text) > maxText {
		text = text[:maxText]
	}
	at := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unspaced(r):
			i = pairs(text, i, &at, yield)
		case wordly(r):
			start, plain := i, true
			for i < len(text) {
				r, size := utf8.DecodeRuneInString(text[i:])
				if unspaced(r) || !wordly(r) && !unicode.Is(unicode.Mn, r) {
					break
				}
				plain = plain && r < utf8.RuneSelf
				i += size
			}
			if term := fold(text[start:i], plain); term != "" {
				yield(token{term: term, at: at, start: start, end: i})
				at++
			}
		default:
			i += size
		}
	}
}

// pairs gives the pairs of the run that begins at i, and its end.
func pairs(text string, i int, at *int, yield func(token)) int {
	_, size := utf8.DecodeRuneInString(text[i:])
	for first := true; ; first = false {
		start := i
		i += size
		next, nextSize := utf8.DecodeRuneInString(text[i:])
		if !unspaced(next) {
			yield(token{term: fold(text[start:i], false), at: *at, start: start, end: i, single: true, ongoing: !first})
			*at++
			return i
		}
		yield(token{term: fold(text[start:i+nextSize], false), at: *at, start: start, end: i + nextSize})
		*at++
		size = nextSize
	}
}

func wordly(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// unspaced reports whether a sign is of a script that doesn't part words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー')
}

// fold is a word in the form in which words are compared.
func fold(word string, plain bool) string {
	word = strings.ToLower(word)
	if !plain {
		word = bare(word)
	}
	if len(word) > maxTerm {
		word = strings.ToValidUTF8(word[:maxTerm], "")
	}
	return strings.Clone(word) // not to keep the text
}

// bare is a word without accents.
func bare(word string) string {
	if r, size := utf8.DecodeRuneInString(word); unicode.Is(unicode.Hangul, r) || size == len(word) && unspaced(r) {
		return norm.NFKC.String(word)
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(word) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			b.WriteString("ss")
		case r == 'æ':
			b.WriteString("ae")
		case r == 'œ':
			b.WriteString("oe")
		case r == 'ø':
			b.WriteByte('o')
		case r == 'ł':
			b.WriteByte('l')
		case r == 'đ':
			b.WriteByte('d')
		case r == 'ı':
			b.WriteByte('i')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}
