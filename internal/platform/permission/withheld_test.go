package permission_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
)

// A search of a folder leaves out what a call for that file alone wouldn't be allowed
// to read.
func TestWithheldFollowsTheRules(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"private", "sub", ".ssh"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("private", filepath.Join(root, "link")); err != nil {
		t.Skip("no links here")
	}
	for _, c := range []struct {
		mode   permission.Mode
		rules  []string
		folder string
		name   string
		want   bool
	}{
		{permission.Ask, nil, ".", "a.txt", false},
		{permission.Ask, nil, ".", ".env", true},
		{permission.Ask, nil, ".", "sub/server.pem", true},
		{permission.Ask, nil, ".", ".env.example", false},
		{permission.Plan, nil, ".", ".ssh/config", true},
		{permission.AutoEdit, nil, "sub", "sub/.env", true},
		{permission.Ask, nil, ".ssh", ".ssh/config", false},
		{permission.Full, nil, ".", ".env", false},
		{permission.Full, []string{"!read(.env)"}, ".", ".env", true},
		{permission.Full, []string{"!read(.env)"}, ".", ".ENV", true},
		{permission.Full, []string{"!read(.env)"}, ".", "sub/.env", false},
		{permission.Full, []string{"!grep(sub/**)"}, ".", "sub/a", true},
		{permission.Full, []string{"ask read(sub/**)"}, ".", "sub/a", true},
		{permission.Full, []string{"!edit(sub/**)"}, ".", "sub/a", false},
		{permission.Full, []string{"!read(link/**)"}, ".", "private/a", true},
		{permission.Full, []string{"!read(private/**)"}, "link", "link/a", true},
		{permission.Full, []string{"!read(" + filepath.ToSlash(root) + "/sub/**)"}, ".", "sub/a", true},
		{permission.Ask, []string{"read(.env)"}, ".", ".env", false},
		{permission.Ask, []string{"read"}, ".", ".env", false},
		{permission.Ask, []string{"read(.env)", "!read(**)"}, ".", ".env", true},
		{permission.Ask, []string{"edit(.env)"}, ".", ".env", true},
	} {
		o := permission.Options{Mode: c.mode, Project: root, Home: "/home/me"}
		for _, r := range c.rules {
			o.Rules = append(o.Rules, rule1(t, r))
		}
		p, err := permission.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		withheld := p.Withheld(c.folder)
		if got := withheld != nil && withheld(c.name); got != c.want {
			t.Errorf("%s %v: %s in a search of %s: withheld %v, want %v", c.mode, c.rules, c.name, c.folder, got, c.want)
		}
	}
}

// The policy is asked as it is when the call runs.
func TestWithheldFollowsTheMode(t *testing.T) {
	p := policy(t, permission.Full)
	if p.Withheld(".") != nil {
		t.Error("in full mode without rules files are looked at")
	}
	p.SetMode(permission.Ask)
	if w := p.Withheld("."); w == nil || !w(".env") {
		t.Error("the mode changed, and .env is still shown")
	}
}

func BenchmarkWithheld(b *testing.B) {
	p := policy(b, permission.Ask, rule1(b, "!read(private/**)"), rule1(b, "!read(**/*.key)"))
	withheld := p.Withheld(".")
	b.ReportAllocs()
	for b.Loop() {
		if withheld("internal/platform/permission/judge.go") {
			b.Fatal("withheld")
		}
	}
}
