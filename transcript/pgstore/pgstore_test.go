package pgstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/lib/pq"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

func connect(t testing.TB, address string) *sql.DB {
	t.Helper()
	db, err := pgstore.Connect(address, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// openDB is a database that is prepared for sessions.
func openDB(t testing.TB, address string) *sql.DB {
	t.Helper()
	db := connect(t, address)
	if err := pgstore.Init(context.Background(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

func tempDB(t testing.TB) *sql.DB {
	return openDB(t, pgtest.Shared(t).Database(t))
}

func create(t testing.TB, db *sql.DB, session string, records ...string) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Create(context.Background(), db, session)
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
	s := pgtest.Shared(t)
	address := s.Database(t)
	admin := openDB(t, address)
	connector, err := pq.NewConnector(address + "&binary_parameters=yes")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	storetest.Run(t, func(t *testing.T) *storetest.Opener {
		n++
		p := &place{admin: admin, session: fmt.Sprint("s", n), connector: faulty{connector, new(storetest.Faults)}}
		t.Cleanup(p.crash)
		return &storetest.Opener{Open: p.open, Crash: p.crash, Faults: p.connector.faults}
	})
}

// place is where the suite opens a session: a database of its own connections.
type place struct {
	admin     *sql.DB
	session   string
	connector faulty
	db        *sql.DB
	store     *pgstore.Store
}

func (p *place) open() (transcript.Store, error) {
	ctx := context.Background()
	if p.db == nil {
		p.db = sql.OpenDB(&p.connector)
		p.db.SetMaxOpenConns(4)
	}
	s, err := pgstore.Open(ctx, p.db, p.session)
	if errors.Is(err, pgstore.ErrNoSession) {
		s, err = pgstore.Create(ctx, p.db, p.session)
	}
	if err != nil {
		return nil, err
	}
	p.store = s
	return s, nil
}

// crash ends the connections, as the end of the process does, and lets the lease run out.
func (p *place) crash() {
	if p.store != nil {
		pgstore.Abandon(p.store)
		p.store = nil
	}
	if p.db != nil {
		_ = p.db.Close()
		p.db = nil
	}
	_, _ = p.admin.Exec(`UPDATE burin.sessions SET expires = 0 WHERE name = $1`, p.session)
}

// childAddress tells the process that is killed where the server is.
const childAddress = "BURIN_TEST_POSTGRES"

func TestSurvivesKills(t *testing.T) {
	pacetest.Costly(t)
	address := os.Getenv(childAddress)
	if address == "" {
		address = pgtest.Shared(t).Database(t)
		t.Setenv(childAddress, address)
	}
	const lease = 300 * time.Millisecond
	storetest.RunKilled(t, func(string) (transcript.Store, error) {
		ctx := context.Background()
		db := openDB(t, address)
		s, err := pgstore.OpenFor(ctx, db, "s", lease)
		if errors.Is(err, pgstore.ErrNoSession) {
			if s, err = pgstore.Create(ctx, db, "s"); err == nil {
				if err = s.Close(); err == nil {
					s, err = pgstore.OpenFor(ctx, db, "s", lease)
				}
			}
		}
		for errors.Is(err, transcript.ErrLocked) { // until the lease of the one that was killed ends
			<-time.After(lease / 10)
			s, err = pgstore.OpenFor(ctx, db, "s", lease)
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}

// What was acknowledged survives a crash of the server, and the store goes on with it.
func TestServerCrash(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	db := openDB(t, server.Database(t))
	s := create(t, db, "s", "{1}")
	for n := 2; n < 5; n++ {
		server.Crash(t)
		if _, err := s.Append([]byte("{lost}")); !errors.Is(err, pgstore.ErrLost) && !errors.Is(err, pgstore.ErrUnreachable) {
			t.Errorf("without a server: %v", err)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %q", err)
		}
		server.Restart(t)
		if _, err := s.Append(fmt.Appendf(nil, "{%d}", n)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"{1}", "{2}", "{3}", "{4}"}, records(t, s)); diff != "" {
		t.Error(diff)
	}
	closeStore(t, s)
}

func TestOneWriter(t *testing.T) {
	ctx := context.Background()
	address := pgtest.Shared(t).Database(t)
	db, other := openDB(t, address), openDB(t, address)
	first := create(t, db, "s", "{1}")
	_, err := pgstore.Open(ctx, other, "s")
	held, ok := errors.AsType[*pgstore.Locked](err)
	if !errors.Is(err, transcript.ErrLocked) || !ok {
		t.Fatalf("a second writer: %v", err)
	}
	if !strings.Contains(held.Owner, fmt.Sprint("process ", os.Getpid(), " on ")) || held.Left <= 0 || strings.Contains(err.Error(), "\n") {
		t.Errorf("the lock is of %q for %v: %v", held.Owner, held.Left, err)
	}
	if err := pgstore.Delete(ctx, other, "s"); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("deleting beside a writer: %v", err)
	}
	closeStore(t, create(t, other, "another session"))
	view, err := pgstore.View(ctx, other, "s")
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
	second, err := pgstore.Open(ctx, other, "s")
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
	const writers, turns = 6, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 0; i < turns; {
				s, err := pgstore.Open(context.Background(), db, "s")
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
	view, err := pgstore.View(context.Background(), db, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got := records(t, view); len(got) != writers*turns {
		t.Errorf("%d records, want %d", len(got), writers*turns)
	}
}

// A writer that was away for longer than its lease continues if nobody came meanwhile, and
// writes nothing if somebody did.
func TestTakenOver(t *testing.T) {
	ctx := context.Background()
	address := pgtest.Shared(t).Database(t)
	db, other := openDB(t, address), openDB(t, address)
	first := create(t, db, "s", "{1}")
	runOut := func() {
		t.Helper()
		if _, err := other.Exec(`UPDATE burin.sessions SET expires = 0`); err != nil {
			t.Fatal(err)
		}
	}
	runOut()
	if _, err := first.Append([]byte("{2}")); err != nil {
		t.Fatalf("nobody came: %v", err)
	}
	if _, err := pgstore.Open(ctx, other, "s"); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a write has not renewed the lease: %v", err)
	}
	runOut()
	second, err := pgstore.Open(ctx, other, "s")
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"append":  func() error { _, err := first.Append([]byte("{stale}")); return err },
		"replace": func() error { return first.Replace(slices.Values([][]byte{[]byte("{stale}")})) },
		"sync":    first.Sync,
		"close":   first.Close,
	} {
		if err := try(); !errors.Is(err, pgstore.ErrTakenOver) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := second.Append([]byte("{3}")); err != nil {
		t.Errorf("the end of the first one took the lease of the second: %v", err)
	}
	if diff := cmp.Diff([]string{"{1}", "{2}", "{3}"}, records(t, second)); diff != "" {
		t.Error(diff)
	}
	closeStore(t, second)
}

// A lease is renewed for as long as the store is open, and a store that has lost it knows.
func TestRenewal(t *testing.T) {
	pacetest.Costly(t)
	ctx := context.Background()
	db := tempDB(t)
	closeStore(t, create(t, db, "s"))
	const lease = 300 * time.Millisecond
	s, err := pgstore.OpenFor(ctx, db, "s", lease)
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 3*lease; <-time.After(lease / 5) {
		if _, err := pgstore.Open(ctx, db, "s"); !errors.Is(err, transcript.ErrLocked) {
			t.Fatalf("after %v the lease is gone: %v", time.Since(began), err)
		}
	}
	closeStore(t, s)
}

func TestTrash(t *testing.T) {
	ctx := context.Background()
	db := tempDB(t)
	closeStore(t, create(t, db, "kept", `{"type":"session"}`, "{2}"))
	closeStore(t, create(t, db, "thrown away", `{"type":"session","title":"x"}`))
	if err := pgstore.Delete(ctx, db, "thrown away"); err != nil {
		t.Fatal(err)
	}
	if _, err := pgstore.Open(ctx, db, "thrown away"); !errors.Is(err, pgstore.ErrTrashed) {
		t.Errorf("a session in the trash: %v", err)
	}
	view, err := pgstore.View(ctx, db, "thrown away")
	if err != nil || len(records(t, view)) != 1 {
		t.Errorf("a view of the trash: %v", err)
	}
	infos, err := pgstore.List(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	want := []pgstore.Info{
		{Session: "kept", Records: 2, Header: []byte(`{"type":"session"}`)},
		{Session: "thrown away", Records: 1, Header: []byte(`{"type":"session","title":"x"}`)},
	}
	byName := cmpopts.SortSlices(func(a, b pgstore.Info) bool { return a.Session < b.Session })
	if diff := cmp.Diff(want, infos, byName, cmpopts.IgnoreFields(pgstore.Info{}, "Created", "Updated", "Revision", "Trashed")); diff != "" {
		t.Error(diff)
	}
	for _, i := range infos {
		if trashed := i.Session != "kept"; trashed == i.Trashed.IsZero() || i.Created.IsZero() || i.Updated.Before(i.Created) || i.Revision == 0 {
			t.Errorf("%+v", i)
		}
	}
	if err := pgstore.Restore(ctx, db, "thrown away"); err != nil {
		t.Fatal(err)
	}
	s, err := pgstore.Open(ctx, db, "thrown away")
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	var n int
	if err := db.QueryRow("SELECT count(*) FROM burin.records").Scan(&n); err != nil || n != 3 {
		t.Errorf("%d records, want the 3 of both sessions: the trash keeps them; %v", n, err)
	}
	if err := pgstore.Purge(ctx, db, "kept"); !errors.Is(err, pgstore.ErrNoSession) {
		t.Errorf("purge what is not in the trash: %v", err)
	}
	if err := pgstore.Delete(ctx, db, "thrown away"); err != nil {
		t.Fatal(err)
	}
	if err := pgstore.Purge(ctx, db, "thrown away"); err != nil {
		t.Error(err)
	}
	if err := db.QueryRow("SELECT count(*) FROM burin.records").Scan(&n); err != nil || n == 3 || n == 0 {
		t.Errorf("%d records are left; %v", n, err)
	}
	if err := pgstore.Restore(ctx, db, "thrown away"); !errors.Is(err, pgstore.ErrNoSession) {
		t.Errorf("restore what was purged: %v", err)
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	db := tempDB(t)
	s := create(t, db, "s", "{1}")
	fails := func(name string, try func() error) {
		t.Helper()
		if err := try(); err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "pq:") {
			t.Errorf("%s: error %v, want one line", name, err)
		}
	}
	for name, try := range map[string]func() error{
		"create twice":   func() error { _, err := pgstore.Create(ctx, db, "s"); return err },
		"no name":        func() error { _, err := pgstore.Create(ctx, db, ""); return err },
		"no text":        func() error { _, err := pgstore.Create(ctx, db, "a\x00b\xff"); return err },
		"open none":      func() error { _, err := pgstore.Open(ctx, db, "none"); return err },
		"view none":      func() error { _, err := pgstore.View(ctx, db, "none"); return err },
		"delete none":    func() error { return pgstore.Delete(ctx, db, "none") },
		"restore a live": func() error { return pgstore.Restore(ctx, db, "s") },
		"read another":   func() error { _, err := s.Read(transcript.Ref{Pos: 0, Len: 4}); return err },
	} {
		fails(name, try)
	}
	fails("purged under it", func() error {
		_, err := db.Exec("DELETE FROM burin.records; DELETE FROM burin.sessions")
		_, aerr := s.Append([]byte("{}"))
		return errors.Join(err, aerr)
	})
	if err := s.Close(); err == nil {
		t.Error("a session that is gone was synced")
	}
}

// Many records are walked over in several reads, none of which is much more than it must be.
func TestLongWalk(t *testing.T) {
	db := tempDB(t)
	s := create(t, db, "s")
	var want [][]byte
	for n := range 1500 {
		size := 10
		if n%100 == 0 {
			size = 300_000
		}
		want = append(want, bytes.Repeat([]byte("x"), size+n%7))
	}
	if err := s.Replace(slices.Values(want)); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := s.Records(func(_ transcript.Ref, r []byte) error {
		if !bytes.Equal(r, want[n]) {
			t.Errorf("record %d has %d bytes", n, len(r))
		}
		n++
		return nil
	})
	if err != nil || n != len(want) {
		t.Errorf("%d records, %v", n, err)
	}
	closeStore(t, s)
}

func BenchmarkAppend(b *testing.B) {
	db := openDB(b, pgtest.Start(b, pgtest.Options{Durable: true}).Database(b))
	for _, size := range []int{300, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := create(b, db, fmt.Sprint(b.Name(), b.N, time.Now()))
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
