package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/transcript"
)

// lock is that of a session's writer: a file that exists while it is held. nil is
// that of a database in memory, which other processes do not see.
type lock struct {
	path string
	file *os.File
}

func lockSession(ctx context.Context, db *sql.DB, session string) (*lock, error) {
	var file string
	err := db.QueryRowContext(ctx, `SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'`).Scan(&file)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return nil, nil
	}
	dir := file + "-locks"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	// Names of sessions may have any bytes and length.
	sum := sha256.Sum256([]byte(session))
	path := filepath.Join(dir, hex.EncodeToString(sum[:16]))
	for range 100 { // as many writers may just have ended
		l, err := tryLock(path)
		if l != nil || err != nil {
			return l, err
		}
	}
	return nil, transcript.ErrLocked
}

// tryLock returns nil if the file was removed by its last holder just now.
func tryLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	ok, err := filelock.Try(f)
	if err == nil && !ok {
		err = transcript.ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(mine, now) {
		return nil, f.Close()
	}
	return &lock{path, f}, nil
}

// release gives the lock back. The file goes first, so that nobody takes the lock
// of a file that is about to go. Windows removes no open file: it stays, empty.
func (l *lock) release() error {
	if l == nil {
		return nil
	}
	var err error
	if runtime.GOOS != "windows" {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.file.Close())
}
