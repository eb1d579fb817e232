package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

var things = store.Part{Name: "things", Steps: []string{
	`CREATE TABLE {things} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, n INTEGER NOT NULL, data BLOB) STRICT;
	 CREATE INDEX things_by_n ON {things} (n);`,
}}

func TestStore(t *testing.T) {
	ctx := context.Background()
	storetest.Each(t, []store.Part{things}, func(t *testing.T, open func() *store.DB) {
		t.Run("statements", func(t *testing.T) {
			db := open()
			n, err := db.Exec(ctx, `INSERT INTO {things} (name, n, data) VALUES (?1, ?2, ?3), (?4, ?2, ?3)`, "a", 1, []byte("\x00?1{x}"), "b")
			if err != nil || n != 2 {
				t.Fatalf("%d rows, %v", n, err)
			}
			_, err = db.Exec(ctx, `INSERT INTO {things} (name, n) VALUES (?1, 3)`, "b")
			if !store.Taken(err) {
				t.Errorf("a second b: %v", err)
			}
			_, err = db.Exec(ctx, `INSERT INTO {things} (name, n) VALUES (?1, NULL)`, "c")
			if err == nil || store.Taken(err) {
				t.Errorf("no n: %v", err)
			}
			var data []byte
			if err := db.QueryRow(ctx, `SELECT data FROM {things} WHERE name = ?1`, "b").Scan(&data); err != nil || string(data) != "\x00?1{x}" {
				t.Errorf("data %q, %v", data, err)
			}
		})
		t.Run("an update that fails changes nothing", func(t *testing.T) {
			db := open()
			failure := errors.New("no")
			err := db.Update(ctx, func(q store.Querier) error {
				if _, err := q.Exec(ctx, `INSERT INTO {things} (name, n) VALUES ('a', 1)`); err != nil {
					return err
				}
				return failure
			})
			var n int
			if err2 := db.QueryRow(ctx, `SELECT count(*) FROM {things}`).Scan(&n); !errors.Is(err, failure) || n != 0 || err2 != nil {
				t.Errorf("%v, %d rows, %v", err, n, err2)
			}
		})
		t.Run("updates come one after the other", func(t *testing.T) {
			db := open()
			if _, err := db.Exec(ctx, `INSERT INTO {things} (name, n) VALUES ('a', 0)`); err != nil {
				t.Fatal(err)
			}
			var work sync.WaitGroup
			for range 8 {
				work.Go(func() {
					for range 5 {
						err := db.Update(ctx, func(q store.Querier) error {
							var n int
							if err := q.QueryRow(ctx, `SELECT n FROM {things}`).Scan(&n); err != nil {
								return err
							}
							_, err := q.Exec(ctx, `UPDATE {things} SET n = ?1`, n+1)
							return err
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			work.Wait()
			var n int
			if err := db.QueryRow(ctx, `SELECT n FROM {things}`).Scan(&n); err != nil || n != 40 {
				t.Errorf("%d of 40 updates, %v", n, err)
			}
		})
		t.Run("it is whole", func(t *testing.T) {
			if err := open().Check(ctx); err != nil {
				t.Error(err)
			}
		})
	})
}

// Tables are made by whoever is first, and brought up to date by later burins only.
func TestMigrate(t *testing.T) {
	ctx := context.Background()
	places := map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "new", "server.db") },
		"PostgreSQL": func(t *testing.T) string { return pgtest.Shared(t).Database(t) },
	}
	later := store.Part{Name: things.Name, Steps: append(things.Steps, `ALTER TABLE {things} ADD COLUMN more TEXT NOT NULL DEFAULT 'x'`)}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			if name == "PostgreSQL" {
				pacetest.Costly(t)
			}
			at := place(t)
			var work sync.WaitGroup
			for i := range 8 {
				work.Go(func() {
					db, err := store.Open(ctx, at, "", things)
					if err != nil {
						t.Errorf("open: %v", err)
						return
					}
					defer db.Close()
					if _, err := db.Exec(ctx, `INSERT INTO {things} (name, n) VALUES (?1, 1)`, fmt.Sprint(i)); err != nil {
						t.Error(err)
					}
				})
			}
			work.Wait()
			db := storetest.Open(t, at, []store.Part{later})
			var n int
			if err := db.QueryRow(ctx, `SELECT count(*) FROM {things} WHERE more = 'x'`).Scan(&n); err != nil || n != 8 {
				t.Errorf("%d rows after the second step, %v", n, err)
			}
			if _, err := store.Open(ctx, at, "", things); !errors.Is(err, store.ErrNewer) {
				t.Errorf("an older burin: %v", err)
			}
			other := store.Part{Name: things.Name, Steps: []string{`CREATE TABLE {things} (id TEXT)`, "SELECT 1"}}
			if _, err := store.Open(ctx, at, "", other); !errors.Is(err, store.ErrForeign) {
				t.Errorf("other steps: %v", err)
			}
		})
	}
}

