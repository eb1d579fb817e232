package history

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/pacetest"
)

// A test binary with this variable is a process of its own that sends prompts.
const childHome = "BURIN_TEST_HISTORY_HOME"

func TestMain(m *testing.M) {
	if home := os.Getenv(childHome); home != "" {
		h := Open(Options{Home: home, Dir: "/child"})
		for i := range 50 {
			h.Add(fmt.Sprintf("%s asks %d", os.Args[len(os.Args)-1], i), "/child", at(i))
		}
		if err := h.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func at(second int) time.Time { return time.Unix(1_790_000_000+int64(second), 0) }

// open gives a history whose problems fail the test.
func open(t testing.TB, home, dir string) *History {
	t.Helper()
	h := Open(Options{Home: home, Dir: dir, Problem: func(err error) { t.Errorf("problem: %v", err) }})
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// loaded waits until the file is read.
func loaded(h *History) *History {
	h.Load()
	h.work.Wait()
	return h
}

func every(h *History, prefix string) (texts []string) {
	for back := 1; ; back++ {
		s, ok := h.Prefix(prefix, back)
		if !ok {
			return texts
		}
		texts = append(texts, s)
	}
}

func texts(entries []Entry) (texts []string) {
	for _, e := range entries {
		texts = append(texts, e.Text)
	}
	return texts
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOpenTouchesNothing(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	h := loaded(open(t, home, "/p"))
	if found := h.Search(context.Background(), "x", 0); found != nil {
		t.Errorf("found %v", found)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("something was created")
	}
}

func TestPrefix(t *testing.T) {
	home := t.TempDir()
	before := open(t, home, "/p")
	for i, e := range []Entry{{Text: "fix the lexer", Dir: "/p"}, {Text: "fix it", Dir: "/other"}, {Text: "run", Dir: "/p"}, {Text: "fix the lexer", Dir: "/other"}, {Text: "walk", Dir: "/p"}, {Text: "fix the lexer", Dir: "/p"}} {
		before.Add(e.Text, e.Dir, at(i))
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	h := open(t, home, "/p")
	h.Add("fix now", "/p", at(9))
	h.Add("run", "/p", at(10))
	if got, ok := h.Prefix("", 1); got != "run" || !ok {
		t.Errorf("before the file is read: %q", got)
	}
	loaded(h)
	want(t, every(h, ""), "run", "fix now", "fix the lexer", "walk", "fix it") // the folder's first
	want(t, every(h, "fix "), "fix now", "fix the lexer", "fix it")
	want(t, every(h, "fix it")) // it stands there already
	h.Add("fix it", "/p", at(11))
	want(t, every(h, "fix"), "fix it", "fix now", "fix the lexer")
	if s, ok := h.Prefix("", 0); ok {
		t.Errorf("the present is %q", s)
	}
}

func TestSearch(t *testing.T) {
	h := open(t, t.TempDir(), "/p")
	for i, text := range []string{
		"Explain the parser of config.yml", "write a test for the Parser", "naïve approach?", "日本語の説明を書いて", "a -> b: why 100%?", "AND OR NOT", "x\x00y \xff",
	} {
		h.Add(text, "/p", at(i))
	}
	h.Add("parser elsewhere", "/other", at(100))
	h.Add("explain", "/other", at(101))
	h.Add("explain", "/p", at(1)) // asked in both
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"parser", []string{"write a test for the Parser", "Explain the parser of config.yml", "parser elsewhere"}},
		{"the pars", []string{"write a test for the Parser", "Explain the parser of config.yml"}},
		{"yml pars", []string{"Explain the parser of config.yml"}},
		{"par the", []string{}}, // only the last word may be a beginning
		{"expl", []string{"explain", "Explain the parser of config.yml"}},
		{"naive", []string{"naïve approach?"}},
		{"config.yml", []string{"Explain the parser of config.yml"}},
		{"nfig.y", []string{"Explain the parser of config.yml"}}, // nothing begins so: as it stands
		{"説明", []string{"日本語の説明を書いて"}},
		{"->", []string{"a -> b: why 100%?"}},
		{"100%", []string{"a -> b: why 100%?"}},
		{"%", []string{"a -> b: why 100%?"}},
		{`"`, nil},
		{`" OR text:* ^(`, nil},
		{"NOT", []string{"AND OR NOT"}},
		{"xy", []string{"xy \uFFFD"}},
		{"\x00\xff", []string{"AND OR NOT"}}, // nothing is left of it: all of them
		{"nobody said so", nil},
	} {
		t.Run(tt.query, func(t *testing.T) {
			got := texts(h.Search(context.Background(), tt.query, 0))
			if tt.query == "\x00\xff" {
				if len(got) != 9 {
					t.Errorf("%d of 9: %q", len(got), got)
				}
				return
			}
			if len(got)+len(tt.want) > 0 && !cmp.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	found := h.Search(context.Background(), "", 2)
	if diff := cmp.Diff([]Entry{{"xy \uFFFD", "/p", at(6)}, {"AND OR NOT", "/p", at(5)}}, found); diff != "" {
		t.Errorf("newest two: -want +got:\n%s", diff)
	}
}

func TestOwnFolderFirst(t *testing.T) {
	h := open(t, t.TempDir(), "/p")
	h.Add("commit it", "/p", at(0))
	for i := range 20 {
		h.Add("commit", fmt.Sprint("/other", i), at(i+1))
		h.Add(fmt.Sprint("commit number ", i), "/other", at(i+1))
	}
	want(t, texts(h.Search(context.Background(), "commit", 3)), "commit it", "commit number 19", "commit")
}

func TestLimits(t *testing.T) {
	pacetest.Costly(t)
	home := t.TempDir()
	h := open(t, home, "/p")
	h.Add(strings.Repeat("x", MaxPrompt+1), "/p", at(0))
	h.Add(" \n\t", "/p", at(0))
	want(t, every(h, ""))
	var entries []Entry
	for i := range MaxPrompts + 5 {
		entries = append(entries, Entry{fmt.Sprint("prompt ", i), "/p", at(i)})
	}
	if err := h.store.add(context.Background(), entries); err != nil {
		t.Fatal(err)
	}
	if got := texts(h.Search(context.Background(), "prompt 4", 1)); len(got) != 1 || got[0] != fmt.Sprint("prompt ", 4999) {
		t.Errorf("got %q", got)
	}
	entries, err := pick(context.Background(), h.store.db, byText, "%", "/p", MaxPrompts+10)
	if err != nil || len(entries) != MaxPrompts || entries[MaxPrompts-1].Text != "prompt 5" {
		t.Errorf("%d prompts are kept, error %v", len(entries), err)
	}
	big := strings.Repeat("y", MaxPrompt-8)
	entries = nil
	for i := range maxKept/MaxPrompt + 3 {
		entries = append(entries, Entry{fmt.Sprint(i, " ", big), "/p", at(1_000_000 + i)})
	}
	if err := h.store.add(context.Background(), entries); err != nil {
		t.Fatal(err)
	}
	var size int64
	if err := h.store.db.QueryRow(`SELECT sum(size) FROM prompts`).Scan(&size); err != nil || size > maxKept || size < maxKept-MaxPrompt {
		t.Errorf("%d bytes are kept, error %v", size, err)
	}
	h = loaded(open(t, home, "/p"))
	if h.typed.size > maxMemory || h.typed.size < maxMemory-MaxPrompt || len(h.typed.texts) != maxMemory/MaxPrompt {
		t.Errorf("%d bytes, %d prompts are in memory", h.typed.size, len(h.typed.texts))
	}
}

func TestHide(t *testing.T) {
	home := t.TempDir()
	h := Open(Options{Home: home, Hide: func(s string) string { return strings.ReplaceAll(s, "hunter2", "‹password›") }})
	h.Add("log in with hunter2", "", at(0))
	if got, _ := h.Prefix("", 1); got != "log in with hunter2" {
		t.Errorf("what was typed here is %q", got)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, every(loaded(open(t, home, "")), ""), "log in with ‹password›")
	names, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if data, err := os.ReadFile(name); err != nil || strings.Contains(string(data), "hunter2") {
			t.Errorf("%s has the secret, or %v", name, err)
		}
	}
}

func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing here")
	}
	home := t.TempDir()
	for _, mode := range []os.FileMode{0, 0o644} {
		if mode != 0 {
			if err := os.Chmod(filepath.Join(home, FileName), mode); err != nil {
				t.Fatal(err)
			}
		}
		h := open(t, home, "")
		h.Add("x", "", at(0))
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(home, FileName)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
}

func TestManyProcesses(t *testing.T) {
	home := t.TempDir()
	var children []*exec.Cmd
	for i := range 4 {
		cmd := exec.Command(os.Args[0], fmt.Sprint("child", i))
		cmd.Env = append(os.Environ(), childHome+"="+home)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	h := open(t, home, "/child")
	if n := len(h.Search(context.Background(), "asks", 1000)); n != 200 {
		t.Errorf("found %d of 200", n)
	}
	// What another one adds is found, and not mixed with what the arrow keys give.
	loaded(h)
	other := open(t, home, "/child")
	other.Add("from elsewhere", "/child", at(500))
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, texts(h.Search(context.Background(), "elsewhere", 0)), "from elsewhere")
	if got, _ := h.Prefix("", 1); got == "from elsewhere" {
		t.Error("the arrow keys of two terminals are mixed")
	}
}

// Whatever happens to the file, a history opens, keeps what is added and says nothing.
func TestDamage(t *testing.T) {
	file := func(name string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	change := func(query string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec(query)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, string)
		saved  bool // what was there is there again
		aside  bool
	}{
		{"empty", file(""), false, false},
		{"no database", file(strings.Repeat("not SQLite ", 1000)), false, true},
		{"no index of words", change(`DROP TABLE words`), true, true},
		{"other tables", change(`DROP TABLE words; DROP TABLE prompts; CREATE TABLE prompts (x); PRAGMA user_version = 0`), false, true},
		{"torn index of words", change(`UPDATE words_data SET block = x'00'`), true, true},
		{"torn", func(t *testing.T, path string) {
			if err := os.Truncate(path, 9000); err != nil {
				t.Fatal(err)
			}
		}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			h := open(t, home, "/p")
			h.Add("what was there", "/p", at(0))
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, filepath.Join(home, FileName))
			h = open(t, home, "/p")
			h.Add("what is new", "/p", at(1))
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			h = open(t, home, "/p")
			expect := []string{"what is new"}
			if tt.saved {
				expect = append(expect, "what was there")
			}
			want(t, texts(h.Search(context.Background(), "what", 0)), expect...)
			want(t, every(loaded(h), ""), expect...)
			if _, err := os.Stat(filepath.Join(home, FileName+aside)); (err == nil) != tt.aside {
				t.Errorf("set aside: %v", err)
			}
		})
	}
}

func TestProblemIsToldOnce(t *testing.T) {
	home := t.TempDir()
	h := open(t, home, "/p")
	h.Add("x", "/p", at(0))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(home, FileName))
	if err == nil {
		_, err = db.Exec(`PRAGMA user_version = 99`)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var problems []error
	h = Open(Options{Home: home, Dir: "/p", Problem: func(err error) { problems = append(problems, err) }})
	for i := range 3 {
		h.Add(fmt.Sprint("prompt ", i), "/p", at(i))
		h.work.Wait()
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "update burin") {
		t.Errorf("problems %v", problems)
	}
	// The prompts of this process are there all the same.
	want(t, texts(h.Search(context.Background(), "prompt", 0)), "prompt 2", "prompt 1", "prompt 0")
	for i := range 2 * maxQueue {
		h.Add(fmt.Sprint("more ", i), "/p", at(i))
	}
	if err := h.Close(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(%d)", maxQueue)) {
		t.Errorf("error %v", err)
	}
}

func filled(b *testing.B) *History {
	h := open(b, b.TempDir(), "/src/project3")
	var entries []Entry
	for i := range MaxPrompts {
		entries = append(entries, Entry{
			fmt.Sprintf("please fix test %d of the %s and explain why it failed; %s", i, []string{"parser", "lexer", "printer"}[i%3], strings.Repeat("more words ", 15)),
			fmt.Sprint("/src/project", i%20), at(i),
		})
	}
	if err := h.store.add(context.Background(), entries); err != nil {
		b.Fatal(err)
	}
	return loaded(h)
}

func BenchmarkPrefix(b *testing.B) {
	h := filled(b)
	for _, bm := range []struct {
		name, prefix string
		back         int
	}{{"latest", "", 1}, {"oldest", "", MaxPrompts}, {"nothing", "please fix test x", 1}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Prefix(bm.prefix, bm.back)
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	h := filled(b)
	for _, query := range []string{"", "lexer fix", "te", "77", "nobody said so", "->"} {
		b.Run("query "+query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Search(context.Background(), query, 50)
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	h := filled(b)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		h.mu.Lock()
		full := len(h.queue) >= maxQueue
		h.mu.Unlock()
		if full {
			h.work.Wait()
		}
		h.Add(fmt.Sprint("another prompt ", n), "/src/project3", at(1_000_000+n))
	}
}

func BenchmarkLoad(b *testing.B) {
	h := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.store.newest(context.Background(), "/src/project3"); err != nil {
			b.Fatal(err)
		}
	}
}
