package regex

import "unicode/utf8"

// windows1252 are the characters of the bytes 0x80 to 0x9F; the bytes above are
// those of Latin-1.
var windows1252 = [32]rune{
	0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F,
	0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
}

// Decode gives a line as it is meant: without the carriage return at its end, and
// with each byte that is not UTF-8 read as Windows-1252. The result shares line's
// memory if nothing had to be changed.
func Decode(line []byte) []byte {
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return DecodeText(line)
}

// DecodeText gives text with each byte that is not UTF-8 read as Windows-1252.
func DecodeText(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return appendDecoded(make([]byte, 0, len(text)+len(text)/4), text)
}

func appendDecoded(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(text[i])
			if r < 0xA0 {
				r = windows1252[r-0x80]
			}
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}
