package lsp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/lsp"
)

// linter gives a link to a program that is run for each file.
func linter(t *testing.T, format, path string, types []string, args ...string) (*lsp.Link, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pool := lsp.NewPool(lsp.Options{})
	t.Cleanup(func() { _ = pool.Close() })
	return pool.Link(&lsp.Server{Name: "linted", Path: path, Args: args, FileTypes: types, Linter: true, Format: format}, dir), dir
}

// script writes a shell script, and gives its path.
func script(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// swiftlint speaks as SwiftLint does: each line with TODO has a warning, each with "!" an error, and
// the exit code is 2. It counts its runs.
const swiftlint = `
[ "$1 $2 $3 $4" = "lint --quiet --reporter json" ] || { echo "wrong arguments: $*" >&2; exit 64; }
shift 4
echo run >>"$1.runs"
awk -v file="$1" 'BEGIN { printf "["; code = 0 }
function say(severity, rule, reason, at) {
	printf "%s{\"character\":%d,\"file\":\"%s\",\"line\":%d,\"reason\":\"%s\",\"rule_id\":\"%s\",\"severity\":\"%s\",\"type\":\"T\"}", sep, at, file, NR, reason, rule, severity; sep = ","
}
{ gsub(/ä/, "a") }
/TODO/ { say("Warning", "todo", "TODOs should be resolved", index($0, "TODO")) }
/!/ { say("Error", "force_unwrapping", "Force unwrapping should be avoided", index($0, "!")); code = 2 }
END { print "]"; exit code }' "$1"
`

// A linter that isn't a server says what an edit caused, like one.
func TestLinterAroundEdit(t *testing.T) {
	t.Parallel()
	l, dir := linter(t, "swiftlint", script(t, swiftlint), []string{".swift"}, "lint", "--quiet", "--reporter", "json")
	before, known := l.Before(t.Context(), []lsp.Document{document(t, dir, "a.swift", "let a = 1 // TODO\n")})
	if !known || len(before) != 1 || before[0].Severity != lsp.SeverityWarning || before[0].Code != "todo" || before[0].Source != "linted" {
		t.Fatalf("before: %+v, known %v", before, known)
	}
	d := document(t, dir, "a.swift", "let a = 1 // TODO\nlet b = ä!\n")
	after, late := l.After(t.Context(), []lsp.Document{d}, time.Minute)
	if late || len(after) != 2 || after[0].Code != "force_unwrapping" || after[0].Range.Start != (lsp.Position{Line: 1, Byte: len("let b = ä")}) {
		t.Fatalf("after: %+v, late %v", after, late)
	}
	// What it said of a content it isn't asked again.
	if found, late, err := l.Diagnose(t.Context(), []lsp.Document{d}); err != nil || late || len(found) != 2 {
		t.Errorf("once more: %v, %v, %v", found, late, err)
	}
	if runs, err := os.ReadFile(d.Path + ".runs"); err != nil || strings.Count(string(runs), "run") != 2 {
		t.Errorf("it ran %q, %v", runs, err)
	}
	if _, err := l.Hover(t.Context(), d, lsp.Position{}); err == nil || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("hover: %v", err)
	}
	if s := l.Status(); s.State != lsp.OnCall || s.Errors != 1 || s.Starts != 2 {
		t.Errorf("status %+v", s)
	}
	if err := os.Remove(d.Path); err != nil {
		t.Fatal(err)
	}
	if left, _ := l.After(t.Context(), []lsp.Document{{Path: d.Path}}, time.Minute); len(left) != 0 {
		t.Errorf("of a file that is removed: %v", left)
	}
}

// A linter that fails says why, and is not run for each edit.
func TestLinterThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, want string }{
		{"echo 'no such rule: x' >&2; exit 64", "no such rule: x"},
		{"echo hello", "as swiftlint"},
		{"head -c 5000000 /dev/zero", "more than 4 MB"},
		{"kill -9 $$", "killed"},
	} {
		l, dir := linter(t, "swiftlint", script(t, c.script), []string{".swift"})
		d := document(t, dir, "a.swift", "x")
		if err := l.Start(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.script, err, c.want)
		}
		if found, known := l.Before(t.Context(), []lsp.Document{d}); known || len(found) > 0 {
			t.Errorf("%q: it knows %v", c.script, found)
		}
		if s := l.Status(); s.State != lsp.Failed || s.Starts != 1 || !strings.Contains(s.Err, c.want) {
			t.Errorf("%q: status %+v", c.script, s)
		}
	}
}

