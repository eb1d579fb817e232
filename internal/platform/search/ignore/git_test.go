package ignore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/search/ignore"
)

// draw makes ignore files and paths of few parts, so that they often fit.
type draw struct{ *rand.Rand }

func (d draw) of(pieces ...string) string { return pieces[d.IntN(len(pieces))] }

func (d draw) part() string {
	return d.of("a", "b", "ab", "abc", "foo", "foo.go", "x.o", ".hid", "b.go", "a b", "a ", "[a]", "#x", "!x", "a-b", "é", "A", "**", "a\\b")
}

func (d draw) pattern() string {
	var b strings.Builder
	b.WriteString(d.of("", "", "", "", "!", "!", "/", "\\", "#", "**/", "*/"))
	for i := range 1 + d.IntN(3) {
		if i > 0 {
			b.WriteString(d.of("/", "/", "/", "/**/", "//", "\\/", "/*/", "**/", "/**"))
		}
		if d.IntN(2) == 0 {
			b.WriteString(d.part())
			continue
		}
		for range 1 + d.IntN(3) {
			b.WriteString(d.of(
				"*", "*", "?", "a", "b", "o", ".go", "**", "***", "[a-c]", "[!a]", "[^b]", "[]a]", "[a", "[[:alpha:]]", "[[:nope:]]",
				"[!]a-]", "\\*", "\\a", " ", "\\ ", "[a\\]]", "[z-a]", "[\\a-c]", "[a/b]", "[[:x]", "[:]", "\\\\", "[--/]", "é", "[é]", "[a-]", "[[-b]",
			))
		}
	}
	b.WriteString(d.of("", "", "", "", "/", "/*", "/**", " ", "  ", "\\ ", "\t", "\r", "\\", "**"))
	return b.String()
}

func (d draw) file() string {
	var lines []string
	for range 1 + d.IntN(8) {
		lines = append(lines, d.pattern())
	}
	return strings.Join(lines, d.of("\n", "\n", "\r\n")) + d.of("", "\n")
}

func (d draw) path() string {
	var parts []string
	for range 1 + d.IntN(4) {
		parts = append(parts, d.part())
	}
	return strings.Join(parts, "/")
}

// What git says of a path, and what we say, for random rules. BURIN_IGNORE_ROUNDS
// asks for more than the usual 12 rounds of 300 paths.
func TestAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	rounds := 12
	if s := os.Getenv("BURIN_IGNORE_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	seed := rand.Uint64()
	for round := range rounds {
		d := draw{rand.New(rand.NewPCG(seed, uint64(round)))}
		dir := t.TempDir()
		git(t, dir, nil, "init", "-q")
		folders := map[string]bool{}
		for range 40 { // the folders among the paths exist, the files need not
			p := d.path()
			if os.MkdirAll(filepath.Join(dir, p), 0o755) == nil {
				for ; p != "."; p = filepath.Dir(p) {
					folders[p] = true
				}
			}
		}
		rules := d.file()
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules), 0o644); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for f := range folders {
			paths = append(paths, f)
		}
		for len(paths) < 300 {
			paths = append(paths, d.path())
		}
		want := gitVerdicts(t, dir, paths)
		r := ignore.Parse([]byte(rules), false)
		for i, p := range paths {
			if got := verdict(r, p, folders); got != want[i] {
				t.Errorf("round %d of seed %d: %q (folder %v) with\n%s\ngot %v, git says %v", round, seed, p, folders[p], quoted(rules), got, want[i])
			}
		}
		if t.Failed() {
			return
		}
	}
}

func quoted(rules string) string {
	var b strings.Builder
	for line := range strings.Lines(rules) {
		fmt.Fprintf(&b, "  %q\n", line)
	}
	return b.String()
}

// verdict asks for each folder on the way first: what is in one that is left out
// is left out.
func verdict(r *ignore.Rules, path string, folders map[string]bool) bool {
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		p := path[:i]
		switch v := r.Match([]byte(p), p[strings.LastIndexByte(p, '/')+1:], i < len(path) || folders[p]); {
		case v == ignore.Ignore:
			return true
		case i == len(path):
			return false
		}
	}
	return false
}

func git(t *testing.T, dir string, input []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if e, ok := err.(*exec.ExitError); ok && e.ExitCode() == 1 && args[0] == "check-ignore" {
		err = nil // nothing is ignored
	}
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

func gitVerdicts(t *testing.T, dir string, paths []string) []bool {
	t.Helper()
	out := git(t, dir, []byte(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "--stdin", "-z", "-v", "-n", "--no-index")
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(fields) != 4*len(paths) {
		t.Fatalf("git gave %d fields for %d paths", len(fields), len(paths))
	}
	var verdicts []bool
	for i := range paths {
		pattern := fields[4*i+2]
		verdicts = append(verdicts, pattern != "" && pattern[0] != '!')
	}
	return verdicts
}
