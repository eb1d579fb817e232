package undo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/undo"
	"github.com/burin-dev/burin/tool/change"
)

// put writes a file as someone else would.
func (r *tree) put(t fataler, name, text string) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
}

func (r *tree) text(t fataler, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	return string(b)
}

// commit declares a change, as an edit does.
func (r *tree) commit(t fataler, name, text string) {
	t.Helper()
	i, err := r.j.Intend()
	if err != nil {
		t.Fatalf("%v", err)
	}
	before, err := r.j.StateOf(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	hash, err := r.j.Put([]byte(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := i.Announce([]undo.Change{{Path: name, Before: before, After: undo.State{Kind: "file", Mode: before.Mode, Hash: hash}}}); err != nil {
		t.Fatalf("%v", err)
	}
	r.put(t, name, text)
	if err := i.Settle(); err != nil {
		t.Fatalf("%v", err)
	}
}

func (r *tree) undo(t fataler, id string) *change.Undone {
	t.Helper()
	u, err := r.j.Undo(context.Background(), id)
	if err != nil {
		t.Fatalf("undo %s: %v", id, err)
	}
	return u
}

// paths are what each turn changed, by id.
func (r *tree) paths() map[string]string {
	all := map[string]string{}
	for _, turn := range r.j.Turns() {
		var names []string
		for _, c := range turn.Changes {
			names = append(names, c.Path)
		}
		all[turn.ID] = strings.Join(names, " ")
	}
	return all
}

// A file that is edited while a command runs belongs to the edit; what the command
// makes of it before and after, to the command.
func TestEditDuringACommand(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	for _, name := range []string{"edited", "before", "after", "command"} {
		r.put(t, name, "old")
	}
	r.j.BeginTurn("job", "")
	job, err := r.j.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.j.BeginTurn("edit", "")
	r.put(t, "command", "by the job")
	r.put(t, "before", "by the job")
	r.commit(t, "edited", "by the edit")
	r.commit(t, "before", "by the edit")
	r.commit(t, "after", "by the edit")
	r.put(t, "after", "by the job")
	changed, err := job.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"after", "before", "command"}, changed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"job": "after before command", "edit": "after before edited"}, r.paths()); diff != "" {
		t.Fatal(diff)
	}
	r.undo(t, "edit")
	if r.text(t, "edited") != "old" || r.text(t, "before") != "by the job" || r.text(t, "after") != "by the job" {
		t.Errorf("after the undo of the edit: %v", r.snapshot(t))
	}
	if u := r.undo(t, "job"); len(u.Kept) > 0 || r.text(t, "after") != "by the edit" || r.text(t, "before") != "old" {
		t.Errorf("after the undo of the job: %+v, %v", u, r.snapshot(t))
	}
	if r.undo(t, "edit"); r.text(t, "edited") != "by the edit" { // done again
		t.Errorf("%v", r.snapshot(t))
	}
}

