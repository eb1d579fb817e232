package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Limits of what is kept. What exceeds them is still noticed as changed, but
// cannot be restored, and Undo says so.
const (
	MaxFile  = 64 << 20 // bytes of one file
	MaxStore = 1 << 30  // bytes of contents copied from one tree

	// Of folders that hold what tools make and can make again (node_modules,
	// target, what .gitignore leaves out), together.
	MaxIgnoredFiles = 20_000
	MaxIgnoredBytes = 256 << 20
)

// budget is how much of a tree was kept.
type budget struct {
	bytes, ignoredBytes int64
	ignoredFiles        int
	mostIgnored         int // files
}

// full says why no more contents of this size can be kept; empty: they can.
func (b *budget) full(size int64, ignored bool) string {
	switch {
	case size > MaxFile:
		return fmt.Sprintf("larger than %d MB: not kept", MaxFile>>20)
	case ignored && (b.ignoredFiles >= b.mostIgnored || b.ignoredBytes+size > MaxIgnoredBytes):
		return fmt.Sprintf("not kept: of ignored folders only %d files and %d MB are", b.mostIgnored, MaxIgnoredBytes>>20)
	case !ignored && b.bytes+size > MaxStore:
		return fmt.Sprintf("not kept: the %d MB that are kept of this folder are full", MaxStore>>20)
	}
	return ""
}

// spend counts a file that is kept, or, with n = -1, is kept no longer.
func (b *budget) spend(n int, size int64, ignored bool) {
	if !ignored {
		b.bytes += int64(n) * size
		return
	}
	b.ignoredFiles += n
	b.ignoredBytes += int64(n) * size
}

func (j *Journal) object(hash string) string {
	return filepath.Join(j.dir, "objects", hash[:2], hash[2:])
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Put keeps contents and gives their hash. Also those that git has as a blob: a
// command can remove git's objects together with the files (rm, gc), and what a
// filter or a conversion of line ends makes of a blob is not the file.
func (j *Journal) Put(data []byte) (string, error) {
	hash := hashOf(data)
	if err := j.put(hash, data); err != nil {
		return "", fmt.Errorf("keep a file for undo: %w", err)
	}
	return hash, nil
}

// put writes an object under its name at once: a process that is killed leaves a
// short one, which the next that has the same contents completes. Two that write
// it together write the same.
func (j *Journal) put(hash string, data []byte) error {
	name := j.object(hash)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, err := os.Stat(name); err == nil && info.Size() == int64(len(data)) {
			return nil
		}
		f, err = os.OpenFile(name, os.O_WRONLY, 0)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// Get gives contents by their hash. Contents that are damaged are an error.
func (j *Journal) Get(hash string) ([]byte, error) {
	if len(hash) != 2*sha256.Size {
		return nil, errors.New("its contents were not kept")
	}
	data, err := os.ReadFile(j.object(hash))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = j.getPacked(hash)
	}
	if errors.Is(err, fs.ErrNotExist) && j.scrubbed()[hash] {
		return nil, errScrubbed
	}
	if err != nil {
		return nil, fmt.Errorf("its contents cannot be read: %w", err)
	}
	if hashOf(data) != hash {
		return nil, errors.New("its contents in the journal are damaged")
	}
	return data, nil
}

// StateOf looks at a path now. Contents of files are kept, so that the state can
// be restored.
func (j *Journal) StateOf(name string) (State, error) {
	info, err := j.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	return j.stateOf(name, info, &budget{}, false, j.Put)
}

// isNotDir reports that a parent of a path is a file: the path does not exist.
func isNotDir(err error) bool {
	return err != nil && strings.Contains(err.Error(), "not a directory")
}

// stateOf gives the state of a path and lets keep have its contents, within the
// limits.
func (j *Journal) stateOf(name string, info fs.FileInfo, b *budget, ignored bool, keep func([]byte) (string, error)) (State, error) {
	s := State{Mode: info.Mode().Perm()}
	switch {
	case info.IsDir():
		s.Kind = "dir"
		return s, nil
	case info.Mode()&fs.ModeSymlink != 0:
		s.Kind = "link"
		to, err := j.root.Readlink(filepath.FromSlash(name))
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
	data, _, err := rootfile.Read(j.root, filepath.FromSlash(name), MaxFile)
	if err != nil {
		return s, err
	}
	b.spend(1, int64(len(data)), ignored)
	s.Hash, err = keep(data)
	return s, err
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