// What a slow linter says comes with the next edit, and it ends with its pool.
func TestLinterThatIsSlow(t *testing.T) {
	t.Parallel()
	l, dir := linter(t, "lines", script(t, `while [ ! -e "$1.go" ]; do sleep 0.01; done; echo "$1:1:2: warning: slow [s1]"`), []string{".txt"})
	d := document(t, dir, "a.txt", "text\n")
	if found, late := l.After(t.Context(), []lsp.Document{d}, 10*time.Millisecond); !late || len(found) > 0 {
		t.Fatalf("%v, late %v", found, late)
	}
	document(t, dir, "a.txt.go", "")
	found, late, err := l.Diagnose(t.Context(), []lsp.Document{d})
	if err != nil || late || len(found) != 1 || found[0].Code != "s1" || found[0].Message != "slow" || found[0].Severity != lsp.SeverityWarning {
		t.Fatalf("%+v, late %v, %v", found, late, err)
	}
	l.After(t.Context(), []lsp.Document{document(t, dir, "b.txt", "it never ends")}, 10*time.Millisecond)
}

func TestLinterOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, out, want string }{
		{"lines", "noise\na.txt:2: no column\na.txt:1:5: error: broken here [E1]\nC:\\a.txt:3:1: W unused (W1)\r\na.txt:99999999999999999999:1: note: far\n", "0:4 error broken here E1|1:0 error no column |2:0 warning unused W1|3:0 info far "},
		{"sarif", `{"runs":[{"tool":{"driver":{"name":"S"}},"results":[{"ruleId":"R","level":"note","message":{"text":"m"},"locations":[{"physicalLocation":{"region":{"startLine":2,"startColumn":3}}}]},{"message":{"text":"nowhere"}}]}]}`, "0:0 warning nowhere |1:2 info m R"},
		{"swiftlint", `[]`, ""},
		{"swiftlint", ``, ""},
	} {
		l, dir := linter(t, c.format, script(t, "cat <<'EOF'\n"+c.out+"\nEOF\n"), []string{".txt"})
		found, _, err := l.Diagnose(t.Context(), []lsp.Document{document(t, dir, "a.txt", "one two\nthree\n4 four\n")})
		var words []string
		for _, d := range found {
			words = append(words, fmt.Sprintf("%d:%d %s %s %s", d.Range.Start.Line, d.Range.Start.Byte, d.Severity, d.Message, d.Code))
		}
		slices.Sort(words)
		if got := strings.Join(words, "|"); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.format, got, err, c.want)
		}
	}
}

// Real programs: gofmt, and, where they are installed, staticcheck and Biome.
func TestRealLinters(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, c := range []struct {
		program, format, file, text, want string
		args                              []string
	}{
		{"gofmt", "lines", "a.go", "package a\n\nfunc {\n", "2 error expected 'IDENT'", []string{"-e", "-l"}},
		{"staticcheck", "sarif", "a.go", "package a\n\nimport \"strings\"\n\nvar X = strings.Replace(\"a\", \"b\", \"c\", 0) == \"\"\n", "4 warning calling strings.Replace with n == 0", []string{"-f", "sarif"}},
		{"biome", "sarif", "a.js", "var x = 1;\n\nif (x == 2) {}\n", "2 error Using == may be unsafe", []string{"lint", "--reporter=sarif"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			path := filepath.Join(os.Getenv("BURIN_NPM"), "node_modules", ".bin", c.program)
			if _, err := os.Stat(path); err != nil || os.Getenv("BURIN_NPM") == "" {
				if path, err = exec.LookPath(c.program); err != nil {
					t.Skip(c.program + " is not installed")
				}
			}
			l, dir := linter(t, c.format, path, []string{filepath.Ext(c.file)}, c.args...)
			document(t, dir, "go.mod", "module example.com/a\n\ngo 1.24\n")
			document(t, dir, "biome.json", "{}")
			found, late, err := l.Diagnose(t.Context(), []lsp.Document{document(t, dir, c.file, c.text)})
			if err != nil || late {
				t.Fatalf("%v, late %v, %v", found, late, err)
			}
			for _, d := range found {
				if strings.Contains(fmt.Sprintf("%d %s %s", d.Range.Start.Line, d.Severity, d.Message), c.want) {
					return
				}
			}
			t.Errorf("%s found %+v; want %q", c.program, found, c.want)
		})
	}
}
