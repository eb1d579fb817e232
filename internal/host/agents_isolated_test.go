package host_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Two isolated agents change the same file in different places: both changes come back, beside what the
// person has not committed. What both changed is a conflict that is shown, and an undo takes all of it back.
func TestIsolatedAgents(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "project")
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	write(t, filepath.Join(dir, "a.txt"), lines)
	write(t, filepath.Join(dir, "same.txt"), "old\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	write(t, filepath.Join(dir, "mine.txt"), "not committed\n")
	before := git(t, dir, "status", "--porcelain") + git(t, dir, "stash", "list")
	o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: worktree}}\n"}, func(s said) []llm.Event {
		first := map[string]string{"top": "1", "end": "9"}[s.who]
		switch {
		case s.who != "" && s.turn == 0:
			return append(llmtest.Call("r", "read", `{"path":"a.txt"}`), llmtest.Call("q", "read", `{"path":"same.txt"}`)...)
		case s.who != "" && s.turn == 1:
			return append(
				llmtest.Call("e", "edit", `{"path":"a.txt","edits":[{"old":"`+first+`","new":"`+s.who+`"}]}`),
				llmtest.Call("f", "write", `{"path":"same.txt","content":"`+s.who+`\n"}`)...)
		case s.who != "":
			return llmtest.Say("changed")
		case s.turn == 0:
			return isolated("top: change the top", "end: change the end")
		}
		return nil
	})
	r := o.results(o.prompt("go"))
	if got := content(t, filepath.Join(dir, "a.txt")); got != "top\n2\n3\n4\n5\n6\n7\n8\nend\n" {
		t.Errorf("a.txt is %q\n%+v", got, r)
	}
	notes := strings.Join(append(r[0].Notes, r[1].Notes...), "\n")
	for _, want := range []string{"Its changes of 2 files were brought back", "Not brought back: same.txt", "<<<<<<<", "All its changes are in the patch"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	if got := content(t, filepath.Join(dir, "mine.txt")); got != "not committed\n" {
		t.Errorf("the person's file is %q", got)
	}
	turns, err := o.handle.Changes().Turns(t.Context())
	if err != nil || len(turns) != 1 {
		t.Fatalf("%+v, %v", turns, err)
	}
	if _, err := o.handle.Changes().Undo(t.Context(), turns[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(dir, "a.txt")); got != lines {
		t.Errorf("after the undo a.txt is %q", got)
	}
	if after := git(t, dir, "status", "--porcelain") + git(t, dir, "stash", "list"); after != before {
		t.Errorf("git says %q, before %q", after, before)
	}
	if out := git(t, dir, "worktree", "list"); strings.Count(out, "\n") != 1 {
		t.Errorf("worktrees are left: %s", out)
	}
}

// isolated calls the tool task for agents in folders of their own.
func isolated(assignments ...string) []llm.Event {
	return taskCall("task", false, true, assignments)
}

// An isolated agent changes the right to execute, and puts a file in the place of a folder and the other
// way around: modes come back, an undo restores them, and nothing of what can't be written is.
func TestIsolatedModesAndKinds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no modes, and agents use chmod")
	}
	home := t.TempDir()
	dir := filepath.Join(home, "project")
	for _, name := range []string{"on.sh", "off.sh", "edited.sh", "mine.sh", "d/f", "file", "other"} {
		write(t, filepath.Join(dir, name), name+"\n")
	}
	chmod := func(name string, mode os.FileMode) {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod("off.sh", 0o755)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	chmod("on.sh", 0o640)
	state := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"on.sh", "off.sh", "edited.sh", "mine.sh", "d/f", "file", "other"} {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil || !info.Mode().IsRegular() {
				all[name] = fmt.Sprint(info, err)
				continue
			}
			all[name] = fmt.Sprintf("%o %s", info.Mode(), content(t, filepath.Join(dir, name)))
		}
		return all
	}
	o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: copy}}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			chmod("mine.sh", 0o755)
			return llmtest.Call("r", "bash", `{"command":"chmod +x on.sh edited.sh; chmod -x off.sh; echo more >> edited.sh; rm mine.sh; rm -r d; echo x > d; rm file; mkdir file; echo y > file/y; echo z > other"}`)
		case s.who != "":
			return llmtest.Say("changed")
		case s.turn == 0:
			return isolated("one: change modes")
		}
		return nil
	})
	before := state()
	notes := strings.Join(o.results(o.prompt("go"))[0].Notes, "\n")
	want := maps.Clone(before)
	maps.Copy(want, map[string]string{
		"on.sh": "750 on.sh\n", "off.sh": "644 off.sh\n", "edited.sh": "755 edited.sh\nmore\n", "mine.sh": "755 mine.sh\n", "other": "644 z\n",
	})
	if diff := cmp.Diff(want, state()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"Its changes of 4 files were brought back: edited.sh, off.sh, on.sh, other.", "Not brought back: mine.sh: it was deleted there, and its mode was changed here.",
		"d/f (a file in the place of a folder)", "d (a file in the place of a folder)", "file (a folder in the place of a file)", "file/y (a folder in the place of a file)",
		"All its changes are in the patch",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	turns, err := o.handle.Changes().Turns(t.Context())
	if err != nil || len(turns) != 1 {
		t.Fatalf("%+v, %v", turns, err)
	}
	if _, err := o.handle.Changes().Undo(t.Context(), turns[0].ID); err != nil {
		t.Fatal(err)
	}
	before["mine.sh"] = "755 mine.sh\n"
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("after the undo (-want +got):\n%s", diff)
	}
}

