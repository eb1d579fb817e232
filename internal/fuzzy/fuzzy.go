// Package fuzzy compares words that are not quite the same: it finds the letters of a word
// in a text, in their order but not together, and counts the slips of the pen between two
// words. What that is worth is for those to say who know what the text is: a path, a label
// of a list, the name of a command.
package fuzzy

import (
	"iter"
	"unicode/utf8"
)

// End is where the first match of word in text ends, in bytes; -1 if there is none.
func End[T string | []byte](word, text T) int {
	i, end := 0, 0
	for ; end < len(text) && i < len(word); end++ {
		if text[end] == word[i] {
			i++
		}
	}
	if i < len(word) {
		return -1
	}
	return end
}

// Back goes from end, which [End] has found, to the beginning of the match, which makes
// it as short as it can be there. It gives each byte of word by its index, the last one
// first, and its place in text.
func Back[T string | []byte](word, text T, end int) iter.Seq2[int, int] {
	return func(yield func(i, at int) bool) {
		at := end
		for i := len(word) - 1; i >= 0; i-- {
			for at--; text[at] != word[i]; at-- {
			}
			if !yield(i, at) {
				return
			}
		}
	}
}

// Distance is how many letters are missing, too many, wrong or exchanged with the next one
// between two words. More than most is most+1: words that are far apart, however long, cost
// nothing.
func Distance(a, b string, most int) int {
	if longer := utf8.RuneCountInString(a) - utf8.RuneCountInString(b); max(longer, -longer) > most {
		return most + 1
	}
	x, y := []rune(a), []rune(b)
	width := len(y) + 1
	rows := make([]int, 3*width)
	before, last, row := rows[:width], rows[width:2*width], rows[2*width:]
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			wrong := 1
			if x[i] == y[j] {
				wrong = 0
			}
			row[j+1] = min(last[j]+wrong, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], most+1)
}
