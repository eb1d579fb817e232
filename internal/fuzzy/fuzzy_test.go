package fuzzy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/fuzzy"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		word, text string
		end        int
		places     []int
	}{
		{"mt", "main_test.go", 6, []int{0, 5}},
		{"abc", "a-ab-xbc", 8, []int{2, 6, 7}}, // the shortest that ends there
		{"abc", "abcabc", 3, []int{0, 1, 2}},
		{"abc", "ab", -1, nil},
		{"ba", "ab", -1, nil},
		{"a", "", -1, nil},
		{"", "ab", 0, nil},
	} {
		end := fuzzy.End(tt.word, tt.text)
		if end != tt.end {
			t.Errorf("%q in %q ends at %d, want %d", tt.word, tt.text, end, tt.end)
		}
		if end < 0 {
			continue
		}
		var places []int
		for i, at := range fuzzy.Back(tt.word, tt.text, end) {
			if tt.text[at] != tt.word[i] {
				t.Errorf("%q in %q: byte %d is not at %d", tt.word, tt.text, i, at)
			}
			places = append(places, at)
		}
		slices.Reverse(places)
		if diff := cmp.Diff(tt.places, places); diff != "" {
			t.Errorf("%q in %q: %s", tt.word, tt.text, diff)
		}
	}
}
