package tool

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/fuzzy"
)

// Nearest returns the one of names that was probably meant by name: equal except for case and
// separators, a few letters away, or one containing the other. ok is false if none is near, or
// two are equally near.
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

// fold removes the parts of a name that people spell differently.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}

// distance ranks how near two folded names are; 1<<10 is not near at all.
func distance(a, b string) int {
	if a == b {
		return 0
	}
	if a == "" || b == "" {
		return 1 << 10
	}
	most := max(len(a), len(b)) / 3
	if d := fuzzy.Distance(a, b, most); d <= most {
		return d
	}
	if short := min(len(a), len(b)); short >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return 64 + max(len(a), len(b)) - short
	}
	return 1 << 10
}

// suggest returns a question with the name that was probably meant, or "".
func suggest(name string, names []string) string {
	if n, ok := Nearest(name, names); ok && !slices.Contains(names, name) {
		return " Did you mean " + quote(n) + "?"
	}
	return ""
}
