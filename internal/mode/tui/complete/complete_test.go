package complete

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/host/mention"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// walker finds files that contain the query, without those below "ignored".
type walker struct{ dir string }

func (w walker) Find(ctx context.Context, query string, limit int) (found []string, err error) {
	err = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil || path == w.dir {
			return err
		}
		rel, _ := filepath.Rel(w.dir, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if d.Name() == "ignored" || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			rel += "/"
		}
		if strings.Contains(strings.ToLower(rel), strings.ToLower(query)) && len(found) < limit {
			found = append(found, rel)
		}
		return nil
	})
	return found, err
}

// face is an editor with a completer, and the loop that they share.
type face struct {
	*editor.Editor
	t     *testing.T
	c     *Completer
	posts chan func()
}

func newFace(t *testing.T, dir string, commands ...Command) *face {
	t.Helper()
	f := &face{t: t, posts: make(chan func(), 100)}
	f.c = New(Options{
		Post: func(p func()) { f.posts <- p }, Files: walker{dir}, Dir: func() string { return dir },
		Answer:   func(g uint64, c editor.Completion) bool { return f.Completed(g, c) },
		Commands: func() []Command { return commands },
		Getenv: func(name string) string {
			return map[string]string{"HOME": filepath.Join(dir, "home"), "USERPROFILE": filepath.Join(dir, "home"), "PATH": filepath.Join(dir, "bin"), "PATHEXT": ".exe"}[name]
		},
	})
	f.Editor = editor.New(editor.Options{Completer: f.c})
	t.Cleanup(f.c.Close)
	return f
}

// settle runs what the worker posts until it has ended.
func (f *face) settle() {
	f.t.Helper()
	deadline := time.After(time.Minute)
	for {
		f.c.mu.Lock()
		running := f.c.running
		f.c.mu.Unlock()
		select {
		case p := <-f.posts:
			p()
			continue
		case <-deadline:
			f.t.Fatal("no answer")
		default:
		}
		if !running {
			return
		}
		runtime.Gosched()
	}
}

// after gives what is proposed when text is typed, and Tab is pressed where it ends so.
func (f *face) after(text string) (inserts []string) {
	f.t.Helper()
	if err := f.SetText(""); err != nil {
		f.t.Fatal(err)
	}
	text, tab := strings.CutSuffix(text, "⇥")
	for _, r := range text {
		f.Handle(key.Press{Text: string(r)})
	}
	f.settle()
	if tab {
		f.Do(key.Complete)
		f.settle()
	}
	popup, _ := f.Popup()
	for _, i := range popup.Items {
		insert := i.Insert
		if i.More {
			insert += "…"
		}
		inserts = append(inserts, insert)
	}
	return inserts
}