// While a job runs in the background, commands in the foreground get what changes
// during them, undos belong to nobody, and what a person is known to have changed
// is left alone.
func TestLongJob(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	for _, name := range []string{"mine", "job", "command", "undone"} {
		r.put(t, name, "old")
	}
	r.agent(t, "early", "echo early >undone")
	r.put(t, "mine", "before the job") // no command runs: it is the user's
	r.j.BeginTurn("job", "")
	job, err := r.j.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.put(t, "job", "new")
	r.agent(t, "command", "echo new >command")
	r.undo(t, "early")
	r.put(t, "mine", "during the job")
	if err := r.j.NotOurs("mine"); err != nil {
		t.Fatal(err)
	}
	r.put(t, "job", "newer")
	if _, err := job.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.put(t, "job2", "after the job")
	r.agent(t, "last", "echo x >last")
	want := map[string]string{"early": "undone", "job": "job", "command": "command", "last": "last"}
	if diff := cmp.Diff(want, r.paths()); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{"job", "command"} {
		if u := r.undo(t, id); len(u.Kept) > 0 {
			t.Errorf("undo of %s: %+v", id, u)
		}
	}
	want = map[string]string{"mine": "during the job", "job": "old", "command": "old", "undone": "old", "job2": "after the job", "last": "x\n"}
	for name, text := range want {
		if got := r.text(t, name); got != text {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// Two sessions on one folder know each other's turns, and what one changes is not
// taken for the work of a command of the other.
func TestTwoSessions(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	a := newTree(t, dir, state)
	defer a.close()
	b := newTree(t, dir, state)
	defer b.close()
	a.put(t, "shared", "old")
	a.agent(t, "1", "echo a >a")
	b.agent(t, "1", "echo b >b")
	a.j.BeginTurn("2", "")
	job, err := a.j.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.j.BeginTurn("2", "")
	b.commit(t, "shared", "b's edit")
	b.agent(t, "3", "echo b >b3")
	b.undo(t, "1")
	a.put(t, "a2", "new")
	if _, err := job.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	label := func(r *tree) (all []string) {
		for _, turn := range r.j.Turns() {
			id, _, other := strings.Cut(turn.ID, "@")
			for _, c := range turn.Changes {
				all = append(all, fmt.Sprint(id, " ", c.Path, map[bool]string{true: " of the other"}[other]))
			}
		}
		return all
	}
	if diff := cmp.Diff([]string{"1 a", "1 b of the other", "2 shared of the other", "3 b3 of the other", "2 a2"}, label(a)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 a of the other", "1 b", "2 shared", "3 b3", "2 a2 of the other"}, label(b)); diff != "" {
		t.Error(diff)
	}
	if _, err := a.j.Undo(t.Context(), "3"); err == nil {
		t.Error("a undid a turn of b by its plain id")
	}
	if u := a.undo(t, "2"); cmp.Diff([]string{"a2"}, u.Restored) != "" {
		t.Errorf("%+v", u)
	}
	if a.text(t, "shared") != "b's edit" || a.text(t, "b") != "" {
		t.Error("a changed what b did")
	}
}

// Sessions that write at once lose no line.
func TestManyWriters(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	const sessions, edits = 4, 15
	var wg sync.WaitGroup
	for i := range sessions {
		r := newTree(t, dir, state)
		defer r.close()
		wg.Go(func() {
			for k := range edits {
				r.j.BeginTurn(fmt.Sprint(k), "")
				r.commit(t, "one", fmt.Sprint(i, k))
			}
		})
	}
	wg.Wait()
	r := newTree(t, dir, state)
	defer r.close()
	turns := r.j.Turns()
	if len(turns) != sessions*edits {
		t.Fatalf("%d turns", len(turns))
	}
	for i := len(turns) - 1; i >= 0; i-- { // each began where the last ended
		if u := r.undo(t, turns[i].ID); len(u.Kept) > 0 {
			t.Fatalf("undo %d: %+v", i, u)
		}
	}
	if r.text(t, "one") != "" {
		t.Error("the file is still there")
	}
}

// A preview says what the undo then does.
func TestPreview(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	for _, name := range []string{"changed", "removed", "touched"} {
		r.put(t, name, "old")
	}
	r.agent(t, "1", "echo 1 >changed; rm removed; echo 1 >made; echo 1 >touched")
	r.put(t, "touched", "user")
	want := []change.Planned{
		{Path: "changed", Action: change.Restore},
		{Path: "made", Action: change.Delete},
		{Path: "removed", Action: change.Restore},
		{Path: "touched", Action: change.Keep, Reason: "changed since by someone else"},
	}
	before := r.snapshot(t)
	got, err := r.j.Preview(t.Context(), "1")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if diff := cmp.Diff(before, r.snapshot(t)); diff != "" {
		t.Error(diff)
	}
	if u := r.undo(t, "1"); cmp.Diff([]string{"changed", "made", "removed"}, u.Restored) != "" || len(u.Kept) != 1 {
		t.Errorf("%+v", u)
	}
	if _, err := r.j.Preview(t.Context(), "none"); err == nil {
		t.Error("preview of no turn")
	}
}

// A preview reads nothing that a turn under way writes; the race detector sees it if it does.
func TestPreviewDuringTurn(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	r.j.BeginTurn("1", "")
	r.commit(t, "one", "1")
	r.put(t, "one", "user") // so that the preview looks for who changed it
	r.j.BeginTurn("2", "")
	r.commit(t, "two", "2")
	var wg sync.WaitGroup
	defer wg.Wait()
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got, err := r.j.Preview(t.Context(), "1"); err != nil || len(got) != 1 {
				t.Error(err, got)
				return
			}
		}
	})
	for i := range 30 {
		r.commit(t, fmt.Sprint("more", i), "2")
	}
	close(done)
}

// Files too large to keep are never lost: moved ones are moved back, and one that
// is all there is of another stays.
func TestLargeFiles(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	const mk = "truncate -s 70M "
	r.sh(t, mk+"moved; "+mk+"swapped; "+mk+"written; "+mk+"gone; "+mk+"mode")
	before, err := os.Lstat(filepath.Join(r.dir, "moved"))
	if err != nil {
		t.Fatal(err)
	}
	r.agent(t, "1", mk+"made; mkdir d; mv moved d/big; mv swapped moved; mv written d/w; echo x >>d/w; rm gone; chmod 600 mode")
	u := r.undo(t, "1")
	kept := map[string]bool{}
	for _, k := range u.Kept {
		kept[k.Path] = true
	}
	if diff := cmp.Diff(map[string]bool{"written": true, "d/w": true, "gone": true, "d": true}, kept); diff != "" {
		t.Errorf("%s%+v", diff, u)
	}
	after, err := os.Lstat(filepath.Join(r.dir, "moved"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("moved: %v", err)
	}
	for name, there := range map[string]bool{"swapped": true, "made": false, "d/w": true, "d/big": false, "mode": true} {
		info, err := os.Lstat(filepath.Join(r.dir, name))
		if (err == nil) != there || name == "mode" && info.Mode() != 0o644 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What tools generate has a budget of its own, and the notice says so. A file by
// itself that git leaves out is as precious as others.
func TestIgnoredFolders(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	r.j.KeepIgnored(3)
	r.put(t, ".gitignore", "/out/\n.env\n")
	r.sh(t, "mkdir -p out/deep a/node_modules; for f in out/1 out/deep/2 a/node_modules/3 .env 5 6; do echo old >$f; done")
	if err := r.j.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.j.Notice(); n != "" {
		t.Errorf("within the limits: %s", n)
	}
	r.agent(t, "1", "echo new >out/more; echo new >a/node_modules/3; rm .env out/1 5")
	if n := r.j.Notice(); !strings.Contains(n, "1 files") || !strings.Contains(n, "out/more") {
		t.Errorf("notice %q", n)
	}
	if u := r.undo(t, "1"); len(u.Kept) > 0 || r.text(t, "a/node_modules/3")+r.text(t, ".env")+r.text(t, "out/1") != "old\nold\nold\n" {
		t.Errorf("%+v", u)
	}
	r.agent(t, "2", "for i in 1 2 3 4 5; do echo x >out/n$i; done")
	r.agent(t, "3", "rm -r out")
	u := r.undo(t, "3")
	if len(u.Kept) == 0 || !strings.Contains(u.Kept[0].Reason, "of ignored folders only 3 files") {
		t.Errorf("%+v", u)
	}
}
