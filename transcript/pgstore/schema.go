package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq/pqerror"

	"github.com/burin-dev/burin/transcript/internal/sessiondb"
)

// version is that of the tables.
const version = 1

// schema makes the tables. A record has its place, seq, for as long as the session is not
// replaced; places follow each other without a gap. Times are in milliseconds since 1970.
//
// A writer of a session is its owner until expires, and token counts the writers. An index takes
// no names of more than 2 KB.
const schema = `
	CREATE TABLE burin.schema (version integer NOT NULL);
	INSERT INTO burin.schema VALUES (1);
	CREATE TABLE burin.sessions (
		id       bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
		name     text NOT NULL,
		created  bigint NOT NULL,
		updated  bigint NOT NULL,
		revision bigint NOT NULL DEFAULT 0,
		trashed  bigint,
		owner    text,
		token    bigint NOT NULL DEFAULT 0,
		expires  bigint NOT NULL DEFAULT 0,
		UNIQUE (name)
	);
	CREATE TABLE burin.records (
		session bigint NOT NULL REFERENCES burin.sessions (id),
		seq     bigint NOT NULL,
		data    bytea NOT NULL,
		PRIMARY KEY (session, seq)
	);`

var (
	// ErrForeign means that the schema burin of a database has other tables than sessions.
	ErrForeign = errors.New("its schema burin belongs to another program: give sessions a database of their own")
	// ErrEmpty means that a database has no sessions yet; it is an [io/fs.ErrNotExist].
	ErrEmpty = sessiondb.ErrEmpty
	// ErrNewer means that the tables are of a later version than this program knows.
	ErrNewer = errors.New("a newer burin wrote it")
)

// Check reports whether a database has sessions: nil, [ErrForeign], [ErrNewer] or [ErrEmpty].
// It changes nothing.
func Check(ctx context.Context, db *sql.DB) error {
	ctx, cancel := dialect().Limit(ctx, 0)
	defer cancel()
	if err := check(ctx, db); err != nil {
		return fmt.Errorf("look into the database of sessions: %w", Means(err))
	}
	return nil
}

type querier interface {
	QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row
}

func check(ctx context.Context, q querier) error {
	var tables, columns int
	err := q.QueryRowContext(ctx, `
		SELECT count(DISTINCT c.oid), count(a.attname) FILTER (WHERE (c.relname, a.attname) IN (
			('schema', 'version'),
			('sessions', 'id'), ('sessions', 'name'), ('sessions', 'created'), ('sessions', 'updated'), ('sessions', 'revision'),
			('sessions', 'trashed'), ('sessions', 'owner'), ('sessions', 'token'), ('sessions', 'expires'),
			('records', 'session'), ('records', 'seq'), ('records', 'data')))
		FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE n.nspname = 'burin'`).Scan(&tables, &columns)
	switch {
	case err != nil:
		return err
	case tables == 0:
		return ErrEmpty
	}
	var found sql.NullInt64
	if columns > 0 {
		if err := q.QueryRowContext(ctx, `SELECT max(version) FROM burin.schema`).Scan(&found); err != nil && state(err) != pqerror.UndefinedTable && state(err) != pqerror.UndefinedColumn {
			return err
		}
	}
	switch {
	case found.Int64 > version:
		return fmt.Errorf("%w (schema %d, this one knows %d): update burin", ErrNewer, found.Int64, version)
	case columns < 13 || !found.Valid:
		return ErrForeign
	}
	return nil
}

// Init prepares a database for sessions, in its schema burin, which must have nothing else. It
// may be called again, and by several processes at once.
func Init(ctx context.Context, db *sql.DB) error {
	ctx, cancel := dialect().Limit(ctx, 0)
	defer cancel()
	err := check(ctx, db)
	if errors.Is(err, ErrEmpty) {
		err = create(ctx, db)
	}
	if err != nil {
		return fmt.Errorf("prepare the database of sessions: %w", Means(err))
	}
	return nil
}

// create makes the tables, unless another process just did.
func create(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('burin.schema'))`); err != nil {
		return err
	}
	if err := check(ctx, tx); !errors.Is(err, ErrEmpty) {
		return err
	}
	var there bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'burin')`).Scan(&there); err != nil {
		return err
	}
	if !there { // IF NOT EXISTS would want the right to make one all the same
		if _, err := tx.ExecContext(ctx, `CREATE SCHEMA burin`); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	return tx.Commit()
}