// tree makes files, and folders of names that end with "/".
func tree(t testing.TB, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestComplete(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names are those of Unix")
	}
	dir := tree(t, "main.go", "main_test.go", "my notes.md", "my plans/one.md", "src/Lexer.go", "src/parser.go", "ignored/out.log",
		"home/todo.txt", "bin/gofmt", "bin/gofumpt", "bin/git", "it's", "new\nline", "evil\u202Egnp.exe")
	if err := os.Symlink("src", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin/gone"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f := newFace(t, dir,
		Command{Name: "model", Aliases: []string{"m"}, Args: "<name>", Help: "Choose the model", Complete: func(arg string) (items []editor.Item) {
			for _, m := range []string{"opus", "sonnet"} {
				if strings.HasPrefix(m, arg) {
					items = append(items, editor.Item{Label: m})
				}
			}
			return items
		}},
		Command{Name: "quit", Aliases: []string{"exit"}, Help: "Leave"},
		Command{Name: "compact", Args: "[focus]", Help: "Condense"},
		Command{Name: "plan-mode", Help: "Plan"},
	)
	for _, tt := range []struct {
		typed string
		want  []string
	}{
		{"see @pars", []string{"@src/parser.go "}},
		{"(@pars", []string{"@src/parser.go "}},
		{`he said "look at @pars`, []string{"@src/parser.go "}},
		{"a@pars", nil},
		{"@@pars", nil},
		{"@src", []string{"@src/…", "@src/Lexer.go ", "@src/parser.go "}},
		{"@src/", []string{"@src/Lexer.go ", "@src/parser.go "}},
		{"@src/parser.go", nil}, // Enter sends it
		{"@notes", []string{`@"my notes.md" `}},
		{`@"my n`, []string{`@"my notes.md" `}},
		{`@"my notes.md" and`, nil},
		{"@my p", nil}, // the space ended it
		{"@plan", []string{`@"my plans/…`, `@"my plans/one.md" `}},
		{"@ignored/o", []string{"@ignored/out.log "}},
		{"@~/to", []string{"@~/todo.txt "}},
		{"@./ma", []string{"@./main.go ", "@./main_test.go "}},
		{"@" + dir + "/mai", []string{"@" + dir + "/main.go ", "@" + dir + "/main_test.go "}},
		{"@line", nil},
		{"@evil", []string{"@evil\u202Egnp.exe "}},

		{"/mo", []string{"/model …", "/plan-mode"}},
		{"/q", []string{"/quit"}},
		{"/ex", []string{"/quit"}},
		{"/mode", []string{"/model …", "/plan-mode"}},
		{"/cpt", []string{"/compact "}},
		{"/nothing", nil},
		{"/quit", nil}, // Enter runs it
		{"/model ", []string{"opus", "sonnet"}},
		{"/m  so", []string{"sonnet"}},
		{"/model sonnet", nil},
		{"/model @pars", []string{"@src/parser.go "}},
		{"x /mo", nil},

		{"see ./s", []string{"./src/…"}},
		{"see ./link/l", []string{"./link/Lexer.go "}},
		{"see ./l", []string{"./link/…"}},
		{"see ./my", []string{`"./my notes.md" `, `"./my plans/…`}},
		{`see "./my plans/`, []string{`"./my plans/one.md" `}},
		{"see ~/", []string{"~/todo.txt "}},
		{"see " + dir + "/src/p", []string{dir + "/src/parser.go "}},
		{dir + "/src/p", nil}, // might be a command
		{"a / b", nil},
		{"see ma", nil},
		{"see ma⇥", []string{"main.go ", "main_test.go "}},
		{"see _t⇥", nil}, // the only one: it was put in
		{"and/or", nil},

		{"!gi", nil},
		{"!gof⇥", []string{"gofmt ", "gofumpt "}},
		{"!gon⇥", nil},
		{"!! cat main⇥", []string{"main.go ", "main_test.go "}},
		{"!cat x | gof⇥", []string{"gofmt ", "gofumpt "}},
		{"!cat > ma⇥", []string{"main.go ", "main_test.go "}},
		{"!cat my⇥", []string{`my\ notes.md `, `my\ plans/`}},
		{`!cat my\ ⇥`, []string{`my\ notes.md `, `my\ plans/`}},
		{"!cat 'my⇥", []string{"'my notes.md' ", "'my plans/"}},
		{`!cat "my⇥`, []string{`"my notes.md" `, `"my plans/`}},
		{"!⇥", nil},
	} {
		t.Run(tt.typed, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, f.after(tt.typed)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	f.after("!cat it⇥")
	if got := f.Text(); got != `!cat it\'s ` {
		t.Errorf("the only one was put in as %q", got)
	}
	f.after("@evil")
	if popup, _ := f.Popup(); popup.Items[0].Label != "evil⟨U+202E⟩gnp.exe" {
		t.Errorf("shown as %q", popup.Items[0].Label)
	}
	f.after("/ex")
	if popup, _ := f.Popup(); popup.Items[0].Label != "/quit" || popup.Items[0].Detail != "/exit  Leave" {
		t.Errorf("shown as %+v", popup.Items[0])
	}
}

func TestAcceptGoesOn(t *testing.T) {
	dir := tree(t, "a dir/b.txt", "a dir/c.txt")
	f := newFace(t, dir)
	f.after("@a d")
	f.after(`@"a d`)
	for range 2 {
		f.Accept()
		f.settle()
	}
	if got, want := f.Text(), `@"a dir/b.txt" `; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRecent(t *testing.T) {
	f := newFace(t, tree(t, "a.go", "b/lexer.go", "c.go", "lex.go"))
	f.c.Mentioned("c.go", "gone.go", "b/lexer.go")
	for _, tt := range []struct {
		typed string
		want  []string
	}{
		{"@", []string{"@b/lexer.go ", "@c.go ", "@a.go ", "@b/…", "@lex.go "}},
		{"@le", []string{"@b/lexer.go ", "@lex.go "}},
		{"@c.", []string{"@c.go "}},
		{"@ex", []string{"@b/lexer.go ", "@lex.go "}},
	} {
		if diff := cmp.Diff(tt.want, f.after(tt.typed)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.typed, diff)
		}
	}
	var many []string
	for i := range 3 * maxRecent {
		many = append(many, fmt.Sprint(i%(2*maxRecent)))
	}
	f.c.Mentioned(many...)
	if n := len(f.c.recent); n != maxRecent || f.c.recent[0] != fmt.Sprint(maxRecent-1) || len(slices.Compact(slices.Sorted(slices.Values(f.c.recent)))) != n {
		t.Errorf("%d are remembered: %q", n, f.c.recent)
	}
}

// slow waits for the end of its context, and says that it has begun.
type slow struct{ begun chan string }

func (s slow) Find(ctx context.Context, query string, _ int) ([]string, error) {
	s.begun <- query
	if query == "last" {
		return []string{"the last"}, nil
	}
	<-ctx.Done()
	return []string{"too late"}, nil
}

func TestNewerQuestionEndsOlder(t *testing.T) {
	f := newFace(t, t.TempDir())
	s := slow{make(chan string, 10)}
	f.c.o.Files = s
	ask := func(generation uint64, line string) bool {
		_, now := f.c.Complete(editor.Query{Generation: generation, Line: line})
		return now
	}
	if ask(1, "@one") {
		t.Fatal("answered at once")
	}
	<-s.begun
	ask(2, "@two")
	ask(3, "@last")
	var answers []uint64
	f.c.o.Answer = func(g uint64, c editor.Completion) bool {
		answers = append(answers, g)
		return true
	}
	(<-f.posts)()
	f.settle()
	if diff := cmp.Diff([]uint64{3}, answers); diff != "" {
		t.Errorf("answers: -want +got:\n%s", diff)
	}
	ask(4, "@four")
	for q := ""; q != "four"; {
		q = <-s.begun
	}
	f.c.Close()
	f.settle()
	if len(answers) != 1 {
		t.Errorf("answered after the end: %v", answers)
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{`see @"a b" and @c`, `!cat "x\" 'y' | z`, "((\"@", "@", "\xff@\u3000x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		w := mention.Last(line)
		if w.Start < 0 || w.Start > w.End || w.End != len(line) || !strings.Contains(line[w.Start:], w.Text) {
			t.Errorf("%q: %+v", line, w)
		}
		s := lastShellWord(line, 0)
		if s.start > len(line) || len(s.text) > len(line)-s.start {
			t.Errorf("%q: %+v", line, s)
		}
		// What is written is read back.
		if path, ok := quote(line); ok && path != "" && !strings.HasPrefix(line, "@") {
			// A folder between quotes is left open.
			if back := mention.Last("@" + path + " "); back.Text != "" && !strings.HasSuffix(line, "/") {
				t.Errorf("%q goes on after it ends: %+v", line, back)
			}
			if back := mention.Next("@"+path, 0); back.Text != line {
				t.Errorf("%q is read as %q", path, back.Text)
			}
		}
		if !strings.ContainsFunc(line, unprintable) && line != "" {
			if back := lastShellWord(shellQuote(line, 0), 0); back.text != line && !strings.HasPrefix(line, "~/") {
				t.Errorf("%q is read as %q", shellQuote(line, 0), back.text)
			}
		}
		for _, m := range mention.Find(line, ".") {
			if m.Start < 0 || m.End > len(line) || line[m.Start] != '@' {
				t.Errorf("%q: %+v", line, m)
			}
		}
	})
}
