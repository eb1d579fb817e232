package transcript

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrGone means that the file of a session was deleted or moved while the session was open. It
// has been written again, completely.
var ErrGone = errors.New("its file was deleted or moved, and has been written again")

// again writes the file again if its name is gone; otherwise additions would go to a file that
// nobody finds. If something else has the name now, that stays.
func (s *FileStore) again() (err error) {
	if _, err := os.Lstat(s.name); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	defer func() {
		if err != nil && !errors.Is(err, ErrGone) {
			err = fmt.Errorf("write session %s again, which is gone: %w", s.name, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(s.name), 0o700); err != nil {
		return err
	}
	next, err := s.beside()
	if err != nil {
		return err
	}
	f := next.f
	_, err = io.Copy(f, io.NewSectionReader(s.f, 0, s.size))
	if err == nil {
		err = errors.Join(lock(f), next.look())
	}
	if err == nil {
		err = s.fs.Sync(f)
	}
	torn, done := next.torn, false
	if err == nil {
		done, err = s.takeOver(next)
	}
	if !done {
		f.Close()
		_ = s.fs.Remove(next.name) // the next try overwrites leftovers
		return err
	}
	s.torn = torn
	_ = s.fs.SyncDir(filepath.Dir(s.name)) // as in Replace
	if err != nil {
		return err
	}
	return ErrGone
}
