package permission_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/wall"
	"github.com/burin-dev/burin/tool"
)

// Rules that refuse files to everybody are walls; others are not.
func TestWalls(t *testing.T) {
	p := policy(t, permission.Full,
		rule1(t, "!edit(vendor/)"), rule1(t, "!read(.env)"), rule1(t, "!read(~/keys/**)"), rule1(t, "!edit(/src/project/gen/*.go)"),
		rule1(t, "ask edit(a)"), rule1(t, "edit(b)"), rule1(t, "!edit"), rule1(t, "!bash(rm:*)"), rule1(t, "!write(c)"), rule1(t, "!fetch(example.com)"))
	want := []wall.Wall{{Glob: "gen/*.go", Write: true}, {Glob: "/home/me/keys/**", Read: true}, {Glob: "vendor/**", Write: true}, {Glob: ".env", Read: true}}
	got := p.Walls()
	if len(got) != len(want) || slices.ContainsFunc(want, func(w wall.Wall) bool { return !slices.Contains(got, w) }) {
		t.Errorf("walls %v, want %v", got, want)
	}
}

// What a pattern names may be a link: both sides of it are walled.
func TestWallsFollowLinks(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "third_party"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"vendor": "third_party", "data": outside} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skip("no links here")
		}
	}
	p, err := permission.Open(permission.Options{Project: root, Home: "/home/me", Rules: []permission.Rule{rule1(t, "!edit(vendor/**)"), rule1(t, "!read(data/x/*.key)")}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := wall.Build(root, p.Walls())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{
		"vendor/a": {false, true}, filepath.Join(root, "third_party/a"): {false, true},
		"data/x/a.key": {true, false}, filepath.Join(outside, "x/a.key"): {true, false}, filepath.Join(outside, "a.key"): {false, false},
	} {
		if read, write := s.Refuses(name); [2]bool{read, write} != want {
			t.Errorf("%s: read %v, write %v, want %v", name, read, write, want)
		}
	}
}

// An absolute pattern is for files of the workspace too, whose names are relative.
func TestAbsolutePatternsHoldInTheWorkspace(t *testing.T) {
	for rule, name := range map[string]string{"!read(/**/.key)": "sub/.key", "!read(/src/*/x)": "x", "!read(~/**)": "a"} {
		o := permission.Options{Mode: permission.Full, Project: "/src/project", Home: "/src", Rules: []permission.Rule{rule1(t, rule)}}
		p, err := permission.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Decide(access("read", tool.AccessRead, name)); d.Verdict != permission.Deny {
			t.Errorf("%s: %s is read: %s", rule, name, d.Reason)
		}
		if d := p.Decide(bash("cat " + name)); d.Verdict != permission.Deny {
			t.Errorf("%s: cat %s: %s", rule, name, d.Reason)
		}
	}
}
