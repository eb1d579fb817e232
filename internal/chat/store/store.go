// Package store opens the database of a server: an SQLite file, or PostgreSQL at an address
// where one machine isn't enough. The rooms of the chat app keep their tables in it. Each
// owns its own, and gives the [Part] that makes them; no room reads another's.
//
// # Statements
//
// A statement is written once for both kinds of database. Tables stand in braces, as
// {people}, parameters are ?1, ?2, …, times are integers of seconds or milliseconds, and truth
// is 0 or 1. Statements that make tables have the types INTEGER, TEXT and BLOB, and may end
// with STRICT. In PostgreSQL the tables are in a schema of their own, burin_server, beside that
// of the sessions.
//
// # What is promised
//
//   - [DB.Update] is one transaction that no other one comes between: what it reads stays so
//     until it has committed. It may run several times.
//   - Tables are made and brought up to date when the database is opened, by one of the
//     processes that open it; a database of a newer burin, or with steps of another one, is
//     refused and left as it is.
//   - A file can be read by its owner only.
package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

const (
	busyTimeout = 10 * time.Second // that one process waits for what another writes
	maxConns    = 16               // to a server
	maxTries    = 20               // of a transaction that others came between
)

var (
	// ErrNewer means that a newer burin made the tables.
	ErrNewer = errors.New("a newer burin wrote it: update burin")
	// ErrForeign means that the tables were not made by the steps that this burin knows.
	ErrForeign = errors.New("its tables are not those of this burin: give the server a database of its own")
)

// Part is the tables of one room.
type Part struct {
	Name string
	// Steps bring the tables from one version to the next. A step that was released is never
	// changed.
	Steps []string
}

// DB is a database. Any goroutine may use it.
type DB struct {
	db       *sql.DB
	file     string   // "" is PostgreSQL
	prepared sync.Map // statements as they were written to those of the database
}

// Open opens the database at a path, or at an address of a PostgreSQL server, and makes the
// tables of the parts and those of sessions. A password that is "" comes from where libpq has
// it. The caller closes it.
func Open(ctx context.Context, place, password string, parts ...Part) (*DB, error) {
	d := &DB{}
	var err error
	if pgstore.IsAddress(place) {
		err = d.connect(ctx, place, password)
	} else {
		err = d.openFile(ctx, place)
	}
	if err == nil {
		err = d.migrate(ctx, parts)
	}
	if err != nil {
		if d.db != nil {
			_ = d.db.Close()
		}
		return nil, fmt.Errorf("open the database of the server %s: %w", pgstore.ParseAddress(place).Database, means(err))
	}
	return d, nil
}

func (d *DB) connect(ctx context.Context, address, password string) (err error) {
	a := pgstore.ParseAddress(address)
	if password == "" {
		password = a.Password
	}
	if d.db, err = pgstore.Connect(a.Database, password); err != nil {
		return err
	}
	d.db.SetMaxOpenConns(maxConns)
	d.db.SetMaxIdleConns(maxConns / 2)
	return pgstore.Init(ctx, d.db)
}

func (d *DB) openFile(ctx context.Context, path string) (err error) {
	if d.file, err = filepath.Abs(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.file), 0o700); err != nil {
		return err
	}
	// SQLite would create the file with the mode of the umask.
	f, err := os.OpenFile(d.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600) // a copied or restored file; where modes mean nothing this changes nothing
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if d.db, err = sqlfile.Open(d.file, busyTimeout, "synchronous(full)", "foreign_keys(1)", "cache_size(-512)"); err != nil {
		return err
	}
	d.db.SetMaxOpenConns(maxConns) // writers wait with one
	d.db.SetMaxIdleConns(maxConns / 2)
	if err := sqlfile.UseLog(ctx, d.db); err != nil {
		return err
	}
	_, err = d.db.ExecContext(ctx, sqlstore.Schema)
	return err
}

// Close closes the database.
func (d *DB) Close() error { return d.db.Close() }

// SQL is the database for the stores of sessions, which have tables of their own.
func (d *DB) SQL() *sql.DB { return d.db }

// Server reports whether the database is one that several servers may share, PostgreSQL.
func (d *DB) Server() bool { return d.file == "" }

