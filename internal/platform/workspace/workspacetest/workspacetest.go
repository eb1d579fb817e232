// Package workspacetest is one suite that a workspace passes, whatever file system it
// is over: a directory, memory, an overlay, the open documents of an editor.
package workspacetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/burin-dev/burin/internal/platform/workspace"
)

// Run runs the suite. open makes a workspace that holds the files, for one test.
func Run(t *testing.T, open func(t *testing.T, files map[string]string) *workspace.Workspace) {
	for name, test := range map[string]func(*suite){
		"FileSystem": fileSystem, "Names": names, "Seen": seen, "Commit": commit, "NothingUnseenIsOverwritten": unseen,
		"OneOfTwoWins": race, "AllOrNone": allOrNone, "ReadOnly": readOnly, "Folders": folders, "Modes": modes, "Empty": empty,
	} {
		t.Run(name, func(t *testing.T) {
			test(&suite{t, open(t, map[string]string{"a": "a", "b": "b", "c": "c", "d/e": "e", "d/f/g.txt": "g"})})
		})
	}
}

type suite struct {
	*testing.T
	*workspace.Workspace
}

func (s *suite) holds(name, want string) {
	s.Helper()
	if got, err := s.Files().ReadFile(name); err != nil || string(got) != want {
		s.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

func (s *suite) gone(names ...string) {
	s.Helper()
	for _, name := range names {
		if _, err := s.Files().Stat(name); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("%s: %v", name, err)
		}
		if _, err := s.Files().ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("%s: %v", name, err)
		}
	}
}

func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) commit(changes ...workspace.Change) {
	s.Helper()
	s.ok(s.Commit(s.Context(), changes))
}

// stale wants a commit to be refused because of a file.
func (s *suite) stale(path string, changes ...workspace.Change) {
	s.Helper()
	var stale *workspace.StaleError
	if err := s.Commit(s.Context(), changes); !errors.As(err, &stale) || stale.Path != path {
		s.Errorf("commit: %v; want %s to be stale", err, path)
	}
}

func edit(path, before, after string) workspace.Change {
	return workspace.Change{Path: path, Before: []byte(before), After: []byte(after)}
}

func fileSystem(s *suite) {
	check := func(want ...string) {
		s.Helper()
		if err := fstest.TestFS(s.Files(), want...); err != nil {
			s.Error(err)
		}
	}
	check("a", "b", "c", "d/e", "d/f/g.txt")
	s.commit(edit("a", "a", "longer than before"), workspace.Change{Path: "new/x", After: []byte("x")}, workspace.Change{Path: "b", Before: []byte("b")},
		workspace.Change{Path: "d/m", From: "d/e", Before: []byte("e"), After: []byte("m")})
	check("a", "c", "new/x", "d/m", "d/f/g.txt")
	s.gone("b", "d/e")
}

func names(s *suite) {
	for written, want := range map[string]string{"a": "a", "./d//e": "d/e", "d/../a": "a", ".": ".", "not/there": "not/there"} {
		if got, err := s.Resolve(written); err != nil || got != want {
			s.Errorf("%s is %q, %v; want %q", written, got, err, want)
		}
	}
	for _, written := range []string{"..", "../x", "a/../../x"} {
		var outside *workspace.OutsideError
		if got, err := s.Resolve(written); !errors.As(err, &outside) {
			s.Errorf("%s is %q, %v", written, got, err)
		}
	}
	for _, written := range []string{"", "a\x00b"} {
		if got, err := s.Resolve(written); err == nil {
			s.Errorf("%q is %q", written, got)
		}
	}
	f := s.Files()
	for _, name := range []string{"", "..", "../a", "d/../a", "./a", "/a", "/etc/passwd", "a/", strings.Repeat("x/", 3000) + "x"} {
		if data, err := f.ReadFile(name); err == nil {
			s.Errorf("%.40q holds %q", name, data)
		}
		for op, err := range map[string]error{
			"write": f.WriteFile(name, []byte("x"), 0o644), "replace": f.Replace(name, nil, []byte("x"), 0o644), "mkdir": f.MkdirAll(name, 0o755),
			"remove": f.Remove(name), "clear": f.RemoveAll(name), "rename": f.Rename("a", name), "chmod": f.Chmod(name, 0o600),
		} {
			if err == nil {
				s.Errorf("%s %.40q: no error", op, name)
			}
		}
	}
	s.holds("a", "a")
}

