package place

import (
	"cmp"
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
	"github.com/burin-dev/burin/transcript/pgstore"
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

// database is an opened database of sessions, with what is done in one of its kind.
type database struct {
	*sql.DB
	kind
}

// kind is what is done in databases of a kind.
type kind struct {
	check, init        func(context.Context, *sql.DB) error // to read; to write
	create, open, view func(context.Context, *sql.DB, string) (transcript.Store, error)
	trash, restore     func(context.Context, *sql.DB, string) error
	list               func(context.Context, *sql.DB) ([]sqlstore.Info, error)
}

func sqlite() kind {
	return kind{
		check: sqlstore.Check, init: sqlstore.Init, list: sqlstore.List, trash: sqlstore.Delete, restore: sqlstore.Restore,
		create: opener(sqlstore.Create), open: opener(sqlstore.Open), view: opener(sqlstore.View),
	}
}

func postgres() kind {
	return kind{
		check: pgstore.Check, init: pgstore.Init, list: pgstore.List, trash: pgstore.Delete, restore: pgstore.Restore,
		create: opener(pgstore.Create), open: opener(pgstore.Open), view: opener(pgstore.View),
	}
}

// opener is a function that opens stores of whatever kind.
func opener[S transcript.Store](open func(context.Context, *sql.DB, string) (S, error)) func(context.Context, *sql.DB, string) (transcript.Store, error) {
	return func(ctx context.Context, db *sql.DB, session string) (transcript.Store, error) {
		s, err := open(ctx, db, session)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// openDB opens the database of a name. One that has other things in it is refused.
func openDB(ctx context.Context, n Name, why purpose) (*database, error) {
	db, err := connect(n, why)
	if err != nil {
		return nil, fmt.Errorf("open the database of sessions: %w", err)
	}
	prepare := db.init
	if why == reading {
		prepare = db.check
	}
	if err := prepare(ctx, db.DB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", n.File, err), db.Close())
	}
	return db, nil
}

func connect(n Name, why purpose) (*database, error) {
	if n.Server() {
		db, err := pgstore.Connect(n.File, cmp.Or(n.Password, os.Getenv(PasswordVariable)))
		return &database{db, postgres()}, err
	}
	if err := exists(n.File, why == creating); err != nil {
		return nil, err
	}
	db, err := sqlfile.Open(n.File, busyTimeout, "synchronous(normal)")
	return &database{db, sqlite()}, err
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
	transcript.Store
	db *database
}

func (s inDatabase) Close() error { return errors.Join(s.Store.Close(), s.db.Close()) }

// openSQL opens a session in a database.
func openSQL(ctx context.Context, n Name, readOnly bool) (transcript.Store, error) {
	why := writing
	if readOnly {
		why = reading
	}
	db, err := openDB(ctx, n, why)
	if err != nil {
		return nil, err
	}
	if n.Session == "" {
		n.Session, err = db.newest(ctx)
	}
	var store transcript.Store
	switch {
	case err != nil:
	case readOnly:
		store, err = db.view(ctx, db.DB, n.Session)
	default:
		store, err = db.open(ctx, db.DB, n.Session)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return inDatabase{store, db}, nil
}

// newest is the session that was changed last.
func (db *database) newest(ctx context.Context) (string, error) {
	all, err := db.list(ctx, db.DB)
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

// Database is an opened database, for who reads several of its sessions.
type Database struct {
	name Name
	db   *database
}

// OpenDatabase opens the database in a file, or at an address, to read. If it has no sessions
// yet the error is an [io/fs.ErrNotExist].
func OpenDatabase(ctx context.Context, file string) (*Database, error) {
	n := named(file)
	db, err := openDB(ctx, n, reading)
	if err != nil {
		return nil, err
	}
	return &Database{n, db}, nil
}

// Sessions returns the sessions, the last changed first.
func (d *Database) Sessions(ctx context.Context) ([]Listed, error) {
	return pickFrom(ctx, d.db, d.name, current)
}

// Read is [Read] for one of the sessions. Close ends what it gives, too.
func (d *Database) Read(ctx context.Context, session string, keys Keys, o transcript.Options) (*transcript.Log, *transcript.Damage, error) {
	n := d.name
	n.Session = session
	store, err := d.db.view(ctx, d.db.DB, session)
	if err != nil {
		return nil, nil, err
	}
	o.Unseal = keys.unseal(n.String())
	return logOf(store, n, o)
}

// Close closes the database.
func (d *Database) Close() error { return d.db.Close() }

// Listed is a session in a database.
type Listed struct {
	Name    Name
	Updated time.Time
}

// List returns the sessions in a database, the last changed first.
func List(ctx context.Context, file string) ([]Listed, error) { return listed(ctx, named(file)) }

func listed(ctx context.Context, n Name) ([]Listed, error) {
	return list(ctx, n, current)
}

// current chooses the sessions that have something in them and are not in the trash.
func current(i *sqlstore.Info) (time.Time, bool) {
	return i.Updated, i.Trashed.IsZero() && i.Records > 0
}

// named is the name of a database whose file, or address, is known.
func named(file string) Name {
	if n := Parse(file); n.Server() {
		return n
	}
	return Name{File: file, SQL: true}
}

// list returns the sessions that pick chooses, with the times that it gives them.
func list(ctx context.Context, n Name, pick func(*sqlstore.Info) (time.Time, bool)) (listed []Listed, err error) {
	db, err := openDB(ctx, n, reading)
	if errors.Is(err, sqlstore.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	listed, err = pickFrom(ctx, db, n, pick)
	return listed, errors.Join(err, db.Close())
}

func pickFrom(ctx context.Context, db *database, n Name, pick func(*sqlstore.Info) (time.Time, bool)) (listed []Listed, err error) {
	all, err := db.list(ctx, db.DB)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if at, ok := pick(&all[i]); ok {
			n.Session = all[i].Session
			listed = append(listed, Listed{n, at})
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
	list, err := listed(ctx, n)
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
	db      *database
	session string
	store   transcript.Store // nil: nothing was appended
}

var _ transcript.Store = (*begun)(nil)

// unbegun opens a session that has only a name, because of a crash or a full disk before
// its first record.
func (db *database) unbegun(ctx context.Context, session string) (transcript.Store, error) {
	store, err := db.open(ctx, db.DB, session)
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
func (db *database) vacant(ctx context.Context, session string) error {
	store, err := db.unbegun(ctx, session)
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
		store, err := b.db.create(context.Background(), b.db.DB, b.session)
		if errors.Is(err, sqlstore.ErrSession) {
			store, err = b.db.unbegun(context.Background(), b.session)
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