// Querier runs statements: a [DB], or a transaction.
type Querier interface {
	// Exec runs a statement and returns how many rows it has changed.
	Exec(ctx context.Context, statement string, args ...any) (changed int64, err error)
	Query(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, statement string, args ...any) *sql.Row
}

type conn interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row
}

// querier runs statements on a connection.
type querier struct {
	d *DB
	c conn
}

var _, _ Querier = querier{}, (*DB)(nil)

func (q querier) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	res, err := q.c.ExecContext(ctx, q.d.statement(statement), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (q querier) Query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return q.c.QueryContext(ctx, q.d.statement(statement), args...)
}

func (q querier) QueryRow(ctx context.Context, statement string, args ...any) *sql.Row {
	return q.c.QueryRowContext(ctx, q.d.statement(statement), args...)
}

// Exec implements [Querier]. One statement is a transaction.
func (d *DB) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	return querier{d, d.db}.Exec(ctx, statement, args...)
}

// Query implements [Querier]. A statement that writes belongs to Exec or Update.
func (d *DB) Query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return querier{d, d.db}.Query(ctx, statement, args...)
}

// QueryRow implements [Querier]. A statement that writes belongs to Exec or Update.
func (d *DB) QueryRow(ctx context.Context, statement string, args ...any) *sql.Row {
	return querier{d, d.db}.QueryRow(ctx, statement, args...)
}

// Update runs do in a transaction, which is committed if do returns nil. do runs again if another
// transaction came between. It must use the transaction only: within it the database waits for itself.
func (d *DB) Update(ctx context.Context, do func(q Querier) error) error {
	for try := 1; ; try++ {
		err := d.once(ctx, sql.LevelSerializable, do)
		if try == maxTries || !conflict(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(rand.N(try*int(2*time.Millisecond)) + 1)):
		}
	}
}

func (d *DB) once(ctx context.Context, level sql.IsolationLevel, do func(q Querier) error) error {
	o := sql.TxOptions{}
	if d.Server() {
		o.Isolation = level
	}
	tx, err := d.db.BeginTx(ctx, &o)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := do(querier{d, tx}); err != nil {
		return err
	}
	return tx.Commit()
}

// conflict reports whether a transaction failed because another one came between.
func conflict(err error) bool {
	e, ok := errors.AsType[*pq.Error](err)
	return ok && (e.Code == pqerror.TRSerializationFailure || e.Code == pqerror.TRDeadlockDetected)
}

// Taken reports whether an error says that a row with that key is there already.
func Taken(err error) bool {
	if e, ok := errors.AsType[*pq.Error](err); ok {
		return e.Code == pqerror.UniqueViolation
	}
	return sqlfile.Code(err) == sqlite3.SQLITE_CONSTRAINT && strings.Contains(err.Error(), "UNIQUE")
}

// Failed reports whether an error is the database's, or of the way there, and no one's who asks.
func Failed(err error) bool {
	_, server := errors.AsType[*pq.Error](err)
	_, network := errors.AsType[*net.OpError](err)
	if server || network || sqlfile.Code(err) != 0 {
		return true
	}
	for _, known := range []error{
		pgstore.ErrLost, pgstore.ErrUnreachable, pgstore.ErrPassword, pgstore.ErrNoTLS,
		driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// means is an error with what it means for the whole database.
func means(err error) error {
	if sqlfile.Damaged(err) && !errors.Is(err, ErrForeign) {
		return fmt.Errorf("%w: restore it from a backup", err)
	}
	return pgstore.Means(err)
}

// statement is that of the database.
func (d *DB) statement(written string) string {
	if s, ok := d.prepared.Load(written); ok {
		return s.(string)
	}
	s := rewrite(written, d.Server())
	d.prepared.Store(written, s)
	return s
}

var (
	forFile   = strings.NewReplacer("{", "", "}", "")
	forServer = strings.NewReplacer("{", schema+".", "}", "", "?", "$")
	ddl       = strings.NewReplacer(
		"INTEGER PRIMARY KEY AUTOINCREMENT", "bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY",
		"INTEGER", "bigint", "BLOB", "bytea", " STRICT", "")
)

// schema is that of the tables in PostgreSQL.
const schema = "burin_server"

func rewrite(statement string, server bool) string {
	if server {
		return forServer.Replace(statement)
	}
	return forFile.Replace(statement)
}

// migrate makes the tables of the parts, or brings them up to date.
func (d *DB) migrate(ctx context.Context, parts []Part) error {
	// Each statement must see what whoever had the lock before has done.
	return d.once(ctx, sql.LevelReadCommitted, func(q Querier) error {
		if d.Server() {
			if _, err := q.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('`+schema+`'))`); err != nil {
				return err
			}
			var there bool
			if err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = '`+schema+`')`).Scan(&there); err != nil {
				return err
			}
			if !there { // IF NOT EXISTS would want the right to make one all the same
				if _, err := q.Exec(ctx, `CREATE SCHEMA `+schema); err != nil {
					return err
				}
			}
		}
		if _, err := q.Exec(ctx, d.ddl(`CREATE TABLE IF NOT EXISTS {parts} (name TEXT PRIMARY KEY, version INTEGER NOT NULL, sum TEXT NOT NULL) STRICT`)); err != nil {
			return err
		}
		for _, p := range parts {
			if err := d.migratePart(ctx, q, p); err != nil {
				return fmt.Errorf("tables of %s: %w", p.Name, err)
			}
		}
		return nil
	})
}