func seen(s *suite) {
	want := func(name string, want workspace.Freshness) {
		s.Helper()
		if got := s.Changed(name); got != want {
			s.Errorf("%s is %s; want %s", name, got, want)
		}
	}
	want("a", workspace.Unseen)
	f, err := s.Read("a")
	s.ok(err)
	if string(f.Data) != "a" || !f.Mode.IsRegular() || f.Name != "a" {
		s.Errorf("read %+v", f)
	}
	want("a", workspace.Fresh)
	f.Data[0] = 'x' // the caller's
	want("a", workspace.Fresh)
	s.ok(s.Files().WriteFile("a", []byte("other"), 0o644))
	want("a", workspace.Stale)
	s.commit(edit("a", "other", "mine"))
	want("a", workspace.Fresh)
	s.ok(s.Files().Remove("a"))
	want("a", workspace.Gone)
	if _, err := s.Read("d"); err == nil {
		s.Error("a folder was read")
	}
}

func commit(s *suite) {
	s.commit(edit("a", "a", "A"), workspace.Change{Path: "b", Before: []byte("b")},
		workspace.Change{Path: "new/dir/c", From: "c", Before: []byte("c"), After: []byte("C")},
		workspace.Change{Path: "x/y.sh", After: []byte("#!/bin/sh\n"), Mode: 0o755})
	s.holds("a", "A")
	s.holds("new/dir/c", "C")
	s.holds("x/y.sh", "#!/bin/sh\n")
	s.gone("b", "c")
	s.commit(workspace.Change{Path: "b", After: []byte("again")})
	s.holds("b", "again")
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if err := s.Commit(ctx, []workspace.Change{edit("a", "A", "x")}); !errors.Is(err, context.Canceled) {
		s.Errorf("after the end of the context: %v", err)
	}
	if err := s.Commit(s.Context(), []workspace.Change{edit("a", "A", "x"), edit("a", "A", "y")}); err == nil {
		s.Error("a file was in two changes")
	}
	s.holds("a", "A")
}

func unseen(s *suite) {
	s.stale("a", edit("a", "other", "x"))
	s.stale("a", workspace.Change{Path: "a", After: []byte("x")})
	s.stale("a", workspace.Change{Path: "a", Before: []byte("other")})
	s.stale("none", edit("none", "something", "x"))
	s.stale("a", workspace.Change{Path: "z", From: "a", Before: []byte("other"), After: []byte("x")})
	if err := s.Commit(s.Context(), []workspace.Change{{Path: "b", From: "a", Before: []byte("a"), After: []byte("a")}}); err == nil {
		s.Error("a file was moved over another")
	}
	var stale *workspace.StaleError
	if err := s.Files().Replace("a", []byte("other"), []byte("x"), 0o644); !errors.As(err, &stale) {
		s.Errorf("replace: %v", err)
	}
	if err := s.Files().Replace("a", nil, []byte("x"), 0o644); !errors.As(err, &stale) {
		s.Errorf("replace: %v", err)
	}
	s.holds("a", "a")
	s.holds("b", "b")
	s.gone("z", "none")
}

