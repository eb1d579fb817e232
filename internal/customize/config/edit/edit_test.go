package edit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config/edit"
)

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name, text, key string
		value           any
		want            string
	}{
		{"empty", "", "a", 1, "a: 1\n"},
		{"empty, nested", "", "a.b.c", true, "a:\n  b:\n    c: true\n"},
		{"only comments", "# mine\n", "a", "x", "# mine\na: x\n"},
		{"value with a comment", "# top\na: 1   # why\nb: 2\n", "a", 5, "# top\na: 5   # why\nb: 2\n"},
		{"spaces around the colon", "a :   1\n", "a", 2, "a : 2\n"},
		{"quoted key", "\"a\": 1\n", "a", 2, "\"a\": 2\n"},
		{"no line end", "a: 1", "b", 2, "a: 1\nb: 2\n"},
		{"value without a line end", "a: 1", "a", 2, "a: 2\n"},
		{"into a mapping", "a:\n    x: 1 # one\n\n# next\nb: 2\n", "a.y", 3, "a:\n    x: 1 # one\n    y: 3\n\n# next\nb: 2\n"},
		{"into the last mapping", "b: 2\na:\n  x: 1\n  # end\n", "a.y", 3, "b: 2\na:\n  x: 1\n  y: 3\n  # end\n"},
		{"key without a value", "a: # soon\nb: 1\n", "a.x", 1, "a: # soon\n  x: 1\nb: 1\n"},
		{"null", "a: ~ # none\n", "a.x.y", 1, "a: {x: {y: 1}} # none\n"},
		{"null as a value", "a:\nb: 1\n", "a", "x", "a: x\nb: 1\n"},
		{"in braces", "a: {x: 1, y: 2} # z\n", "a.y", 9, "a: {x: 1, y: 9} # z\n"},
		{"more in braces", "a: {x: 1}\n", "a.y", "k v", "a: {x: 1, y: \"k v\"}\n"},
		{"empty braces", "a: {}\n", "a.y.z", 1, "a: {y: {z: 1}}\n"},
		{"braces within braces", "{a: {x: 1, b: [1, 2]}, c: \"},\"}\n", "a.x", 2, "{a: {x: 2, b: [1, 2]}, c: \"},\"}\n"},
		{"braces over lines", "a: {\n  x: 1,\n  y: 2,\n}\n", "a.x", 3, "a: {x: 3, y: 2}\n"},
		{"carriage returns", "a: 1 # é\r\nb:\r\n  c: 2\r\n", "b.d", 3, "a: 1 # é\r\nb:\r\n  c: 2\r\n  d: 3\r\n"},
		{"other letters", "\"ключ\": {ä: ö, a: 1} # ß\n", "ключ.a", 2, "\"ключ\": {ä: ö, a: 2} # ß\n"},
		{"list for a list", "a: [x, y] # l\n", "a", []string{"z", "x"}, "a: [z, x] # l\n"},
		{
			"lines of a list stay", "a: # list\n  # first\n  - x # 1\n  # second\n  - \"y\"\nb: 1\n", "a",
			[]string{"new", "y", "x"},
			"a: # list\n  - new\n  # second\n  - \"y\"\n  # first\n  - x # 1\nb: 1\n",
		},
		{"list without indent", "a:\n- x\n- y\n# z\nb: 1\n", "a", []string{"y", "k: v"}, "a:\n- y\n- \"k: v\"\n# z\nb: 1\n"},
		{"list emptied", "a:\n- x\nb: 1\n", "a", []string{}, "a: []\nb: 1\n"},
		{"text block", "a: |\n  one\n  two\n\n# c\nb: 1\n", "a", "x", "a: x\n\n# c\nb: 1\n"},
		{"after a text block", "a: |\n  one\n  # two\n", "b", "x", "a: |\n  one\n  # two\nb: x\n"},
		{"long text", "a: \"one\n  two\"\nb: 1\n", "a", "x", "a: x\nb: 1\n"},
		{"marks of documents", "---\na: 1\n...\n", "b", 2, "---\na: 1\nb: 2\n...\n"},
		{"words that are no words", "a: x\n", "a", "true", "a: \"true\"\n"},
		{"numbers that are words", "a: x\n", "a", "1e3", "a: \"1e3\"\n"},
		{"a rule", "a: x\n", "a", "bash(a && b: *)", "a: \"bash(a && b: *)\"\n"},
		{"a model", "a: x\n", "a", "anthropic/claude:high", "a: anthropic/claude:high\n"},
		{"money", "a: 1\n", "a", 0.25, "a: 0.25\n"},
		{"a mapping", "theme: dark # t\n", "theme", map[string]any{"light": "b", "dark": "a"}, "theme: {dark: a, light: b} # t\n"},
		{"an anchor elsewhere", "x: &x {k: 1}\ny: *x\n", "a", 1, "x: &x {k: 1}\ny: *x\na: 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edit.Set([]byte(tt.text), strings.Split(tt.key, "."), tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			again, err := edit.Set(got, strings.Split(tt.key, "."), tt.value)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time: %v\n%s", err, again)
			}
		})
	}
}

func TestUnset(t *testing.T) {
	for _, tt := range []struct{ name, text, key, want string }{
		{"one of two", "# a\na: 1 # gone\nb: 2\n", "a", "# a\nb: 2\n"},
		{"the last", "a: 1", "a", ""},
		{"not there", "a: 1", "b.c", "a: 1"},
		{"of a mapping", "a:\n  x: 1\n  y: 2\nb: 1\n", "a.x", "a:\n  y: 2\nb: 1\n"},
		{"with its mapping", "a:\n  b:\n    x: 1\nb: 1\n", "a.b.x", "b: 1\n"},
		{"a mapping with a comment", "a:\n  # keep\n  x: 1\nb: 1\n", "a.x", "a:\n  # keep\nb: 1\n"},
		{"a mapping with a comment below", "a:\n  x: 1\n  # keep\nb: 1\n", "a.x", "a:\n  # keep\nb: 1\n"},
		{"in braces", "a: {x: 1, y: 2, z: 3} # c\n", "a.y", "a: {x: 1, z: 3} # c\n"},
		{"the last in braces", "a: {x: 1, y: 2}\n", "a.y", "a: {x: 1}\n"},
		{"alone in braces", "a: {x: {y: 1}}\nb: 1\n", "a.x.y", "b: 1\n"},
		{"a list", "a:\n- x\n- y\n# c\nb: 1\n", "a", "# c\nb: 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edit.Unset([]byte(tt.text), strings.Split(tt.key, "."))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What cannot be changed safely is refused with the place.
func TestRefuses(t *testing.T) {
	for _, tt := range []struct{ text, key, want string }{
		{"a: [\n", "a", "1:4: "},
		{"- a\n", "a", "1:1: the file is not a mapping"},
		{"a: 1\n---\nb: 1\n", "a", "1:1: the file is not a mapping"},
		{"a: &x 1\nb: *x\n", "a", "change it by hand"},
		{"a: &x {k: 1}\nb: *x\n", "a.k", "1:4: a is written in a way"},
		{"a: word\n", "a.k", "1:4: a is written in a way"},
		{"a: { # c\n  k: 1}\n", "a.k", "1:4: there are comments"},
		{"a:\n  # c\n  k: 1\n", "a", "1:2: there are comments"},
		{"a: \xff\n", "a", "1:1: "},
		{"a: 1\na: 2\n", "a", "2:1: "},
	} {
		got, err := edit.Set([]byte(tt.text), strings.Split(tt.key, "."), "v")
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %q, %v, want one line with %q", tt.text, got, err, tt.want)
		}
	}
}
