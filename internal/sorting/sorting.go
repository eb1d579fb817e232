// Package sorting sorts slices of structs. The sorts of package slices are compiled again for
// each type of element, 10 to 25 kB of the program for each; these share one copy. They take
// two to three times as long, which nobody notices in a list that a person reads. Lists of
// strings, numbers and pointers, and those with very many elements, belong to package slices.
package sorting

import "sort"

// Stable sorts s by compare, which answers like [strings.Compare]. Equal elements keep their order.
func Stable[E any](s []E, compare func(a, b E) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}
