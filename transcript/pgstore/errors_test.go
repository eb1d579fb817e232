package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/transcript/pgstore"
)

// Whatever goes wrong with a server is said on one line, without a password.
func TestServerErrors(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{})
	server.Exec(t, "postgres",
		"CREATE ROLE ann LOGIN PASSWORD 'quince' IN ROLE "+pgtest.Guarded, "CREATE ROLE bob LOGIN",
		"CREATE DATABASE closed", "REVOKE CREATE ON DATABASE closed FROM PUBLIC")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	foreign, halfForeign, newer := server.Database(t), server.Database(t), server.Database(t)
	name := func(address string) string {
		return strings.TrimSuffix(address[strings.LastIndexByte(address, '/')+1:], "?sslmode=disable")
	}
	server.Exec(t, name(foreign), "CREATE SCHEMA burin", "CREATE TABLE burin.sessions (id int, data text)")
	server.Exec(t, name(halfForeign), "CREATE SCHEMA burin", "CREATE TABLE burin.schema (version int)", "CREATE TABLE burin.other (id int)")
	openDB(t, newer)
	server.Exec(t, name(newer), "UPDATE burin.schema SET version = 7")
	for _, tt := range []struct {
		name, address, password string
		is                      error
		says                    string
	}{
		{"no server", fmt.Sprintf("postgres://ann@%s/db", free.Addr()), "quince", pgstore.ErrUnreachable, "connection refused"},
		{"no host", "postgres://ann@nowhere.invalid/db", "quince", pgstore.ErrUnreachable, "nowhere.invalid"},
		{"no database", server.Address("none"), "", nil, `database "none" does not exist: create it with createdb`},
		{"wrong password", server.AddressOf("ann", "postgres"), "medlar", pgstore.ErrPassword, ""},
		{"no password", server.AddressOf("ann", "postgres"), "", pgstore.ErrPassword, ""},
		{"no role", server.AddressOf("carl", "postgres"), "", nil, `role "carl" does not exist`},
		{"no TLS", strings.TrimSuffix(server.Address("postgres"), "?sslmode=disable"), "", pgstore.ErrNoTLS, "?sslmode=disable"},
		{"no right", server.AddressOf("bob", "closed"), "", nil, "needs the right to create the schema burin once"},
		{"foreign tables", foreign, "", pgstore.ErrForeign, ""},
		{"some foreign tables", halfForeign, "", pgstore.ErrForeign, ""},
		{"newer tables", newer, "", pgstore.ErrNewer, "schema 7, this one knows 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db, err := pgstore.Connect(tt.address, tt.password)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			err = pgstore.Init(t.Context(), db)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %v with %q", err, tt.is, tt.says)
			}
			if text := fmt.Sprint(err); strings.ContainsAny(text, "\n") || strings.Contains(text, "quince") || strings.Contains(text, "medlar") || strings.Contains(text, "pq:") {
				t.Errorf("it says %q", text)
			}
		})
	}
	for _, address := range []string{"postgres://ann:quince@h/db", "postgres://h:port/db", "talks.db", "postgres://%zz/db", "postgres://h/db?sslmode=quince"} {
		db, err := pgstore.Connect(address, "medlar")
		if err == nil {
			db.Close()
			t.Errorf("%s is an address", address)
		} else if text := err.Error(); strings.Contains(text, "quince") && !strings.Contains(address, "sslmode") || strings.Contains(text, "medlar") || strings.Contains(text, "\n") {
			t.Errorf("%s: %s", address, text)
		}
	}
}

// A server that only reads shows its sessions, and says why it takes no others.
func TestStandby(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{})
	db := openDB(t, server.Database(t))
	closeStore(t, create(t, db, "s", "{1}"))
	server.Standby(t)
	view, err := pgstore.View(t.Context(), db, "s")
	if err != nil || len(records(t, view)) != 1 {
		t.Errorf("a view: %v", err)
	}
	_, opened := pgstore.Open(t.Context(), db, "s")
	_, created := pgstore.Create(t.Context(), db, "t")
	for _, err := range []error{opened, created, pgstore.Delete(t.Context(), db, "s")} {
		if err == nil || !strings.Contains(err.Error(), "give the address of the primary") || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
	}
}

