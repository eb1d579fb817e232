package pgtest_test

import (
	"database/sql"
	"testing"

	"github.com/lib/pq"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What was committed survives a crash of a durable server.
func TestCrash(t *testing.T) {
	pacetest.Costly(t)
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	address := s.Database(t)
	connector, err := pq.NewConnector(address)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	s.Crash(t)
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a server that has crashed answers")
	}
	s.Restart(t)
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
}

// Members of a role must give their password.
func TestGuarded(t *testing.T) {
	pacetest.Costly(t)
	s := pgtest.Start(t, pgtest.Options{})
	s.Exec(t, "postgres", "CREATE ROLE ann LOGIN PASSWORD 'quince' IN ROLE "+pgtest.Guarded)
	for password, ok := range map[string]bool{"quince": true, "medlar": false} {
		c, err := pq.NewConfig(s.AddressOf("ann", "postgres"))
		if err != nil {
			t.Fatal(err)
		}
		c.Password = password
		connector, err := pq.NewConnectorConfig(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		if err := db.PingContext(t.Context()); (err == nil) != ok {
			t.Errorf("%s: %v", password, err)
		}
		db.Close()
	}
}
