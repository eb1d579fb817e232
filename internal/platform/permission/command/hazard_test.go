package command_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/permission/command"
)

// call is the first call in a line.
func call(t *testing.T, line string) *command.Part {
	t.Helper()
	l := command.Parse(line, place)
	for i := range l.Parts {
		if l.Parts[i].Kind == command.Run {
			return &l.Parts[i]
		}
	}
	t.Fatalf("%q runs nothing: %s", line, l.Failure)
	return nil
}

// Which first words include a hazard: none, those up to it, or those that name a
// sub-command.
func TestHazardsAndWhatIncludesThem(t *testing.T) {
	for _, tt := range []struct {
		line, words string
		included    bool
	}{
		{"go test ./...", "go", true},
		{"go test -exec x", "go test", false},
		{"go test -exec x", "go test -exec", true},
		{"go run .", "go", false},
		{"go run .", "go run", true},
		{"go test ./run", "go", true},
		{"go build generate", "go", false}, // might be the sub-command of another version
		{"go build generate", "go build", true},
		{"docker compose run x", "docker", false},
		{"docker compose run x", "docker compose", false},
		{"docker compose run x", "docker compose run", true},
		{"docker compose ps", "docker", true},
		{"git -c a=b log", "git", false},
		{"git config a.b c", "git", false},
		{"git config a.b c", "git config", true},
		{"git config alias.x y", "git config", false},
		{"git config alias.x y", "git config alias.x", true},
		{"git push -u a b", "git", true},
		{"git $X", "git", false},
		{"npm run build -- --prefix x", "npm run build", false},
		{"python3 x.py -c y", "python3", true},
		{"python3 -c y", "python3", false},
		{"python3 -c y", "python3 -c", true},
		{"poetry run pytest", "poetry run", false},
		{"poetry run pytest", "poetry run pytest", true},
		{"ssh host ls", "ssh host ls", false},
		{"parallel ls", "parallel ls", false},
		{"source x", "source", false},
		{"source x", "source x", true},
		{"mytool $X -exec", "mytool", true},
		{"tar --to-c x", "tar", false},
		{"make CC=x", "make", false},
		{"make all", "make", true},
		{"awk '{print $1}' x", "awk", true},
		{"awk 'BEGIN{system(1)}'", "awk", false},
		{"sed -n 1p x", "sed", true},
		{"sed -i s/a/b/ x", "sed", false},
		{"sed -i s/a/b/ x", "sed -i", true},
		{"sed -i s/a/b/e x", "sed -i", false},
	} {
		all := true
		for _, h := range call(t, tt.line).Hazards() {
			if h.Why == "" {
				t.Errorf("%q: a hazard without a reason: %+v", tt.line, h)
			}
			all = all && h.In(strings.Fields(tt.words))
		}
		if all != tt.included {
			t.Errorf("%q: in %q: %v, want %v (%v)", tt.line, tt.words, all, tt.included, call(t, tt.line).Hazards())
		}
	}
}

func TestExcluded(t *testing.T) {
	for words, want := range map[string][]string{
		"mytool":       nil,
		"git":          {"-c", "config", "submodule", "aliases"},
		"git log":      {"--output", "--ext-diff", "--textconv"},
		"git add":      nil,
		"go":           {"run", "generate", "tool", "get"},
		"go test":      {"-exec", "-toolexec", "-vettool", "-overlay"},
		"tar":          {"--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command"},
		"python3":      {"code in the line or from its input"},
		"python3 x.py": nil,
	} {
		if diff := cmp.Diff(want, command.Excluded(strings.Fields(words))); diff != "" {
			t.Errorf("%s: %s", words, diff)
		}
	}
}

func TestSed(t *testing.T) {
	for script, want := range map[string]bool{
		"p": true, "1p": true, "$p": true, "1,5p": true, "/x/p": true, "/x/,/y/p": true, "/x/I,+3p": true, "1~2p": true, "2!d": true, "$!N": true, "s/a/b/": true, "s/a/b/gI2p": true, "s|a|b|;s,c,d,": true,
		"y/ab/cd/": true, "1{p;q}": true, "/x/{s/a/b/;p}": true, "=": true, "5q": true, "q 3": true, "s/[^x]*//": true, "s/a\\/b/c/": true, "": true, " ; p ; ": true, "p\np": true, "1{\np\n}": true,
		"e": false, "e ls": false, "1e ls": false, "w x": false, "W x": false, "r x": false, "R x": false, "s/a/b/e": false, "s/a/b/w x": false, "s/a/b/ge": false, "s/a/b/pw x": false, "p;e": false,
		"/x/e ls": false, "/x/w y": false, "s/a/b/;w x": false, "{e}": false, "1{w x\n}": false, "a text": false, "i\\\nx": false, "c x": false, "b": false, ":a": false, "t": false, "s/a/b": false, "s": false, "s/a": false,
		"s/[/]e/x/": false, "/[/]w x/p": false, "s/a/b\n/": false, "s\\a\\b\\": false, "\\cxcp": false, "{p": false, "p}": false, "y/a/b/e": false, "pw x": false, "#n": false, "z": false, "F": false, "v": false, "/x": false, "s a b w": false,
	} {
		p := call(t, "sed -n '"+script+"' x")
		if _, got := p.Reads(); got != want && script != "p}" {
			t.Errorf("%q: only prints: %v", script, got)
		}
	}
}
