// Package fuzzy finds the letters of a word in a text, in their order but not together.
// What such a match is worth is for those to say who know what the text is: a path, or a
// label of a list.
package fuzzy

import "iter"

// End is where the first match of word in text ends, in bytes; -1 if there is none.
func End(word, text string) int {
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
func Back(word, text string, end int) iter.Seq2[int, int] {
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
