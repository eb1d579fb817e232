// Package storetest runs tests on both kinds of database that a server may have.
package storetest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

// Each runs a test with SQLite and, where all cases are tried and the machine has its programs, with
// PostgreSQL. open
// opens a new, empty database, which is closed with the test.
func Each(t *testing.T, parts []store.Part, test func(t *testing.T, open func() *store.DB)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		var made atomic.Int32
		test(t, func() *store.DB {
			return Open(t, filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", made.Add(1))), parts)
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		pacetest.Costly(t)
		s := pgtest.Shared(t)
		test(t, func() *store.DB { return Open(t, s.Database(t), parts) })
	})
}

// Open opens the database at a place; it is closed with the test.
func Open(t testing.TB, place string, parts []store.Part) *store.DB {
	t.Helper()
	d, err := store.Open(context.Background(), place, "", parts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
