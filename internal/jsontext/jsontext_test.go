package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/jsontext"
)

func TestUnquote(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{``, "", true},
		{`plain words, longer than eight bytes`, "plain words, longer than eight bytes", true},
		{`ö日本語👍 and more`, "ö日本語👍 and more", true},
		{`\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t", true},
		{`caf\u00e9 \u65E5 \u0000`, "café 日 \x00", true},
		{`日\n本`, "日\n本", true},
		{`\ud83d\ude00`, "", false},
		{`\u12`, "", false},
		{`\x`, "", false},
		{`\`, "", false},
		{"a\nb", "", false},
		{`a"b`, "", false},
		{"ö\xff", "", false},
		{"\\n\xff", "", false},
	} {
		got, _, ok := jsontext.Unquote(nil, []byte(tt.in))
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("Unquote(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// What is taken means what it means to encoding/json, and what encoding/json reads is only
// refused for halves of pairs and for what is not UTF-8.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`a\n\u00e9`, `日本語\t`, `\ud83d\ude00`, "\xff", `x"y`, `\\\"`, strings.Repeat("plain ", 9) + `\/`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var want string
		literal := append(append([]byte{'"'}, in...), '"')
		err := json.Unmarshal(literal, &want)
		got, _, ok := jsontext.Unquote(nil, in)
		switch {
		case ok && (err != nil || string(got) != want):
			t.Fatalf("%q: %q, encoding/json says %q, %v", in, got, want, err)
		case !ok && err == nil && utf8.Valid(in) && !strings.Contains(strings.ToLower(string(in)), `\ud`):
			t.Fatalf("%q is refused, encoding/json says %q", in, want)
		}
		if end := jsontext.End(literal[1:]); err == nil && end != len(in) {
			t.Fatalf("the end of %q is %d", in, end)
		}
	})
}

func BenchmarkUnquote(b *testing.B) {
	for name, s := range map[string]string{
		"plain":   strings.Repeat("some words that stand for themselves ", 20),
		"escapes": strings.Repeat(`a line of code {\n\t\"key\": 1\n}`, 20),
		"letters": strings.Repeat("日本語の文章 ", 40),
	} {
		b.Run(name, func(b *testing.B) {
			var buf []byte
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				_, buf, _ = jsontext.Unquote(buf, []byte(s))
			}
		})
	}
}

// All of a value is gone over where encoding/json would read one, and what is read on the
// way means the same.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a":"x\n","b":{"c":[1,{"d":"]}"}],"e":null}} rest`, `{"a":12}`, `{"a":012}`, `[]`, `{"a" : "\\"}`, `{}`, `{"a":1,}`, `{"a":1234567890}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := map[string]json.RawMessage{}
		valid := json.Valid(text) && json.Unmarshal(text, &want) == nil && want != nil
		got := map[string]json.RawMessage{}
		r := jsontext.Reader{Text: text}
		ok := r.Object(func(key []byte) bool {
			r.Peek()
			from := r.At
			value := r
			if s, ok := value.String(); ok && valid {
				var want string
				if json.Unmarshal(text[from:value.At], &want) != nil || string(s) != want {
					t.Fatalf("%q: a string is %q, want %q", text, s, want)
				}
			}
			if value = r; valid {
				n, ok := value.Count()
				var want int
				if err := json.Unmarshal(text[from:value.At], &want); ok && (err != nil || n != want) {
					t.Fatalf("%q: a number is %d, want %d", text, n, want)
				}
			}
			if !r.Skip() {
				return false
			}
			name, _, plain := jsontext.Unquote(nil, key)
			valid = valid && plain
			got[string(name)] = text[from:r.At]
			return true
		}) && r.End()
		if !valid {
			return
		}
		if !ok || len(got) != len(want) {
			t.Fatalf("%q: %q, ok %v", text, got, ok)
		}
		for key, value := range want {
			if string(got[key]) != string(value) {
				t.Fatalf("%q: %q is %q, want %q", text, key, got[key], value)
			}
		}
	})
}
