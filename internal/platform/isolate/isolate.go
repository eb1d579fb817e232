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
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/smallfile"
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

// marker is what Prune and Adopt have to know of a folder.
type marker struct {
	Name  string   `json:"name,omitempty"`
	Admin string   `json:"admin,omitempty"` // of a linked worktree, in its repository
	Of    string   `json:"of,omitempty"`    // the working tree that it was made from; "" until it is complete
	Base  string   `json:"base,omitempty"`
	Inner []string `json:"inner,omitempty"` // repositories in the repository
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
	if err := os.MkdirAll(f.Dir(), 0o700); err != nil {
		return nil, err
	}
	m := f.marker(o.Name, mode)
	m.Of, m.Base = user.root, f.base
	for _, n := range f.from {
		m.Inner = append(m.Inner, n.path)
	}
	return f, m.write(f.home)
}

// marker is what is known of a folder when it is begun.
func (f *Folder) marker(name, mode string) marker {
	m := marker{Name: name}
	if mode == Worktree {
		m.Admin = filepath.Join(f.user.common, "worktrees", filepath.Base(f.tree))
	}
	return m
}

func (m marker) write(home string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return smallfile.Replace(filepath.Join(home, aboutFile), data)
}

func readMarker(home string) (m marker, err error) {
	data, err := os.ReadFile(filepath.Join(home, aboutFile))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}

const aboutFile = "about.json"

// ErrGone reports that a folder can't be adopted: it was removed, was never complete, belongs to
// another repository, or is in use.
var ErrGone = errors.New("the isolated folder is gone")

// ID names the folder for [Adopt].
func (f *Folder) ID() string { return filepath.Base(f.home) }

// Adopt opens the folder with that id which a killed process has left, with all that was changed in
// it. It must have been made with the same options. The error is [ErrGone] if that can't be.
func Adopt(ctx context.Context, id string, o Options) (*Folder, error) {
	if raw, err := hex.DecodeString(id); err != nil || len(raw) == 0 {
		return nil, ErrGone
	}
	under, err := filepath.EvalSymlinks(o.Under)
	if err != nil {
		return nil, ErrGone
	}
	if under, err = filepath.Abs(under); err != nil {
		return nil, err
	}
	user, err := find(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	all, err := filelock.Take(ctx, filepath.Join(under, "lock"))
	if err != nil {
		return nil, err
	}
	defer filelock.Close(all)
	home := filepath.Join(under, id)
	lock, err := os.OpenFile(filepath.Join(home, "lock"), os.O_RDWR, 0)
	if err != nil {
		return nil, ErrGone
	}
	if ok, err := filelock.Try(lock); !ok {
		return nil, errors.Join(ErrGone, err, lock.Close())
	}
	m, err := readMarker(home)
	if err != nil || m.Of != user.root || m.Base == "" {
		return nil, errors.Join(ErrGone, filelock.Close(lock))
	}
	f := &Folder{home: home, lock: lock, user: user, tree: filepath.Join(home, "burin-"+id), base: m.Base}
	if f.repo = m.Admin; m.Admin == "" {
		f.repo = filepath.Join(f.tree, ".git")
	}
	f.keepBase()
	for _, name := range m.Inner {
		f.from = append(f.from, nested{path: name})
	}
	return f, nil
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
	if err := f.marker(name, mode).write(f.home); err != nil {
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

// Leave leaves the folder as it is, for [Adopt].
func (f *Folder) Leave() error {
	if f.home == "" {
		return nil
	}
	lock := f.lock
	f.home, f.lock = "", nil
	return filelock.Close(lock)
}

// Rebase takes the files as they are for what was there at the beginning: changes and patches are
// those from now on.
func (f *Folder) Rebase(ctx context.Context) error {
	now, err := f.now(ctx)
	if err != nil {
		return err
	}
	m, err := readMarker(f.home)
	if err != nil {
		return err
	}
	m.Base = now
	if err := m.write(f.home); err != nil {
		return err
	}
	f.base = now
	return nil
}

// Prune removes the folders whose process is gone: at once those that were never complete, and the
// others after keep, as somebody may adopt them until then.
func Prune(under string, keep time.Duration) error {
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
		info, err := os.Stat(filepath.Join(home, aboutFile))
		if m, bad := readMarker(home); err == nil && bad == nil && m.Base != "" && time.Since(info.ModTime()) < keep {
			failed = append(failed, filelock.Close(lock))
			continue
		}
		failed = append(failed, remove(home, lock))
	}
	return errors.Join(failed...)
}

// remove removes a folder and what its repository knows of it. If it is cut off, what is left is as
// that of a folder that was never complete: nobody adopts it, and takes what is missing for deleted.
func remove(home string, lock *os.File) error {
	var failed []error
	m, err := readMarker(home)
	if err == nil && m.Base != "" {
		m.Of, m.Base = "", ""
		if m.write(home) != nil { // the disk is full
			failed = append(failed, os.Remove(filepath.Join(home, aboutFile)))
		}
	}
	if err == nil && m.Admin != "" {
		failed = append(failed, unlink(home, m.Admin))
	}
	// The lock and what Prune reads go last: a removal that was cut off is continued.
	entries, err := os.ReadDir(home)
	failed = append(failed, err)
	for _, e := range entries {
		if e.Name() != "lock" && e.Name() != aboutFile {
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
