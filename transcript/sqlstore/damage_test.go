package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

// What a database is that cannot be read is told apart by its errors, wherever they come up.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	db := openDB(t, path)
	s, err := sqlstore.Create(ctx, db, "a")
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := s.Append([]byte(`{"type":"session","id":"a","padding":"................................................................"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`PRAGMA wal_checkpoint(truncate)`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !sqlstore.IsDatabase(data) || sqlstore.IsDatabase([]byte("no database")) || sqlstore.IsDatabase(nil) {
		t.Error("a database is not known by how it begins")
	}
	broken := append([]byte(nil), data...)
	clear(broken[100:])
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"overwritten": {broken, sqlstore.ErrDamaged},
		"cut":         {data[:5000], sqlstore.ErrDamaged},
		"text":        {[]byte("this is no database at all, but it is long enough to be looked at, for it has more than a hundred bytes"), sqlstore.ErrNoDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			if err := os.WriteFile(path, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", dsn(path))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			_, list := sqlstore.List(ctx, db)
			_, create := sqlstore.Create(ctx, db, "b")
			_, openIt := sqlstore.Open(ctx, db, "a")
			_, view := sqlstore.View(ctx, db, "a")
			for call, err := range map[string]error{
				"check": sqlstore.Check(ctx, db), "init": sqlstore.Init(ctx, db), "list": list, "create": create, "open": openIt, "view": view,
				"delete": sqlstore.Delete(ctx, db, "a"),
			} {
				if !errors.Is(err, tt.want) {
					t.Errorf("%s: %v, want %v", call, err, tt.want)
				}
			}
		})
	}
}

// A database that is damaged while a session is read says so too.
func TestDamageMeanwhile(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	db := openDB(t, path)
	s, err := sqlstore.Create(ctx, db, "a")
	if err != nil {
		t.Fatal(err)
	}
	refs, err := s.Append([]byte(`{"type":"session","id":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA writable_schema = on; UPDATE sqlite_schema SET rootpage = 99 WHERE name = 'records'; PRAGMA schema_version = 99`); err != nil {
		t.Fatal(err)
	}
	_, read := s.Read(refs[0])
	walk := s.Records(func(transcript.Ref, []byte) error { return nil })
	for _, err := range []error{read, walk} {
		if !errors.Is(err, sqlstore.ErrDamaged) {
			t.Errorf("%v, want that it is damaged", err)
		}
	}
	s.Close()
}
