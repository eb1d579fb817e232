package credential_test

import (
	"context"
	"testing"
)

// A key of the environment, when no database exists: what every start pays.
func BenchmarkKeyFromEnv(b *testing.B) {
	w := newWorld(b)
	w.env["ANTHROPIC_API_KEY"] = "k"
	m := w.open(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Key(context.Background(), "anthropic", "session"); err != nil {
			b.Fatal(err)
		}
	}
}

// A stored key through an open database: what every request pays.
func BenchmarkKeyFromStore(b *testing.B) {
	w := newWorld(b)
	m := w.open(b)
	add(b, m, "anthropic", "key-a", "key-b", "key-c")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Key(context.Background(), "anthropic", "session"); err != nil {
			b.Fatal(err)
		}
	}
}

// A stored key including opening the database and the key file: what the first
// request of a process pays.
func BenchmarkOpenAndKey(b *testing.B) {
	w := newWorld(b)
	add(b, w.open(b), "anthropic", "key-a", "key-b", "key-c")
	key(b, w.open(b), "anthropic", "session")
	b.ReportAllocs()
	for b.Loop() {
		m := w.open(b)
		if _, err := m.Key(context.Background(), "anthropic", "session"); err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
