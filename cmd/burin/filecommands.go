package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/config"
)

// fileCommands finds the commands that are files, when they are first asked for.
func (p *program) fileCommands(paths config.Paths, warn func(string)) func() *files.Set {
	return sync.OnceValue(func() *files.Set {
		dir, err := workDir()
		if err != nil {
			return new(files.Set)
		}
		home, _ := os.UserHomeDir() // without one the user has none
		set, warnings := files.Discover(files.Options{
			Dir: dir, Root: repository(dir), ConfigDir: paths.Config, UserHome: home, Getenv: p.getenv,
		})
		for _, w := range warnings {
			warn(w)
		}
		return set
	})
}

// repository is the folder at or above dir that holds .git; dir if there is none.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// expander makes prompts of texts that begin with the name of such a command.
func expander(set func() *files.Set) func(context.Context, string) (string, error) {
	return func(_ context.Context, text string) (string, error) {
		if len(text) == 0 || text[0] != '/' {
			return text, nil
		}
		expanded, _, err := set().Expand(text)
		return expanded, err
	}
}
