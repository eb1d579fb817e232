package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

// busyTimeout is how long one process waits for what another writes.
const busyTimeout = 10 * time.Second

// purpose is what a database is opened for.
type purpose uint8

const (
	reading  purpose = iota // nothing in it is changed
	writing                 // sessions that are there
	creating                // a session; the database too, if it is not there
)

// openDB opens the database in a file. One that has other things in it is refused.
func openDB(ctx context.Context, file string, why purpose) (*sql.DB, error) {
	if err := exists(file, why == creating); err != nil {
		return nil, fmt.Errorf("open the database of sessions: %w", err)
	}
	db, err := sqlfile.Open(file, busyTimeout, "synchronous(normal)")
	if err != nil {
		return nil, fmt.Errorf("open the database of sessions: %w", err)
	}
	prepare := sqlstore.Init
	if why == reading {
		prepare = sqlstore.Check
	}
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close())
	}
	return db, nil
}

// exists reports whether a file is there, or makes it. One that is there is not opened:
// closing it would take the locks away that SQLite has on it in this process.
func exists(file string, create bool) error {
	if create {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would let others read it
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	_, err := os.Stat(file)
	return err
}

// inDatabase is a session that is alone in using its database.
type inDatabase struct {
	*sqlstore.Store
	db *sql.DB
}

func (s inDatabase) Close() error { return errors.Join(s.Store.Close(), s.db.Close()) }

// openSQL opens a session in a database.
func openSQL(ctx context.Context, n Name, readOnly bool) (transcript.Store, error) {
	why := writing
	if readOnly {
		why = reading
	}
	db, err := openDB(ctx, n.File, why)
	if err != nil {
		return nil, err
	}
	if n.Session == "" {
		n.Session, err = newest(ctx, db)
	}
	var store *sqlstore.Store
	switch {
	case err != nil:
	case readOnly:
		store, err = sqlstore.View(ctx, db, n.Session)
	default:
		store, err = sqlstore.Open(ctx, db, n.Session)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return inDatabase{store, db}, nil
}

// newest is the session that was changed last.
func newest(ctx context.Context, db *sql.DB) (string, error) {
	all, err := sqlstore.List(ctx, db)
	for _, i := range all {
		if i.Trashed.IsZero() {
			return i.Session, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("it has no session: %w", fs.ErrNotExist)
	}
	return "", err
}

// Listed is a session in a database.
type Listed struct {
	Name    Name
	Updated time.Time
}

// List returns the sessions in a database, the last changed first.
func List(ctx context.Context, file string) ([]Listed, error) {
	return list(ctx, file, func(i *sqlstore.Info) (time.Time, bool) { return i.Updated, i.Trashed.IsZero() && i.Records > 0 })
}

// list returns the sessions that pick chooses, with the times that it gives them.
func list(ctx context.Context, file string, pick func(*sqlstore.Info) (time.Time, bool)) (listed []Listed, err error) {
	db, err := openDB(ctx, file, reading)
	if errors.Is(err, sqlstore.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := sqlstore.List(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	for n := range all {
		if at, ok := pick(&all[n]); ok {
			listed = append(listed, Listed{Name{File: file, Session: all[n].Session, SQL: true}, at})
		}
	}
	return listed, nil
}

// Resolve fills in which session of a database a name means. A database, or a session
// in it, that is not there is one to begin, with the id that is given.
func Resolve(ctx context.Context, n Name, id string) (_ Name, found bool, err error) {
	if !n.Exists() {
		if n.Session == "" {
			n.Session = id
		}
		return n, false, nil
	}
	list, err := List(ctx, n.File)
	if err != nil {
		return n, false, err
	}
	for _, l := range list {
		if n.Session == "" || l.Name.Session == n.Session {
			n.Session = l.Name.Session
			return n, true, nil
		}
	}
	if n.Session == "" {
		n.Session = id
	}
	return n, false, nil
}

// begun is a session that is put into its database with its first record: nothing is
// kept of one in which nothing was said.
type begun struct {
	db      *sql.DB
	session string
	store   *sqlstore.Store // nil: nothing was appended
}

var _ transcript.Store = (*begun)(nil)

// unbegun opens a session that has only a name, because of a crash or a full disk before
// its first record.
func unbegun(ctx context.Context, db *sql.DB, session string) (*sqlstore.Store, error) {
	store, err := sqlstore.Open(ctx, db, session)
	if err != nil {
		return nil, err
	}
	if err := store.Records(func(transcript.Ref, []byte) error { return sqlstore.ErrSession }); err != nil {
		return nil, errors.Join(fmt.Errorf("begin session %s: %w", session, err), store.Close())
	}
	return store, nil
}

// vacant says why no session of that name can be begun, so that it is known before
// anything is said in it. It may be in the trash.
func vacant(ctx context.Context, db *sql.DB, session string) error {
	store, err := unbegun(ctx, db, session)
	if errors.Is(err, sqlstore.ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	return store.Close()
}

func (b *begun) Records(yield func(transcript.Ref, []byte) error) error {
	if b.store == nil {
		return nil
	}
	return b.store.Records(yield)
}

func (b *begun) Read(ref transcript.Ref) ([]byte, error) {
	if b.store == nil {
		return nil, errors.New("no such record")
	}
	return b.store.Read(ref)
}

func (b *begun) Append(records ...[]byte) ([]transcript.Ref, error) {
	if b.store == nil {
		store, err := sqlstore.Create(context.Background(), b.db, b.session)
		if errors.Is(err, sqlstore.ErrSession) {
			store, err = unbegun(context.Background(), b.db, b.session)
		}
		if err != nil {
			return nil, err
		}
		b.store = store
	}
	return b.store.Append(records...)
}

func (b *begun) Sync() error {
	if b.store == nil {
		return nil
	}
	return b.store.Sync()
}

func (b *begun) Replace(records iter.Seq[[]byte]) error {
	if b.store == nil {
		return errors.New("replace session: it is empty")
	}
	return b.store.Replace(records)
}

func (b *begun) Close() error {
	if b.store == nil {
		return b.db.Close()
	}
	return errors.Join(b.store.Close(), b.db.Close())
}
