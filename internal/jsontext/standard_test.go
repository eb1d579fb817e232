package jsontext_test

import (
	"encoding/json"
	"testing"

	"github.com/burin-dev/burin/internal/jsontext"
)

func TestStandard(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\": 1, // one\n\"b\": [2, /* two\n */ ],\n}": "{\"a\": 1,       \n\"b\": [2        \n    ] \n}",
		`{"a": "//no, }", "b\"//": 1}`:                    `{"a": "//no, }", "b\"//": 1}`,
		`[1, // `:                                         `[1,    `,
		`[1 /*`:                                           `[1   `,
		`["a`:                                             `["a`,
		`[1,/**/]`:                                        `[1     ]`,
	} {
		if got := string(jsontext.Standard([]byte(in))); got != want {
			t.Errorf("%q gives\n%q, want\n%q", in, got, want)
		}
	}
}

// What is JSON means the same afterwards, and no text changes its length.
func FuzzStandard(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":"/*"}]}`, "// x\n[1,]", `"\\"`, `{"a":"\"//",}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out := jsontext.Standard(in)
		if len(out) != len(in) {
			t.Fatalf("%q becomes %q", in, out)
		}
		if json.Valid(in) && string(out) != string(in) {
			t.Errorf("%q becomes %q", in, out)
		}
	})
}
