package lsp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/lsp/lsptest"
)

func TestServerIsToldOfSettings(t *testing.T) {
	t.Parallel()
	l, dir := link(t, "junk")
	var words string
	for range 2 { // its question and the first request may cross
		var err error
		if words, err = l.Hover(t.Context(), document(t, dir, "a.txt", "x"), lsp.Position{}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(words, "settings [7,null]") || !strings.Contains(words, "didChangeConfiguration") {
		t.Errorf("the server knows %q", words)
	}
}

// An edit is told what it caused, and not what was there before.
func TestDiagnosticsAroundEdit(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"push", "pull"} {
		t.Run(kind, func(t *testing.T) {
			l, dir := link(t, kind)
			if err := l.Start(t.Context()); err != nil { // which may take longer than an edit waits
				t.Fatal(err)
			}
			before, known := l.Before(t.Context(), []lsp.Document{document(t, dir, "a.txt", "one ERR\ntwo\n")})
			if !known || len(before) != 1 {
				t.Fatalf("before the edit: %v, known %v", before, known)
			}
			after, late := l.After(t.Context(), []lsp.Document{document(t, dir, "a.txt", "one ERR\ntwo äERR\n")}, time.Minute)
			if late || len(after) != 2 {
				t.Fatalf("after the edit: %v, late %v", after, late)
			}
			d := after[1]
			if d.Range.Start.Line != 1 || d.Code != "E1" || d.Source != "scripted" || !strings.Contains(d.Message, "two äERR") {
				t.Errorf("the new one is %+v", d)
			}
		})
	}
}

func TestPositionEncodings(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, encoding := range []string{"utf-8", "utf-16", "utf-32", ""} {
		options := []string{"x"}
		if encoding != "" {
			options = append(options, "encoding="+encoding)
		}
		l, dir := link(t, options...)
		text := "äöü😀 old\r\n\told x\n世界 old"
		edits, err := l.Rename(t.Context(), document(t, dir, "a.txt", text), lsp.Position{}, "new")
		if err != nil || len(edits) != 1 {
			t.Fatalf("%s: %v, %v", encoding, edits, err)
		}
		got, err := lsp.Apply([]byte(text), edits[0].Edits)
		if want := strings.ReplaceAll(text, "old", "new"); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", encoding, got, err, want)
		}
	}
}

func TestRequestIsRepeatedOnceAfterCrash(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "died")
	l, dir := link(t, "die-once="+mark)
	words, err := l.Hover(t.Context(), document(t, dir, "a.txt", "x"), lsp.Position{})
	if err != nil || !strings.Contains(words, "didOpen") {
		t.Fatalf("after the crash: %q, %v", words, err)
	}
	if s := l.Status(); s.Starts != 2 || s.State != lsp.Running {
		t.Errorf("status %+v", s)
	}
}

