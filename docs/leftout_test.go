package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// sections are the tables of a page, by heading: the code words of their first columns.
func sections(page string) map[string][]string {
	cell, code := regexp.MustCompile(`(?m)^\| ([^|]*) \|`), regexp.MustCompile("`([^`]+)`")
	out := map[string][]string{}
	for _, section := range strings.Split(page, "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		for _, first := range cell.FindAllStringSubmatch(text, -1) {
			for _, word := range code.FindAllStringSubmatch(first[1], -1) {
				out[heading] = append(out[heading], word[1])
			}
		}
	}
	return out
}

// offered are the names of the tools that a model gets in the terminal.
func offered(t *testing.T) []string {
	t.Helper()
	srv, err := llmtest.Serve(openai.CompletionsServer{}, llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "Done."}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	s, err := burin.New(t.Context(), burin.Options{
		Alone: true, Dir: t.TempDir(), Client: openai.NewCompletions(openai.CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: srv.URL}}),
		Model: &llm.Model{ID: "m", Provider: "p", API: llm.APICompletions, ContextWindow: 100_000, MaxOutput: 4096, Input: []llm.Modality{llm.ModalityText}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.Prompt(t.Context(), llm.UserText("hello"))
	names := []string{"ask", "exit_plan", "task", "irc", "task_list", "lsp"} // only where somebody can answer, agents can be opened, or there is a language server
	for _, d := range srv.Requests()[0].Tools {
		names = append(names, d.Name)
	}
	return names
}

// slashCommands are the names and aliases of the terminal's commands.
func slashCommands(t *testing.T) (names []string) {
	t.Helper()
	source := read(t, "../internal/mode/tui/command_table.go")
	for _, m := range regexp.MustCompile(`name: "([^"]+)"(?:, aliases: \[\]string\{([^}]*)\})?`).FindAllStringSubmatch(source, -1) {
		names = append(names, "/"+m[1])
		for _, alias := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(m[2], -1) {
			names = append(names, "/"+alias[1])
		}
	}
	bundled, err := filepath.Glob("../internal/customize/command/bundled/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range bundled {
		names = append(names, "/"+strings.TrimSuffix(filepath.Base(file), ".md"))
	}
	return names
}

// matches reports whether a name is one of the patterns; in those, ".*" stands for all
// settings of a group.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		group, all := strings.CutSuffix(p, "*")
		return p == name || all && strings.HasPrefix(name, group)
	})
}

// What the five programs have, burin has, or left-out.md lists it; and nothing that it
// lists as left out is there after all.
func TestLeftOut(t *testing.T) {
	theirs := map[string][]string{}
	for line := range strings.Lines(read(t, "testdata/family.txt")) {
		if kind, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && kind != "#" {
			theirs[kind] = append(theirs[kind], name)
		}
	}
	page := sections(read(t, "left-out.md"))
	var flags, subcommands, settings []string
	for _, word := range page["Subcommands and flags"] {
		if strings.HasPrefix(word, "--") {
			flags = append(flags, word)
		} else {
			subcommands = append(subcommands, word)
		}
	}
	for _, s := range config.Settings() {
		settings = append(settings, s.Key)
	}
	bin := build(t)
	says := func(what *regexp.Regexp, args ...string) []string {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(cmd.Environ(), "BURIN_HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return what.FindAllString(string(out), -1)
	}
	ownFlags := says(regexp.MustCompile(`--[a-z][a-z-]*`), "help", "flags")
	for _, mode := range says(regexp.MustCompile(`(?m)^[a-z]+`), "__complete", "--mode", "") {
		ownFlags = append(ownFlags, "--mode "+mode)
	}
	for _, tt := range []struct {
		kind         string
		ours, listed []string
		least        int // of ours, or this test doesn't find them any more
	}{
		{"tool", offered(t), slices.Concat(page["Tools under another name"], page["Tools"]), 15},
		{"command", slashCommands(t), page["Commands of the terminal"], 50},
		{"subcommand", says(regexp.MustCompile(`(?m)^[a-z]+`), "__complete", ""), subcommands, 10},
		{"flag", ownFlags, flags, 30},
		{"setting", settings, page["Settings"], 80},
	} {
		if len(theirs[tt.kind]) == 0 || len(tt.listed) == 0 || len(tt.ours) < tt.least {
			t.Errorf("%s: %d of the five programs, %d listed, %d of burin", tt.kind, len(theirs[tt.kind]), len(tt.listed), len(tt.ours))
		}
		for _, name := range tt.ours {
			if matches(tt.listed, name) {
				t.Errorf("left-out.md lists the %s %s, which burin has", tt.kind, name)
			}
		}
		for _, name := range theirs[tt.kind] {
			if !slices.Contains(tt.ours, name) && !matches(tt.listed, name) {
				t.Errorf("burin has no %s %s, and left-out.md doesn't list it", tt.kind, name)
			}
		}
		for _, name := range tt.listed {
			if !slices.ContainsFunc(theirs[tt.kind], func(their string) bool { return matches([]string{name}, their) }) {
				t.Errorf("left-out.md lists the %s %s, which testdata/family.txt doesn't have", tt.kind, name)
			}
		}
	}
}
