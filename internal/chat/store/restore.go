package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

// ErrInUse means that another process has a database open.
var ErrInUse = errors.New("a server has the database open: end it first")

// Restore puts a copy that [DB.Backup] has made in the place of the file at path. What is there is
// kept under another name, which is returned; "" is that nothing was there. The copy is looked at
// first: one that is damaged, or that check refuses, changes nothing.
func Restore(ctx context.Context, from, path string, check func(context.Context, Querier) error) (kept string, err error) {
	if err := sound(ctx, from, check); err != nil {
		return "", fmt.Errorf("the copy %s: %w", from, err)
	}
	fresh := path + ".restoring"
	if err := copyFile(from, fresh); err != nil {
		return "", errors.Join(fmt.Errorf("copy %s: %w", from, err), remove(fresh))
	}
	switch _, err := os.Stat(path); {
	case err == nil:
		if err := unused(ctx, path); err != nil {
			return "", errors.Join(err, remove(fresh))
		}
		kept = path + ".before-" + time.Now().Format("20060102-150405")
		// Nobody has it open, so that its log is empty and goes with the last connection.
		if err := os.Rename(path, kept); err != nil {
			return "", errors.Join(err, remove(fresh))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", errors.Join(err, remove(fresh))
	}
	return kept, os.Rename(fresh, path)
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sound reports what is wrong with a file, which it doesn't change.
func sound(ctx context.Context, path string, check func(context.Context, Querier) error) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	db, err := sqlfile.Open(path, busyTimeout, "query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	d := &DB{db: db, file: path}
	if err := d.Ping(ctx); err != nil {
		return errors.New("it is not a copy of a server's database, as burin admin backup writes one")
	}
	if err := d.Check(ctx); err != nil {
		return err
	}
	return check(ctx, d)
}

// unused reports [ErrInUse] if another process has a file open, and empties its log otherwise.
func unused(ctx context.Context, path string) error {
	db, err := sqlfile.Open(path, 0, "locking_mode(exclusive)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{`BEGIN EXCLUSIVE`, `COMMIT`, `PRAGMA wal_checkpoint(truncate)`} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			if sqlfile.Busy(err) || sqlfile.Code(err) == sqlite3.SQLITE_LOCKED {
				return ErrInUse
			}
			return means(err)
		}
	}
	return nil
}

// copyFile copies a file to one that only its owner reads, and waits until it is on the disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
