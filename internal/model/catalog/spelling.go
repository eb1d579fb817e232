package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/fuzzy"
	"github.com/burin-dev/burin/internal/sorting"
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
		if d := fuzzy.Distance(lower, strings.ToLower(k), limit); d <= limit {
			near = append(near, scored{k, d})
		}
	}
	sorting.Stable(near, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	var words []string
	for _, s := range near[:min(n, len(near))] {
		words = append(words, s.word)
	}
	return words
}
