package main

import (
	"os"
	"strings"
	"testing"
)

// What words behind burin mean: a prompt, or a command that was not hit.
func TestFirstPrompt(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{os.Mkdir("lib", 0o700), os.WriteFile("a.go", nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p := program{getenv: func(string) string { return "" }}
	for _, tt := range []struct {
		words  string // | stands between them
		marked bool
		want   string // prompt
		err    string
	}{
		{words: "fix the bug", want: "fix the bug"},
		{words: "fix|the|bug", want: "fix the bug"},
		{words: "hello", want: "hello"},
		{words: "Hello!", want: "Hello!"},
		{words: "warum?", want: "warum?"},
		{words: "你好", want: "你好"},
		{words: "/compact", want: "/compact"},
		{words: "tests", want: "tests"},
		{words: "remove", err: "burin keys remove"},
		{words: "", want: ""},
		{words: " ", want: ""},
		{words: "sesions", err: "did you mean burin sessions?"},
		{words: "sessoins", err: "did you mean burin sessions?"},
		{words: "Sessions", err: "did you mean burin sessions?"},
		{words: "modles", err: "did you mean burin models?"},
		{words: "lgoin", err: "did you mean burin login?"},
		{words: "resum", err: "did you mean burin resume?"},
		{words: "comp", err: "did you mean burin completion?"},
		{words: "halp", err: "did you mean burin help?"},
		{words: "sesions|list", err: "burin -- sesions list"},
		{words: "sesions", marked: true, want: "sesions"},
		{words: "undo", marked: true, want: "undo"},
		{words: "sesions list them", want: "sesions list them"},
		{words: "comp|sci|joke", want: "comp sci joke"},
		{words: "rename", err: "use burin sessions rename"},
		{words: "upgrade|the|readme", want: "upgrade the readme"},
		{words: "exec", err: "burin -p"},
		{words: "lib", err: "lib is a folder"},
		{words: "./lib", err: "./lib is a folder"},
		{words: "a.go", err: `burin "explain @a.go"`},
		{words: "b.go", want: "b.go"},
	} {
		root := p.root()
		root.InitDefaultHelpCmd() // as running it does
		got, err := firstPrompt(root, strings.Split(tt.words, "|"), tt.marked)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %q, %v; want %q, %q", tt.words, got, err, tt.want, tt.err)
		}
	}
	if got, err := firstPrompt(p.root(), nil, false); got != "" || err != nil {
		t.Errorf("without words: %q, %v", got, err)
	}
}

// A prompt of words that people write must not be taken for a slip.
func TestWordsAreNoSlips(t *testing.T) {
	t.Parallel()
	p := program{getenv: func(string) string { return "" }}
	root := p.root()
	for word := range strings.FieldsSeq("hello hi hey thanks why what explain fix test tests refactor redo todo reset lint build deploy status readme make yes no ok go log use do done plan") {
		if near := nearCommand(root, word, false); near != "" {
			t.Errorf("%q is taken for burin %s", word, near)
		}
	}
}
