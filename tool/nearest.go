package tool

import (
	"slices"
	"strings"
)

// Nearest is which of names is probably meant by name: the same but for case and
// separators, or a few letters away, or a part of it or the other way round. ok
// is false when none is near, or two are equally so.
func Nearest(name string, names []string) (nearest string, ok bool) {
	const far = 1 << 10
	if len(name) > 64 {
		return "", false
	}
	want := fold(name)
	best, tie := far, false
	for _, n := range names {
		d := distance(want, fold(n))
		if d == far || len(n) > 64 {
			continue
		}
		switch {
		case d < best:
			nearest, best, tie = n, d, false
		case d == best:
			tie = true
		}
	}
	return nearest, best < far && !tie
}

// fold takes out of a name what people write differently.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}

// distance ranks how near two folded names are; 1<<10 is not at all.
func distance(a, b string) int {
	if a == b {
		return 0
	}
	if a == "" || b == "" {
		return 1 << 10
	}
	if d := edits(a, b); d <= max(len(a), len(b))/3 {
		return d
	}
	if short := min(len(a), len(b)); short >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return 64 + max(len(a), len(b)) - short
	}
	return 1 << 10
}

// edits is the number of letters to insert, remove, replace or swap with their
// neighbour to make one short name of another.
func edits(a, b string) int {
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			cost = min(cost, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = cost
		}
	}
	return row[len(b)]
}

// suggest is a question after the name that was probably meant, or "".
func suggest(name string, names []string) string {
	if n, ok := Nearest(name, names); ok && !slices.Contains(names, name) {
		return " Did you mean " + quote(n) + "?"
	}
	return ""
}
