package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// runBreak stands behind each character of a script that is written without spaces,
// so that the full-text index takes each for a word, and a word of a query, which is
// broken in the same way, for a phrase of them. So words are found within a run, a
// single character too, and nothing is found that does not stand there. Pairs of
// characters would make an index of twice the size, and no single one would be found.
const runBreak = '\x1f'

// runs are the scripts that are written without spaces between words. Korean has them.
var runs = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0e01, Hi: 0x0eff, Stride: 1}, // Thai, Lao
		{Lo: 0x1000, Hi: 0x109f, Stride: 1}, // Burmese
		{Lo: 0x1780, Hi: 0x17ff, Stride: 1}, // Khmer
		{Lo: 0x3005, Hi: 0x3007, Stride: 1}, // 々〆〇
		{Lo: 0x3040, Hi: 0x30ff, Stride: 1}, // Hiragana, Katakana
		{Lo: 0x3105, Hi: 0x312f, Stride: 1}, // Bopomofo
		{Lo: 0x31f0, Hi: 0x31ff, Stride: 1},
		{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, // Han
		{Lo: 0x4e00, Hi: 0x9fff, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xff66, Hi: 0xff9f, Stride: 1}, // narrow Katakana
	},
	R32: []unicode.Range32{{Lo: 0x1b000, Hi: 0x1b16f, Stride: 1}, {Lo: 0x20000, Hi: 0x3ffff, Stride: 1}},
}

// broken is text with the breaks; most text has none and is given as it is.
func broken(text string) string {
	from := firstRun(text)
	if from < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/3)
	b.WriteString(text[:from])
	before := false // the character before is of such a script
	for _, r := range text[from:] {
		in := r >= 0x0e01 && unicode.Is(runs, r)
		if before || in && b.Len() > 0 {
			b.WriteByte(runBreak)
		}
		b.WriteRune(r)
		before = in
	}
	return b.String()
}

// firstRun returns the index of the first character of such a script; -1 if there is none.
// All of them have three bytes or more, and the first byte is at least 0xe0.
func firstRun(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] < 0xe0 {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(text[i:]); unicode.Is(runs, r) {
			return i
		}
	}
	return -1
}
