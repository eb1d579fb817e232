package credential

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// row is a credential as the database holds it.
type row struct {
	id       int64
	provider string
	kind     Kind
	label    string
	sealed   []byte
	revision int64 // counts the changes of sealed
	created  time.Time
	lastUsed time.Time // zero = never
	blocked  time.Time // passed over until then; zero = not
	disabled string    // cause; empty = enabled
}

// store is the table of credentials.
type store struct{ db *sql.DB }

const columns = "id, provider, kind, label, sealed, revision, created, last_used, blocked_until, disabled"

// list gives the rows of a provider, or all, by provider and id.
func (s *store) list(ctx context.Context, provider string) ([]row, error) {
	q, args := "SELECT "+columns+" FROM credentials", []any(nil)
	if provider != "" {
		q, args = q+" WHERE provider = ?", []any{provider}
	}
	rs, err := s.db.QueryContext(ctx, q+" ORDER BY provider, id", args...)
	if err != nil {
		return nil, fmt.Errorf("read the stored credentials: %w", err)
	}
	defer rs.Close()
	var out []row
	for rs.Next() {
		r, err := scan(rs)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if err := rs.Err(); err != nil {
		return nil, fmt.Errorf("read the stored credentials: %w", err)
	}
	return out, nil
}

// get gives one row; [ErrNoCredential] if there is none.
func (s *store) get(ctx context.Context, id int64) (row, error) {
	return scan(s.db.QueryRowContext(ctx, "SELECT "+columns+" FROM credentials WHERE id = ?", id))
}

func scan(from interface{ Scan(...any) error }) (row, error) {
	var r row
	var created, used, blocked int64
	err := from.Scan(&r.id, &r.provider, &r.kind, &r.label, &r.sealed, &r.revision, &created, &used, &blocked, &r.disabled)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, ErrNoCredential
	}
	if err != nil {
		return row{}, fmt.Errorf("read a stored credential: %w", err)
	}
	r.created, r.lastUsed, r.blocked = fromMilli(created), fromMilli(used), fromMilli(blocked)
	return r, nil
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// insert adds a row. Its id must be known before the secret can be bound to it,
// so the row is completed within the transaction that makes it.
func (s *store) insert(ctx context.Context, key *sealKey, provider string, kind Kind, label string, p *payload, now time.Time) (int64, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("store the credential: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	res, err := tx.ExecContext(ctx, "INSERT INTO credentials (provider, kind, label, sealed, created) VALUES (?, ?, ?, x'', ?)", provider, kind, label, now.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("store the credential: %w", err)
	}
	id, err := res.LastInsertId()
	if err != nil {
		return 0, fmt.Errorf("store the credential: %w", err)
	}
	sealed, err := key.seal(id, provider, kind, p)
	if err != nil {
		return 0, fmt.Errorf("seal the credential: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE credentials SET sealed = ? WHERE id = ?", sealed, id); err != nil {
		return 0, fmt.Errorf("store the credential: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("store the credential: %w", err)
	}
	return id, nil
}

// replace writes a new secret into r unless the row has changed since r was
// read, and says whether it did.
func (s *store) replace(ctx context.Context, key *sealKey, r *row, p *payload) (bool, error) {
	sealed, err := key.seal(r.id, r.provider, r.kind, p)
	if err != nil {
		return false, fmt.Errorf("seal the credential: %w", err)
	}
	return s.change(ctx, "UPDATE credentials SET sealed = ?, revision = revision + 1 WHERE id = ? AND revision = ?", sealed, r.id, r.revision)
}

// change runs an update and says whether it met a row.
func (s *store) change(ctx context.Context, query string, args ...any) (bool, error) {
	res, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, fmt.Errorf("update the stored credential: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}
