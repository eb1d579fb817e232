package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// folder is the folder that the journal is about, as it is on the disk now. It reads
// what paths are, and makes a path what it was.
type folder struct {
	root        *os.Root
	own         func(name string) bool // nil: no path is burin's own
	store       *store                 // keeps the contents that are read
	mostIgnored int                    // files of ignored folders that are kept
}

// isOwn reports whether a path is burin's own, which is in no turn.
func (f *folder) isOwn(name string) bool { return f.own != nil && f.own(name) }

// stateOf reads what a path is now. It keeps the contents of a file, so that the state
// can be restored.
func (f *folder) stateOf(name string) (State, error) {
	info, err := f.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	return f.state(name, info, &budget{}, false, f.store.Put)
}

// stateLike reads a path as an earlier look did, which may not have read the
// contents.
func (f *folder) stateLike(name string, like State) (State, error) {
	if like.Kind != "file" || like.Lost == "" {
		return f.stateOf(name)
	}
	info, err := f.root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return f.stateOf(name)
	}
	s := State{Kind: "file", Mode: info.Mode().Perm(), Hash: identity(info), Lost: like.Lost}
	if like.Sum != "" {
		s.Sum, err = f.sum(name)
	}
	return s, err
}

// state is the state of a path. keep gets its contents, within the limits.
func (f *folder) state(name string, info fs.FileInfo, b *budget, ignored bool, keep func([]byte) (string, error)) (State, error) {
	s := State{Mode: info.Mode().Perm()}
	switch {
	case info.IsDir():
		s.Kind = "dir"
		return s, nil
	case info.Mode()&fs.ModeSymlink != 0:
		s.Kind = "link"
		to, err := f.root.Readlink(filepath.FromSlash(name))
		s.Link = to
		return s, err
	case !info.Mode().IsRegular():
		s.Kind, s.Lost = "other", "not a regular file"
		return s, nil
	}
	s.Kind = "file"
	if s.Lost = b.full(info.Size(), ignored); s.Lost != "" {
		s.Hash = identity(info)
		return s, nil
	}
	data, _, err := rootfile.Read(f.root, filepath.FromSlash(name), MaxFile)
	if err != nil {
		return s, err
	}
	b.spend(1, int64(len(data)), ignored)
	s.Hash, err = keep(data)
	return s, err
}

// isNotDir reports that a parent of a path is a file: the path does not exist.
func isNotDir(err error) bool {
	return err != nil && strings.Contains(err.Error(), "not a directory")
}

// skippable is nil for folders that are gone or closed to us: they are not ours
// to restore.
func skippable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || isNotDir(err) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// identity stands for the contents of a file that is not read. A file that is
// only moved keeps it.
func identity(info fs.FileInfo) string {
	return fmt.Sprintf("inode %d, size %d, changed %d", rootfile.StatOf(info).Inode, info.Size(), info.ModTime().UnixNano())
}

// inodeOf is the part of an identity that stays when the file is written.
func inodeOf(identity string) string {
	inode, _, _ := strings.Cut(identity, ",")
	return inode
}

// linkAbove is the outermost folder above a path that is a link; empty: none is.
func (f *folder) linkAbove(name string) string {
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := f.root.Lstat(filepath.FromSlash(name[:i]))
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return name[:i]
		}
	}
	return ""
}

// restore takes a path from one state to another. What was in the way is gone already.
// aside are the names that files have for the moment whose contents were not kept, by
// identity.
func (f *folder) restore(path string, from, to State, aside map[string]string) error {
	name := filepath.FromSlash(path)
	switch {
	case to.Kind == "":
		return nil
	case to.Kind == "file" && from.Kind == "file" && from.Hash == to.Hash:
		return f.root.Chmod(name, to.Mode.Perm())
	case to.Kind == "file" && aside[to.Hash] != "":
		if _, err := rootfile.MkdirAll(f.root, filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := f.root.Rename(aside[to.Hash], name); err != nil {
			return err
		}
		return f.root.Chmod(name, to.Mode.Perm())
	case to.Lost != "":
		return fmt.Errorf("cannot be restored: %s", to.Lost)
	}
	switch to.Kind {
	case "dir":
		_, err := rootfile.MkdirAll(f.root, name, 0o755)
		return err
	case "link":
		_ = f.root.Remove(name)
		return f.root.Symlink(to.Link, name)
	case "file":
		data, err := f.store.Get(to.Hash)
		if err != nil {
			return err
		}
		if _, err := rootfile.MkdirAll(f.root, filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := rootfile.Write(f.root, name, data, to.Mode.Perm()); err != nil {
			return err
		}
		return f.root.Chmod(name, to.Mode.Perm())
	}
	return os.ErrInvalid
}
