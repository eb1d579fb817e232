package undo_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/undo"
)

// tree is a folder under a journal.
type tree struct {
	dir, state string
	root       *os.Root
	j          *undo.Journal
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func newTree(t fataler, dir, state string) *tree {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatalf("%v", err)
	}
	j, err := undo.OpenSession(root, state, "", nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &tree{dir: dir, state: state, root: root, j: j}
}

func (r *tree) close() {
	r.j.Close()
	r.root.Close()
}

// gitEnv makes git independent of who runs the test.
var gitEnv = []string{
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
	"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
}

// sh runs a script in the tree.
func (r *tree) sh(t fataler, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), gitEnv...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// agent runs a script under watch, in a turn of its own.
func (r *tree) agent(t fataler, turn, script string) []string {
	t.Helper()
	r.j.BeginTurn(turn, script)
	changed, err := r.j.Watch(context.Background(), func() error { r.sh(t, script); return nil })
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	return changed
}

// settle waits until what was changed so far is old enough for its stat to be trusted.
func (r *tree) settle(t *testing.T) {
	t.Helper()
	probe := filepath.Join(t.TempDir(), "probe")
	for began := time.Now(); ; {
		if err := os.WriteFile(probe, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(probe); err != nil || info.ModTime().Sub(began) > 100*time.Millisecond {
			return
		}
	}
}

// snapshot is every path with what it is.
func (r *tree) snapshot(t fataler) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(r.dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".git":
			return filepath.SkipDir
		case name == ".":
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all[name] = "-> " + to
		case d.IsDir():
			all[name] = "dir " + info.Mode().Perm().String()
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[name] = info.Mode().Perm().String() + " " + string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return all
}

const setUp = `mkdir -p src/deep empty; echo a >src/a; echo b >src/deep/b; echo c >c; chmod 755 c; ln -s src/a link; printf '\000\001' >bin`

// Whatever a command does is undone, and done again by a second undo.
func TestUndoOfCommands(t *testing.T) {
	for _, script := range []string{
		"echo changed >src/a", "echo more >>c", "rm c", "rm -r src", "rm -rf src c empty link bin", "mv src lib", "mv c src/a",
		"cp -r src copy", "chmod 600 c src/deep/b", "chmod 700 src", "ln -sf c link", "rm link; echo file >link", "rm c; mkdir c; echo x >c/y",
		"rm -r src; echo src >src", "mkdir -p x/y/z", "rmdir empty", "sed -i s/a/z/ src/a", "for i in 1 2 3; do echo $i >gen$i; done",
		"cp c tmp && mv tmp c", "truncate -s 0 bin", "ln c hard; echo both >hard", "mv src t; mv c src; mv t c", "mv src lib; ln -s lib src", "rm -r src; ln -s empty src", "true", "touch c",
	} {
		t.Run(script, func(t *testing.T) {
			r := newTree(t, t.TempDir(), t.TempDir())
			defer r.close()
			r.sh(t, setUp)
			before := r.snapshot(t)
			changed := r.agent(t, "1", script)
			after := r.snapshot(t)
			if cmp.Equal(before, after) != (len(changed) == 0) {
				t.Errorf("it changed %v", changed)
			}
			if len(changed) == 0 {
				return
			}
			for i, want := range []map[string]string{before, after, before} {
				u, err := r.j.Undo(context.Background(), "1")
				if err != nil || len(u.Kept) > 0 {
					t.Fatalf("undo %d: kept %v, %v", i+1, u, err)
				}
				if diff := cmp.Diff(want, r.snapshot(t)); diff != "" {
					t.Fatalf("after undo %d: %s", i+1, diff)
				}
			}
		})
	}
}

// A journal that is opened again knows all turns, also after a torn line.
func TestReopen(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	r := newTree(t, dir, state)
	r.sh(t, setUp)
	before := r.snapshot(t)
	r.agent(t, "1", "rm -r src; echo new >c")
	r.close()
	f, err := os.OpenFile(filepath.Join(state, "journal.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"turn":"2","chan`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	r = newTree(t, dir, state)
	defer r.close()
	r.agent(t, "3", "echo three >three")
	turns := r.j.Turns()
	if len(turns) != 2 || !strings.HasPrefix(turns[0].ID, "1@") || turns[1].ID != "3" {
		t.Fatalf("turns %+v", turns)
	}
	if _, err := r.j.Undo(context.Background(), "1"); err == nil || !strings.Contains(err.Error(), turns[0].ID) {
		t.Errorf("the turn of another session by its plain id: %v", err)
	}
	for _, turn := range []string{"3", turns[0].ID} {
		if u, err := r.j.Undo(context.Background(), turn); err != nil || len(u.Kept) > 0 {
			t.Fatalf("undo %s: %+v, %v", turn, u, err)
		}
	}
	if diff := cmp.Diff(before, r.snapshot(t)); diff != "" {
		t.Error(diff)
	}
}

// What others changed since is left alone and named.
func TestUndoKeepsOthersWork(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	r.sh(t, setUp)
	r.agent(t, "1", "echo agent >c; echo agent >src/a; rm bin; mkdir d; echo x >d/x")
	r.sh(t, "echo user >c; echo user >bin; echo user >d/y")
	r.agent(t, "2", "echo again >src/a")
	u, err := r.j.Undo(context.Background(), "1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"c": "changed since by someone else", "bin": "changed since by someone else", "src/a": "changed by a later turn: undo that first"}
	got := map[string]string{}
	for _, k := range u.Kept {
		if k.Path == "d" { // it has the user's file in it
			continue
		}
		got[k.Path] = k.Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	now := r.snapshot(t)
	if now["c"] != "-rwxr-xr-x user\n" || now["d/y"] == "" || now["d/x"] != "" {
		t.Errorf("the tree is %v", now)
	}
	if _, err := r.j.Undo(context.Background(), "9"); err == nil || !strings.Contains(err.Error(), `no turn "9"`) {
		t.Errorf("error %v", err)
	}
}

// Damaged contents are not restored.
func TestDamagedStore(t *testing.T) {
	r := newTree(t, t.TempDir(), t.TempDir())
	defer r.close()
	r.sh(t, "echo precious >a; echo other >b")
	r.agent(t, "1", "rm a b")
	objects, err := filepath.Glob(filepath.Join(kept(t, r.state), "*", "*"))
	if err != nil || len(objects) != 2 {
		t.Fatalf("objects %v, %v", objects, err)
	}
	sum := sha256.Sum256([]byte("precious\n"))
	name := hex.EncodeToString(sum[:])
	for _, o := range objects {
		if filepath.Base(o) == name[2:] {
			if err := os.WriteFile(o, []byte("rotten\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	u, err := r.j.Undo(context.Background(), "1")
	if err != nil || len(u.Kept) != 1 || !strings.Contains(u.Kept[0].Reason, "damaged") || !slices.Equal(u.Restored, []string{"b"}) {
		t.Errorf("undo %+v, %v", u, err)
	}
}