// race lets many change what they have read, each with a line of its own: none of them
// is lost.
func race(s *suite) {
	const writers, lines = 4, 10
	var wg sync.WaitGroup
	var refused atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for i := 0; i < lines; {
				now, err := s.Files().ReadFile("a")
				if err != nil {
					s.Error(err)
					return
				}
				var stale *workspace.StaleError
				err = s.Commit(s.Context(), []workspace.Change{edit("a", string(now), string(now)+fmt.Sprintf("\n%d.%d", w, i))})
				switch {
				case err == nil:
					i++
				case errors.As(err, &stale):
					refused.Add(1)
				default:
					s.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	data, err := s.Files().ReadFile("a")
	s.ok(err)
	got := strings.Split(string(data), "\n")
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != writers*lines+1 {
		s.Errorf("%d lines are there, %d commits were refused", n, refused.Load())
	}
}

func allOrNone(s *suite) {
	all := []workspace.Change{
		edit("a", "a", "A"),
		{Path: "b", Before: []byte("b")},
		{Path: "new/dir/c", From: "c", Before: []byte("c"), After: []byte("C")},
		{Path: "d", After: []byte("a folder stands there")},
	}
	if err := s.Commit(s.Context(), all); err == nil {
		s.Error("a folder was replaced by a file")
	}
	s.stale("d/e", all[0], all[1], all[2], edit("d/e", "other", "x"))
	all[3].Path = "d/e/below-a-file" // found out half way
	if err := s.Commit(s.Context(), all); err == nil {
		s.Error("a file was made below a file")
	}
	for _, name := range []string{"a", "b", "c"} {
		s.holds(name, name)
	}
	s.holds("d/e", "e")
	s.gone("new", "new/dir")
}

func readOnly(s *suite) {
	s.SetReadOnly(true)
	for _, c := range []workspace.Change{edit("a", "a", "x"), {Path: "b", Before: []byte("b")}, {Path: "new", After: []byte("x")}} {
		if err := s.Commit(s.Context(), []workspace.Change{c}); !errors.Is(err, fs.ErrPermission) {
			s.Errorf("commit of %s: %v", c.Path, err)
		}
	}
	s.SetReadOnly(false)
	s.holds("a", "a")
	s.gone("new")
	s.commit(edit("a", "a", "x"))
	s.holds("a", "x")
}

func folders(s *suite) {
	f := s.Files()
	s.ok(f.MkdirAll("m/n", 0o755))
	if err := f.MkdirAll("a/b", 0o755); err == nil {
		s.Error("a folder was made below a file")
	}
	if err := f.Remove("d"); err == nil {
		s.Error("a folder that is not empty was removed")
	}
	if err := f.RemoveAll("."); err == nil {
		s.Error("the workspace was removed")
	}
	s.ok(f.Rename("d", "m/n/d"))
	s.holds("m/n/d/f/g.txt", "g")
	s.gone("d", "d/e", "d/f/g.txt")
	s.ok(f.RemoveAll("m"))
	s.gone("m", "m/n/d/e")
	s.ok(f.RemoveAll("m"))
	s.ok(f.WriteFile("d/e", []byte("new"), 0o644))
	entries, err := f.ReadDir("d")
	if err != nil || len(entries) != 1 || entries[0].Name() != "e" {
		s.Errorf("the folder holds %v, %v", entries, err)
	}
	if err := f.Rename("none", "x"); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("rename of nothing: %v", err)
	}
}

func modes(s *suite) {
	f := s.Files()
	s.ok(f.Chmod("a", 0o755))
	chmod := func(path, before, after string, mode fs.FileMode) workspace.Change {
		c := edit(path, before, after)
		c.Chmod = mode
		return c
	}
	s.commit(edit("a", "a", "x"), workspace.Change{Path: "new", After: []byte("x"), Mode: 0o700}, chmod("c", "c", "c", 0o755), chmod("d/e", "e", "E", 0o600))
	s.holds("d/e", "E")
	if err := s.Commit(s.Context(), []workspace.Change{chmod("b", "b", "b", 0o755), {Path: "d", From: "a", Before: []byte("x"), After: []byte("x")}}); err == nil {
		s.Error("a file took the place of a folder")
	}
	for name, want := range map[string]fs.FileMode{"a": 0o755, "b": 0o644, "c": 0o755, "d/e": 0o600, "new": 0o700} {
		if i, err := f.Stat(name); err != nil || i.Mode() != want {
			s.Errorf("%s: %v, %v; want %v", name, i, err, want)
		}
	}
}

// empty is about files of no bytes, which are not files that do not exist.
func empty(s *suite) {
	s.commit(workspace.Change{Path: "z", After: []byte{}})
	s.holds("z", "")
	s.stale("z", workspace.Change{Path: "z", After: []byte("x")})
	s.commit(edit("z", "", "x"))
	s.commit(edit("z", "x", ""))
	s.holds("z", "")
	s.commit(workspace.Change{Path: "z", Before: []byte{}})
	s.gone("z")
}
