package sqlview

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseObject(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []member
	}{
		{"{}", nil},
		{" /* a */ { // b\n } // c", nil},
		{`{a: 1, "b": -2, 'c d': +3, $e_1: .5, ü: 5.,}`, []member{{key: "a", value: int64(1)}, {key: "b", value: int64(-2)}, {key: "c d", value: int64(3)}, {key: "$e_1", value: .5}, {key: "ü", value: 5.0}}},
		{`{a: 0xFF, b: -0x10, c: 1e3, d: -1.5E-2, e: true, f: false, g: null}`, []member{{key: "a", value: int64(255)}, {key: "b", value: int64(-16)}, {key: "c", value: 1000.0}, {key: "d", value: -.015}, {key: "e", value: int64(1)}, {key: "f", value: int64(0)}, {key: "g"}}},
		{`{a: 'it\'s "x"', b: "\x41\u00e9\ud83d\ude00\0\v\/\q", c: "one\
two", d: "\ud83dx"}`, []member{{key: "a", value: `it's "x"`}, {key: "b", value: "Aé😀\x00\v/q"}, {key: "c", value: "onetwo"}, {key: "d", value: "\ufffdx"}}},
		{`{a: {b: [1, {c: 'x'},],}, d: []}`, []member{{key: "a", nested: true}, {key: "d", nested: true}}},
		{"\ufeff{a:1}", []member{{key: "a", value: int64(1)}}},
	} {
		got, err := parseObject(tt.in)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(member{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.in, err, diff)
		}
	}
	for in, want := range map[string]string{
		"": "begin with {", "[]": "begin with {", "{": "too early", "{a": "no colon", "{a:": "too early", "{a:1": "too early", "{a:1 b:2}": "neither a comma", "{,}": "no key",
		"{a:}": "unknown value", "{a: 'x}": "does not end", "{a: /* }": "does not end", "{a: 1} x": "follows the object", `{a: "\u12"}`: "escape", `{a: "\`: "too early",
		"{a: Infinity}": "unknown value", "{a: --1}": "unknown value", "{a: 0x}": "64 bits", "{a: 1_000}": "unknown value", "{a: 1.2.3}": "cannot be read", "{1: 2}": "no key",
		"{a: " + strings.Repeat("[", 100): "levels",
	} {
		if got, err := parseObject(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %q", in, got, err, want)
		}
	}
}

// JSON is JSON5 too.
func TestParseJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "object")
		data, err := json.MarshalIndent(want, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		members, err := parseObject(string(data))
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		got := map[string]string{}
		for _, m := range members {
			got[m.key], _ = m.value.(string)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestGrid(t *testing.T) {
	g := grid{head: []string{"a", "much longer"}, rows: [][]string{{"1", "x\ny\tz"}, {strings.Repeat("é", 50), "2"}}}
	want := "a                                        | much longer\n" +
		"---------------------------------------- | -----------\n" +
		"1                                        | x\\ny z\n" +
		strings.Repeat("é", 39) + "… | 2"
	if diff := cmp.Diff(want, g.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
