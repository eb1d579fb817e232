package rule

import (
	"fmt"
	"testing"

	"github.com/burin-dev/burin/internal/customize/source"
)

// BenchmarkDiscover is what 50 rules cost when a session starts.
func BenchmarkDiscover(b *testing.B) {
	dir := b.TempDir()
	for i := range 50 {
		write(b, fmt.Sprintf("---\ndescription: About %d\ncondition: 'forbidden%d\\('\n---\nText of rule %d.\n", i, i, i), dir, ".burin", "rules", fmt.Sprintf("r%d.md", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		s, _ := Discover(Options{Options: source.Options{Dir: dir, Root: dir, UserHome: dir}})
		if len(s.List()) != 67 {
			b.Fatal(len(s.List()))
		}
	}
}
