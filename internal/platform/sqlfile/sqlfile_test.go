package sqlfile_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sqlfile.Open(path, 5*time.Second, "synchronous(off)", "foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(statement string) func(*sql.Tx, int) error {
	return func(tx *sql.Tx, _ int) error {
		_, err := tx.Exec(statement)
		return err
	}
}

// value is the one value of a query.
func value(t *testing.T, db *sql.DB, query string) (v string) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?%#ü&x=1.db")
	db := open(t, path)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there before it is used: %v", err)
	}
	if err := sqlfile.Migrate(t.Context(), db, 1, exec(`CREATE TABLE things (id)`)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	for query, want := range map[string]string{
		`PRAGMA busy_timeout`: "5000", `PRAGMA synchronous`: "0", `PRAGMA foreign_keys`: "1", `PRAGMA journal_mode`: "wal", `PRAGMA user_version`: "1",
	} {
		if got := value(t, db, query); got != want {
			t.Errorf("%s is %s, want %s", query, got, want)
		}
	}
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.db")
	db := open(t, path)
	for _, step := range []struct {
		version   int
		statement string // "": it is not to be asked for
		found     int
		says      string
	}{
		{version: 1, statement: `CREATE TABLE things (id)`},
		{version: 1},
		{version: 3, statement: `ALTER TABLE things ADD name; nonsense`, found: 1, says: "nonsense"},
		{version: 3, statement: `ALTER TABLE things ADD name`, found: 1}, // the one that failed was taken back
		{version: 2, says: "a newer burin wrote it (schema 3, this one knows 2): update burin"},
	} {
		asked := false
		err := sqlfile.Migrate(t.Context(), db, step.version, func(tx *sql.Tx, found int) error {
			if asked = true; found != step.found {
				t.Errorf("version %d: found %d, want %d", step.version, found, step.found)
			}
			return exec(step.statement)(tx, found)
		})
		if asked != (step.statement != "") {
			t.Errorf("version %d: asked to change the tables: %v", step.version, asked)
		}
		if (err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("version %d: error %v, want %q", step.version, err, step.says)
		}
		if errors.Is(err, sqlfile.ErrNewer) != (step.version == 2) {
			t.Errorf("version %d: error %v", step.version, err)
		}
	}
}

// Tables of a newer program are not touched, the journal mode of their file included.
func TestNewerIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.db")
	db := open(t, path)
	if _, err := db.Exec(`PRAGMA user_version = 7`); err != nil {
		t.Fatal(err)
	}
	if err := sqlfile.Migrate(t.Context(), db, 1, exec(`CREATE TABLE things (id)`)); !errors.Is(err, sqlfile.ErrNewer) {
		t.Errorf("error %v", err)
	}
	if mode := value(t, db, `PRAGMA journal_mode`); mode != "delete" {
		t.Errorf("journal mode %s", mode)
	}
}

func TestFirstOpenByMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.db")
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 12 {
		db := open(t, path)
		wg.Go(func() {
			err := sqlfile.Migrate(context.Background(), db, 1, func(tx *sql.Tx, found int) error {
				made.Add(1)
				return exec(`CREATE TABLE things (id)`)(tx, found)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("the tables were made %d times", n)
	}
}

// The change of the journal mode waits for another process that writes, though SQLite
// itself does not wait there.
func TestMigrateWaitsForAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.db")
	writer, err := open(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Exec(`CREATE TABLE others (id)`); err != nil {
		t.Fatal(err)
	}
	done := time.AfterFunc(30*time.Millisecond, func() {
		if err := writer.Commit(); err != nil {
			t.Error(err)
		}
	})
	defer done.Stop()
	if err := sqlfile.Migrate(t.Context(), open(t, path), 1, exec(`CREATE TABLE things (id)`)); err != nil {
		t.Error(err)
	}
}

func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	sound := open(t, filepath.Join(dir, "sound.db"))
	if _, err := sound.Exec(`CREATE TABLE things (id UNIQUE); INSERT INTO things VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	query := func(db *sql.DB, statement string) error {
		_, err := db.Exec(statement)
		return err
	}
	for _, tt := range []struct {
		name    string
		err     error
		code    int
		damaged bool
	}{
		{"none", nil, 0, false},
		{"none of SQLite's", os.ErrClosed, 0, false},
		{"no database", query(open(t, broken), `SELECT * FROM sqlite_schema`), sqlite3.SQLITE_NOTADB, true},
		{"no such table", query(sound, `SELECT * FROM others`), sqlite3.SQLITE_ERROR, true},
		{"syntax", query(sound, `SELEC`), sqlite3.SQLITE_ERROR, false},
		{"constraint", query(sound, `INSERT INTO things VALUES (1)`), sqlite3.SQLITE_CONSTRAINT, false},
	} {
		if code, damaged := sqlfile.Code(tt.err), sqlfile.Damaged(tt.err); code != tt.code || damaged != tt.damaged {
			t.Errorf("%s: code %d, damaged %v, want %d, %v: %v", tt.name, code, damaged, tt.code, tt.damaged, tt.err)
		}
	}
}
