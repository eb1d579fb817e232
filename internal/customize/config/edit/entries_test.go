package edit_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/customize/config/edit"
)

// The entries of a list come and go; those that stay have their keys, comments and places as they were written.
func TestSetEntries(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		ids        []string
		want       string // "": it can't be done
	}{
		{"empty", "", []string{"a", "x y"}, "p:\n  l:\n    - id: a\n    - id: \"x y\"\n"},
		{"missing", "# mine\np:\n  k: 1 # one\n\n# next\nq: 2\n", []string{"a"}, "# mine\np:\n  k: 1 # one\n  l:\n    - id: a\n\n# next\nq: 2\n"},
		{
			"kept", "p:\n  l:\n    # the first\n    - id: a # best\n      cost: free\n    - {id: b, name: B}\n    # last\n    - name: C\n      id: c\n  z: 1\n",
			[]string{"a", "c", "d"},
			"p:\n  l:\n    # the first\n    - id: a # best\n      cost: free\n    # last\n    - name: C\n      id: c\n    - id: d\n  z: 1\n",
		},
		{"other indentation", "p:\n    l:\n    - id: a\n", []string{"a", "b"}, "p:\n    l:\n    - id: a\n    - id: b\n"},
		{"the same", "p: {l: [{id: a}]}\n", []string{"a"}, ""},
		{"in brackets", "p:\n  l: [{id: a}]\n", []string{"a", "b"}, ""},
		{"an alias", "x: &l\n  - id: a\np:\n  l: *l\n", []string{"a", "b"}, ""},
		{"merged", "x: &m {id: a}\np:\n  l:\n    - <<: *m\n      k: 1\n", []string{"a", "b"}, ""},
		{"not a list", "p:\n  l: 1\n", []string{"a"}, ""},
		{"bad", "p: [\n", []string{"a"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edit.SetEntries([]byte(tt.text), []string{"p", "l"}, "id", tt.ids)
			if (err != nil) != (tt.want == "") || string(got) != tt.want {
				t.Errorf("%v\ngot  %q\nwant %q", err, got, tt.want)
			}
		})
	}
}
