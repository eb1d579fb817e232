package rule

import (
	"embed"
	"path"
	"strings"
)

//go:embed builtin/*.md
var builtin embed.FS

// builtins are the rules that burin brings: mistakes that models often make in Rust and
// TypeScript. None of them stops an answer, which costs what it has cost: they come with the
// result of the edit, once a session, and leave the last word to the repository.
func builtins() (rules []Rule) {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		return nil // it is part of the program
	}
	for _, e := range entries {
		text, err := builtin.ReadFile(path.Join("builtin", e.Name()))
		if err != nil {
			continue
		}
		r := Rule{Name: strings.TrimSuffix(e.Name(), ".md"), Source: "burin, built in", Builtin: true}
		parse(&r, "", string(text), func(int, string, ...any) {}) // a test reads them
		rules = append(rules, r)
	}
	return rules
}
