package credential_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/database"
)

func TestMain(m *testing.M) {
	if os.Getenv(childHome) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// world is what a test's manager stands in.
type world struct {
	home     string
	env      map[string]string
	files    []string
	settings map[string]credential.Settings
	ring     credential.Keyring
	now      time.Time
}

func newWorld(t testing.TB) *world {
	return &world{
		home: filepath.Join(t.TempDir(), "home"), env: map[string]string{}, files: []string{},
		settings: map[string]credential.Settings{}, ring: credential.NoKeyring(),
		now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local),
	}
}

// open makes a manager as a process of its own would.
func (w *world) open(t testing.TB) *credential.Manager {
	m := credential.New(credential.Options{
		Home:      w.home,
		LookupEnv: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
		EnvFiles:  w.files,
		Provider:  func(p string) credential.Settings { return w.settings[p] },
		Keyring:   w.ring,
	})
	m.SetClock(func() time.Time { return w.now })
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// sql runs a statement on the database, as damage from outside would.
func (w *world) sql(t testing.TB, query string, args ...any) {
	t.Helper()
	w.db(t, func(db *sql.DB) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	})
}

func (w *world) db(t testing.TB, f func(*sql.DB)) {
	t.Helper()
	db, err := database.OpenExisting(context.Background(), w.home)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f(db)
}

func add(t testing.TB, m *credential.Manager, provider string, keys ...string) (ids []int64) {
	t.Helper()
	for _, k := range keys {
		id, added, err := m.Add(context.Background(), provider, "", credential.Secret(k))
		if err != nil || !added {
			t.Fatalf("add: %v, added %v", err, added)
		}
		ids = append(ids, id)
	}
	return ids
}

// key is Key for tests that expect one.
func key(t testing.TB, m *credential.Manager, provider, session string) credential.Resolved {
	t.Helper()
	r, err := m.Key(context.Background(), provider, session)
	if err != nil {
		t.Fatalf("key of %s: %v", provider, err)
	}
	return r
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func ExampleManager_Key() {
	m := credential.New(credential.Options{
		Home:      "/nonexistent",
		LookupEnv: func(name string) (string, bool) { return "sk-1", name == "OPENAI_API_KEY" },
	})
	defer m.Close()
	// The key of an endpoint, asked once per request.
	endpointKey := func(ctx context.Context) (string, error) {
		r, err := m.Key(ctx, "openai", "session-1")
		return r.Secret.Reveal(), err
	}
	k, _ := endpointKey(context.Background())
	r, _ := m.Key(context.Background(), "openai", "session-1")
	fmt.Println(len(k), r.Secret, r.Source)
	// Output: 4 [redacted] variable OPENAI_API_KEY
}

// counts says how often each credential was given for n sessions or turns.
func counts(t testing.TB, m *credential.Manager, provider string, sessions ...string) map[int64]int {
	t.Helper()
	c := map[int64]int{}
	for _, s := range sessions {
		c[key(t, m, provider, s).CredentialID]++
	}
	return maps.Clone(c)
}
