package search

import (
	"fmt"
	"testing"
)

// paths are names as programs have them, some of them not ASCII.
func somePaths() []string {
	var paths []string
	for i := range 1000 {
		paths = append(paths,
			fmt.Sprintf("internal/platform/search/regex/http_server%d_test.go", i),
			fmt.Sprintf("cmd/Burin/story/HTTPServerOf%d.go", i),
			fmt.Sprintf("docs/Über/größe-%d.md", i))
	}
	return paths
}

// A list of files has hundreds of thousands of paths, and each key looks at all of them.
func TestScoreTakesNoMemory(t *testing.T) {
	paths := somePaths()
	for _, query := range []string{"", "httpserv", "http.serv", "größe", "hsgo", "cmd/burin", "zzz"} {
		f := newMatcher(query)
		if n := testing.AllocsPerRun(5, func() {
			for _, p := range paths {
				f.score(p, false)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations for %d paths", query, n, len(paths))
		}
	}
}

func BenchmarkScore(b *testing.B) {
	paths := somePaths()
	for _, query := range []string{"httpserv", "http.serv", "größe", "hsgo"} {
		b.Run(query, func(b *testing.B) {
			f := newMatcher(query)
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range paths {
					f.score(p, false)
				}
			}
		})
	}
}
