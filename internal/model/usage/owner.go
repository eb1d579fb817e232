package usage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// ownerPrefix begins the names of the files whose locks say which ledgers live.
const ownerPrefix = "usage-"

// owner is this ledger's name among those of all processes, and the lock that
// lives as long as it does, whatever ends the process. Unlike a process id it is
// never used twice, and holds across containers that share the folder.
type owner struct {
	name string
	file *os.File
}

// newOwner takes a name and its lock. Whoever cleans up may try the lock of a file
// before its maker has it, and remove the file; another name is then taken.
func newOwner(home string) (*owner, error) {
	dir := filepath.Join(home, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of locks: %w", err)
	}
	for range 10 {
		o := &owner{name: ownerPrefix + rand.Text()}
		path := filepath.Join(dir, o.name)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, fmt.Errorf("create a lock: %w", err)
		}
		ok, err := filelock.Try(f)
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if ok && stillThere(path, f) {
			o.file = f
			return o, nil
		}
		_ = f.Close()
	}
	return nil, errors.New("lock a file for the ledger of costs: others were faster ten times")
}

func stillThere(path string, f *os.File) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(have, there)
}

// end gives the lock back and removes its file.
func (o *owner) end() {
	removeLock(o.file)
}

// removeLock removes the file of a lock that f holds. The lock is kept meanwhile
// where the system allows it.
func removeLock(f *os.File) {
	err := os.Remove(f.Name())
	_ = f.Close()
	if err != nil {
		_ = os.Remove(f.Name()) // an open file cannot be removed on Windows
	}
}

// dead says whether the ledger of that name is gone, and removes its file.
// Doubt is life: a reservation that stays only makes a limit stricter.
func dead(home, name string) bool {
	if !strings.HasPrefix(name, ownerPrefix) || filepath.Base(name) != name {
		return true // nobody ever had this name
	}
	f, err := os.OpenFile(filepath.Join(home, "locks", name), os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	if ok, err := filelock.Try(f); !ok || err != nil {
		_ = f.Close()
		return false
	}
	removeLock(f)
	return true
}

// owners are the names that have a file.
func owners(home string) []string {
	entries, _ := os.ReadDir(filepath.Join(home, "locks"))
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ownerPrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}
