package vault_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/chat/vault"
)

func ring(t testing.TB, keys ...byte) *vault.Ring {
	t.Helper()
	of := map[uint32][]byte{}
	for i, k := range keys {
		of[uint32(i+1)] = bytes.Repeat([]byte{k}, vault.KeySize)
	}
	r, err := vault.NewRing(of)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSealOpens(t *testing.T) {
	r := ring(t, 'a')
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.SliceOf(rapid.Byte()).Draw(t, "record")
		record = bytes.Repeat(record, rapid.IntRange(0, 50).Draw(t, "times"))
		place := rapid.String().Draw(t, "place")
		sealed, err := r.Seal(place, record)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := r.Open(place, sealed)
		if err != nil || !bytes.Equal(opened, record) {
			t.Fatalf("%q became %q, %v", record, opened, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	r := ring(t, 'a')
	record := []byte(strings.Repeat("the same words ", 20))
	sealed, err := r.Seal("chat/1/title", record)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("words")) || len(sealed) >= len(record) {
		t.Errorf("%d bytes became %d: %q", len(record), len(sealed), sealed)
	}
	again, err := r.Seal("chat/1/title", record)
	if err != nil || bytes.Equal(again[5:], sealed[5:]) {
		t.Errorf("the same record was sealed the same way, %v", err)
	}
	if _, err := r.Open("chat/2/title", sealed); !errors.Is(err, vault.ErrKey) {
		t.Errorf("in another place: %v", err)
	}
	if _, err := ring(t, 'b').Open("chat/1/title", sealed); !errors.Is(err, vault.ErrKey) {
		t.Errorf("with another key: %v", err)
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if _, err := r.Open("chat/1/title", damaged); err == nil {
			t.Errorf("byte %d was changed", i)
		}
		if _, err := r.Open("chat/1/title", sealed[:i]); err == nil {
			t.Errorf("cut to %d bytes", i)
		}
	}
}

func TestGenerations(t *testing.T) {
	old := ring(t, 'a')
	sealed, err := old.Seal("p", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	both := ring(t, 'a', 'b')
	if opened, err := both.Open("p", sealed); err != nil || string(opened) != "x" {
		t.Errorf("an old record: %q, %v", opened, err)
	}
	fresh, err := both.Seal("p", []byte("y"))
	if err != nil {
		t.Fatal(err)
	}
	if g, err := vault.Generation(fresh); err != nil || g != 2 || both.Newest() != 2 {
		t.Errorf("sealed with generation %d, %v", g, err)
	}
	if _, err := old.Open("p", fresh); !errors.Is(err, vault.ErrRetired) {
		t.Errorf("a new record with the old ring: %v", err)
	}
	a, err := both.Derive(1, "transcripts")
	if err != nil {
		t.Fatal(err)
	}
	b, err := both.Derive(1, "index")
	if err != nil || bytes.Equal(a, b) {
		t.Errorf("two purposes have one key, %v", err)
	}
	if _, err := both.Derive(3, "index"); !errors.Is(err, vault.ErrRetired) {
		t.Errorf("a generation that isn't there: %v", err)
	}
}

func BenchmarkSeal(b *testing.B) {
	r := ring(b, 'a')
	for name, record := range map[string][]byte{
		"short": []byte(`{"title":"Lunch"}`), "4KB": []byte(strings.Repeat("What people write has words in it. ", 117)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(record)))
			b.ReportAllocs()
			for b.Loop() {
				sealed, err := r.Seal("chat/1/title", record)
				if err == nil {
					_, err = r.Open("chat/1/title", sealed)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
