package undo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
)

// world is a tree in which an agent and a user work, with what each turn of the
// agent did, found without the journal.
type world struct {
	*tree
	t     *testing.T
	r     *rand.Rand
	turns []*agentTurn
	n     int
	story []string
}

type agentTurn struct {
	id            string
	before, after map[string]string // of the paths that it changed
	undone        bool
	fates         map[string]string // "": it stands
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.story, "\n"))
}

func (w *world) name() string {
	names := []string{"c", "src/a", "src/deep/b", "src/deep", "src", "new", "src/new", "lib", "lib/x/y", "link", "f", "d/g"}
	return names[w.r.IntN(len(names))]
}

// act does something to the tree; what is not possible is not done.
func (w *world) act(who string) {
	a, b := w.name(), w.name()
	at, to := filepath.Join(w.dir, a), filepath.Join(w.dir, b)
	w.n++
	text := fmt.Sprintf("%s %d\n", who, w.n%7) // sometimes the same again
	what := w.r.IntN(10)
	w.story = append(w.story, fmt.Sprint(who, " ", what, " ", a, " ", b))
	switch what {
	case 0, 1:
		_ = os.WriteFile(at, []byte(text), 0o644)
	case 2:
		if f, err := os.OpenFile(at, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString(text)
			_ = f.Close()
		}
	case 3:
		_ = os.RemoveAll(at)
	case 4:
		_ = os.Rename(at, to)
	case 5:
		_ = os.MkdirAll(at, 0o755)
	case 6:
		if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink == 0 {
			_ = os.Chmod(at, []os.FileMode{0o700, 0o755, 0o744}[w.r.IntN(3)])
		}
	case 7:
		_ = os.Remove(at)
		_ = os.Symlink(b, at)
	case 8: // a generator
		for i := range 5 {
			_ = os.WriteFile(fmt.Sprint(at, "-gen", i), []byte(text), 0o644)
		}
	case 9: // the same size and time, other contents
		if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
			_ = os.WriteFile(at, []byte(strings.Repeat("z", int(info.Size()))), 0o644)
			_ = os.Chtimes(at, info.ModTime(), info.ModTime())
		}
	}
}

func (w *world) git() {
	script := []string{
		"git add -A", "git commit -qam x", "git checkout -qf side", "git checkout -qf main", "git branch -D loose", "git stash -q", "git stash pop -q", "git reset -q --hard",
	}[w.r.IntN(8)]
	w.story = append(w.story, script)
	w.sh(w.t, script+" >/dev/null 2>&1; true")
}

