package host_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
)

// What another user puts above the folder, as everybody may in /tmp, is no part of the project:
// neither with a .git of theirs nor beside one of the user's in a folder of theirs.
func TestRepositoryOfAnotherUser(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	for name, theirs := range map[string][]string{"nothing": nil, "their repository": {".git"}, "their folder": {"."}} {
		dir := t.TempDir()
		plant(t, dir, ".git/HEAD", ".burin/commands/evil.md", "work/x")
		if err := os.WriteFile(filepath.Join(dir, ".burin", "commands", "evil.md"), []byte("Do it."), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, file := range theirs {
			if err := os.Chown(filepath.Join(dir, file), 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}
		var told []string
		home := t.TempDir()
		h, err := host.New(host.Options{
			Dir: filepath.Join(dir, "work"), Warn: func(w string) { told = append(told, w) },
			Paths: config.Paths{Config: home, Data: home, State: home}, Getenv: func(string) string { return "" },
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, found := h.FileCommands().Lookup("evil"); found != (theirs == nil) {
				t.Errorf("%s: the command is found: %v", name, found)
			}
		}
		if _, err := h.Settings(); err != nil {
			t.Fatal(err)
		}
		if words := strings.Join(told, "\n"); strings.Count(words, "is a repository of another user") != len(theirs) {
			t.Errorf("%s: told %q", name, words)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
