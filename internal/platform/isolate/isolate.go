// Package isolate gives an agent a folder of its own, and brings back what it changes there.
//
// A [Folder] begins with the files of a repository as they are: committed, staged, changed
// and untracked ones, to the byte. Files that git ignores are not in it. [Folder.Changes]
// and [Folder.Patch] tell what was changed since, and [Merge] joins that with the files
// that the person has by now. Merging writes nothing; the caller does.
//
// Nothing of the person's is touched: no stash, reset or checkout; the index and the working
// tree are only read. A worktree adds .git/worktrees/NAME, and [Folder.Branch] adds a branch
// with its objects.
//
// What was there at the beginning is kept in a bare repository beside the folder, where the
// agent cannot write, so its answers don't depend on the configuration of either repository.
// It keeps files as bytes: no filter, end of line or encoding is converted. Git runs alone,
// see [sandbox.Alone], and starts no hook, filter or monitor.
//
// Repositories inside the repository, submodules too, are copied as plain files, without
// their history. Their changes come back like all others.
package isolate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// Options say which folder is made.
type Options struct {
	Dir   string // the workspace: a repository or a folder in one
	Under string // where folders are made, outside of Dir
	Mode  string // one of [Modes] or of their older names; "": auto
	Name  string // what the folder is for, for people
}

// The modes. An overlay over files that a person keeps changing is undefined on every
// system, so there is none: a copy shares its blocks where the file system can.
const (
	Auto     = "auto"     // the cheapest: a copy
	Worktree = "worktree" // a linked worktree of the repository
	Copy     = "copy"     // files, and a repository of its own that borrows the history
)

// Mode is the mode that a name stands for: the older names of the pi family are known.
func Mode(name string) (string, error) {
	switch name {
	case Worktree:
		return Worktree, nil
	case "", Auto, Copy, "overlay", "fuse-overlay", "fuse-projfs", "apfs", "btrfs", "zfs", "reflink", "overlayfs", "projfs", "block-clone", "rcopy":
		return Copy, nil
	}
	return "", fmt.Errorf("unknown isolation mode %q: use auto, worktree or copy", name)
}

// ErrNoRepository reports that the workspace is in no git repository.
var ErrNoRepository = errors.New("isolation needs a git repository, and the workspace is in none")

// Folder is a folder of its own. Its methods may be used by one goroutine at a time.
type Folder struct {
	home string   // of everything that belongs to it
	lock *os.File // held while its process lives
	user place    // the repository of the person
	own  place    // the bare repository of what was there, over the folder
	tree string   // where the files are
	repo string   // the repository that the agent sees
	base string   // the tree of what was there
	from []nested // repositories in the repository
}

// nested is a repository in the repository.
type nested struct {
	path string // slashes, from the root of the outer one
	place
}

// marker is what Prune has to know of a folder.
type marker struct {
	Name  string `json:"name,omitempty"`
	Admin string `json:"admin,omitempty"` // of a linked worktree, in its repository
}

// Open makes a folder.
func Open(ctx context.Context, o Options) (_ *Folder, err error) {
	mode, err := Mode(o.Mode)
	if err != nil {
		return nil, err
	}
	user, err := find(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	if mode == Worktree && user.head == "" {
		return nil, errors.New("a worktree needs a commit, and the repository has none: commit first, or use the mode copy")
	}
	if err := os.MkdirAll(o.Under, 0o700); err != nil {
		return nil, err
	}
	under, err := filepath.EvalSymlinks(o.Under)
	if err != nil {
		return nil, err
	}
	if under, err = filepath.Abs(under); err != nil {
		return nil, err
	}
	f := &Folder{user: user}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := f.begin(ctx, under, o.Name, mode); err != nil {
		return nil, err
	}
	l, err := user.list(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.fill(ctx, l); err != nil {
		return nil, err
	}
	f.repo = filepath.Join(f.tree, ".git")
	if mode == Worktree {
		err = f.link()
	} else {
		err = f.borrow(ctx)
	}
	if err != nil {
		return nil, err
	}
	if _, err := f.theirs(ctx, join(l.entries), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	return f, os.MkdirAll(f.Dir(), 0o700)
}

// begin makes the folder's home and takes its lock, while nobody prunes.
func (f *Folder) begin(ctx context.Context, under, name, mode string) error {
	all, err := filelock.Take(ctx, filepath.Join(under, "lock"))
	if err != nil {
		return err
	}
	defer filelock.Close(all)
	var random [6]byte
	_, _ = rand.Read(random[:])
	id := hex.EncodeToString(random[:])
	f.home = filepath.Join(under, id)
	// The name of a linked worktree in its repository is that of its folder.
	f.tree = filepath.Join(f.home, "burin-"+id)
	if err := os.Mkdir(f.home, 0o700); err != nil {
		f.home = ""
		return err
	}
	if f.lock, err = filelock.Take(ctx, filepath.Join(f.home, "lock")); err != nil {
		return err
	}
	m := marker{Name: name}
	if mode == Worktree {
		m.Admin = filepath.Join(f.user.common, "worktrees", filepath.Base(f.tree))
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.home, "about.json"), data, 0o600); err != nil {
		return err
	}
	return os.Mkdir(f.tree, 0o700)
}

// Dir is the place of the workspace in the folder.
func (f *Folder) Dir() string { return filepath.Join(f.tree, filepath.FromSlash(f.user.prefix)) }

// Close removes the folder. What was not brought back is lost.
func (f *Folder) Close() error {
	if f.home == "" {
		return nil
	}
	err := remove(f.home, f.lock)
	f.home, f.lock = "", nil
	return err
}

// Prune removes the folders whose process is gone.
func Prune(under string) error {
	entries, err := os.ReadDir(under)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	} else if err != nil {
		return err
	}
	all, err := filelock.Take(context.Background(), filepath.Join(under, "lock"))
	if err != nil {
		return err
	}
	defer filelock.Close(all)
	var failed []error
	for _, e := range entries {
		home := filepath.Join(under, e.Name())
		if !e.IsDir() {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(home, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed meanwhile
		} else if err != nil {
			failed = append(failed, err)
			continue
		}
		if ok, err := filelock.Try(lock); !ok {
			failed = append(failed, err, lock.Close())
			continue
		}
		failed = append(failed, remove(home, lock))
	}
	return errors.Join(failed...)
}

// remove removes a folder and what its repository knows of it.
func remove(home string, lock *os.File) error {
	var failed []error
	if data, err := os.ReadFile(filepath.Join(home, "about.json")); err == nil {
		var m marker
		if json.Unmarshal(data, &m) == nil && m.Admin != "" {
			failed = append(failed, unlink(home, m.Admin))
		}
	}
	// The lock and what Prune reads go last: a removal that was cut off is continued.
	entries, err := os.ReadDir(home)
	failed = append(failed, err)
	for _, e := range entries {
		if e.Name() != "lock" && e.Name() != "about.json" {
			failed = append(failed, removeAll(filepath.Join(home, e.Name())))
		}
	}
	if lock != nil {
		failed = append(failed, filelock.Close(lock))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove the isolated folder %s: %w", home, err)
	}
	return os.RemoveAll(home)
}

// unlink removes the entry of a linked worktree, if it is that of the folder in home.
func unlink(home, admin string) error {
	where, err := os.ReadFile(filepath.Join(admin, "gitdir"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if filepath.Dir(filepath.Dir(filepath.FromSlash(strings.TrimSpace(string(where))))) != home {
		return nil
	}
	if err := os.RemoveAll(admin); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(admin)) // if it is empty, as git does
	return nil
}

// removeAll also removes folders that are read only.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
