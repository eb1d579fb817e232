package fuzzy_test

import (
	"slices"
	"strings"
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
		if end != tt.end || fuzzy.End([]byte(tt.word), []byte(tt.text)) != end {
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

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b       string
		most, want int
	}{
		{"sessions", "sessions", 3, 0},
		{"sesions", "sessions", 3, 1},   // missing
		{"sesssions", "sessions", 3, 1}, // too many
		{"sezsions", "sessions", 3, 1},  // wrong
		{"sessoins", "sessions", 3, 1},  // exchanged
		{"kitten", "sitting", 3, 3},
		{"kitten", "sitting", 2, 3}, // more than most
		{"ab", "ba", 0, 1},
		{"keys", "key", 3, 1},
		{"x", "completion", 3, 4},
		{"", "abc", 3, 3},
		{"", "", 0, 0},
		{"größe", "grösse", 3, 2}, // letters, not bytes
		{"größe", "grøße", 1, 1},
		{"x", strings.Repeat("x", 1<<20), 3, 4},
	} {
		for _, got := range []int{fuzzy.Distance(tt.a, tt.b, tt.most), fuzzy.Distance(tt.b, tt.a, tt.most)} {
			if got != tt.want {
				t.Errorf("%.20q and %.20q with at most %d: %d, want %d", tt.a, tt.b, tt.most, got, tt.want)
			}
		}
	}
}
