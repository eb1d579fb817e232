package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/search"
)

// Names find what Find finds, in its order.
func TestNames(t *testing.T) {
	files := map[string]string{".gitignore": "ignored/\n", "ignored/x.go": "", "node_modules/m.js": "", ".hidden": "", "Ünder/Straße.md": ""}
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"main", "test", "Shell", "run_all", "a", "b-c", "Read.me", "x"}
	for range 300 {
		files[fmt.Sprintf("%s/%s%s_%d.go", words[r.IntN(8)], words[r.IntN(8)], words[r.IntN(8)], r.IntN(50))] = ""
	}
	tree := makeTree(t, files)
	names, err := search.ListNames(t.Context(), tree, search.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "m", "main", "run all", "runall", "shell/", "b-c", "b.c", "ß", "STRASSE", "zzz", "test_1", "go", "mt"} {
		for _, limit := range []int{1, 7, 5000} {
			scored, err := search.Find(t.Context(), tree, search.FindOptions{Query: query, Dirs: true, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for _, s := range scored {
				if s.Dir {
					s.Path += "/"
				}
				want = append(want, s.Path)
			}
			got, err := names.Find(t.Context(), query, limit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q, the best %d (-Find +Names):\n%s", query, limit, diff)
			}
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := names.Find(ended, "main", 5); err == nil {
		t.Error("a search that nobody waits for gives an answer")
	}
}
