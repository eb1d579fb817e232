package transcript

import (
	"errors"
	"os"
	"runtime"
)

// fileSystem has the calls with which a [FileStore] changes the disk. They are an interface so
// that a test can make each of them fail, or be the last before a crash. Reading uses the open
// file directly.
type fileSystem interface {
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
	// Write is one write call; fewer bytes than p come with an error.
	Write(f *os.File, p []byte) (int, error)
	Truncate(f *os.File, size int64) error
	Sync(f *os.File) error
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir returns when the names in dir survive a power cut.
	SyncDir(dir string) error
}

// disk is the real file system.
type disk struct{}

var _ fileSystem = disk{}

func (disk) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

func (disk) Write(f *os.File, p []byte) (int, error) { return f.Write(p) }
func (disk) Truncate(f *os.File, size int64) error   { return f.Truncate(size) }
func (disk) Sync(f *os.File) error                   { return f.Sync() }
func (disk) Rename(from, to string) error            { return os.Rename(from, to) }
func (disk) Remove(name string) error                { return os.Remove(name) }

func (disk) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders can't be synced there; NTFS has a journal of names
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
