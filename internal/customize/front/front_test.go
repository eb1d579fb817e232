package front_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/front"
)

func TestHead(t *testing.T) {
	head, body := front.Split("---\r\ndescription: Commit: all of it\r\nglobs: [\"*.go\", 'a, b', **/*.{ts,tsx}]\r\ntools: Bash(git add:*, git commit:*), Read\r\nlist:\r\n  - one\r\n  - \"two\"\r\nlong: |\r\n  first\r\n  second\r\n# a comment\r\nnot a key: x\r\n---\r\nText.\r\n")
	if body != "Text.\n" {
		t.Errorf("body %q", body)
	}
	got := map[string][]string{}
	for _, e := range front.Entries(head) {
		got[e.Key] = append([]string{e.Text()}, e.List()...)
	}
	want := map[string][]string{
		"description": {"Commit: all of it", "Commit: all of it"},
		"globs":       {`["*.go", 'a, b', **/*.{ts,tsx}]`, "*.go", "a, b", "**/*.{ts,tsx}"},
		"tools":       {"Bash(git add:*, git commit:*), Read", "Bash(git add:*, git commit:*)", "Read"},
		"list":        {"one two", "one", "two"},
		"long":        {"first second", "first second"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "no head", "--- x\na: b\n---\n", "---\nno end", "----\n---\n"} {
		if head, body := front.Split(text); head != "" || body != text {
			t.Errorf("%q has the head %q", text, head)
		}
	}
}

func FuzzHead(f *testing.F) {
	for _, s := range []string{"---\na: b\n---\nc", "---\na: [b, c(d, e)]\n- f\n g\n---", "---\n'\":\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		head, body := front.Split(text)
		if len(head)+len(body) > len(text) {
			t.Errorf("%q grew", text)
		}
		for _, e := range front.Entries(head) {
			if strings.ContainsAny(e.Key, " \t\n") {
				t.Errorf("key %q", e.Key)
			}
			e.Text()
			e.List()
		}
	})
}
