package project

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/transcript"
)

var _ vault.Sealed = (*Store)(nil)

// row is a sealed record of a table.
type row struct {
	id         string
	generation uint32 // of the transcript of a chat
	sealed     []byte
}

// Reseal implements [vault.Sealed]: projects with their files first, then chats with their transcripts. A chat that
// is open is left for later, and its old key with it.
func (s *Store) Reseal(ctx context.Context, person string, ring *vault.Ring, after string, limit int) (next string, n int, err error) {
	also := 0
	if after == "" {
		changed, err := resealPreferences(ctx, s, ring, person)
		if err != nil && !vault.Skip(ctx, err) {
			return "", 0, err
		}
		if changed {
			also = 1
		}
	}
	table, from, chats := "projects", after, false
	if id, ok := strings.CutPrefix(after, "chats/"); ok {
		table, from, chats = "chats", id, true
	}
	from = strings.TrimPrefix(from, "projects/")
	all, err := s.sealedRows(ctx, table, person, from, limit)
	if err != nil {
		return "", 0, err
	}
	n = also
	for _, r := range all {
		changed, err := s.resealRow(ctx, table, ring, r)
		if err != nil && vault.Skip(ctx, fmt.Errorf("%s: %w", place(table, r.id), err)) {
			err = nil // what lies below has keys of its own
		}
		more := false
		switch {
		case err != nil:
		case chats:
			more, err = s.resealTranscript(ctx, ring, r)
		default:
			more, err = s.resealFiles(ctx, ring, r.id, limit)
		}
		if err != nil && !vault.Skip(ctx, fmt.Errorf("%s: %w", place(table, r.id), err)) {
			return "", n, fmt.Errorf("%s: %w", place(table, r.id), err)
		}
		if changed || more {
			n++
		}
		next = place(table, r.id)
	}
	if len(all) < limit {
		if next = "chats/"; chats {
			next = ""
		}
	}
	return next, n, nil
}

func (s *Store) sealedRows(ctx context.Context, table, person, after string, limit int) (all []row, err error) {
	generation := "0"
	if table == "chats" {
		generation = "generation"
	}
	rows, err := s.db.Query(ctx, `SELECT id, `+generation+`, sealed FROM {`+table+`} WHERE person = ?1 AND id > ?2 ORDER BY id LIMIT ?3`, person, after, limit)
	if err != nil {
		return nil, err
	}
	return scanRows(rows)
}

func scanRows(rows *sql.Rows) (all []row, err error) {
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.generation, &r.sealed); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// resealRow seals what stands in a row with the newest key.
func (s *Store) resealRow(ctx context.Context, table string, ring *vault.Ring, r row) (changed bool, err error) {
	if len(r.sealed) == 0 { // it has nothing that anybody wrote
		return false, nil
	}
	if g, err := vault.Generation(r.sealed); err != nil || g == ring.Newest() {
		return false, err
	}
	data, err := ring.Open(place(table, r.id), r.sealed)
	if err != nil {
		return false, err
	}
	fresh, err := ring.Seal(place(table, r.id), data)
	if err != nil {
		return false, err
	}
	_, err = s.db.Exec(ctx, `UPDATE {`+table+`} SET sealed = ?3 WHERE id = ?1 AND sealed = ?2`, r.id, r.sealed, fresh)
	return true, err // also where somebody else was faster: it is looked at again
}

// resealFiles seals the files of a project with the newest key.
func (s *Store) resealFiles(ctx context.Context, ring *vault.Ring, project string, limit int) (changed bool, err error) {
	for after := ""; ; {
		next, n, err := s.files.Reseal(ctx, project, ring, after, limit)
		changed = changed || n > 0
		if err != nil || next == "" {
			return changed, err
		}
		after = next
	}
}

// resealTranscript seals the transcript of a chat with the newest key. The row says which key it
// has only when that is done.
func (s *Store) resealTranscript(ctx context.Context, ring *vault.Ring, r row) (changed bool, err error) {
	if r.generation == ring.Newest() {
		return false, nil
	}
	if _, later, err := resealMinions(ctx, s, ring, r.id); err != nil || later {
		return true, err
	}
	below, err := s.records(ctx, Chat{ID: r.id}, true)
	switch {
	case errors.Is(err, transcript.ErrLocked):
		return true, nil // later
	case errors.Is(err, fs.ErrNotExist): // nothing was said
	case err != nil:
		return false, err
	default:
		_, err = ring.ResealSession(below)
		if err = errors.Join(err, below.Close()); err != nil {
			return false, err
		}
	}
	_, err = s.db.Exec(ctx, `UPDATE {chats} SET generation = ?2 WHERE id = ?1`, r.id, ring.Newest())
	return true, err
}