// By the setting the changes come back as a branch, and nothing here changes. Where isolation is off the call says so.
func TestIsolationSettings(t *testing.T) {
	pacetest.Costly(t)
	for setting, want := range map[string]string{
		"": "isolation is off", "task: {isolation: {mode: auto, merge: branch}}\n": "on the branch burin/task/one",
		"task: {isolation: {mode: copy}}\n": "were brought back",
	} {
		home := t.TempDir()
		dir := filepath.Join(home, "project")
		write(t, filepath.Join(dir, "a.txt"), "old\n")
		git(t, dir, "init", "-q")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", "first")
		o := opened(t, officeOptions{home: home, settings: setting, change: func(s *host.Session) {}}, func(s said) []llm.Event {
			switch {
			case s.who != "" && s.turn == 0:
				return llmtest.Call("w", "write", `{"path":"new.txt","content":"new\n"}`)
			case s.turn == 0:
				return isolated("one: change it")
			}
			return nil
		})
		o.prompt("go")
		asked := o.requests("")
		if text := asked[len(asked)-1].last; !strings.Contains(text, want) {
			t.Errorf("%q: %s", setting, text)
		}
		_, err := os.Stat(filepath.Join(dir, "new.txt"))
		if (err == nil) != strings.Contains(setting, "copy") {
			t.Errorf("%q: %v", setting, err)
		}
		if strings.Contains(setting, "branch") && git(t, dir, "show", "burin/task/one:new.txt") != "new\n" {
			t.Error("the branch lacks the change")
		}
	}
}

// An isolated agent that is done can be asked to go on: in a folder with the files as they are now,
// and what it changes there comes back, too.
func TestIsolatedAgentsGoOn(t *testing.T) {
	pacetest.Costly(t)
	for _, await := range []bool{true, false} {
		home := t.TempDir()
		dir := filepath.Join(home, "project")
		write(t, filepath.Join(dir, "a.txt"), "old\n")
		git(t, dir, "init", "-q")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", "first")
		o := opened(t, officeOptions{home: home, settings: "task: {isolation: {mode: worktree}}\n"}, func(s said) []llm.Event {
			switch {
			case s.who != "" && s.turn == 0:
				return llmtest.Call("w", "write", `{"path":"one.txt","content":"one\n"}`)
			case s.who != "" && s.turn == 2:
				return llmtest.Call("r", "read", `{"path":"one.txt"}`)
			case s.who != "" && s.turn == 3:
				if !strings.Contains(s.last, "one") {
					t.Errorf("what it made before is not there: %s", s.last)
				}
				return llmtest.Call("v", "write", `{"path":"two.txt","content":"two\n"}`)
			case s.who != "":
				return llmtest.Say("changed")
			case s.turn == 0:
				return isolated("one: change it")
			case s.turn == 1 && await:
				return llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"go on","await":true}`)
			case s.turn == 1:
				return append(llmtest.Call("i", "irc", `{"op":"send","to":"one","message":"go on"}`), llmtest.Call("j", "irc", `{"op":"wait","timeoutMs":60000}`)...)
			}
			return llmtest.Say("end")
		})
		o.prompt("go")
		all := o.requests("")
		if text := all[2].last; !strings.Contains(text, "Its changes of 1 file were brought back: two.txt") {
			t.Errorf("await %v: the session reads %q", await, text)
		}
		if got := content(t, filepath.Join(dir, "two.txt")); got != "two\n" {
			t.Errorf("await %v: two.txt is %q", await, got)
		}
		if out := git(t, dir, "worktree", "list"); strings.Count(out, "\n") != 1 {
			t.Errorf("worktrees are left: %s", out)
		}
	}
}
