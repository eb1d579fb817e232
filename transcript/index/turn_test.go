package index

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

// One who waits for others that go on waits longer than for one who has stopped.
func TestTurn(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "sessions.db")
	const wait = 1500 * time.Millisecond
	open := func() *sql.DB {
		db, err := sqlfile.Open(file, wait)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	other, mine := open(), open()
	if err := prepare(ctx, other); err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(ctx, `INSERT INTO sessions VALUES (1, 'a', 0, 0, 0, '', '', '', '', '', '', 0, 0)`); err != nil {
		t.Fatal(err)
	}
	hold := func() *sql.Tx {
		tx, err := other.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}

	held := hold()
	if _, err := turn(ctx, mine); !sqlfile.Busy(err) {
		t.Errorf("while another one stands still: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		tx, err := turn(ctx, mine)
		if err == nil {
			err = tx.Rollback()
		}
		got <- err
	}()
	for range 4 { // longer than wait, without a gap that is likely to be hit
		<-time.After(wait * 2 / 5)
		if _, err := held.ExecContext(ctx, `UPDATE sessions SET done = done + 1`); err != nil {
			t.Fatal(err)
		}
		if err := held.Commit(); err != nil {
			t.Fatal(err)
		}
		held = hold()
	}
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("while others go on: %v", err)
	}
}
