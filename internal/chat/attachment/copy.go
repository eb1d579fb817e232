package attachment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/platform/objectstore"
)

// copyTables keep copies of blobs that are elsewhere, in slices of 1 MB with their SHA-256. Whoever makes a
// copy has no keys of people, so that slices don't end where chunks do.
const copyTables = `
CREATE TABLE {piece_copies} (
	blob TEXT NOT NULL,
	n INTEGER NOT NULL,
	last INTEGER NOT NULL,
	sum BLOB NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (blob, n)
) STRICT;`

// sliceSize is how many bytes each slice but the last of a copy has.
const sliceSize = 1 << 20

// ErrChanged means that a piece was sealed with another key while it was copied.
var ErrChanged = errors.New("keys of people were changed meanwhile: make the copy again")

// sliced is a place outside of the database.
type sliced interface {
	// slice reads bytes of a blob, less than sliceSize only at its end.
	slice(ctx context.Context, blob string, offset int64) ([]byte, error)
}

var _, _ sliced = folder{}, bucket{}

func (f folder) slice(_ context.Context, blob string, offset int64) ([]byte, error) {
	file, err := os.Open(f.file(blob))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data := make([]byte, sliceSize)
	n, err := file.ReadAt(data, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}

func (b bucket) slice(ctx context.Context, blob string, offset int64) ([]byte, error) {
	data, err := b.b.Part(ctx, b.key(blob), offset, sliceSize)
	if e, ok := errors.AsType[*objectstore.Error](err); ok && e.Status == 416 && offset > 0 { // it has ended before
		return nil, nil
	}
	return data, err
}

// CopyTo puts the pieces that a copy of the database names, and that are in a folder or a bucket, into the copy. It
// says how many it has put there, and how many it didn't find. Pieces that were deleted meanwhile are left out.
func (s *Store) CopyTo(ctx context.Context, to *store.DB) (copied, missing int, err error) {
	from, ok := s.places[0].(sliced)
	if !ok {
		return 0, 0, nil
	}
	for after := ""; ; {
		all, err := outside(ctx, to, after)
		if err != nil || len(all) == 0 {
			return copied, missing, err
		}
		for _, one := range all {
			after = one.blob
			err := to.Update(ctx, func(q store.Querier) error { return copyBlob(ctx, from, one.blob, q) })
			if errors.Is(err, fs.ErrNotExist) {
				var gone bool
				if gone, err = s.gone(ctx, one); err == nil && !gone {
					missing++
				}
				if err == nil {
					continue
				}
			}
			if err != nil {
				return copied, missing, fmt.Errorf("copy attachment %s: %w", one.ID, err)
			}
			copied++
		}
	}
}

// outside gives pieces that a database names and doesn't have.
func outside(ctx context.Context, q store.Querier, after string) (all []row, err error) {
	rows, err := q.Query(ctx, `SELECT person, id, blob FROM {pieces} p WHERE blob > ?1 AND NOT EXISTS (SELECT 1 FROM {piece_chunks} c WHERE c.blob = p.blob)
		AND NOT EXISTS (SELECT 1 FROM {piece_copies} c WHERE c.blob = p.blob) ORDER BY blob LIMIT ?2`, after, sweepBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.person, &r.ID, &r.blob); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// gone reports whether a piece, which isn't where it was, was deleted since.
func (s *Store) gone(ctx context.Context, r row) (bool, error) {
	var blob string
	err := s.db.QueryRow(ctx, `SELECT blob FROM {pieces} WHERE person = ?1 AND id = ?2`, r.person, r.ID).Scan(&blob)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err == nil && blob != r.blob {
		err = ErrChanged
	}
	return false, err
}

func copyBlob(ctx context.Context, from sliced, blob string, q store.Querier) error {
	for n := 0; ; n++ {
		data, err := from.slice(ctx, blob, int64(n)*sliceSize)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		last := len(data) < sliceSize
		if _, err := q.Exec(ctx, `INSERT INTO {piece_copies} (blob, n, last, sum, data) VALUES (?1, ?2, ?3, ?4, ?5)`, blob, n, map[bool]int{true: 1}[last], sum[:], append([]byte{}, data...)); err != nil || last {
			return err
		}
	}
}

// CheckCopies looks whether the copies of pieces in a database are whole. One that was made before there were any is.
func CheckCopies(ctx context.Context, q store.Querier) error {
	var tables int
	if err := q.QueryRow(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'piece_copies'`).Scan(&tables); err != nil || tables == 0 {
		return err
	}
	rows, err := q.Query(ctx, `SELECT blob, n, last, sum, data FROM {piece_copies} ORDER BY blob, n`)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	of, next, whole := "", 0, true
	for rows.Next() {
		var blob string
		var n, last int
		var want []byte
		var data sql.RawBytes
		if err := rows.Scan(&blob, &n, &last, &want, &data); err != nil {
			return err
		}
		if blob != of {
			if !whole {
				break
			}
			of, next, whole = blob, 0, false
		}
		if sum := sha256.Sum256(data); whole || n != next || !bytes.Equal(sum[:], want) || last == 0 && len(data) != sliceSize {
			whole = false
			break
		}
		next, whole = n+1, last != 0
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !whole {
		return fmt.Errorf("%w: %s", ErrDamaged, of)
	}
	return nil
}

// MoveOut moves all pieces of the database to the place that takes new ones, and says how many. What is
// moved is there before it leaves the database, so that a move that was cut off can be made again.
func (s *Store) MoveOut(ctx context.Context) (moved int, err error) {
	in, to := database{s.db}, s.places[0]
	if to == Place(in) {
		return 0, nil
	}
	err = in.Each(ctx, func(blob string, _ time.Time) error {
		var named int
		if err := s.db.QueryRow(ctx, `SELECT count(*) FROM {pieces} WHERE blob = ?1`, blob).Scan(&named); err != nil || named == 0 {
			return err
		}
		if err := to.Remove(ctx, blob); err != nil { // what an earlier move has left
			return err
		}
		w, err := to.Create(ctx, blob)
		if err != nil {
			return err
		}
		if err := in.all(ctx, blob, func(data []byte) error { return w.Write(ctx, data) }); err != nil {
			return errors.Join(err, w.Abort(context.WithoutCancel(ctx)))
		}
		if err := w.Close(ctx); err != nil {
			return errors.Join(err, w.Abort(context.WithoutCancel(ctx)))
		}
		moved++
		return in.Remove(ctx, blob)
	})
	if err != nil {
		return moved, fmt.Errorf("move attachments to %s: %w", to, err)
	}
	return moved, nil
}

// all calls yield with the parts of a blob, one after the other.
func (d database) all(ctx context.Context, blob string, yield func([]byte) error) error {
	for _, table := range []string{`{piece_chunks}`, `{piece_copies}`} {
		for n := 0; ; n++ {
			var data []byte
			err := d.db.QueryRow(ctx, `SELECT data FROM `+table+` WHERE blob = ?1 AND n = ?2`, blob, n).Scan(&data)
			if errors.Is(err, sql.ErrNoRows) && n > 0 {
				return nil
			}
			if errors.Is(err, sql.ErrNoRows) {
				break
			}
			if err == nil {
				err = yield(data)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// copied reads a chunk in the copy of a blob.
func (d database) copied(ctx context.Context, blob string, at Span) ([]byte, error) {
	all := make([]byte, 0, at.Length)
	for n, skip := at.Offset/sliceSize, at.Offset%sliceSize; int64(len(all)) < at.Length; n, skip = n+1, 0 {
		var data []byte
		err := d.db.QueryRow(ctx, `SELECT data FROM {piece_copies} WHERE blob = ?1 AND n = ?2`, blob, n).Scan(&data)
		switch {
		case errors.Is(err, sql.ErrNoRows) && len(all) == 0:
			return nil, fs.ErrNotExist
		case errors.Is(err, sql.ErrNoRows) || err == nil && int64(len(data)) <= skip:
			return nil, fmt.Errorf("%w: its copy is too short", ErrDamaged)
		case err != nil:
			return nil, err
		}
		all = append(all, data[skip:min(int64(len(data)), skip+at.Length-int64(len(all)))]...)
	}
	return all, nil
}
