package gremlin

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

// Part is the tables of this room. What clients send is kept as bytes: text of PostgreSQL can't
// hold NUL, and sorts by the rules of a language where the original compares bytes. seq is the order in
// which rows came, which decides between equal times.
var Part = store.Part{Name: "gremlin", Steps: []string{
	`CREATE TABLE {gremlin_tenants} (number INTEGER PRIMARY KEY AUTOINCREMENT, tenant BLOB NOT NULL UNIQUE, person TEXT NOT NULL,
			name TEXT NOT NULL, password BLOB, created INTEGER NOT NULL) STRICT`,
	`CREATE TABLE {gremlin_records} (seq INTEGER PRIMARY KEY AUTOINCREMENT, userId BLOB NOT NULL, tableName TEXT NOT NULL, id BLOB NOT NULL,
			encryptedData BLOB NOT NULL, timestamp BLOB, parentId BLOB, unencryptedData BLOB, UNIQUE (userId, tableName, id)) STRICT`,
	`CREATE INDEX gremlin_records_parent ON {gremlin_records} (userId, tableName, parentId, timestamp)`,
	`CREATE INDEX gremlin_records_time ON {gremlin_records} (userId, tableName, timestamp)`,
}}

// original are the statements that make the data.db of the original server.
const original = `CREATE TABLE IF NOT EXISTS records (userId TEXT NOT NULL, tableName TEXT NOT NULL, id TEXT NOT NULL, encryptedData TEXT NOT NULL,
	timestamp TEXT, parentId TEXT, unencryptedData TEXT, PRIMARY KEY (userId, tableName, id));
	CREATE INDEX IF NOT EXISTS idx_user_table ON records(userId, tableName);
	CREATE INDEX IF NOT EXISTS idx_user_table_parent ON records(userId, tableName, parentId);
	CREATE INDEX IF NOT EXISTS idx_user_table_parent_ts ON records(userId, tableName, parentId, timestamp);
	CREATE INDEX IF NOT EXISTS idx_user_table_ts ON records(userId, tableName, timestamp)`

// Limits.
const (
	maxKey   = 1000    // bytes of an id or a time in burin's own database; PostgreSQL indexes no long ones
	pageRows = 100     // rows that are read at once
	pageSize = 4 << 20 // bytes that are read at once, and one row at least
)

// errLong means that a row has an id that is too long for an index.
var errLong = fmt.Errorf("id, parentId and timestamp have at most %d bytes", maxKey)

// row is a record. A nil pointer is a column without a value.
type row struct {
	ID              string  `json:"id"`
	EncryptedData   string  `json:"encryptedData"`
	Timestamp       *string `json:"timestamp"`
	ParentID        *string `json:"parentId"`
	UnencryptedData *string `json:"unencryptedData"`
}

func (r *row) size() int {
	n := len(r.ID) + len(r.EncryptedData)
	for _, s := range []*string{r.Timestamp, r.ParentID, r.UnencryptedData} {
		if s != nil {
			n += len(*s)
		}
	}
	return n
}

// database is burin's own, or a file of the original.
type database interface {
	store.Querier
	Update(ctx context.Context, do func(q store.Querier) error) error
}

// Records are the rows of all tenants. Any goroutine may use them.
type Records struct {
	db   database
	file *file // of the original; nil: burin's own database
}

// NewRecords are those of burin's own database, which has the tables of [Part].
func NewRecords(db *store.DB) *Records { return &Records{db: db} }

// OpenRecords opens a data.db of the original server, or makes one. It stays one that the original can
// use. The caller closes it.
func OpenRecords(ctx context.Context, path string) (*Records, error) {
	f, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	return &Records{f, f}, nil
}

// Close closes the file of the original. burin's own database is whoever's who opened it.
func (r *Records) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.db.Close()
}

// tenant is the value under which the rows of a tenant are kept.
func (r *Records) tenant(id string) any {
	if r.file != nil {
		return id
	}
	return hashed(id)
}

// hashed is what burin's own database has of a tenant. It needs no salt: an id has 256 random bits.
func hashed(tenant string) []byte {
	sum := sha256.Sum256([]byte(tenant))
	return sum[:]
}

// value is one of a column as the database keeps it.
func (r *Records) value(s string) any {
	if r.file != nil {
		return s
	}
	return []byte(s)
}

func (r *Records) optional(s *string) any {
	if s == nil {
		return nil
	}
	return r.value(*s)
}

const (
	saving = `INSERT INTO {gremlin_records} (userId, tableName, id, encryptedData, timestamp, parentId, unencryptedData)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (userId, tableName, id) DO `
	// The original puts a row that is saved once more behind its equals. Here it stays where it is, so that
	// messages of the same millisecond keep their order when one of them is edited.
	replacing = saving + `UPDATE SET encryptedData = excluded.encryptedData, timestamp = excluded.timestamp,
		parentId = excluded.parentId, unencryptedData = excluded.unencryptedData`
	keeping = saving + `NOTHING`
)