func TestCrashingServerIsNotStartedForEver(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	l, dir := link(t, "die")
	d := document(t, dir, "a.txt", "x")
	_, err := l.Hover(t.Context(), d, lsp.Position{})
	if err == nil || !strings.Contains(err.Error(), "scripted: the language server ended") {
		t.Fatalf("the error is %v", err)
	}
	_, err = l.Hover(t.Context(), d, lsp.Position{})
	if err == nil || !strings.Contains(err.Error(), "tries again in") {
		t.Fatalf("the next error is %v", err)
	}
	if s := l.Status(); s.Starts != 2 || s.State != lsp.Failed {
		t.Errorf("status %+v", s)
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	l, dir := link(t, "broken")
	d := document(t, dir, "a.txt", "x")
	_, err := l.Hover(t.Context(), d, lsp.Position{})
	if err == nil || !strings.Contains(err.Error(), "does not start") || !strings.Contains(err.Error(), "a library is missing") {
		t.Fatalf("the error is %v", err)
	}
	// Edits are not held up by it.
	began := time.Now()
	if _, known := l.Before(t.Context(), []lsp.Document{d}); known {
		t.Error("a server that does not start knows something")
	}
	if _, late := l.After(t.Context(), []lsp.Document{d}, time.Minute); !late {
		t.Error("a server that does not start said something")
	}
	if took := time.Since(began); took > pacetest.New(t).Allow(50*time.Millisecond) {
		t.Errorf("an edit was held up for %s", took)
	}
}

// A server that never introduces itself does not hold up the end.
func TestCloseDoesNotWaitForStart(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pool := lsp.NewPool(lsp.Options{})
	l := pool.Link(&lsp.Server{Name: "scripted", Path: self, Args: []string{lsptest.Marker, "deaf"}, FileTypes: []string{".txt"}}, t.TempDir())
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if err := l.Start(ctx); err == nil || !strings.Contains(err.Error(), "still starting") {
		t.Fatalf("the error is %v", err)
	}
	began := time.Now()
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestHangingRequestEnds(t *testing.T) {
	t.Parallel()
	l, dir := link(t, "hang")
	if _, _, err := l.Diagnose(t.Context(), []lsp.Document{document(t, dir, "a.txt", "x")}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	_, err := l.Hover(ctx, document(t, dir, "a.txt", "x"), lsp.Position{})
	if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
		t.Fatalf("the error is %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(l.Log(), "canceled"); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("the server was not told: %q", l.Log())
		}
	}
}

func TestServerThatIsTooBusyIsAskedAgain(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	l, dir := link(t, "busy")
	if words, err := l.Hover(t.Context(), document(t, dir, "a.txt", "x"), lsp.Position{}); err != nil || words == "" {
		t.Fatalf("%q, %v", words, err)
	}
}

func TestAnswerThatIsTooLarge(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	l, dir := link(t, "flood")
	_, err := l.Hover(t.Context(), document(t, dir, "a.txt", "x"), lsp.Position{})
	if err == nil || !strings.Contains(err.Error(), "larger than 32 MB") {
		t.Fatalf("the error is %v", err)
	}
}

// A server that says nothing holds up two edits for the whole time, and then none.
func TestSilentServerIsNotWaitedForLong(t *testing.T) {
	pacetest.Costly(t)
	l, dir := link(t, "mute")
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	for i := range 3 {
		began := time.Now()
		if _, err := l.Hover(ctx, document(t, dir, "b.txt", "x"), lsp.Position{}); err != nil {
			t.Fatal(err)
		}
		_, late := l.After(ctx, []lsp.Document{document(t, dir, "a.txt", "x"+strconv.Itoa(i))}, 400*time.Millisecond)
		if !late {
			t.Error("it said something")
		}
		if took := time.Since(began); i == 2 && took > pacetest.New(t).Allow(350*time.Millisecond) {
			t.Errorf("the third edit took %s", took)
		}
	}
}

// A server that does not repeat that a file has no problems isn't waited for, and what it says in
// the end is not lost.
func TestServerThatDoesNotRepeatItself(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	l, dir := link(t, "unsaid")
	if _, _, err := l.Diagnose(t.Context(), []lsp.Document{document(t, dir, "a.txt", "x")}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		began := time.Now()
		found, late := l.After(t.Context(), []lsp.Document{document(t, dir, "a.txt", strconv.Itoa(i))}, time.Minute)
		if took := time.Since(began); !late || len(found) > 0 || took > 20*time.Second {
			t.Errorf("edit %d: %v, late %v, after %s", i, found, late, took)
		}
	}
	if found, late := l.After(t.Context(), []lsp.Document{document(t, dir, "a.txt", "ERR")}, time.Minute); late || len(found) != 1 {
		t.Errorf("with an error: %v, late %v", found, late)
	}
	if found, late := l.After(t.Context(), []lsp.Document{document(t, dir, "a.txt", "x")}, time.Minute); late || len(found) != 0 {
		t.Errorf("without it: %v, late %v", found, late)
	}
}

// Diagnostics are told within 500 ms after the server has them, whenever that is.
func TestBudgetDiagnostics(t *testing.T) {
	pacetest.Costly(t)
	for _, later := range []string{"0s", "700ms"} {
		l, dir := link(t, "later="+later)
		if err := l.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			found, late := l.After(t.Context(), []lsp.Document{document(t, dir, "a.txt", strconv.Itoa(i))}, time.Minute)
			now := time.Now()
			if late || len(found) != 1 {
				t.Fatalf("%v, late %v", found, late)
			}
			said, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(found[0].Message, "an error: ERR "))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("told after %s", now.Sub(said))
			if took := now.Sub(said); took > pacetest.Within(500*time.Millisecond) {
				t.Errorf("after %s they were told %s after the server had said them", later, took)
			}
		}
	}
}