func (d *DB) migratePart(ctx context.Context, q Querier, p Part) error {
	var found int
	var sum string
	err := q.QueryRow(ctx, `SELECT version, sum FROM {parts} WHERE name = ?1`, p.Name).Scan(&found, &sum)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	case found > len(p.Steps):
		return ErrNewer
	case sum != sumOf(p.Steps[:found]):
		return ErrForeign
	case found == len(p.Steps):
		return nil
	}
	for i, step := range p.Steps[found:] {
		if _, err := q.Exec(ctx, d.ddl(step)); err != nil {
			return fmt.Errorf("bring them to version %d: %w", found+i+1, err)
		}
	}
	_, err = q.Exec(ctx, `INSERT INTO {parts} (name, version, sum) VALUES (?1, ?2, ?3)
		ON CONFLICT (name) DO UPDATE SET version = excluded.version, sum = excluded.sum`, p.Name, len(p.Steps), sumOf(p.Steps))
	return err
}

// ddl is a statement that makes a table, with the types of the database.
func (d *DB) ddl(statement string) string {
	if d.Server() {
		return ddl.Replace(statement)
	}
	return statement
}

func sumOf(steps []string) string {
	sum := sha256.Sum256([]byte(strings.Join(steps, "\x00")))
	return hex.EncodeToString(sum[:])
}

// ErrServer means that PostgreSQL has programs of its own for what was asked.
var ErrServer = errors.New("the database is PostgreSQL's: pg_dump and pg_restore copy it")

// Backup writes a copy of a file to path, where nothing may be: all that was committed before,
// while others go on. The copy can be opened like the file. For PostgreSQL the error is
// [ErrServer].
func (d *DB) Backup(ctx context.Context, path string) error {
	if d.Server() {
		return ErrServer
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // so that only its owner reads it
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := d.db.ExecContext(ctx, `VACUUM INTO ?1`, path); err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", err), os.Remove(path))
	}
	if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close()) // SQLite doesn't wait until the copy is on the disk
}

// Ping reports why the database doesn't answer; nil is that it does.
func (d *DB) Ping(ctx context.Context) error {
	var n int
	if err := d.QueryRow(ctx, `SELECT count(*) FROM {parts} WHERE name = ''`).Scan(&n); err != nil {
		return fmt.Errorf("ask the database of the server: %w", means(err))
	}
	return nil
}

// Check looks whether the database is whole. Of PostgreSQL it only looks whether it answers.
func (d *DB) Check(ctx context.Context) error {
	if d.Server() {
		return d.Ping(ctx)
	}
	var found string // the first thing that is wrong
	if err := d.db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&found); err != nil {
		return means(err)
	}
	if found != "ok" {
		return fmt.Errorf("the database is damaged: %s: restore it from a backup", found)
	}
	var of, to string
	switch err := d.db.QueryRowContext(ctx, `SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1`).Scan(&of, &to); {
	case err == nil:
		return fmt.Errorf("the database is damaged: something in %s belongs to what is missing in %s: restore it from a backup", of, to)
	case !errors.Is(err, sql.ErrNoRows):
		return means(err)
	}
	return nil
}
