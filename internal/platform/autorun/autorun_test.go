package autorun

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/wall"
)

func repo(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAfterNamesWhatOthersRun(t *testing.T) {
	dir := repo(t)
	w := New(dir, "")
	w.Before()
	if said := w.After(); said != "" {
		t.Errorf("nothing changed: %s", said)
	}
	write(t, filepath.Join(dir, ".vscode", "tasks.json"), "{}")
	write(t, filepath.Join(dir, ".envrc"), "x")
	write(t, filepath.Join(dir, "main.go"), "package main")
	if said := w.After(); !strings.Contains(said, ".envrc, .vscode/tasks.json.") {
		t.Errorf("said: %q", said)
	}
	if said := w.After(); said != "" {
		t.Errorf("said again: %s", said)
	}
	write(t, filepath.Join(dir, ".envrc"), "a person's")
	w.Before()
	if said := w.After(); said != "" {
		t.Errorf("a person's own change: %s", said)
	}
	if err := os.Remove(filepath.Join(dir, ".envrc")); err != nil {
		t.Fatal(err)
	}
	if said := w.After(); !strings.Contains(said, ".envrc") {
		t.Errorf("removed: %q", said)
	}
}

func TestAfterPutsBackWhatGitExecutes(t *testing.T) {
	dir := repo(t)
	config, hook := filepath.Join(dir, ".git", "config"), filepath.Join(dir, ".git", "hooks", "pre-commit")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "kept")
	w := New(dir, kept)
	w.Before()
	write(t, config, string(before)+"[core]\n\tfsmonitor = evil\n")
	write(t, hook, "#!/bin/sh\nevil\n")
	write(t, filepath.Join(dir, ".burin", "config.yml"), "evil")
	if said := w.After(); !strings.Contains(said, "put back .burin/config.yml, .git/config, .git/hooks/pre-commit") || !strings.Contains(said, kept) {
		t.Errorf("said: %q", said)
	}
	if after, err := os.ReadFile(config); err != nil || string(after) != string(before) {
		t.Errorf("config: %v\n%s", err, after)
	}
	for _, name := range []string{hook, filepath.Join(dir, ".burin", "config.yml")} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	files, err := os.ReadDir(kept)
	if err != nil || len(files) != 3 {
		t.Errorf("kept: %v, %v", files, err)
	}
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	w.After()
	if after, err := os.ReadFile(config); err != nil || string(after) != string(before) {
		t.Errorf("removed config: %v\n%s", err, after)
	}
	write(t, config, string(before)+"[branch \"a\"]\n\tremote = origin\n")
	if said := w.After(); said != "" {
		t.Errorf("what a branch tracks: %s", said)
	}
	mine := string(before) + "[user]\n\tname = a\n[core]\n\tpager = less\n"
	write(t, config, mine)
	w.Before() // a person's
	write(t, config, "evil")
	w.After()
	if after, err := os.ReadFile(config); err != nil || string(after) != mine {
		t.Errorf("config: %v\n%s", err, after)
	}
}

func TestWalls(t *testing.T) {
	dir := repo(t)
	write(t, filepath.Join(dir, ".git", "modules", "sub", "config"), "")
	set, err := wall.Build(dir, New(dir, "").Walls())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		".git/config": true, ".git/hooks/pre-commit": true, ".git/hooks": true, ".git/commondir": true, ".git/modules/sub/config": true, ".git/modules/sub/hooks/x": true,
		".burin/config.yml": true, ".burin": true,
		".git/index": false, ".git/HEAD": false, ".git/objects/ab/cd": false, ".git/config.lock": false, "sub/.git/config": false, ".envrc": false,
	} {
		if _, write := set.Refuses(filepath.Join(dir, filepath.FromSlash(name))); write != want {
			t.Errorf("%s: %v", name, write)
		}
	}
	if !set.Moved(filepath.Join(dir, ".git"), filepath.Join(dir, "x")) {
		t.Error("the repository can be moved away")
	}
}

func BenchmarkAfter(b *testing.B) {
	dir := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	w := New(dir, "")
	w.Before()
	for b.Loop() {
		w.After()
	}
}
