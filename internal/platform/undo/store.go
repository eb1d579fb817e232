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
// pack, encrypted. It is in the folder of the journal.
//
// The key belongs to the installation, and is made with the first contents that are kept.
// Whoever can read all of burin's data folder can read the contents, as they can read the
// workspace; but secrets in them don't lie about in the clear, where searches, indexes
// and copies of single folders find them, long after they are gone from the files.
type store struct {
	dir      string // the journal's
	packFrom int    // see packFrom
	box      *box
	plain    *store // of journals from before contents were encrypted; nil: there is none
}

// newStore is the store of the journal in dir.
func newStore(dir string) *store {
	s := &store{dir: dir, packFrom: packFrom, box: &box{path: keyPath(dir)}}
	old := &store{dir: dir, packFrom: packFrom, box: &box{}}
	if exists(old.objects()) {
		s.plain = old
	}
	return s
}

// keyPath is the file with the key of all journals beside this one.
func keyPath(dir string) string { return filepath.Join(filepath.Dir(dir), "key") }

// objects is the folder that holds the contents. It has the key's name: contents of a key
// that was lost are none, rather than in the way.
func (s *store) objects() string { return filepath.Join(s.dir, s.box.folder()) }

// isMade reports whether the store holds anything that can be read yet.
func (s *store) isMade() bool {
	if s.box.open() != nil {
		return false
	}
	return exists(s.objects())
}

func (s *store) object(hash string) string {
	return filepath.Join(s.objects(), hash[:2], hash[2:]) // joined once: a look asks for each file
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Put keeps contents and returns their hash. It also keeps those that git has as a
// blob: a command can remove git's objects together with the files (rm, gc), and what
// a filter or a conversion of line ends makes of a blob is not the file.
func (s *store) Put(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	err := s.box.make()
	if err == nil {
		err = s.put(hash, s.box.size(len(data)), func() []byte { return s.box.seal(nil, data, sum) })
	}
	if err != nil {
		return "", fmt.Errorf("keep a file for undo: %w", err)
	}
	return hash, nil
}

// treeKey is the file that says with which key the contents of the kept tree are encrypted.
func (s *store) treeKey() string { return filepath.Join(s.dir, "tree.key") }

// hasTree reports whether the contents that the kept tree names are in this store, and not
// in that of a key that is gone.
func (s *store) hasTree() bool {
	if !s.isMade() { // which opens the box
		return false
	}
	name, err := os.ReadFile(s.treeKey())
	return err == nil && string(name) == s.box.folder()
}

// noteTree says that they are. It comes after the tree: one that is older is not trusted.
func (s *store) noteTree() error {
	if s.box.open() != nil || s.hasTree() {
		return nil
	}
	return os.WriteFile(s.treeKey(), []byte(s.box.folder()), 0o600)
}

// put writes an object under its name at once: a process that is killed leaves a
// short one, which the next that has the same contents completes. Two that write
// it together write the same.
func (s *store) put(hash string, size int64, sealed func() []byte) error {
	name := s.object(hash)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, err := os.Stat(name); err == nil && info.Size() == size {
			return nil
		}
		f, err = os.OpenFile(name, os.O_WRONLY, 0)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(sealed())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// Get returns contents by their hash. Damaged contents are an error.
func (s *store) Get(hash string) ([]byte, error) {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != sha256.Size {
		return nil, errors.New("its contents were not kept")
	}
	sum := [sha256.Size]byte(raw)
	data, err := s.get(hash, sum)
	if err != nil && s.plain != nil {
		if data, err := s.plain.get(hash, sum); err == nil {
			return data, nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	switch {
	case s.scrubbed()[hash]:
		return nil, errScrubbed
	case len(s.box.lostKeys(s.dir)) > 0:
		return nil, errLostKey
	}
	return nil, fmt.Errorf("its contents cannot be read: %w", err)
}

func (s *store) get(hash string, sum [sha256.Size]byte) ([]byte, error) {
	if err := s.box.open(); errors.Is(err, errNoKey) {
		return nil, fs.ErrNotExist
	} else if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(s.object(hash))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = s.getPacked(sum)
	}
	if err != nil {
		return nil, err
	}
	return s.box.unseal(data, sum)
}