// turn is one of the agent: a command, or an edit.
func (w *world) turn(hasGit bool) {
	w.n++
	id := fmt.Sprint("t", w.n)
	w.story = append(w.story, "turn "+id)
	w.j.BeginTurn(id, "")
	before := w.snapshot(w.t)
	name := w.name()
	info, err := os.Lstat(filepath.Join(w.dir, name))
	parent, perr := os.Stat(filepath.Join(w.dir, filepath.Dir(name)))
	edit := w.r.IntN(4) == 0 && (err == nil && info.Mode().IsRegular() || err != nil && perr == nil && parent.IsDir() && os.IsNotExist(err))
	if real, err := filepath.EvalSymlinks(filepath.Join(w.dir, filepath.Dir(name))); err != nil || real != filepath.Join(w.dir, filepath.Dir(name)) {
		edit = false
	}
	if edit {
		w.story = append(w.story, "edit "+name)
		w.commit(w.t, name, fmt.Sprint("edit ", w.n%5))
	} else if _, err := w.j.Watch(w.t.Context(), func() error {
		for range 1 + w.r.IntN(3) {
			w.act("agent")
		}
		if hasGit && w.r.IntN(3) == 0 {
			w.git()
		}
		return nil
	}); err != nil {
		w.fail("watch: %v", err)
	}
	turn := &agentTurn{id: id, fates: map[string]string{}, before: map[string]string{}, after: map[string]string{}}
	after := w.snapshot(w.t)
	for p := range union(before, after) {
		if before[p] != after[p] {
			turn.before[p], turn.after[p] = before[p], after[p]
		}
	}
	if len(turn.after) > 0 {
		w.turns = append(w.turns, turn)
	}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// undoOne undoes a turn and compares every path with what it must be: what the turn
// left becomes what was before, everything else stays. It reports whether the turn
// was taken back as a whole.
func (w *world) undoOne(turn *agentTurn) bool {
	w.story = append(w.story, "undo "+turn.id)
	id := turn.id
	for _, t := range w.j.Turns() { // of an earlier session, it has a suffix
		if t.ID == id || strings.HasPrefix(t.ID, id+"@") {
			id = t.ID
		}
	}
	pre := w.snapshot(w.t)
	u, err := w.j.Undo(w.t.Context(), id)
	if err != nil {
		w.fail("undo %s: %v", turn.id, err)
	}
	from, to := turn.after, turn.before
	if turn.undone {
		from, to = to, from
	}
	kept := map[string]string{}
	for _, k := range u.Kept {
		kept[k.Path] = k.Reason
	}
	whole, taken := len(kept) == 0, map[string]bool{}
	post := w.snapshot(w.t)
	for p := range union(union(pre, post), from) {
		want := pre[p]
		reason, isKept := kept[p]
		if _, changed := from[p]; changed && !isKept && pre[p] == from[p] && turn.fates[p] == map[bool]string{true: "taken"}[turn.undone] {
			want, taken[p] = to[p], true
		}
		if post[p] == want {
			continue
		}
		needed := slices.ContainsFunc(u.Restored, func(r string) bool { return strings.HasPrefix(r, p+"/") })
		if pre[p] == "" && strings.HasPrefix(post[p], "dir") && needed {
			whole = false // the folder of a file that came back
			continue
		}
		w.fail("after undo of %s, %s is %q, want %q (was %q; the turn made %q of %q; kept: %v %s)", turn.id, p, post[p], want, pre[p], from[p], to[p], isKept, reason)
	}
	for p := range taken {
		turn.fates[p] = map[bool]string{false: "taken"}[turn.undone]
	}
	if len(u.Restored) > 0 || len(kept) == 0 {
		if turn.undone = !turn.undone; !turn.undone {
			for p, fate := range turn.fates {
				if fate == "taken" {
					turn.fates[p] = "gone"
				}
			}
		}
	}
	return whole
}

// The journal holds: whatever the order of turns, of the user's changes between
// them, of undos and of undos of undos, each undo changes what its turn left as it
// was, exactly, and nothing else.
func TestUndoProperty(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	fresh := gitTrees(t)
	const least = 4
	undos, wholes := 0, 0
	for start, seed := time.Now(), uint64(1); seed <= least || time.Since(start) < 2000*time.Millisecond; seed++ {
		w := &world{t: t, r: rand.New(rand.NewPCG(seed, 1)), story: []string{fmt.Sprint("seed ", seed)}}
		hasGit := seed%4 == 0
		if hasGit {
			w.tree = fresh(t)
		} else {
			w.tree = newTree(t, t.TempDir(), t.TempDir())
		}
		w.sh(t, setUp)
		for range 25 {
			switch w.r.IntN(6) {
			case 0, 1:
				w.turn(hasGit)
			case 2, 3:
				w.act("user")
			case 4:
				if len(w.turns) == 0 {
					continue
				}
				turn := w.turns[w.r.IntN(len(w.turns))]
				before := w.snapshot(t)
				undos++
				if !w.undoOne(turn) {
					continue
				}
				wholes++
				if w.r.IntN(2) == 0 {
					w.undoOne(turn)
					if after := w.snapshot(t); !maps.Equal(before, after) {
						w.fail("the undo of the undo of %s is not what was before", turn.id)
					}
				}
			case 5:
				if w.r.IntN(3) == 0 {
					w.story = append(w.story, "a new session")
					w.close()
					w.tree = newTree(t, w.dir, w.state)
				}
			}
		}
		w.close()
	}
	if wholes == 0 {
		t.Errorf("of %d undos none was whole", undos)
	}
	t.Logf("%d undos, %d of them whole", undos, wholes)
}

// Undoing all turns in reverse gives the tree back, whatever they did.
func TestUndoAll(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	fresh := gitTrees(t)
	for seed := uint64(1); seed <= 4; seed++ {
		w := &world{tree: fresh(t), t: t, r: rand.New(rand.NewPCG(seed, 2)), story: []string{fmt.Sprint("seed ", seed)}}
		w.sh(t, setUp)
		before, git := w.snapshot(t), w.gitState(t)
		for range 6 {
			w.turn(true)
		}
		turns := w.j.Turns()
		for _, turn := range slices.Backward(turns) {
			if u := w.undo(t, turn.ID); len(u.Kept) > 0 {
				w.fail("undo of %s kept %+v", turn.ID, u.Kept)
			}
		}
		if after := w.snapshot(t); !maps.Equal(before, after) {
			w.fail("the tree is %v, want %v", after, before)
		}
		if after := w.gitState(t); !maps.Equal(git, after) {
			w.fail("git is %v, want %v", after, git)
		}
		w.close()
	}
}
