package transcript_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript"
)

// tree is a session with two branches, a label, a compaction that kept from the label
// on, a field that burin does not know, and artifacts.
const tree = `{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/ann/a","color":"red"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","future":[1,  2],"message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"first"}]}}
{"type":"message","id":"c","parentId":"a","timestamp":"t","message":{"role":"assistant","content":[{"type":"text","text":"second"}]}}
{"type":"label","id":"l","parentId":"c","timestamp":"t","targetId":"c","label":"good"}
{"type":"message","id":"d","parentId":"l","timestamp":"t","message":{"role":"user","content":"two"}}
{"type":"compaction","id":"e","parentId":"d","timestamp":"t","summary":"it was short","firstKeptEntryId":"l","more":1}
{"type":"label","id":"m","parentId":"e","timestamp":"t","targetId":"b","label":"bad"}
`

// place writes a session file under root, with artifacts and what lies beside it.
func place(t testing.TB, root, text string) string {
	t.Helper()
	path := filepath.Join(root, transcript.EncodeDir("/home/ann/a"), "2026_s1.jsonl")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, text)
	write(filepath.Join(transcript.ArtifactDir(path), "0.bash.log"), "output")
	write(filepath.Join(transcript.ArtifactDir(path), "sub", "x.jsonl"), "{}")
	write(path+".damage", "bad line")
	return path
}

