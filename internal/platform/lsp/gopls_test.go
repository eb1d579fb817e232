package lsp_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/process"
)

// gopls is the real server: BURIN_GOPLS names it, or else it is in PATH.
func gopls(t *testing.T) string {
	t.Helper()
	pacetest.Costly(t)
	if path := os.Getenv("BURIN_GOPLS"); path != "" {
		return path
	}
	path, err := exec.LookPath("gopls")
	if err != nil {
		t.Skip("gopls is not in PATH, and BURIN_GOPLS does not name it: go install golang.org/x/tools/gopls@v0.23.0")
	}
	return path
}

// npm is a server that is installed by testdata/npm.
func npm(t *testing.T, name string) string {
	t.Helper()
	pacetest.Costly(t)
	dir := os.Getenv("BURIN_NPM")
	path := filepath.Join(dir, "node_modules", ".bin", name)
	if _, err := os.Stat(path); dir == "" || err != nil {
		t.Skip(name + " is not there: npm ci in testdata/npm, and BURIN_NPM names the folder")
	}
	return path
}

// known gives a link to a server of the table.
func known(t *testing.T, name, path string) (*lsp.Link, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pool := lsp.NewPool(lsp.Options{Version: "test"})
	t.Cleanup(func() { _ = pool.Close() })
	for _, s := range lsp.Table() {
		if s.Name == name {
			s.Path = path
			return pool.Link(&s, dir), dir
		}
	}
	t.Fatalf("there is no server %s", name)
	return nil, ""
}

// goProject is a package whose function is used in so many files.
func goProject(t *testing.T, dir string, files int) (declared lsp.Document) {
	t.Helper()
	document(t, dir, "go.mod", "module example.com/p\n\ngo 1.24\n")
	for i := range files {
		document(t, dir, fmt.Sprintf("use%d.go", i), fmt.Sprintf("package p\n\nfunc use%d() string { return \"ä😀\" + Greeting() }\n", i))
	}
	return document(t, dir, "p.go", "package p\n\n// Greeting says hello.\nfunc Greeting() string { return \"hello\" }\n")
}

func TestGopls(t *testing.T) {
	l, dir := known(t, "gopls", gopls(t))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	d := goProject(t, dir, 3)
	name := lsp.Position{Line: 3, Byte: 6}
	words, err := l.Hover(ctx, d, name)
	if err != nil || !strings.Contains(words, "says hello") {
		t.Errorf("hover: %q, %v", words, err)
	}
	places, err := l.Places(ctx, lsp.References, d, name)
	if err != nil || len(places) != 4 {
		t.Errorf("references: %v, %v", places, err)
	}
	for _, p := range places {
		if strings.HasSuffix(p.Path, "use0.go") && p.Range.Start != (lsp.Position{Line: 2, Byte: len("func use0() string { return \"ä😀\" + ")}) {
			t.Errorf("the place in use0.go is %+v", p.Range)
		}
	}
	use := document(t, dir, "use0.go", "package p\n\nfunc use0() string { return \"ä😀\" + Greeting() }\n")
	places, err = l.Places(ctx, lsp.Definition, use, lsp.Position{Line: 2, Byte: 42})
	if err != nil || len(places) != 1 || places[0].Path != d.Path {
		t.Errorf("definition: %v, %v", places, err)
	}
	symbols, err := l.Symbols(ctx, d)
	if err != nil || len(symbols) != 1 || symbols[0].Kind != "function" {
		t.Errorf("symbols: %v, %v", symbols, err)
	}
	callers, err := l.Hierarchy(ctx, lsp.Callers, d, name)
	if err != nil || len(callers) != 3 {
		t.Errorf("callers: %v, %v", callers, err)
	}
	found, err := l.Search(ctx, "Greeting")
	if err != nil || len(found) == 0 {
		t.Errorf("workspace symbols: %v, %v", found, err)
	}
	edits, err := l.Format(ctx, document(t, dir, "f.go", "package p\nfunc  f( ) { }\n"), true, 4)
	if err != nil || len(edits) == 0 {
		t.Errorf("format: %v, %v", edits, err)
	}
	document(t, dir, "f.go", "package p\n")
	// An edit that breaks another file.
	before, knows := l.Before(ctx, []lsp.Document{d})
	if !knows || len(before) != 0 {
		t.Errorf("before: %v, %v", before, knows)
	}
	broken := document(t, dir, "p.go", "package p\n\n// Greeting says hello.\nfunc Greeting(name string) string { return nme }\n")
	after, late := l.After(ctx, []lsp.Document{broken}, 20*time.Second)
	var inFile, elsewhere int
	for _, d := range after {
		if d.Path == broken.Path {
			inFile++
		} else {
			elsewhere++
		}
	}
	if late || inFile != 1 || elsewhere != 3 {
		t.Errorf("after: %v, late %v", after, late)
	}
	actions, err := l.Actions(ctx, document(t, dir, "g.go", "package p\n\nfunc g() { fmt.Println() }\n"), lsp.Range{End: lsp.Position{Line: 9}}, "source.organizeImports")
	if err != nil || len(actions) != 1 {
		t.Fatalf("actions: %v, %v", actions, err)
	}
	fix, err := l.Resolve(ctx, document(t, dir, "g.go", "package p\n\nfunc g() { fmt.Println() }\n"), actions[0])
	if err != nil || len(fix) != 1 {
		t.Errorf("the action's edits: %v, %v", fix, err)
	}
}

