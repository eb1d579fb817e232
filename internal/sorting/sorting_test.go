package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/sorting"
)

type item struct{ key, at int }

// Stable answers like the stable sort of package slices.
func TestStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []item
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys") {
			items = append(items, item{key, i})
		}
		byKey := func(a, b item) int { return cmp.Compare(a.key, b.key) }
		want := slices.Clone(items)
		slices.SortStableFunc(want, byKey)
		if sorting.Stable(items, byKey); !slices.Equal(items, want) {
			t.Fatalf("got %v, want %v", items, want)
		}
	})
}