func TestBackup(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := storetest.Open(t, filepath.Join(dir, "server.db"), []store.Part{things})
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { // two rows at a time, while it is copied
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := db.Exec(ctx, `INSERT INTO {things} (name, n) VALUES (?1, 1), (?2, 1)`, fmt.Sprint("a", i), fmt.Sprint("b", i)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 5 {
		path := filepath.Join(dir, fmt.Sprintf("copy'%d.db", i))
		if err := db.Backup(ctx, path); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("the copy: %v, %v", info.Mode(), err)
		}
		copied := storetest.Open(t, path, []store.Part{things})
		var n int
		if err := copied.QueryRow(ctx, `SELECT count(*) FROM {things}`).Scan(&n); err != nil || n%2 != 0 {
			t.Errorf("%d rows, %v", n, err)
		}
		if err := copied.Check(ctx); err != nil {
			t.Error(err)
		}
		if err := db.Backup(ctx, path); err == nil {
			t.Error("a copy was overwritten")
		}
	}
	close(stop)
	work.Wait()
}

func TestDamaged(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "server.db")
	db, err := store.Open(ctx, path, "", things)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		if _, err := db.Exec(ctx, `INSERT INTO {things} (name, n) VALUES (?1, ?2)`, strings.Repeat("x", 40)+fmt.Sprint(i), i); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 2; i < len(data)/2+20_000; i++ {
		data[i] = 'x'
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	db = storetest.Open(t, path, []store.Part{things})
	if err := db.Check(ctx); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("damaged: %v", err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, path, "", things); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("no database: %v", err)
	}
}

// A row that belongs to nothing is damage, too.
func TestMissing(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "server.db")
	db := storetest.Open(t, path, []store.Part{{Name: "houses", Steps: []string{
		`CREATE TABLE {houses} (id INTEGER PRIMARY KEY) STRICT; CREATE TABLE {rooms} (house INTEGER NOT NULL REFERENCES {houses} (id)) STRICT;`,
	}}})
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
	other, err := sqlfile.Open(path, time.Second, "foreign_keys(off)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var table string
	if err := other.QueryRow(`SELECT name FROM sqlite_master WHERE name LIKE '%rooms'`).Scan(&table); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(`INSERT INTO ` + table + ` VALUES (7)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Check(ctx); err == nil || !strings.Contains(err.Error(), "rooms belongs to what is missing in") || !strings.Contains(err.Error(), "backup") {
		t.Errorf("a room without a house: %v", err)
	}
}

func TestRestore(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path, saved := filepath.Join(dir, "server.db"), filepath.Join(dir, "copy.db")
	names := func(path string) string {
		db, err := store.Open(ctx, path, "", things)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var all string
		if err := db.QueryRow(ctx, `SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM {things} ORDER BY id)`).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	db, err := store.Open(ctx, path, "", things)
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string) {
		if _, err := db.Exec(ctx, `INSERT INTO {things} (name, n) VALUES (?1, 1)`, name); err != nil {
			t.Fatal(err)
		}
	}
	add("old")
	if err := db.Backup(ctx, saved); err != nil {
		t.Fatal(err)
	}
	add("new")
	if _, err := store.Restore(ctx, saved, path, unchecked); !errors.Is(err, store.ErrInUse) {
		t.Errorf("while it is open: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.db"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{filepath.Join(dir, "bad.db"), filepath.Join(dir, "none.db")} {
		if _, err := store.Restore(ctx, wrong, path, unchecked); err == nil || names(path) != "old,new" {
			t.Errorf("%s: %v, %s", wrong, err, names(path))
		}
	}
	kept, err := store.Restore(ctx, saved, path, unchecked)
	if err != nil || names(path) != "old" || names(kept) != "old,new" {
		t.Errorf("%v: %s, and %s was kept", err, names(path), names(kept))
	}
	elsewhere := filepath.Join(dir, "elsewhere.db")
	if kept, err := store.Restore(ctx, saved, elsewhere, unchecked); err != nil || kept != "" || names(elsewhere) != "old" {
		t.Errorf("where nothing was: %q, %v", kept, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*restoring*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func unchecked(context.Context, store.Querier) error { return nil }