// files are all files below root, by their path in it, with what they hold.
func files(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t testing.TB, path string) *transcript.Log {
	t.Helper()
	l, _, err := transcript.ReadSession(path, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestForkKeepsRecords(t *testing.T) {
	path := place(t, t.TempDir(), tree)
	to := filepath.Join(t.TempDir(), "x", "2026_s2.jsonl")
	store := transcript.CreateFile(to)
	if err := transcript.Fork(read(t, path), store, transcript.Header{ID: "s2", CWD: "/b"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(tree, "\n")
	head, got, _ := strings.Cut(string(text), "\n")
	if got != want {
		t.Error(cmp.Diff(want, got))
	}
	var h transcript.Header
	if err := json.Unmarshal([]byte(head), &h); err != nil {
		t.Fatal(err)
	}
	if h.ID != "s2" || h.CWD != "/b" || h.ParentSession != "s1" || h.Timestamp == "2026-01-02T03:04:05.000Z" {
		t.Errorf("header %+v", h)
	}
	if err := transcript.CopyArtifacts(path, to); err != nil {
		t.Fatal(err)
	}
	if got := files(t, filepath.Dir(to)); got["2026_s2/0.bash.log"] != "output" || got["2026_s2/sub/x.jsonl"] != "{}" {
		t.Errorf("artifacts: %v", got)
	}
	if err := transcript.CopyArtifacts(path, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over others: %v", err)
	}
	// What goes on with one of them is nothing to the other.
	if err := os.WriteFile(filepath.Join(transcript.ArtifactDir(path), "0.bash.log"), []byte("more"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := files(t, filepath.Dir(to)); got["2026_s2/0.bash.log"] != "output" {
		t.Errorf("the copy has %q", got["2026_s2/0.bash.log"])
	}
}

// The copy of what is damaged, or old, is whole.
func TestForkMends(t *testing.T) {
	lines := strings.SplitAfter(tree, "\n")
	damaged := lines[0] + lines[1] + `{"type":"message","id":` + "\n" + lines[2] + strings.TrimSuffix(lines[3], "\n") + lines[4]
	old := lines[0] + `{"type":"message","message":{"role":"user","content":"one"}}` + "\n"
	for name, text := range map[string]string{"damaged": damaged, "old": old} {
		store := new(transcript.Memory)
		from := read(t, place(t, t.TempDir(), text))
		if err := transcript.Fork(from, store, transcript.Header{}); err != nil {
			t.Fatal(err)
		}
		l, d, err := transcript.Open(store, transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Serious() || d.Migrated {
			t.Errorf("%s: %s", name, d)
		}
		if diff := cmp.Diff(from.Nodes(), l.Nodes()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	empty := read(t, place(t, t.TempDir(), lines[0]))
	if err := transcript.Fork(empty, new(transcript.Memory), transcript.Header{}); !errors.Is(err, transcript.ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestCopyBranch(t *testing.T) {
	from := read(t, place(t, t.TempDir(), tree))
	store := new(transcript.Memory)
	if err := transcript.CopyBranch(from, "e", store, transcript.Header{}); err != nil {
		t.Fatal(err)
	}
	l, d, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Serious() {
		t.Error(d)
	}
	var got []string
	for e, err := range l.All() {
		if err != nil {
			t.Fatal(err)
		}
		parent := "-"
		if e.ParentID != nil {
			parent = *e.ParentID
		}
		id := e.ID
		if e.Type == transcript.TypeLabel {
			id = "label of " + e.TargetID
		}
		got = append(got, parent+" < "+id)
	}
	if diff := cmp.Diff([]string{"- < a", "a < c", "c < d", "d < e", "e < label of c"}, got); diff != "" {
		t.Error(diff)
	}
	if l.Label("c") != "good" || l.Label("b") != "" {
		t.Errorf("labels %q and %q", l.Label("c"), l.Label("b"))
	}
	first, _ := l.Entry("a")
	compaction, _ := l.Entry("e")
	if !strings.Contains(string(first.Raw), `"future":[1,  2]`) || !strings.Contains(string(compaction.Raw), `"more":1`) {
		t.Errorf("unknown fields: %s %s", first.Raw, compaction.Raw)
	}
	if diff := cmp.Diff(said(t, from, "e"), said(t, l, "e")); diff != "" {
		t.Error("the model gets something else:", diff)
	}
	for _, leaf := range []string{"", "nope"} {
		if err := transcript.CopyBranch(from, leaf, new(transcript.Memory), transcript.Header{}); err == nil {
			t.Errorf("a branch to %q", leaf)
		}
	}
}

func TestMove(t *testing.T) {
	root := t.TempDir()
	path := place(t, root, tree)
	moved, err := transcript.Move(path, root, "/home/bob/b")
	if err != nil {
		t.Fatal(err)
	}
	dir := "--home-bob-b--/"
	want := map[string]string{
		dir + "2026_s1.jsonl":        strings.Replace(tree, `"/home/ann/a"`, `"/home/bob/b"`, 1),
		dir + "2026_s1.jsonl.damage": "bad line",
		dir + "2026_s1/0.bash.log":   "output",
		dir + "2026_s1/sub/x.jsonl":  "{}",
	}
	if diff := cmp.Diff(want, files(t, root)); diff != "" {
		t.Error(diff)
	}
	if h := read(t, moved).Header(); h.CWD != "/home/bob/b" || h.ID != "s1" {
		t.Errorf("header %+v", h)
	}
	if _, err := transcript.Move(moved, root, "/home/bob/b"); err == nil {
		t.Error("moved to where it is")
	}
}

func TestMoveRollsBack(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, root, path string){
		"its artifacts are in the way": func(t *testing.T, root, _ string) {
			if err := os.MkdirAll(filepath.Join(root, "--b--", "2026_s1"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"what was set aside is in the way": func(t *testing.T, root, _ string) {
			if err := os.MkdirAll(filepath.Join(root, "--b--", "2026_s1.jsonl.damage"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"another session is in the way": func(t *testing.T, root, _ string) {
			if err := os.MkdirAll(filepath.Join(root, "--b--", "2026_s1.jsonl"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"it is being written": func(t *testing.T, _, path string) {
			l, _ := open(t, path)
			t.Cleanup(func() { l.Close() })
		},
		"it is encrypted": func(t *testing.T, _, path string) {
			if err := os.WriteFile(path, []byte(`{"type":"sealed","v":1}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := place(t, root, tree)
			spoil(t, root, path)
			before := files(t, root)
			if _, err := transcript.Move(path, root, "/b"); err == nil {
				t.Error("it was moved")
			}
			if diff := cmp.Diff(before, files(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTrash(t *testing.T) {
	root, trash := t.TempDir(), t.TempDir()
	path := place(t, root, tree)
	before := files(t, root)
	trashed, err := transcript.Trash(path, trash)
	if err != nil {
		t.Fatal(err)
	}
	if left := files(t, root); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := read(t, trashed).Len(); got != 7 {
		t.Errorf("%d entries in the trash", got)
	}
	// Something else has taken its place.
	place(t, root, "other\n")
	if _, err := transcript.Restore(trashed); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	second, err := transcript.Trash(path, trash)
	if err != nil {
		t.Fatal(err)
	}
	back, err := transcript.Restore(trashed)
	if err != nil || back != path {
		t.Fatalf("restored to %s: %v", back, err)
	}
	if diff := cmp.Diff(before, files(t, root)); diff != "" {
		t.Error(diff)
	}
	if _, err := transcript.Restore(second); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	open(t, path)
	if _, err := transcript.Trash(path, trash); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("while it is written: %v", err)
	}
}

// What belongs to another session stays, in the trash and where it was.
func TestRestoreBesideOthers(t *testing.T) {
	root, trash := t.TempDir(), t.TempDir()
	path := place(t, root, tree)
	trashed, err := transcript.Trash(path, trash)
	if err != nil {
		t.Fatal(err)
	}
	inTrash := files(t, trash)
	other := filepath.Join(transcript.ArtifactDir(path), "0.bash.log")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("of another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := transcript.Restore(trashed); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	if diff := cmp.Diff(inTrash, files(t, trash)); diff != "" {
		t.Error(diff)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "of another" {
		t.Errorf("another's output is %q, %v", text, err)
	}
}

func TestRename(t *testing.T) {
	path := place(t, t.TempDir(), tree)
	if err := transcript.Rename(path, " a \x1b[31m new\nname "); err != nil {
		t.Fatal(err)
	}
	l := read(t, path)
	if got := l.Title(); got != "a [31m new name" {
		t.Errorf("title %q", got)
	}
	if nodes := l.Nodes(); !slices.ContainsFunc(nodes, func(n transcript.Node) bool { return n.ID == "m" }) || len(nodes) != 8 {
		t.Errorf("entries: %v", nodes)
	}
	if err := transcript.Rename(path, " \n"); err == nil {
		t.Error("a title without words")
	}
	draft := path + ".draft"
	if err := os.Rename(path, draft); err != nil {
		t.Fatal(err)
	}
	if err := transcript.Rename(draft, "x"); err == nil {
		t.Error("a draft was renamed")
	}
	if _, err := os.Stat(draft); err != nil {
		t.Error(err) // to close a draft is to remove it
	}
}

// Whatever is read of a session is in its copy, and every branch can be copied alone.
func FuzzFork(f *testing.F) {
	f.Add(tree)
	f.Add(`{"type":"message","message":{"role":"user","content":"one"}}` + "\n" + `{"type":"compaction","firstKeptEntryIndex":1}`)
	f.Add(`{"type":"message","id":"a","parentId":"gone"}x{"type":"label","id":"b","parentId":"a","targetId":"a","label":"l"}`)
	f.Fuzz(func(t *testing.T, text string) {
		store := new(transcript.Memory)
		for line := range strings.SplitSeq(text, "\n") {
			_, _ = store.Append([]byte(line)) // an empty one is refused
		}
		from, _, err := transcript.Open(store, transcript.Options{})
		if err != nil {
			return
		}
		to := new(transcript.Memory)
		if err := transcript.Fork(from, to, transcript.Header{}); errors.Is(err, transcript.ErrEmpty) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		again, _, err := transcript.Open(to, transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(from.Nodes(), again.Nodes()); diff != "" {
			t.Error(diff)
		}
		if err := transcript.CopyBranch(from, from.Leaf(), new(transcript.Memory), transcript.Header{}); err != nil && !errors.Is(err, transcript.ErrEmpty) {
			t.Error(err)
		}
	})
}

// What a process that was killed has left of a file in the place of a session's goes with
// the next one that has the lock, before the session is moved, deleted or encrypted.
func TestLeftoverGoes(t *testing.T) {
	for name, with := range map[string]func(path, root string) error{
		"opened": func(path, _ string) error {
			s, err := transcript.OpenFile(path)
			if err == nil {
				err = s.Close()
			}
			return err
		},
		"moved": func(path, root string) error {
			_, err := transcript.Move(path, root, "/home/bob/b")
			return err
		},
		"deleted": func(path, root string) error {
			_, err := transcript.Trash(path, filepath.Join(root, "trash"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := place(t, root, tree)
			left := path + ".new"
			if err := os.WriteFile(left, []byte("half a session"), 0o600); err != nil {
				t.Fatal(err)
			}
			read(t, path)
			if _, err := os.Stat(left); err != nil {
				t.Errorf("who only reads has removed it: %v", err)
			}
			if err := with(path, root); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is there: %v", err)
			}
		})
	}
}
