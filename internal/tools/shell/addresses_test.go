package shell

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// places are files behind addresses for tests: those of local:// below a folder, of skill:// one.
type places struct{ dir string }

func (p places) Running() Addresses { return p }

func (p places) Schemes() []string { return []string{"local", "skill"} }

func (p places) File(address string) (string, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme == "skill" && !strings.HasPrefix(rest, "pdf/") {
		return "", errors.New(address + ": no such skill")
	}
	return filepath.Join(p.dir, rest), nil
}

func TestExpand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's $here")
	if err := os.MkdirAll(filepath.Join(dir, "my notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := places{dir}
	plain, err := syntax.Quote(dir+"/X", syntax.LangBash)
	if err != nil {
		t.Fatal(err)
	}
	bare := func(name string) string { return strings.Replace(plain, "X", name, 1) }
	for line, want := range map[string]string{
		"go test ./...":              "go test ./...",
		"python3 skill://pdf/x.py a": "python3 " + bare("pdf/x.py") + " a",
		"cat<local://a>local://b":    "cat<" + bare("a") + ">" + bare("b"),
		"f --in=local://a,b":         "f --in=" + bare("a,b"),
		`cat 'local://my notes'`:     `cat '` + strings.ReplaceAll(dir, "'", `'\''`) + `/my notes'`,
		`cat "local://my notes"`:     `cat "` + strings.ReplaceAll(dir, "$", `\$`) + `/my notes"`,
		`cat local://my\ notes`:      `cat ` + bare("my notes"),
		`f --in="local://a"`:         `f --in="` + strings.ReplaceAll(dir, "$", `\$`) + `/a"`,
		`cat "local://$name.md"`:     `cat "` + strings.ReplaceAll(dir, "$", `\$`) + `/$name.md"`,
		`cat local://out-$i`:         `cat ` + bare("") + `out-$i`,
		"ls local://*.md":            "ls " + bare("") + "*.md",
		"ls local://":                "ls " + bare(""),
		"x=$(cat local://a) y":       "x=$(cat " + bare("a") + ") y",
		`cat "local://a"local://b`:   `cat "` + strings.ReplaceAll(dir, "$", `\$`) + `/a"` + bare("b"),
		`echo "$(cat local://a)"`:    `echo "$(cat ` + bare("a") + `)"`,
		// What only looks like an address of a file.
		`git commit -m "move it to local://a"`:         `git commit -m "move it to local://a"`,
		`echo "local://plan.md is done"`:               `echo "local://plan.md is done"`,
		"curl https://example.org/?u=local://a":        "curl https://example.org/?u=local://a",
		"aws s3 cp s3://b/k xlocal://a":                "aws s3 cp s3://b/k xlocal://a",
		"cat <<E\nlocal://a\nE":                        "cat <<E\nlocal://a\nE",
		"cat <<E >local://b\nlocal://a\nE":             "cat <<E >" + bare("b") + "\nlocal://a\nE",
		"cat 'local://a":                               "cat 'local://a", // the shell says what is wrong
		"# local://a\ntrue":                            "# local://a\ntrue",
		`echo "skill://none/x" 'skill://none/x' other`: `echo "skill://none/x" 'skill://none/x' other`,
	} {
		got, err := Expand(at, line)
		if err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", line, got, err, want)
		}
	}
	if got, err := Expand(at, "cat skill://none/x"); err == nil || err.Error() != "skill://none/x: no such skill" {
		t.Errorf("an unknown skill is %s, %v", got, err)
	}
}

func FuzzExpand(f *testing.F) {
	f.Add(`cat "local://a$b" 'local://c' local://d\ e >local://*`)
	f.Fuzz(func(t *testing.T, line string) {
		got, err := Expand(places{"/it's"}, line)
		if err != nil || got == line {
			return
		}
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(got), ""); err != nil {
			t.Errorf("%q became %q: %v", line, got, err)
		}
	})
}

// toggling is a place that is there only sometimes.
type toggling struct {
	places
	gone bool
	dir  string
}

func (p *toggling) File(address string) (string, error) {
	if p.gone {
		return "", errors.New(address + " does not exist")
	}
	return p.dir + "/x", nil
}

// What runs is what was judged, whatever an address leads to meanwhile.
func TestJudged(t *testing.T) {
	var j judgments
	call := bashArgs{Command: "rm -rf x; : skill://pdf/x"}
	at := &toggling{gone: true}
	if _, err := j.judge(at, call); err == nil {
		t.Error("a call that can't be expanded is judged")
	}
	at.gone, at.dir = false, "/a"
	if got, err := j.take(at, call); err == nil {
		t.Errorf("it runs %q", got.Command)
	}
	if got, err := j.judge(at, call); err != nil || got.Command != "rm -rf x; : /a/x" {
		t.Errorf("judged as %q, %v", got.Command, err)
	}
	at.dir = "/b"
	if got, err := j.take(at, call); err != nil || got.Command != "rm -rf x; : /a/x" {
		t.Errorf("it runs %q, %v", got.Command, err)
	}
	_, _ = j.judge(at, call)
	at.dir = "/c"
	_, _ = j.judge(at, call)
	if got, err := j.take(at, call); err == nil || !strings.Contains(err.Error(), "call again") {
		t.Errorf("judged in two ways it runs %q, %v", got.Command, err)
	}
	if got, err := j.take(at, call); err == nil {
		t.Errorf("without a judgment it runs %q", got.Command)
	}
	for _, plain := range []string{"go test ./...", "curl https://example.org/x"} {
		if got, err := j.take(at, bashArgs{Command: plain}); err != nil || got.Command != plain {
			t.Errorf("%s: %q, %v", plain, got.Command, err)
		}
	}
}