// fits reports whether the database can index a row.
func (r *Records) fits(w *row) bool {
	return r.file != nil || len(w.ID) <= maxKey && len(text(w.ParentID)) <= maxKey && len(text(w.Timestamp)) <= maxKey
}

// save saves a row, and reports whether it did: with keep, one that is there stays.
func (r *Records) save(ctx context.Context, q store.Querier, tenant any, table string, w *row, keep bool) (bool, error) {
	if !r.fits(w) {
		return false, errLong
	}
	statement := replacing
	if keep {
		statement = keeping
	}
	n, err := q.Exec(ctx, statement, tenant, table, r.value(w.ID), r.value(w.EncryptedData),
		r.optional(w.Timestamp), r.optional(w.ParentID), r.optional(w.UnencryptedData))
	return n > 0, err
}

// saveAll saves rows, all or none.
func (r *Records) saveAll(ctx context.Context, tenant any, table string, rows []row, keep bool) (saved int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	err = r.db.Update(ctx, func(q store.Querier) error {
		saved = 0
		for i := range rows {
			did, err := r.save(ctx, q, tenant, table, &rows[i], keep)
			if err != nil {
				return err
			}
			if did {
				saved++
			}
		}
		return nil
	})
	return saved, err
}

// get gives a row without its id; nil: there is none.
func (r *Records) get(ctx context.Context, tenant any, table, id string) (*row, error) {
	w := &row{ID: id}
	err := r.db.QueryRow(ctx, `SELECT encryptedData, timestamp, parentId, unencryptedData FROM {gremlin_records}
		WHERE userId = ?1 AND tableName = ?2 AND id = ?3`, tenant, table, r.value(id)).Scan(&w.EncryptedData, &w.Timestamp, &w.ParentID, &w.UnencryptedData)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return w, err
}

func (r *Records) remove(ctx context.Context, tenant any, table, id string) error {
	_, err := r.db.Exec(ctx, `DELETE FROM {gremlin_records} WHERE userId = ?1 AND tableName = ?2 AND id = ?3`, tenant, table, r.value(id))
	return err
}

func (r *Records) removeChildren(ctx context.Context, tenant any, table, parent string) error {
	_, err := r.db.Exec(ctx, `DELETE FROM {gremlin_records} WHERE userId = ?1 AND tableName = ?2 AND parentId = ?3`, tenant, table, r.value(parent))
	return err
}

func (r *Records) clear(ctx context.Context, tenant any) error {
	_, err := r.db.Exec(ctx, `DELETE FROM {gremlin_records} WHERE userId = ?1`, tenant)
	return err
}

// count counts the rows of a table; parent "" is of all.
func (r *Records) count(ctx context.Context, tenant any, table, parent string) (n int64, err error) {
	statement, args := `SELECT count(*) FROM {gremlin_records} WHERE userId = ?1 AND tableName = ?2`, []any{tenant, table}
	if parent != "" {
		statement, args = statement+` AND parentId = ?3`, append(args, r.value(parent))
	}
	err = r.db.QueryRow(ctx, statement, args...).Scan(&n)
	return n, err
}

// found are rows that were found and not yet read.
type found []struct{ seq, size int64 }

