package undo_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/internal/platform/undo"
	"github.com/burin-dev/burin/tool/change"
)

// openDatabase opens a database with a log, as a server in the workspace does.
func openDatabase(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sqlfile.Open(file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := sqlfile.UseLog(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	execute(t, db, `CREATE TABLE IF NOT EXISTS lines (text TEXT)`)
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// A database that a program uses is several files that belong together: none of them is
// restored, whatever a turn did to them.
func TestDatabaseInUse(t *testing.T) {
	dir := t.TempDir()
	r := newTree(t, dir, t.TempDir())
	defer r.close()
	db := openDatabase(t, filepath.Join(dir, "app.db"))
	execute(t, db, `INSERT INTO lines VALUES ('before')`)
	r.agent(t, "1", `true`)
	r.j.BeginTurn("2", "")
	if _, err := r.j.Watch(t.Context(), func() error {
		r.sh(t, `echo new >k.txt`)
		execute(t, db, `INSERT INTO lines VALUES ('in the turn')`)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	plan, err := r.j.Preview(t.Context(), "2")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan {
		if p.Action != change.Keep && p.Path != "k.txt" {
			t.Errorf("the preview: %+v", p)
		}
	}
	u, err := r.j.Undo(t.Context(), "2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"k.txt"}, u.Restored); diff != "" {
		t.Errorf("restored: %s", diff)
	}
	checkDatabase(t, db, 2)
}

// What was restored while nobody used it stays so: a database at rest is a file.
func TestDatabaseAtRest(t *testing.T) {
	dir := t.TempDir()
	r := newTree(t, dir, t.TempDir())
	defer r.close()
	file := filepath.Join(dir, "app.db")
	change := func(statement string) {
		db := openDatabase(t, file)
		execute(t, db, statement)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	change(`INSERT INTO lines VALUES ('before')`)
	r.agent(t, "1", `true`)
	r.j.BeginTurn("2", "")
	if _, err := r.j.Watch(t.Context(), func() error { change(`INSERT INTO lines VALUES ('in the turn')`); return nil }); err != nil {
		t.Fatal(err)
	}
	db := openDatabase(t, file)
	execute(t, db, `INSERT INTO lines VALUES ('by a server')`) // which is still there
	if u, err := r.j.Undo(t.Context(), "2"); err != nil || len(u.Restored) != 0 || len(u.Kept) != 1 {
		t.Errorf("while it is used: %+v, %v", u, err)
	}
	execute(t, db, `DELETE FROM lines WHERE text = 'by a server'`)
	checkDatabase(t, db, 2)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r.agent(t, "3", `cp app.db before.db`)
	r.j.BeginTurn("4", "")
	if _, err := r.j.Watch(t.Context(), func() error { change(`DELETE FROM lines`); return nil }); err != nil {
		t.Fatal(err)
	}
	if u, err := r.j.Undo(t.Context(), "4"); err != nil || len(u.Restored) != 1 {
		t.Errorf("at rest: %+v, %v", u, err)
	}
	r.sh(t, `cmp app.db before.db`)
}

// Files with such names that belong to no database are like all others.
func TestNamesOfDatabases(t *testing.T) {
	dir := t.TempDir()
	r := newTree(t, dir, t.TempDir())
	defer r.close()
	r.sh(t, `echo a >notes; echo a >notes-journal; echo a >only-wal`)
	before := r.snapshot(t)
	r.agent(t, "1", `echo b >notes; echo b >notes-journal; echo b >only-wal`)
	if _, err := r.j.Undo(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.snapshot(t)); diff != "" {
		t.Error(diff)
	}
}

// Burin's own files are neither looked at nor restored.
func TestOwnFiles(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	j, err := undo.OpenSession(root, t.TempDir(), "s", func(name string) bool { return name == "talk.jsonl" || name == "talk" })
	if err != nil {
		t.Fatal(err)
	}
	r := &tree{dir: dir, root: root, j: j}
	defer r.close()
	changed := r.agent(t, "1", `echo a >a; echo a >talk.jsonl; mkdir talk; echo a >talk/0.log`)
	if diff := cmp.Diff([]string{"a"}, changed); diff != "" {
		t.Errorf("changed: %s", diff)
	}
	if _, err := r.j.Undo(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	r.sh(t, `test ! -e a && test -e talk.jsonl && test -e talk/0.log`)
}

func checkDatabase(t *testing.T, db *sql.DB, lines int) {
	t.Helper()
	var health string
	var n int
	if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&health); err != nil || health != "ok" {
		t.Errorf("the database: %s, %v", health, err)
	}
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM lines`).Scan(&n); err != nil || n != lines {
		t.Errorf("%d lines, %v, want %d", n, err, lines)
	}
}
