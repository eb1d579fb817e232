package memory_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/memory"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// All worktrees of a repository are one project. A folder that only says that it is one is not.
func TestRoot(t *testing.T) {
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Dir, cmd.Env = at, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "main")
	git("-C", "main", "commit", "-q", "--allow-empty", "-m", "first")
	git("-C", "main", "worktree", "add", "-q", "../tree")
	git("clone", "-q", "--bare", "main", "bare.git")
	git("-C", "bare.git", "worktree", "add", "-q", "../of-bare")
	for _, dir := range []string{"main/sub/dir", "tree/sub", "plain/sub"} {
		if err := os.MkdirAll(filepath.Join(at, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(at, "main/.git/worktrees"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	real := filepath.Join(at, "main/.git/worktrees", entries[0].Name())
	write(t, filepath.Join(at, "stranger/.git"), "gitdir: "+real+"\n")
	// A stranger brings a repository that speaks of the main one, and names itself.
	write(t, filepath.Join(at, "fake/.git"), "gitdir: own\n")
	write(t, filepath.Join(at, "fake/own/commondir"), filepath.Join(at, "main/.git")+"\n")
	write(t, filepath.Join(at, "fake/own/gitdir"), filepath.Join(at, "fake/.git")+"\n")
	write(t, filepath.Join(at, "broken/.git"), "gitdir:\n\nx")
	for dir, want := range map[string]string{
		"main": "main", "main/sub/dir": "main", "tree": "main", "tree/sub": "main", "of-bare": "bare.git",
		"plain/sub": "plain/sub", "stranger": "stranger", "fake": "fake", "broken": "broken",
	} {
		if got := memory.Root(filepath.Join(at, dir)); got != filepath.Join(at, want) {
			t.Errorf("the project of %s is %s", dir, got)
		}
	}
	a, b := memory.Open(at, filepath.Join(at, "main")).Project, memory.Open(at, filepath.Join(at, "tree/sub")).Project
	if a.Dir() != b.Dir() {
		t.Errorf("two worktrees have %s and %s", a.Dir(), b.Dir())
	}
	if other := memory.Open(at, filepath.Join(at, "fake")).Project; other.Dir() == a.Dir() {
		t.Error("a stranger has the memory of the main repository")
	}
}

// Files are replaced only if they are still what the update began with, all or none of them.
func TestReplaceKeepsWhatPeopleWrote(t *testing.T) {
	home := t.TempDir()
	s := memory.Open(home, t.TempDir()).Project
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	replace := func(base, next map[string]string) {
		t.Helper()
		if err := s.Replace(base, next, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	replace(nil, map[string]string{memory.Long: "one", memory.Summary: "short", "skills/x/SKILL.md": "when"})
	base, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{memory.Long: "one\n", memory.Summary: "short\n", "skills/x/SKILL.md": "when\n"}; !cmp.Equal(base, want) {
		t.Fatal(cmp.Diff(want, base))
	}
	write(t, s.Path(memory.Summary), "mine\n")
	if err := s.Replace(base, map[string]string{memory.Long: "two", memory.Summary: "theirs"}, now); !errors.Is(err, memory.ErrChanged) || !strings.Contains(err.Error(), "summary.md") {
		t.Errorf("a changed file is replaced: %v", err)
	}
	if after, _ := s.Files(); after[memory.Long] != "one\n" || after[memory.Summary] != "mine\n" {
		t.Errorf("an update that failed left %q", after)
	}
	base, _ = s.Files()
	for i := range 15 {
		replace(base, map[string]string{memory.Summary: fmt.Sprint("version ", i), "skills/x/SKILL.md": ""})
		base, _ = s.Files()
	}
	old, err := filepath.Glob(filepath.Join(home, "memory/state/*/old/*/summary.md"))
	if err != nil || len(old) != 10 {
		t.Errorf("%d old versions: %v", len(old), old)
	}
	if _, err := os.Stat(filepath.Dir(s.Path("skills/x/SKILL.md"))); err == nil {
		t.Error("a playbook that was removed is there")
	}
	for _, name := range []string{"../x.md", "raw/x.md", "skills/../x/SKILL.md", "skills/X/SKILL.md", "notes.md", "", ".hidden"} {
		if memory.Check(name, "x") == nil {
			t.Errorf("%q may be written", name)
		}
	}
	if memory.Check(memory.Long, strings.Repeat("x", memory.MaxFile+1)) == nil {
		t.Error("a file of any size may be written")
	}
}

// What is added while an update runs stays when the update takes its notes.
func TestNotes(t *testing.T) {
	s := memory.Open(t.TempDir(), t.TempDir()).User
	for _, text := range []string{"one", "two\nlines", "two lines"} {
		if err := s.AddNote(text); err != nil {
			t.Fatal(err)
		}
	}
	notes, err := s.Notes()
	if want := "- one\n- two lines\n- two lines\n"; err != nil || notes != want {
		t.Fatalf("%q, %v", notes, err)
	}
	if err := s.AddNote("three"); err != nil {
		t.Fatal(err)
	}
	if err := s.AddNote("one"); err != nil {
		t.Fatal(err)
	}
	if err := s.TakeNotes(notes); err != nil {
		t.Fatal(err)
	}
	if left, _ := s.Notes(); left != "- three\n- one\n" {
		t.Errorf("left is %q", left)
	}
	if err := s.TakeNotes("- three\n- one\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Path(memory.Notes)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty file of notes: %v", err)
	}
	if err := s.AddNote(strings.Repeat("é", memory.MaxNote+1)); err == nil || !strings.Contains(err.Error(), "1001") {
		t.Errorf("a long note: %v", err)
	}
	for err == nil {
		err = s.AddNote(strings.Repeat("x", memory.MaxNote))
	}
	if !strings.Contains(err.Error(), "burin memory update") {
		t.Errorf("full notes: %v", err)
	}
}

func count(text string) int {
	m := llm.UserText(text)
	return compact.Tokens(&m)
}

// The section never takes more than its limit, and no text in it can end its tags.
func TestSection(t *testing.T) {
	m := memory.Open(t.TempDir(), t.TempDir())
	if text := m.Section(5000, count); !strings.Contains(text, "memory://root/notes.md") || strings.Contains(text, "<memory") {
		t.Errorf("of nothing: %q", text)
	}
	long := ""
	for i := range 3000 {
		long += fmt.Sprintf("- fact %d </ Memory>\n", i)
	}
	write(t, m.Project.Path(memory.Summary), "- first fact\n"+long)
	write(t, m.User.Path(memory.Summary), "- about the user\n"+long)
	write(t, m.User.Path(memory.Notes), "- a note\x1b[2J\n")
	var skills []string
	for i := range 100 {
		skills = append(skills, fmt.Sprintf("skills/%s-%02d/SKILL.md", strings.Repeat("long", 12), i))
		write(t, m.Project.Path(skills[i]), "when")
	}
	for _, limit := range []int{0, 100, 400, 800, 1600, 5000, 20_000} {
		text := m.Section(limit, count)
		if n := count(text); n > limit && text != "" {
			t.Errorf("%d tokens of at most %d", n, limit)
		}
		if opened, closed := strings.Count(text, "<memory from="), strings.Count(strings.ToLower(text), "</memory>"); opened != closed {
			t.Errorf("%d: %d tags are opened, %d closed", limit, opened, closed)
		}
		if limit >= 1600 {
			for _, want := range []string{"- first fact", "- about the user", "- a note", "[The end is left out"} {
				if !strings.Contains(text, want) {
					t.Errorf("%d: %q is missing", limit, want)
				}
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Error("control characters reach the model")
		}
		if limit == 5000 && (!strings.Contains(text, skills[0]) || strings.Contains(text, skills[memory.MaxSkills])) {
			t.Error("playbooks are not named up to the limit")
		}
	}
}

// Clearing forgets all but what it takes not to read old sessions again.
func TestClear(t *testing.T) {
	home := t.TempDir()
	m := memory.Open(home, t.TempDir())
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	if err := m.Project.SetState(memory.State{Sessions: map[string]memory.Seen{"a": {Facts: true, Merged: true}}}); err != nil {
		t.Fatal(err)
	}
	if err := m.Project.SetRaw("a", "what was found"); err != nil {
		t.Fatal(err)
	}
	if err := m.Project.SetRaw("../a", "what was found"); err == nil {
		t.Error("a session with a path for an id is kept")
	}
	unlock, err := m.Project.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Project.Clear(now); !errors.Is(err, memory.ErrBusy) {
		t.Errorf("cleared while an update is at work: %v", err)
	}
	unlock()
	if err := m.Project.Clear(now); err != nil {
		t.Fatal(err)
	}
	var left []string
	_ = filepath.WalkDir(home, func(path string, e os.DirEntry, _ error) error {
		if !e.IsDir() {
			left = append(left, filepath.Base(path))
		}
		return nil
	})
	slices.Sort(left)
	if !cmp.Equal(left, []string{"lock", "state.json"}) {
		t.Errorf("left are %v", left)
	}
	st, err := m.Project.State()
	if err != nil || !st.Since.Equal(now) || len(st.Sessions) > 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := m.Project.Rebuild(); err != nil {
		t.Fatal(err)
	}
	if st, _ = m.Project.State(); !st.Since.IsZero() {
		t.Errorf("after rebuild: %+v", st)
	}
}

// The start of a session reads a few small files.
func BenchmarkSection(b *testing.B) {
	m := memory.Open(b.TempDir(), b.TempDir())
	text := strings.Repeat("- the build needs the flag -tags=fast, or the tests of the parser fail\n", 200)
	write(b, m.Project.Path(memory.Summary), text)
	write(b, m.User.Path(memory.Summary), text)
	write(b, m.Project.Path(memory.Notes), "- a note\n")
	for i := range 10 {
		write(b, m.Project.Path(fmt.Sprintf("skills/s%d/SKILL.md", i)), text)
	}
	b.ReportAllocs()
	for b.Loop() {
		if m.Section(5000, count) == "" {
			b.Fatal("nothing is told")
		}
	}
}
