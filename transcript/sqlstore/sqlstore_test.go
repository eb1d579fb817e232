package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"modernc.org/sqlite"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sqlstore"
	"github.com/burin-dev/burin/transcript/storetest"
)

func dsn(path string) string {
	u := url.URL{Path: path}
	return "file:" + u.EscapedPath() + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=synchronous(normal)&_pragma=foreign_keys(1)"
}

func openDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	connector, err := sqlite.NewConnector(dsn(filepath.ToSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	db, err := prepare(connector)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// prepare opens a database as this program does.
func prepare(connector driver.Connector) (*sql.DB, error) {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(4)
	if err := sqlstore.Init(context.Background(), db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func tempDB(t testing.TB) *sql.DB {
	return openDB(t, filepath.Join(t.TempDir(), "sessions.db"))
}

func create(t testing.TB, db *sql.DB, session string, records ...string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Create(context.Background(), db, session)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := s.Append([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func records(t testing.TB, s transcript.Store) (all []string) {
	t.Helper()
	err := s.Records(func(_ transcript.Ref, r []byte) error {
		all = append(all, string(r))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func closeStore(t testing.TB, s transcript.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Opener {
		p := &place{connector: faulty{faults: new(storetest.Faults)}}
		var err error
		p.connector.Connector, err = sqlite.NewConnector(dsn(filepath.ToSlash(filepath.Join(t.TempDir(), "sessions.db"))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.crash)
		return &storetest.Opener{Open: p.open, Crash: p.crash, Faults: p.connector.faults}
	})
}

// place is where the suite opens a session: a database that is opened with it.
type place struct {
	connector faulty
	db        *sql.DB
	store     *sqlstore.Store
}

func (p *place) open() (transcript.Store, error) {
	ctx := context.Background()
	if p.db == nil {
		db, err := prepare(&p.connector)
		if err != nil {
			return nil, err
		}
		p.db = db
	}
	s, err := sqlstore.Open(ctx, p.db, "s")
	if errors.Is(err, sqlstore.ErrNoSession) {
		s, err = sqlstore.Create(ctx, p.db, "s")
	}
	if err != nil {
		return nil, err
	}
	p.store = s
	return s, nil
}

// crash ends the connections and the lock, as the end of the process does.
func (p *place) crash() {
	if p.db != nil {
		_ = p.db.Close()
		p.db = nil
	}
	if p.store != nil {
		sqlstore.Unlock(p.store)
		p.store = nil
	}
}

func TestSurvivesKills(t *testing.T) {
	pacetest.Costly(t)
	storetest.RunKilled(t, func(dir string) (transcript.Store, error) {
		ctx := context.Background()
		db := openDB(t, filepath.Join(dir, "sessions.db"))
		s, err := sqlstore.Open(ctx, db, "s")
		if errors.Is(err, sqlstore.ErrNoSession) {
			s, err = sqlstore.Create(ctx, db, "s")
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}

func TestOneWriter(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	db := openDB(t, path)
	first := create(t, db, "s", "{1}")
	other := openDB(t, path)
	if _, err := sqlstore.Open(ctx, other, "s"); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if err := sqlstore.Delete(ctx, other, "s"); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("deleting beside a writer: %v", err)
	}
	create(t, other, "another session")
	view, err := sqlstore.View(ctx, other, "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Append([]byte("{2}")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"{1}", "{2}"}, records(t, view)); diff != "" {
		t.Error(diff)
	}
	if _, err := view.Append([]byte("{3}")); err == nil {
		t.Error("a view was written to")
	}
	if err := view.Replace(slices.Values([][]byte{[]byte("{3}")})); err == nil {
		t.Error("a view was replaced")
	}
	closeStore(t, view)
	closeStore(t, first)
	second, err := sqlstore.Open(ctx, other, "s")
	if err != nil {
		t.Fatalf("a writer after the first: %v", err)
	}
	if diff := cmp.Diff([]string{"{1}", "{2}"}, records(t, second)); diff != "" {
		t.Error(diff)
	}
	closeStore(t, second)
}

// Many want to write one session; there is never more than one that may.
func TestWritersInTurn(t *testing.T) {
	db := tempDB(t)
	closeStore(t, create(t, db, "s"))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; i < 10; {
				s, err := sqlstore.Open(context.Background(), db, "s")
				if errors.Is(err, transcript.ErrLocked) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Append(fmt.Appendf(nil, `{"w":%d,"i":%d}`, w, i)); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				i++
			}
		})
	}
	wg.Wait()
	view, err := sqlstore.View(context.Background(), db, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got := records(t, view); len(got) != 80 {
		t.Errorf("%d records, want 80", len(got))
	}
}

// A database in memory has no lock; the slower of two writers is told.
func TestOvertaken(t *testing.T) {
	db, err := sql.Open("sqlite", "file::memory:?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	if err := sqlstore.Init(ctx, db); err != nil {
		t.Fatal(err)
	}
	first := create(t, db, "s", "{1}")
	second, err := sqlstore.Open(ctx, db, "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Append([]byte("{2}")); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Append([]byte("{3}")); err == nil {
		t.Error("two writers wrote at one place")
	}
	if diff := cmp.Diff([]string{"{1}", "{2}"}, records(t, second)); diff != "" {
		t.Error(diff)
	}
	walk := 0
	err = first.Records(func(transcript.Ref, []byte) error {
		if walk++; walk > 1 {
			return nil
		}
		return second.Replace(slices.Values([][]byte{[]byte("{4}"), []byte("{5}")}))
	})
	if err == nil && walk > 2 {
		t.Errorf("a walk over %d records gave old and new ones", walk)
	}
}

func TestTrash(t *testing.T) {
	ctx := context.Background()
	db := tempDB(t)
	closeStore(t, create(t, db, "kept", `{"type":"session"}`, "{2}"))
	closeStore(t, create(t, db, "thrown away", `{"type":"session","title":"x"}`))
	if err := sqlstore.Delete(ctx, db, "thrown away"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Open(ctx, db, "thrown away"); !errors.Is(err, sqlstore.ErrTrashed) {
		t.Errorf("a session in the trash: %v", err)
	}
	view, err := sqlstore.View(ctx, db, "thrown away")
	if err != nil || len(records(t, view)) != 1 {
		t.Errorf("a view of the trash: %v", err)
	}
	infos, err := sqlstore.List(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	want := []sqlstore.Info{
		{Session: "kept", Records: 2, Header: []byte(`{"type":"session"}`)},
		{Session: "thrown away", Records: 1, Header: []byte(`{"type":"session","title":"x"}`)},
	}
	byName := cmpopts.SortSlices(func(a, b sqlstore.Info) bool { return a.Session < b.Session })
	if diff := cmp.Diff(want, infos, byName, cmpopts.IgnoreFields(sqlstore.Info{}, "Created", "Updated", "Revision", "Trashed")); diff != "" {
		t.Error(diff)
	}
	for _, i := range infos {
		if trashed := i.Session != "kept"; trashed == i.Trashed.IsZero() || i.Created.IsZero() || i.Updated.Before(i.Created) || i.Revision == 0 {
			t.Errorf("%+v", i)
		}
	}
	if err := sqlstore.Restore(ctx, db, "thrown away"); err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.Open(ctx, db, "thrown away")
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if err := sqlstore.Delete(ctx, db, "thrown away"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Open(ctx, db, "thrown away"); !errors.Is(err, sqlstore.ErrTrashed) {
		t.Errorf("a session in the trash: %v", err)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM records").Scan(&n); err != nil || n != 3 {
		t.Errorf("%d records, want the 3 of both sessions: the trash keeps them; %v", n, err)
	}
	if err := sqlstore.Purge(ctx, db, "kept"); !errors.Is(err, sqlstore.ErrNoSession) {
		t.Errorf("purge what is not in the trash: %v", err)
	}
	if err := sqlstore.Purge(ctx, db, "thrown away"); err != nil {
		t.Error(err)
	}
	if err := db.QueryRow("SELECT count(*) FROM records").Scan(&n); err != nil || n == 3 || n == 0 {
		t.Errorf("%d records are left; %v", n, err)
	}
	if err := sqlstore.Restore(ctx, db, "thrown away"); !errors.Is(err, sqlstore.ErrNoSession) {
		t.Errorf("restore what was purged: %v", err)
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	db := tempDB(t)
	s := create(t, db, "s", "{1}")
	for name, try := range map[string]func() error{
		"create twice":    func() error { _, err := sqlstore.Create(ctx, db, "s"); return err },
		"no name":         func() error { _, err := sqlstore.Create(ctx, db, ""); return err },
		"open none":       func() error { _, err := sqlstore.Open(ctx, db, "none"); return err },
		"view none":       func() error { _, err := sqlstore.View(ctx, db, "none"); return err },
		"delete none":     func() error { return sqlstore.Delete(ctx, db, "none") },
		"restore a live":  func() error { return sqlstore.Restore(ctx, db, "none") },
		"read another":    func() error { _, err := s.Read(transcript.Ref{Pos: 0, Len: 4}); return err },
		"purged under it": func() error { return errors.Join(purgeUnder(db), appendTo(s)) },
	} {
		if err := try(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line", name, err)
		}
	}
	if err := s.Close(); err == nil {
		t.Error("a session that is gone was synced")
	}
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(dbFile(t, db)), "sessions.db-locks"))
	if err != nil || len(entries) > 0 && runtime.GOOS != "windows" {
		t.Errorf("locks are left: %v, %v", entries, err)
	}
}

func purgeUnder(db *sql.DB) error {
	_, err := db.Exec("DELETE FROM records; DELETE FROM sessions")
	return err
}

func appendTo(s *sqlstore.Store) error { _, err := s.Append([]byte("{}")); return err }

func dbFile(t *testing.T, db *sql.DB) (file string) {
	t.Helper()
	if err := db.QueryRow("SELECT file FROM pragma_database_list").Scan(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

// A full disk: SQLite refuses the append as a whole.
func TestFull(t *testing.T) {
	db := tempDB(t)
	db.SetMaxOpenConns(1)
	s := create(t, db, "s", "{1}")
	if _, err := db.Exec("PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
	big := []byte(strings.Repeat("x", 200_000))
	if _, err := s.Append([]byte("{2}"), big, []byte("{3}")); err == nil {
		t.Fatal("it had room")
	}
	if _, err := s.Append([]byte("{4}")); err != nil {
		t.Errorf("a small record afterwards: %v", err)
	}
	if err := s.Replace(slices.Values([][]byte{[]byte("{5}"), big})); err == nil {
		t.Error("it had room")
	}
	if diff := cmp.Diff([]string{"{1}", "{4}"}, records(t, s)); diff != "" {
		t.Error(diff)
	}
	closeStore(t, s)
}

// Sync leaves the connection as it was.
func TestSync(t *testing.T) {
	db := tempDB(t)
	db.SetMaxOpenConns(1)
	s := create(t, db, "s", "{1}")
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	var mode int
	if err := db.QueryRow("PRAGMA synchronous").Scan(&mode); err != nil || mode != 1 {
		t.Errorf("synchronous is %d, want 1 as before; %v", mode, err)
	}
	closeStore(t, s)
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{300, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := create(b, tempDB(b), "s")
			defer s.Close()
			r := []byte(strings.Repeat("x", size))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Append(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSync(b *testing.B) {
	s := create(b, tempDB(b), "s")
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecords(b *testing.B) {
	s := create(b, tempDB(b), "s")
	defer s.Close()
	r := []byte(strings.Repeat("x", 300))
	const n = 10_000
	err := s.Replace(func(yield func([]byte) bool) {
		for i := 0; i < n && yield(r); i++ {
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(n * 300)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Records(func(transcript.Ref, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
