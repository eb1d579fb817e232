package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// didYouMean is ` (did you mean "x"?)` for the known word nearest to word, or "".
func didYouMean(word string, known []string) string {
	if near := nearest(word, known, 1); len(near) > 0 {
		return fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return ""
}

// nearest gives up to n known words that word may be a slip of the pen for,
// the nearest first.
func nearest(word string, known []string, n int) []string {
	type scored struct {
		word     string
		distance int
	}
	var near []scored
	lower := strings.ToLower(word)
	limit := max(1, min(len(word)/3, 4))
	for _, k := range known {
		other := strings.ToLower(k)
		if diff := len(other) - len(lower); diff > limit || -diff > limit {
			continue
		}
		if d := editDistance(lower, other); d <= limit {
			near = append(near, scored{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	var words []string
	for _, s := range near[:min(n, len(near))] {
		words = append(words, s.word)
	}
	return words
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
