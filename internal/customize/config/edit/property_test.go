package edit_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/customize/config/edit"
)

// writer makes up a file as people write them.
type writer struct {
	t *rapid.T
	b strings.Builder
	n int // of comments
}

var values = []string{"1", "-4.5", "word", "\"a: # b\"", "'it''s'", "[a, \"b, c\"]", "{k: 1, \"l\": [x]}", "true", "null", "{}", "anthropic/x:high"}

func (w *writer) chance(label string, in int) bool {
	return rapid.IntRange(0, in-1).Draw(w.t, label) == 0
}

func (w *writer) comment(indent string) {
	if w.chance("comment", 3) {
		w.n++
		fmt.Fprintf(&w.b, "%s# remark-%d\n", indent, w.n)
	}
	if w.chance("blank", 5) {
		w.b.WriteString("\n")
	}
}

func (w *writer) tail() {
	if w.chance("tail", 4) {
		w.n++
		fmt.Fprintf(&w.b, "  # é remark-%d", w.n)
	}
	w.b.WriteString("\n")
}

func (w *writer) mapping(indent string, depth int) {
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "dé", "e-f"}), 1, 4, rapid.ID).Draw(w.t, "keys") {
		w.comment(indent)
		w.b.WriteString(indent + k + ":")
		switch shape := rapid.IntRange(0, 7).Draw(w.t, "shape"); {
		case shape == 0 && depth < 2:
			w.tail()
			w.mapping(indent+rapid.SampledFrom([]string{" ", "  ", "    "}).Draw(w.t, "indent"), depth+1)
		case shape == 1:
			w.tail()
			for i := range rapid.IntRange(1, 3).Draw(w.t, "items") {
				w.comment(indent + "  ")
				fmt.Fprintf(&w.b, "%s  - item%d", indent, i)
				w.tail()
			}
		case shape == 2:
			w.b.WriteString(" |\n" + indent + "   text\n" + indent + "   # no comment\n")
		default:
			w.b.WriteString(" " + rapid.SampledFrom(values).Draw(w.t, "value"))
			w.tail()
		}
	}
}

func TestChangesNothingElse(t *testing.T) {
	remark := regexp.MustCompile(`remark-\d+\n`)
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t}
		w.comment("")
		w.mapping("", 0)
		w.comment("")
		text := w.b.String()
		if rapid.Bool().Draw(t, "no end") {
			text = strings.TrimSuffix(text, "\n")
		}
		if rapid.Bool().Draw(t, "crlf") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		for range 3 {
			path := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "dé", "new"}), 1, 3).Draw(t, "path")
			var value any = rapid.OneOf(
				rapid.Just[any]("x"), rapid.Just[any](7), rapid.Just[any](true), rapid.Just[any]([]string{"item1", "more"}),
				rapid.Map(rapid.StringMatching(`[ -~é]{0,12}`), func(s string) any { return s }),
			).Draw(t, "new value")
			var out []byte
			var err error
			set := rapid.Bool().Draw(t, "set")
			if set {
				out, err = edit.Set([]byte(text), path, value)
			} else {
				out, err = edit.Unset([]byte(text), path)
			}
			if err != nil { // refused: fine, as long as it says where
				if !regexp.MustCompile(`^\d+:\d+: .+$`).MatchString(err.Error()) {
					t.Fatalf("error %q", err)
				}
				continue
			}
			before, after := leaves(t, text), leaves(t, string(out))
			key := strings.Join(path, "\x00")
			for k, v := range before {
				if k != key && !strings.HasPrefix(k, key+"\x00") && !strings.HasPrefix(key, k+"\x00") && !reflect.DeepEqual(after[k], v) {
					t.Fatalf("%q was %v and is %v\n%s\n→\n%s", k, v, after[k], text, out)
				}
			}
			if got, there := after[key]; set && fmt.Sprint(got) != fmt.Sprint(value) || !set && there {
				t.Fatalf("%v is %v, want %v\n%s\n→\n%s", path, got, value, text, out)
			}
			if lost := missing(remark.FindAllString(strings.ReplaceAll(text+"\n", "\r", ""), -1), strings.ReplaceAll(string(out)+"\n", "\r", "")); set && len(lost) > 0 && !isList(value) {
				t.Fatalf("comments %q are gone\n%s\n→\n%s", lost, text, out)
			}
			text = string(out)
		}
	})
}

func isList(v any) bool { _, ok := v.([]string); return ok }

func missing(want []string, in string) (lost []string) {
	for _, w := range want {
		if !strings.Contains(in, w) {
			lost = append(lost, w)
		}
	}
	return lost
}

// leaves are the values of a file by their paths.
func leaves(t *rapid.T, text string) map[string]any {
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := map[string]any{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		if m, ok := v.(map[string]any); ok && len(m) > 0 {
			for _, k := range slices.Sorted(maps.Keys(m)) {
				walk(prefix+"\x00"+k, m[k])
			}
			return
		}
		if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
			return
		}
		out[strings.TrimPrefix(prefix, "\x00")] = v
	}
	walk("", m)
	return out
}

// Whatever the file is: it stays, or it says what was asked for.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"a: 1\n", "a: {b: 1}\n", "a:\n- x\n", "---\n...\n", "? a\n: b\n", "a: |+\n  x\n\n", "<<: {a: 1}\n", "a: !!str 1\n", "\t", "a:\r  b: 1\r"} {
		f.Add(s, "a", "b", "v")
	}
	f.Fuzz(func(t *testing.T, text, one, two, value string) {
		if len(text) > 2000 {
			return
		}
		out, err := edit.Set([]byte(text), []string{one, two}, value)
		if err == nil {
			var m map[string]map[string]any
			if yaml.Unmarshal(out, &m) == nil && m[one] != nil && m[one][two] != value {
				t.Errorf("%q: %q", text, out)
			}
		}
		if out, err := edit.Unset([]byte(text), []string{one}); err == nil && !strings.Contains(text, one) && string(out) != text {
			t.Errorf("%q became %q", text, out)
		}
	})
}
