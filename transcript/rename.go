package transcript

import "errors"

// rename renames the file of the store.
func (s *FileStore) rename(from, to string) error {
	if !s.closes {
		err := s.fs.Rename(from, to)
		if err == nil {
			s.name = to
		}
		return err
	}
	err := s.f.Close()
	if err == nil {
		if err = s.fs.Rename(from, to); err == nil {
			s.name = to
		}
	}
	return errors.Join(err, s.reopen())
}

// takeOver gives the file of next the name of this store's file, and continues with it. done
// reports whether it got the name; there may still be an error.
func (s *FileStore) takeOver(next *FileStore) (done bool, err error) {
	if !s.closes {
		if err := s.fs.Rename(next.name, s.name); err != nil {
			return false, err
		}
		_ = s.f.Close() // it is no longer needed
		s.f, s.size, s.torn = next.f, next.size, false
		return true, nil
	}
	err = errors.Join(next.f.Close(), s.f.Close())
	if err == nil {
		err = s.fs.Rename(next.name, s.name)
		done = err == nil
	}
	return done, errors.Join(err, s.reopen())
}

// reopen opens the file again under its name. If another process has taken the lock meanwhile,
// or the file can't be opened, the store stays closed and each call says so.
func (s *FileStore) reopen() error {
	was := s.f
	if err := s.openLocked(); err != nil {
		return err
	}
	if err := s.look(); err != nil {
		err = errors.Join(err, s.f.Close())
		s.f = was
		return err
	}
	return nil
}