// find finds rows. It reads no data, so that thousands of rows cost little: who is slow to take them
// must not hold one of the few connections to the database.
func (r *Records) find(ctx context.Context, where string, args ...any) (all found, err error) {
	rows, err := r.db.Query(ctx, `SELECT seq, octet_length(encryptedData) + coalesce(octet_length(unencryptedData), 0) FROM {gremlin_records} WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		all = append(all, struct{ seq, size int64 }{})
		last := &all[len(all)-1]
		if err := rows.Scan(&last.seq, &last.size); err != nil {
			return nil, err
		}
	}
	return all, rows.Err()
}

// children finds the rows of a table in the order of their times; parent "" is all. Those without a
// time are the oldest, and rows of the same time are in the order in which they came.
func (r *Records) children(ctx context.Context, tenant any, table, parent string, oldestFirst bool) (found, error) {
	where, args := `userId = ?1 AND tableName = ?2`, []any{tenant, table}
	if parent != "" {
		where, args = where+` AND parentId = ?3`, append(args, r.value(parent))
	}
	if oldestFirst {
		return r.find(ctx, where+` ORDER BY timestamp ASC NULLS FIRST, seq ASC`, args...)
	}
	return r.find(ctx, where+` ORDER BY timestamp DESC NULLS LAST, seq DESC`, args...)
}

// after finds the next rows of a table by their ids.
func (r *Records) after(ctx context.Context, tenant any, table, id string, limit int) (found, error) {
	where, args := `userId = ?1 AND tableName = ?2`, []any{tenant, table, limit}
	if id != "" {
		where, args = where+` AND id > ?4`, append(args, r.value(id))
	}
	return r.find(ctx, where+` ORDER BY id LIMIT ?3`, args...)
}

// named finds the rows with some ids.
func (r *Records) named(ctx context.Context, tenant any, table string, ids []string) (found, error) {
	args := []any{tenant, table}
	for _, id := range ids {
		args = append(args, r.value(id))
	}
	return r.find(ctx, `userId = ?1 AND tableName = ?2 AND id IN (`+parameters(3, len(ids))+`) ORDER BY id`, args...)
}

// parameters are n parameters of a statement. The database keeps each statement that it was given, so
// values never stand in one.
func parameters(first, n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, ",?%d", first+i)
	}
	return list.String()[1:]
}

// read reads rows that were found, a few at a time, for as long as use returns true. Rows that were
// removed meanwhile are left out; others are as they are now.
func (r *Records) read(ctx context.Context, all found, use func(*row) (more bool, err error)) error {
	for len(all) > 0 {
		n, size := 1, all[0].size
		for n < len(all) && n < pageRows && size+all[n].size <= pageSize {
			size += all[n].size
			n++
		}
		page, err := r.page(ctx, all[:n])
		if err != nil {
			return err
		}
		for _, f := range all[:n] {
			if w := page[f.seq]; w != nil {
				if more, err := use(w); !more || err != nil {
					return err
				}
				page[f.seq] = nil
			}
		}
		all = all[n:]
	}
	return nil
}

func (r *Records) page(ctx context.Context, some found) (map[int64]*row, error) {
	args := make([]any, len(some))
	for i, f := range some {
		args[i] = f.seq
	}
	rows, err := r.db.Query(ctx, `SELECT seq, id, encryptedData, timestamp, parentId, unencryptedData FROM {gremlin_records}
		WHERE seq IN (`+parameters(1, len(args))+`)`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	page := make(map[int64]*row, len(some))
	for rows.Next() {
		var seq int64
		w := &row{}
		if err := rows.Scan(&seq, &w.ID, &w.EncryptedData, &w.Timestamp, &w.ParentID, &w.UnencryptedData); err != nil {
			return nil, err
		}
		page[seq] = w
	}
	return page, rows.Err()
}

// file is a data.db of the original.
type file struct {
	db    *sql.DB
	write sync.Mutex // fairer than SQLite's own waiting
}

const busyTimeout = 10 * time.Second // that one process waits for what another writes

func openFile(ctx context.Context, path string) (*file, error) {
	// SQLite would create the file with the mode of the umask.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	db, err := sqlfile.Open(path, busyTimeout, "synchronous(full)")
	if err != nil {
		return nil, err
	}
	if err = sqlfile.UseLog(ctx, db); err == nil {
		_, err = db.ExecContext(ctx, original)
	}
	if err != nil {
		_ = db.Close()
		if sqlfile.Damaged(err) {
			err = errors.New("it isn't a data.db of GremlinOFA, or it is damaged")
		}
		return nil, err
	}
	return &file{db: db}, nil
}

// theirs is a statement for the original's table.
func theirs(statement string) string {
	return strings.NewReplacer("{gremlin_records}", "records", "seq", "rowid").Replace(statement)
}

// Exec implements [store.Querier].
func (f *file) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	var n int64
	err := f.Update(ctx, func(q store.Querier) (err error) {
		n, err = q.Exec(ctx, statement, args...)
		return err
	})
	return n, err
}

// Query implements [store.Querier].
func (f *file) Query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return f.db.QueryContext(ctx, theirs(statement), args...)
}

// QueryRow implements [store.Querier].
func (f *file) QueryRow(ctx context.Context, statement string, args ...any) *sql.Row {
	return f.db.QueryRowContext(ctx, theirs(statement), args...)
}

// Update runs do in a transaction.
func (f *file) Update(ctx context.Context, do func(q store.Querier) error) error {
	f.write.Lock()
	defer f.write.Unlock()
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := do(transaction{tx}); err != nil {
		return err
	}
	return tx.Commit()
}

type transaction struct{ *sql.Tx }

func (t transaction) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	done, err := t.ExecContext(ctx, theirs(statement), args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (t transaction) Query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return t.QueryContext(ctx, theirs(statement), args...)
}

func (t transaction) QueryRow(ctx context.Context, statement string, args ...any) *sql.Row {
	return t.QueryRowContext(ctx, theirs(statement), args...)
}
