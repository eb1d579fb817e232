package catalog

import (
	"strings"
	"testing"
)

func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"providers:\n  x:\n    baseUrl: http://a\n    auth: none\n    api: openai-completions\n    models:\n      - id: m\n        cost: free\n",
		"providers: {openai: {headers: {a: b}, compat: {extraBody: {a: [1, 2.5, null, {b: true}]}}}}",
		"a: &a {<<: *a}", "- 1", "x: !!binary aGk=", "? [a]\n: b", "providers: *x", "equivalence: {exclude: [a/b]}",
		"{\"providers\": {\"x\": // c\n{}}}", "providers:\n  x:\n    models: [[[[]]]]", "a: |\n  text\n", "\t", "modelBindings: {modelRoles: {a: 1}}",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	built := table{embedded}
	f.Fuzz(func(t *testing.T, text string, json bool) {
		name := "models.yml"
		if json {
			name = "models.json"
		}
		_, err := parseConfig(name, []byte(text), built)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of two lines: %q", err)
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add("p\tid\tname\t1\t1\ttext\teffort!:low=x,off=none\t~1/2/?/4/5 >9:1/2/3/4 web:1\t2025-01-01\topenai-responses\tpromote=a/b compat={}")
	f.Add("p\tid")
	f.Fuzz(func(t *testing.T, line string) {
		m, err := parseModel(line, func(string, string) (*connection, error) { return &connection{}, nil })
		if err == nil && (m.ID == "" || m.Provider == "" || m.Price.Input.Dollars() < 0) {
			t.Errorf("taken: %+v", m)
		}
	})
}

func FuzzSelector(f *testing.F) {
	for _, s := range []string{"a/b:high", "::", "/", "openrouter/x:nitro", "pi/slow:low", "sonnet", "*", "claude-opus-4.6-thinking"} {
		f.Add(s)
	}
	r, _ := Open(Options{Getenv: func(string) string { return "" }})
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := r.Resolver.Resolve(s); err == nil && c.Model == nil {
			t.Error("neither a model nor an error")
		}
		r.Resolver.Match([]string{s})
	})
}