// A server that is killed in the middle of a request is started again, and the answer comes.
func TestGoplsIsKilled(t *testing.T) {
	for _, whose := range []string{"server", "guard"} {
		t.Run(whose, func(t *testing.T) { goplsIsKilled(t, whose == "guard") })
	}
}

func goplsIsKilled(t *testing.T, guard bool) {
	l, dir := known(t, "gopls", gopls(t))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	d := goProject(t, dir, 60)
	if _, _, err := l.Diagnose(ctx, []lsp.Document{d}); err != nil {
		t.Fatal(err)
	}
	pid := l.Status().PID
	done := make(chan error, 1)
	go func() {
		_, err := l.Places(ctx, lsp.References, d, lsp.Position{Line: 3, Byte: 6})
		done <- err
	}()
	victim := pid // it is the guard's
	if below := process.Descendants(pid); !guard && len(below) > 0 {
		victim = slices.MaxFunc(below, func(a, b int) int { return len(process.Descendants(a)) - len(process.Descendants(b)) })
	} else if !guard {
		t.Skip("the guard's children are not known here")
	}
	server, err := os.FindProcess(victim)
	if err == nil {
		err = server.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the request: %v", err)
	}
	places, err := l.Places(ctx, lsp.References, d, lsp.Position{Line: 3, Byte: 6})
	if s := l.Status(); err != nil || len(places) != 61 || s.PID == pid {
		t.Errorf("afterwards: %d places, %v, %+v", len(places), err, s)
	}
	now := l.Status().PID
	left := append(process.Descendants(now), pid, victim, now)
	l.Restart()
	for _, p := range left {
		if left, err := os.FindProcess(p); err == nil && left.Signal(syscall.Signal(0)) == nil {
			t.Errorf("process %d is left", p)
		}
	}
}

func TestTypeScriptServer(t *testing.T) {
	l, dir := known(t, "typescript-language-server", npm(t, "typescript-language-server"))
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	document(t, dir, "package.json", "{}")
	document(t, dir, "tsconfig.json", `{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler"}}`)
	a := document(t, dir, "a.ts", "export function greet(name: string) { return 'hi ' + name }\n")
	b := document(t, dir, "b.ts", "import { greet } from './a'\n\nexport const x: string = greet('you')\n")
	before, knows := l.Before(ctx, []lsp.Document{b})
	if !knows {
		if _, _, err := l.Diagnose(ctx, []lsp.Document{b}); err != nil {
			t.Fatal(err)
		}
	}
	edits, err := l.Rename(ctx, a, lsp.Position{Byte: 16}, "welcome")
	if err != nil || len(edits) != 2 {
		t.Errorf("rename: %v, %v", edits, err)
	}
	b = document(t, dir, "b.ts", "import { greet } from './a'\n\nexport const x: number = greet('you')\n")
	after, late := l.After(ctx, []lsp.Document{b}, 20*time.Second)
	if late || len(after) != len(before)+1 || !strings.Contains(after[0].Message, "not assignable to type 'number'") {
		t.Errorf("diagnostics: %v, late %v", after, late)
	}
	moved, err := l.RenameFile(ctx, a.Path, filepath.Join(dir, "c.ts"))
	if err != nil || len(moved) != 1 || moved[0].Path != b.Path {
		t.Errorf("rename of a file: %v, %v", moved, err)
	}
}

func TestPyright(t *testing.T) {
	l, dir := known(t, "pyright", npm(t, "pyright-langserver"))
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	document(t, dir, "pyproject.toml", "")
	a := document(t, dir, "a.py", "def greet(name: str) -> str:\n    return 'hi ' + name\n\nx: str = greet('you')\n")
	if found, late, err := l.Diagnose(ctx, []lsp.Document{a}); err != nil || late || len(found) != 0 {
		t.Errorf("before: %v, %v, %v", found, late, err)
	}
	a = document(t, dir, "a.py", "def greet(name: str) -> str:\n    return 'hi ' + name\n\nx: int = greet('you')\n")
	after, late := l.After(ctx, []lsp.Document{a}, 30*time.Second)
	if late || len(after) != 1 || after[0].Range.Start.Line != 3 {
		t.Errorf("after: %v, late %v", after, late)
	}
	words, err := l.Hover(ctx, a, lsp.Position{Byte: 4})
	if err != nil || !strings.Contains(words, "greet") {
		t.Errorf("hover: %q, %v", words, err)
	}
}

func TestBashServer(t *testing.T) {
	l, dir := known(t, "bashls", npm(t, "bash-language-server"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	a := document(t, dir, "a.sh", "#!/bin/sh\ngreet() {\n  echo hi\n}\ngreet\n")
	if _, _, err := l.Diagnose(ctx, []lsp.Document{a}); err != nil {
		t.Fatal(err)
	}
	places, err := l.Places(ctx, lsp.Definition, a, lsp.Position{Line: 4, Byte: 1})
	if err != nil || len(places) != 1 || places[0].Range.Start.Line != 1 {
		t.Errorf("definition: %v, %v", places, err)
	}
}
