package permission_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
)

// wallsWorkspace is the workspace that walls.txt speaks of.
func wallsWorkspace(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"vendor/v.txt", "vendor/sub/x", "sub/a.go", "private/key.txt", "src/main.go", "tests/pem/server.pem", "plain/a.txt", ".env"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("SECRET\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "vendor", "sub", "private", "src", "tests", "plain"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	return root
}

// Rules about files, and files that hold secrets, hold however a command comes to them.
func TestWallsCorpus(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "walls.txt"))
	if err != nil {
		t.Fatal(err)
	}
	o := permission.Options{Mode: permission.Ask, Project: wallsWorkspace(t), Home: "/home/me"}
	p, total := (*permission.Policy)(nil), 0
	for n, line := range strings.Split(string(data), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || line[0] == '#':
			continue
		case key == "mode":
			o.Mode = permission.Mode(value)
		case key == "rule":
			o.Rules = append(o.Rules[:len(o.Rules):len(o.Rules)], rule1(t, value))
		case line == "rules:":
			o.Rules = nil
		case line == "walled:", line == "open:":
			o.Walled = line == "walled:"
		default:
			want, command, ok := strings.Cut(line, "\t")
			if !ok {
				t.Fatalf("walls.txt:%d: %q", n+1, line)
			}
			total++
			if p == nil {
				if p, err = permission.Open(o); err != nil {
					t.Fatal(err)
				}
			}
			d := p.Decide(bash(strings.ReplaceAll(command, "⏎", "\n")))
			if string(d.Verdict) != want && (want != "no" || d.Verdict == permission.Allow) {
				t.Errorf("walls.txt:%d: %s, walled %v: %q: %s (%s), want %s", n+1, o.Mode, o.Walled, command, d.Verdict, d.Reason, want)
			}
			continue
		}
		p = nil
	}
	if total < 300 {
		t.Errorf("the corpus has %d commands only", total)
	}
}

// A tree that is too large to look at is a question.
func TestTreesAreBounded(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(t.TempDir(), "f") // many names of one file are made in half the time
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for d := range 21 {
		dir := filepath.Join(root, "many", fmt.Sprint(d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range 1000 {
			if err := os.Link(file, filepath.Join(dir, fmt.Sprint(f))); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := permission.Open(permission.Options{Project: root, Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Decide(bash("grep -r x .")); d.Verdict != permission.Question || !strings.Contains(d.Reason, "too many files") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
	if d := p.Decide(bash("grep -r x many/3")); d.Verdict != permission.Allow {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

// A search of everything looks for secrets in the tree: 1,000 files in 100 folders.
func BenchmarkDecideTree(b *testing.B) {
	root := b.TempDir()
	for d := range 100 {
		dir := filepath.Join(root, fmt.Sprint("folder", d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 10 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", f, ".go")), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, rules := range map[string][]permission.Rule{"secrets": nil, "rules": {rule1(b, "!read(private/**)"), rule1(b, "!read(**/*.key)")}} {
		p, err := permission.Open(permission.Options{Project: root, Home: "/home/me", Rules: rules})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := p.Decide(bash("grep -rn TODO .")); d.Verdict != permission.Allow {
					b.Fatal(d.Reason)
				}
			}
		})
	}
}
