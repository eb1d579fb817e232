package catalog_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/model/catalog"
)

func open(tb testing.TB, o catalog.Options) *catalog.Catalog {
	tb.Helper()
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	r, err := catalog.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func BenchmarkLookupCold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := open(b, catalog.Options{})
		if _, ok := r.Registry.Lookup("zai", "glm-5.3-highspeed"); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAllCold(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if len(open(b, catalog.Options{}).Registry.All()) < 900 {
			b.Fatal("too few")
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	for name, selector := range map[string]string{
		"exact":     "openrouter/anthropic/claude-sonnet-4.6:high",
		"canonical": "claude-sonnet-4-6",
		"loose":     "sonnet",
	} {
		b.Run(name, func(b *testing.B) {
			r := open(b, catalog.Options{})
			r.Registry.All()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Resolver.Resolve(selector); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