// A server that was killed does not hold an edit up.
func TestBudgetDeadServer(t *testing.T) {
	pacetest.Costly(t)
	l, dir := link(t)
	docs := []lsp.Document{document(t, dir, "a.txt", "x")}
	if _, _, err := l.Diagnose(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	server, err := os.FindProcess(l.Status().PID)
	if err == nil {
		err = server.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); l.Status().State == lsp.Running; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("it still runs")
		}
	}
	began := time.Now()
	l.Before(t.Context(), docs)
	docs[0] = document(t, dir, "a.txt", "y")
	l.After(t.Context(), docs, time.Minute)
	took := time.Since(began)
	t.Logf("the edit took %s", took)
	if took > pacetest.Within(50*time.Millisecond) {
		t.Errorf("a dead server held an edit up for %s", took)
	}
	if words, err := l.Hover(t.Context(), docs[0], lsp.Position{}); err != nil || words == "" { // it is there again
		t.Errorf("afterwards: %q, %v", words, err)
	}
}

func TestNoProcessIsLeft(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "child")
	l, dir := link(t, "child="+file)
	if _, err := l.Hover(t.Context(), document(t, dir, "a.txt", "x"), lsp.Position{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip("this machine has no sleep(1) to leave behind")
	}
	child, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	l.Restart()
	if left, err := os.FindProcess(child); err == nil && left.Signal(syscall.Signal(0)) == nil {
		t.Error("the child of the server is left")
	}
	if s := l.Status(); s.State != lsp.Stopped {
		t.Errorf("status %+v", s)
	}
	if _, err := l.Hover(t.Context(), document(t, dir, "a.txt", "x"), lsp.Position{}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

// What others change on the disk the server is told of.
func TestChangesOnDiskAreTold(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	l, dir := link(t, "x")
	d := document(t, dir, "a.txt", "x")
	if _, err := l.Hover(t.Context(), d, lsp.Position{}); err != nil {
		t.Fatal(err)
	}
	document(t, dir, "b.txt", "new")
	l.After(t.Context(), []lsp.Document{d}, time.Second)
	words, err := l.Hover(t.Context(), d, lsp.Position{})
	if err != nil || !strings.Contains(words, "didChangeWatchedFiles") {
		t.Errorf("%q, %v", words, err)
	}
}

func TestIdleServerEnds(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pool := lsp.NewPool(lsp.Options{Idle: time.Millisecond})
	defer pool.Close()
	dir := t.TempDir()
	l := pool.Link(&lsp.Server{Name: "scripted", Path: self, Args: []string{lsptest.Marker}, FileTypes: []string{".txt"}}, dir)
	if _, err := l.Hover(t.Context(), document(t, dir, "a.txt", "x"), lsp.Position{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); l.Status().State != lsp.Stopped; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("it still runs")
		}
	}
}

func TestApply(t *testing.T) {
	at := func(line, from, to int) lsp.Range {
		return lsp.Range{Start: lsp.Position{Line: line, Byte: from}, End: lsp.Position{Line: line, Byte: to}}
	}
	for _, c := range []struct {
		text  string
		edits []lsp.Edit
		want  string
		fails bool
	}{
		{"abc", []lsp.Edit{{at(0, 1, 2), "X"}}, "aXc", false},
		{"abc", []lsp.Edit{{at(0, 1, 1), "1"}, {at(0, 1, 1), "2"}, {at(0, 1, 2), "X"}}, "a12Xc", false},
		{"a\nb\n", []lsp.Edit{{lsp.Range{Start: lsp.Position{}, End: lsp.Position{Line: 9}}, "new"}}, "new", false},
		{"abc", []lsp.Edit{{at(0, 0, 2), "X"}, {at(0, 1, 3), "Y"}}, "", true},
		{"abc", []lsp.Edit{{at(0, 2, 1), "X"}}, "", true},
		{"", []lsp.Edit{{at(0, 0, 0), "X"}}, "X", false},
	} {
		got, err := lsp.Apply([]byte(c.text), c.edits)
		if c.fails != (err != nil) || string(got) != c.want && !c.fails {
			t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}

func TestTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	linters := 0
	for _, s := range lsp.Table() {
		if seen[s.Name] || s.Command == "" || len(s.FileTypes) == 0 || s.Languages == "" {
			t.Errorf("server %q is not whole, or there twice", s.Name)
		}
		seen[s.Name] = true
		if s.Linter {
			linters++
		}
	}
	if len(seen) != 52 || linters != 5 {
		t.Errorf("%d servers, %d linters; want 52 and 5", len(seen), linters)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"web/package.json", "go.mod", "run.sh", "pyproject.toml", "node_modules/.bin/typescript-language-server"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	installed := map[string]bool{"gopls": true, "basedpyright-langserver": true, "pylsp": true, "bash-language-server": true, "rust-analyzer": true}
	o := lsp.FindOptions{Look: func(name string) (string, error) {
		if installed[name] {
			return "/usr/bin/" + name, nil
		}
		return "", errors.New("not there")
	}}
	found := func(o lsp.FindOptions) string {
		var names []string
		for _, s := range lsp.Find(lsp.Table(), dir, o) {
			names = append(names, s.Name)
		}
		return strings.Join(names, " ")
	}
	if got, want := found(o), "gopls basedpyright bashls"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	o.Project = lsp.ProjectFolders(dir)
	if got, want := found(o), "gopls typescript-language-server basedpyright bashls"; got != want {
		t.Errorf("with the folders of the project: %q, want %q", got, want)
	}
}

func TestMerge(t *testing.T) {
	flat := `{"eslint": {"disabled": true}, "gopls": {"args": ["-v"]}, "mine": {"command": "mine", "fileTypes": [".m1"], "rootMarkers": []}, "idleTimeoutMs": 5}`
	wrapped := `{"servers": {"eslint": {"disabled": true}, "gopls": {"args": ["-v"]}, "mine": {"command": "mine", "fileTypes": [".m1"], "rootMarkers": []}}, "idleTimeoutMs": 5}`
	for _, text := range []string{flat, wrapped} {
		all, idle, err := lsp.Merge(lsp.Table(), []byte(text))
		if err != nil || idle == nil || *idle != 5 || len(all) != 53 {
			t.Fatalf("%v, %v, %d servers", err, idle, len(all))
		}
		by := map[string]lsp.Server{}
		for _, s := range all {
			by[s.Name] = s
		}
		if !by["eslint"].Disabled || by["gopls"].Command != "gopls" || strings.Join(by["gopls"].Args, " ") != "-v" || by["mine"].Command != "mine" {
			t.Errorf("merged %+v, %+v, %+v", by["eslint"], by["gopls"], by["mine"])
		}
	}
	for _, wrong := range []string{`{"x": {"command": "x"}}`, `{"x": {"fileTypes": [".x"]}}`, `[]`, `{"x": 1}`} {
		if _, _, err := lsp.Merge(nil, []byte(wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
