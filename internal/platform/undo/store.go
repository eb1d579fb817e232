package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// store keeps the contents of files by their SHA-256, each in a file of its own or in a
// pack. It is in the folder of the journal.
type store struct {
	dir      string // the journal's
	packFrom int    // see packFrom
}

// objects is the folder that holds the contents.
func (s *store) objects() string { return filepath.Join(s.dir, "objects") }

// isMade reports whether the store holds anything yet.
func (s *store) isMade() bool {
	_, err := os.Stat(s.objects())
	return err == nil
}

func (s *store) object(hash string) string {
	return filepath.Join(s.dir, "objects", hash[:2], hash[2:]) // joined once: a look asks for each file
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Put keeps contents and returns their hash. It also keeps those that git has as a
// blob: a command can remove git's objects together with the files (rm, gc), and what
// a filter or a conversion of line ends makes of a blob is not the file.
func (s *store) Put(data []byte) (string, error) {
	hash := hashOf(data)
	if err := s.put(hash, data); err != nil {
		return "", fmt.Errorf("keep a file for undo: %w", err)
	}
	return hash, nil
}

// put writes an object under its name at once: a process that is killed leaves a
// short one, which the next that has the same contents completes. Two that write
// it together write the same.
func (s *store) put(hash string, data []byte) error {
	name := s.object(hash)
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

// Get returns contents by their hash. Damaged contents are an error.
func (s *store) Get(hash string) ([]byte, error) {
	if len(hash) != 2*sha256.Size {
		return nil, errors.New("its contents were not kept")
	}
	data, err := os.ReadFile(s.object(hash))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = s.getPacked(hash)
	}
	if errors.Is(err, fs.ErrNotExist) && s.scrubbed()[hash] {
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
