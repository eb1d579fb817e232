package connect_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// BenchmarkClientCold is all that stands between the start of the program and
// its first request.
func BenchmarkClientCold(b *testing.B) {
	w := newWorld(b)
	w.env["ANTHROPIC_API_KEY"] = "k"
	b.ReportAllocs()
	for b.Loop() {
		m, err := w.tryOpen()
		if err != nil {
			b.Fatal(err)
		}
		c, err := m.Choose(b.Context(), catalog.Wish{Selector: "anthropic/claude-sonnet-4-5"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Client(c.Model, "session"); err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChooseDefault chooses without being told what.
func BenchmarkChooseDefault(b *testing.B) {
	w := newWorld(b)
	w.env["ANTHROPIC_API_KEY"] = "k"
	b.ReportAllocs()
	for b.Loop() {
		m, err := w.tryOpen()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Choose(b.Context(), catalog.Wish{}); err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
