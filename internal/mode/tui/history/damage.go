package history

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

// aside is added to the name of a file that is damaged.
const aside = ".damaged"

// spoiled reports whether an error says that the database cannot be used.
func spoiled(err error) bool {
	// No statement here breaks a constraint of a sound file.
	return errors.Is(err, errTables) || sqlfile.Damaged(err) || sqlfile.Code(err) == sqlite3.SQLITE_CONSTRAINT
}

// replace sets the database aside, unless another one than bad is in use by now.
func (s *store) replace(ctx context.Context, bad *sql.DB) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case s.db != bad:
		return nil // someone else was first
	}
	_ = s.db.Close() // it is set aside
	s.db = nil
	return s.renew(ctx)
}

// renew sets the file aside and makes a new one with what can be read of the old.
// Where another process has done so since this one opened the file, the new one is
// taken. The caller holds mu.
//
// Two processes that find the same damage in the same instant may both set a file
// aside; the second of them is new and has what was read of the first.
func (s *store) renew(ctx context.Context) error {
	now, err := os.Stat(s.path())
	if err == nil && s.opened != nil && os.SameFile(now, s.opened) {
		// The log belongs to the file: without it the file is older than it was.
		for _, suffix := range []string{"-wal", "-shm", ""} {
			err := os.Rename(s.path()+suffix, s.path()+aside+suffix)
			if errors.Is(err, fs.ErrNotExist) {
				err = os.Remove(s.path() + aside + suffix) // of an older one
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	if saved := salvage(ctx, s.path()+aside); len(saved) > 0 {
		return insert(ctx, s.db, saved)
	}
	return nil
}

// salvage reads what can be read of a damaged file.
func salvage(ctx context.Context, path string) (saved []Entry) {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	db, err := sqlfile.Open(path, busyTimeout, "query_only(1)")
	if err != nil {
		return nil
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT dir, at, text FROM prompts NOT INDEXED`)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for size := 0; len(saved) < MaxPrompts && size < maxKept && rows.Next(); {
		var e Entry
		var at int64
		if rows.Scan(&e.Dir, &at, &e.Text) != nil || len(e.Text) > MaxPrompt {
			continue
		}
		e.At = time.Unix(0, at)
		size += len(e.Text)
		saved = append(saved, e)
	}
	// What comes after an error of rows cannot be read: that is what salvage means.
	_ = rows.Err()
	return saved
}