// A database without sessions is told from one that has them, and looking changes nothing.
func TestCheck(t *testing.T) {
	address := pgtest.Shared(t).Database(t)
	db := connect(t, address)
	if _, err := db.Exec(`CREATE TABLE sessions (id int)`); err != nil { // of somebody else, and elsewhere
		t.Fatal(err)
	}
	for range 2 {
		if err := pgstore.Check(t.Context(), db); !errors.Is(err, pgstore.ErrEmpty) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an empty one: %v", err)
		}
	}
	together := make(chan error)
	for range 4 {
		go func() {
			other, err := pgstore.Connect(address, "")
			if err == nil {
				err = errors.Join(pgstore.Init(context.Background(), other), other.Close())
			}
			together <- err
		}()
	}
	for range 4 {
		if err := <-together; err != nil {
			t.Errorf("several at once: %v", err)
		}
	}
	if err := pgstore.Check(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// A role that owns nothing but a schema that was made for it can use it.
func TestLimitedRole(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{})
	server.Exec(t, "postgres", "CREATE ROLE bob LOGIN", "CREATE DATABASE shared", "REVOKE CREATE ON DATABASE shared FROM PUBLIC")
	server.Exec(t, "shared", "CREATE SCHEMA burin AUTHORIZATION bob")
	db := openDB(t, server.AddressOf("bob", "shared"))
	closeStore(t, create(t, db, "s", "{1}"))
}

// A password comes from wherever libpq has it, and one that is given comes first.
func TestPasswords(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{})
	server.Exec(t, "postgres", "CREATE ROLE ann LOGIN PASSWORD 'quince' IN ROLE "+pgtest.Guarded)
	address := server.AddressOf("ann", "postgres")
	home := t.TempDir()
	t.Setenv("HOME", home)
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	try := func(what, address, password string, ok bool) {
		t.Helper()
		db, err := pgstore.Connect(address, password)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.PingContext(t.Context()); (err == nil) != ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	try("none", address, "", false)
	try("the one that is given", address, "quince", true)
	t.Run("variable", func(t *testing.T) {
		t.Setenv("PGPASSWORD", "quince")
		try("PGPASSWORD", address, "", true)
		try("another that is given", address, "medlar", false)
	})
	t.Run("file", func(t *testing.T) {
		write(".pgpass", fmt.Sprintf("127.0.0.1:%d:*:ann:quince\n", server.Port))
		try("~/.pgpass", address, "", true)
		try("another that is given", address, "medlar", false)
		if err := os.Remove(filepath.Join(home, ".pgpass")); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("service", func(t *testing.T) {
		write(".pg_service.conf", fmt.Sprintf("[talks]\nhost=127.0.0.1\nport=%d\nuser=ann\npassword=quince\ndbname=postgres\nsslmode=disable\n", server.Port))
		t.Setenv("PGSERVICE", "talks")
		try("PGSERVICE", "postgres://", "", true)
	})
}

// A process that was stopped for longer than its call may take is told of a canceled call, or of a transaction
// that has ended: that is a connection to be made again.
func TestStoppedWithinCall(t *testing.T) {
	db := openDB(t, pgtest.Shared(t).Database(t))
	ctx, stop := context.WithCancel(t.Context())
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	for !errors.Is(err, sql.ErrTxDone) { // the transaction is ended meanwhile
		if _, err = tx.ExecContext(t.Context(), "SELECT 1"); t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	_, canceled := db.ExecContext(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'canceled' USING ERRCODE = '57014'; END $$")
	for _, err := range []error{err, canceled} {
		if got := pgstore.Means(err); !errors.Is(got, pgstore.ErrLost) {
			t.Errorf("%v means %v", err, got)
		}
	}
}
