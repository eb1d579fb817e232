package git

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	maxHead    = 4 << 10 // bytes of the small files that say where HEAD is
	maxParents = 64      // folders above that are searched for a repository
)

// Head reads from the files of a repository, without git, which branch or commit is
// checked out in dir. Nothing is counted.
func Head(dir string) Status {
	for range maxParents {
		if s, ok := readHead(filepath.Join(dir, ".git")); ok {
			return s
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return Status{}
}

// readHead reads the HEAD of a repository, or of the one that a .git file names.
func readHead(at string) (Status, bool) {
	info, err := os.Stat(at)
	if err != nil {
		return Status{}, false
	}
	if !info.IsDir() {
		text, err := readLine(at)
		name, ok := strings.CutPrefix(text, "gitdir: ")
		if err != nil || !ok {
			return Status{}, false
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(at), name)
		}
		at = name
	}
	head, err := readLine(filepath.Join(at, "HEAD"))
	if err != nil {
		return Status{}, false
	}
	link, object, ok := ParseRef(head)
	if branch, of := strings.CutPrefix(link, "refs/heads/"); of && branch != ".invalid" { // as reftables have it
		return Status{Branch: branch}, true
	}
	return Status{Commit: abbreviated(object)}, ok && link == ""
}

// ParseRef reads what the file of a ref holds, of HEAD for example: the ref that it links
// to, or the object that it names.
func ParseRef(text string) (link, object string, ok bool) {
	text = strings.TrimSpace(text)
	if to, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.TrimSpace(to), "", true
	}
	if !IsObjectID(text) {
		return "", "", false
	}
	return "", text, true
}

// IsObjectID reports whether s is the whole name of an object.
func IsObjectID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

// readLine reads the first line of a small regular file. It does not wait for a pipe that
// a command has put in its place.
func readLine(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxHead {
		return "", fmt.Errorf("%s is not a small file", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxHead))
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), err
}

// within reports whether dir may be in a repository: a folder above has a .git, or is laid
// out as a bare repository.
func within(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return true // git finds out
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for range maxParents {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
	return true
}
