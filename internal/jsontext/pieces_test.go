package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/jsontext"
)

// values are the string values of a JSON text that arrives in pieces of n bytes.
func values(text string, n int) (all []string) {
	var p jsontext.Pieces
	var b strings.Builder
	for len(text) > 0 {
		piece := text[:min(n, len(text))]
		text = text[len(piece):]
		p.Feed(piece, func(key, s []byte, end bool) {
			b.Write(s)
			if end {
				all = append(all, string(key)+"="+b.String())
				b.Reset()
			}
		})
	}
	return all
}

func TestPieces(t *testing.T) {
	const text = `{"path":"a\\b.ts", "n": 1, "edits":[{"old":"x","new":"line\n\"two\" \ud83d\ude00é"},{"new":"\u00e9\ud83d!"}], "list":["p","q"], "o":{"k":null}, "last":"end"}`
	want := []string{`path=a\b.ts`, "old=x", "new=line\n\"two\" 😀é", "new=é\uFFFD!", "list=p", "list=q", "last=end"}
	for n := 1; n < len(text); n++ {
		if diff := cmp.Diff(want, values(text, n)); diff != "" {
			t.Fatalf("in pieces of %d: %s", n, diff)
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("a\n\"\\\u2028", "k", 3)
	f.Fuzz(func(t *testing.T, value, key string, n int) {
		n = 1 + max(0, n)%7
		values(value, n) // anything is read without a panic
		text, err := json.Marshal(map[string]string{"k": value})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"k=" + back["k"]}, values(string(text), n)); diff != "" {
			t.Error(diff)
		}
	})
}
