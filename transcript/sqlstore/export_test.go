package sqlstore

// Unlock gives back the lock of s, as the system does when a process ends.
func Unlock(s *Store) {
	if s.lock != nil {
		_ = s.lock.file.Close() // it may be closed already
	}
}
