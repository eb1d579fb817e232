package prompt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/prompt"
	"github.com/burin-dev/burin/internal/customize/source"
)

// A file may import others, which follow it; code and people are no imports.
func TestImports(t *testing.T) {
	home := t.TempDir()
	repo, user := filepath.Join(home, "repo"), filepath.Join(home, "config")
	write(t, filepath.Join(user, "AGENTS.md"), "Mine. @style.md")
	write(t, filepath.Join(user, "style.md"), "my style")
	write(t, filepath.Join(repo, "AGENTS.md"), "See @docs/build.md, and (@web/README.md).\nAsk @ada or ada@example.org; `@docs/code.md`, @docs/none.md\n```\n@docs/fenced.md\n```\n    @docs/indented.md\n@docs")
	write(t, filepath.Join(repo, "docs", "build.md"), "build: @more/deep.md @../AGENTS.md")
	write(t, filepath.Join(repo, "docs", "more", "deep.md"), "deep @../build.md")
	write(t, filepath.Join(repo, "web", "README.md"), "web")
	for _, name := range []string{"code", "fenced", "indented"} {
		write(t, filepath.Join(repo, "docs", name+".md"), name)
	}
	found := prompt.Discover(source.Options{Dir: repo, Root: repo, ConfigDir: user})
	files, warnings := found.Files, found.Warnings
	want := []string{
		filepath.Join(user, "AGENTS.md"), filepath.Join(user, "style.md"),
		"AGENTS.md", "docs/build.md", "docs/more/deep.md", "web/README.md",
	}
	if diff := cmp.Diff(want, names(files)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"AGENTS.md: @docs/none.md is not imported: there is no such file"}, warnings); diff != "" {
		t.Error(diff)
	}
}

// A repository imports nothing from outside of it, and nobody imports without an end.
func TestImportsAreBounded(t *testing.T) {
	home := t.TempDir()
	repo := filepath.Join(home, "repo")
	write(t, filepath.Join(home, "secret.md"), "secret")
	t.Setenv("HOME", home)
	write(t, filepath.Join(repo, "AGENTS.md"), "@../secret.md @~/secret.md @"+filepath.ToSlash(home)+"/secret.md @link.md @d1.md")
	if err := os.Symlink(filepath.Join(home, "secret.md"), filepath.Join(repo, "link.md")); err != nil {
		t.Skip("no links here:", err)
	}
	for i := 1; i <= 8; i++ {
		write(t, filepath.Join(repo, fmt.Sprintf("d%d.md", i)), fmt.Sprintf("depth %d @d%d.md", i, i+1))
	}
	found := prompt.Discover(source.Options{Dir: repo, Root: repo})
	files, warnings := found.Files, found.Warnings
	for _, f := range files {
		if strings.Contains(f.Text, "secret\n") || f.Text == "secret" {
			t.Errorf("%s holds a file from outside", f.Name)
		}
	}
	if diff := cmp.Diff([]string{"AGENTS.md", "d1.md", "d2.md", "d3.md", "d4.md", "d5.md"}, names(files)); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 5 {
		t.Errorf("warnings %q", warnings)
	}
	var many strings.Builder
	for i := range 60 {
		write(t, filepath.Join(repo, fmt.Sprintf("m%d.md", i)), fmt.Sprint("m", i))
		fmt.Fprintf(&many, "@m%d.md\n", i)
	}
	write(t, filepath.Join(repo, "AGENTS.md"), many.String())
	found = prompt.Discover(source.Options{Dir: repo, Root: repo})
	files, warnings = found.Files, found.Warnings
	if len(files) != prompt.MaxImports || len(warnings) != 1 {
		t.Errorf("%d files, %q", len(files), warnings)
	}
}

func FuzzImports(f *testing.F) {
	f.Add("@a.md ```\n@b.md")
	f.Fuzz(func(t *testing.T, text string) {
		repo := t.TempDir()
		write(t, filepath.Join(repo, "AGENTS.md"), text)
		write(t, filepath.Join(repo, "a.md"), text)
		prompt.Discover(source.Options{Dir: repo, Root: repo})
	})
}
