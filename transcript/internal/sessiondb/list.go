package sessiondb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Info is what is known of a session without reading its records.
type Info struct {
	Session string
	Created time.Time
	Updated time.Time // the last Append, Sync or Replace
	// Revision grows with each change: while it is the same, so is the session.
	Revision int64
	Records  int64
	Trashed  time.Time // zero if it is not in the trash
	// Header is the first record; nil if there is none, or it has more than 64 KB.
	Header []byte
}

// List returns all sessions, the last updated first, those in the trash among them.
func List(ctx context.Context, db *sql.DB, d *Dialect) ([]Info, error) {
	infos, err := list(ctx, db, d)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", d.Means(err))
	}
	return infos, nil
}

func list(ctx context.Context, db *sql.DB, d *Dialect) ([]Info, error) {
	ctx, cancel := d.Limit(ctx, 0)
	defer cancel()
	rows, err := db.QueryContext(ctx, d.sql(`
		SELECT s.name, s.created, s.updated, s.revision, s.trashed, coalesce(ends.last - ends.first + 1, 0),
			(SELECT data FROM records WHERE session = s.id AND seq = ends.first AND length(data) <= 65536)
		FROM (SELECT *, (SELECT min(seq) FROM records WHERE session = sessions.id) AS first,
			(SELECT max(seq) FROM records WHERE session = sessions.id) AS last FROM sessions) AS ends
		JOIN sessions AS s ON s.id = ends.id
		ORDER BY s.updated DESC, s.id DESC`))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Info
	for rows.Next() {
		var i Info
		var created, updated int64
		var trashed sql.NullInt64
		if err := rows.Scan(&i.Session, &created, &updated, &i.Revision, &trashed, &i.Records, &i.Header); err != nil {
			return nil, err
		}
		i.Created, i.Updated = time.UnixMilli(created), time.UnixMilli(updated)
		if trashed.Valid {
			i.Trashed = time.UnixMilli(trashed.Int64)
		}
		all = append(all, i)
	}
	return all, rows.Err()
}

// Changed checks that a statement has changed a row; none fails with the error that is given.
func Changed(res sql.Result, err, none error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = none
	}
	return err
}

// Begin makes the row of a session, with the statement and its arguments.
func Begin(ctx context.Context, db *sql.DB, d *Dialect, session, statement string, args ...any) error {
	ctx, cancel := d.Limit(ctx, 0)
	defer cancel()
	err := ErrUnnamed
	if session != "" {
		_, err = db.ExecContext(ctx, statement, append([]any{session}, args...)...)
	}
	if err != nil && !errors.Is(err, ErrUnnamed) && d.Taken(err) {
		err = ErrSession
	}
	return d.Fail("create", session, err)
}

// Purge removes a session that is in the trash, for good.
func Purge(ctx context.Context, db *sql.DB, d *Dialect, session string) error {
	ctx, cancel := d.Limit(ctx, 0)
	defer cancel()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return d.Fail("purge", session, err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	_, err = tx.ExecContext(ctx, d.sql(`DELETE FROM records WHERE session = (SELECT id FROM sessions WHERE name = ?1 AND trashed IS NOT NULL)`), session)
	if err == nil {
		var res sql.Result
		res, err = tx.ExecContext(ctx, d.sql(`DELETE FROM sessions WHERE name = ?1 AND trashed IS NOT NULL`), session)
		err = Changed(res, err, ErrNoSession)
	}
	if err == nil {
		err = tx.Commit()
	}
	return d.Fail("purge", session, err)
}
