package vault_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// notes is a room with a sealed record a row.
type notes struct{ db *store.DB }

var notesPart = store.Part{Name: "notes", Steps: []string{
	`CREATE TABLE {notes} (id INTEGER PRIMARY KEY, person TEXT NOT NULL, note BLOB NOT NULL) STRICT`,
}}

func place(id int64) string { return fmt.Sprintf("notes/%d/note", id) }

func (n notes) add(t *testing.T, v *vault.Vault, person string, ids ...int64) {
	t.Helper()
	r := ringOf(t, v, person)
	for _, id := range ids {
		note, err := r.Seal(place(id), fmt.Append(nil, "note ", id))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.db.Exec(t.Context(), `INSERT INTO {notes} (id, person, note) VALUES (?1, ?2, ?3)`, id, person, note); err != nil {
			t.Fatal(err)
		}
	}
}

func (n notes) read(t *testing.T, v *vault.Vault, person string, id int64) {
	t.Helper()
	var note []byte
	if err := n.db.QueryRow(t.Context(), `SELECT note FROM {notes} WHERE id = ?1`, id).Scan(&note); err != nil {
		t.Fatal(err)
	}
	opened, err := ringOf(t, v, person).Open(place(id), note)
	if err != nil || string(opened) != fmt.Sprint("note ", id) {
		t.Errorf("note %d of %s: %q, %v", id, person, opened, err)
	}
}

func (n notes) Reseal(ctx context.Context, person string, ring *vault.Ring, after string, limit int) (next string, sealed int, err error) {
	from, _ := strconv.ParseInt(after, 10, 64) // "" is 0
	rows, err := n.db.Query(ctx, `SELECT id, note FROM {notes} WHERE person = ?1 AND id > ?2 ORDER BY id LIMIT ?3`, person, from, min(limit, 3))
	if err != nil {
		return "", 0, err
	}
	defer rows.Close()
	found := map[int64][]byte{}
	for rows.Next() {
		var id int64
		var note []byte
		if err := rows.Scan(&id, &note); err != nil {
			return "", 0, err
		}
		found[id], next = note, fmt.Sprint(id)
	}
	rows.Close()
	for id, note := range found {
		if g, err := vault.Generation(note); err != nil || g == ring.Newest() {
			continue
		}
		opened, err := ring.Open(place(id), note)
		if err != nil {
			return "", sealed, err
		}
		fresh, err := ring.Seal(place(id), opened)
		if err != nil {
			return "", sealed, err
		}
		changed, err := n.db.Exec(ctx, `UPDATE {notes} SET note = ?1 WHERE id = ?2 AND note = ?3`, fresh, id, note)
		if err != nil {
			return "", sealed, err
		}
		sealed += int(changed)
	}
	return next, sealed, rows.Err()
}

func open(t *testing.T, db *store.DB, source vault.Source, o vault.Options) *vault.Vault {
	t.Helper()
	v, err := vault.Open(t.Context(), db, source, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func ringOf(t *testing.T, v *vault.Vault, person string) *vault.Ring {
	t.Helper()
	r, err := v.Ring(t.Context(), person)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func keyFile(t *testing.T) vault.KeyFile {
	return vault.KeyFile(filepath.Join(t.TempDir(), "server.key"))
}

func count(t *testing.T, db *store.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const phrase, other = "quince jelly 1", "plum dumplings"

func TestVault(t *testing.T) {
	storetest.Each(t, []store.Part{vault.Part(), notesPart}, func(t *testing.T, openDB func() *store.DB) {
		t.Run("two servers make one key", func(t *testing.T) {
			db, key := openDB(), keyFile(t)
			servers := []*vault.Vault{open(t, db, key, vault.Options{}), open(t, db, key, vault.Options{})}
			var work sync.WaitGroup
			for i := range 16 {
				work.Go(func() {
					for _, person := range []string{"ann", "bob"} {
						if _, err := servers[i%2].Ring(t.Context(), person); err != nil {
							t.Error(err)
						}
					}
				})
			}
			work.Wait()
			if n := count(t, db, "{vault_keys}"); n != 2 {
				t.Errorf("%d keys of two people", n)
			}
			notes{db}.add(t, servers[0], "ann", 1)
			notes{db}.read(t, servers[1], "ann", 1)
			sealed, err := ringOf(t, servers[0], "ann").Seal("p", []byte("x"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ringOf(t, servers[0], "bob").Open("p", sealed); !errors.Is(err, vault.ErrKey) {
				t.Errorf("bob opens a record of ann's: %v", err)
			}
			if _, err := servers[0].Ring(t.Context(), "ann/1"); err == nil {
				t.Error("a person whose id could be another's place")
			}
		})
		t.Run("a server with another key writes nothing", func(t *testing.T) {
			db := openDB()
			v := open(t, db, keyFile(t), vault.Options{})
			ringOf(t, v, "ann")
			wrong, missing := keyFile(t), keyFile(t)
			open(t, openDB(), wrong, vault.Options{}) // which makes the file
			for _, source := range []vault.Source{wrong, missing, &phraseSource{text: phrase}} {
				_, err := vault.Open(t.Context(), db, source, vault.Options{})
				if !errors.Is(err, vault.ErrServerKey) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "copy") {
					t.Errorf("%v: %v", source, err)
				}
			}
			if _, err := os.Stat(string(missing)); err == nil {
				t.Error("a key was made that opens nothing")
			}
			if n := count(t, db, "{vault_wraps}"); n != 1 {
				t.Errorf("%d wraps", n)
			}
		})
		t.Run("a key of the person's own", func(t *testing.T) { testOwn(t, openDB) })
		t.Run("rotation", func(t *testing.T) { testRotate(t, openDB) })
		t.Run("rotation of the server's key", func(t *testing.T) { testRotateServer(t, openDB) })
		t.Run("a person is deleted", func(t *testing.T) {
			db := openDB()
			v := open(t, db, keyFile(t), vault.Options{})
			notes{db}.add(t, v, "ann", 1)
			ringOf(t, v, "bob")
			err := db.Update(t.Context(), func(q store.Querier) error { return v.Delete(t.Context(), q, "ann") })
			if err != nil {
				t.Fatal(err)
			}
			v.Lock("ann")
			if a, b := count(t, db, "{vault_keys}"), count(t, db, "{vault_wraps}"); a != 1 || b != 1 {
				t.Errorf("%d keys, %d wraps left of bob's one", a, b)
			}
			var note []byte
			if err := db.QueryRow(t.Context(), `SELECT note FROM {notes}`).Scan(&note); err != nil {
				t.Fatal(err)
			}
			if _, err := ringOf(t, v, "ann").Open(place(1), note); !errors.Is(err, vault.ErrKey) {
				t.Errorf("her record with a new key: %v", err)
			}
		})
	})
}

func testOwn(t *testing.T, openDB func() *store.DB) {
	ctx := t.Context()
	db, key := openDB(), keyFile(t)
	v := open(t, db, key, vault.Options{})
	locked := make(chan string, 10)
	v.OnLock(func(person string) { locked <- person })
	room := notes{db}
	room.add(t, v, "ann", 1)
	if _, err := v.SetMode(ctx, "ann", vault.Own, "short"); !errors.Is(err, vault.ErrWeak) {
		t.Errorf("a short pass phrase: %v", err)
	}
	recovery, err := v.SetMode(ctx, "ann", vault.Own, phrase)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.SetMode(ctx, "ann", vault.Own, phrase); !errors.Is(err, vault.ErrMode) {
		t.Errorf("a second time: %v", err)
	}
	room.read(t, v, "ann", 1)
	room.add(t, v, "ann", 2)
	ring := ringOf(t, v, "ann")
	if ring.Newest() != 2 {
		t.Errorf("generation %d, though backups have the first under the server's key", ring.Newest())
	}
	v.Lock("ann")
	if who := <-locked; who != "ann" {
		t.Errorf("%s was locked", who)
	}
	if _, err := v.Ring(ctx, "ann"); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("locked: %v", err)
	}
	if _, err := ring.Seal("p", nil); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("a ring from before: %v", err)
	}
	if _, err := ring.Derive(1, "x"); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("a ring from before: %v", err)
	}
	if m, isOpen, err := v.Mode(ctx, "ann"); m != vault.Own || isOpen || err != nil {
		t.Errorf("mode %s, open %v, %v", m, isOpen, err)
	}
	if err := v.Unlock(ctx, "ann", "wrong "+phrase); !errors.Is(err, vault.ErrPassphrase) {
		t.Errorf("a wrong pass phrase: %v", err)
	}
	if err := v.Unlock(ctx, "bob", phrase); !errors.Is(err, vault.ErrMode) {
		t.Errorf("who has none: %v", err)
	}

	// Who waits goes on when it is unlocked, on this server only.
	waited := make(chan error, 1)
	go func() { waited <- v.Wait(ctx, "ann") }()
	if err := v.Wait(ctx, "bob"); err != nil {
		t.Errorf("bob waits: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	if err := v.Wait(short, "ann"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("locked, a wait ends with %v", err)
	}
	cancel()
	if err := v.Unlock(ctx, "ann", phrase); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	room.read(t, v, "ann", 1)
	room.read(t, v, "ann", 2)
	second := open(t, db, key, vault.Options{})
	if _, err := second.Ring(ctx, "ann"); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("another server: %v", err)
	}

	// A turn goes on when its person is locked.
	held, release, err := v.Hold(ctx, "ann")
	if err != nil {
		t.Fatal(err)
	}
	v.Lock("ann")
	<-locked
	if _, err := v.Ring(ctx, "ann"); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("locked during a turn: %v", err)
	}
	if _, err := held.Seal("p", nil); err != nil {
		t.Errorf("the turn: %v", err)
	}
	release()
	release()
	<-locked
	if _, err := held.Seal("p", nil); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("after the turn: %v", err)
	}

	// A rotation that an admin asks for comes with the person.
	if done, err := v.Rotate(ctx, "ann"); done || err != nil {
		t.Errorf("rotated while locked: %v, %v", done, err)
	}
	if err := v.ChangePassphrase(ctx, "ann", other, phrase); !errors.Is(err, vault.ErrPassphrase) {
		t.Errorf("changed with a wrong one: %v", err)
	}
	if err := v.ChangePassphrase(ctx, "ann", phrase, other); err != nil {
		t.Fatal(err)
	}
	if err := v.Unlock(ctx, "ann", phrase); !errors.Is(err, vault.ErrPassphrase) {
		t.Errorf("with the old one: %v", err)
	}
	if err := v.Unlock(ctx, "ann", other); err != nil {
		t.Fatal(err)
	}
	if g := ringOf(t, v, "ann").Newest(); g != 3 {
		t.Errorf("generation %d after a rotation", g)
	}
	v.Lock("ann")
	<-locked

	// The recovery key opens once, however it is typed.
	typed := strings.ToLower(strings.ReplaceAll(recovery, "-", " "))
	for _, wrong := range []string{"", "1", "0000-" + recovery[5:], recovery + "0"} {
		if _, err := v.Recover(ctx, "ann", wrong, phrase); !errors.Is(err, vault.ErrPassphrase) {
			t.Errorf("recovery key %q: %v", wrong, err)
		}
	}
	next, err := v.Recover(ctx, "ann", typed, phrase)
	if err != nil || next == recovery {
		t.Fatalf("%q, %v", next, err)
	}
	room.read(t, v, "ann", 2)
	if _, err := v.Recover(ctx, "ann", recovery, phrase); !errors.Is(err, vault.ErrPassphrase) {
		t.Errorf("a second time: %v", err)
	}
	v.Lock("ann")
	if err := v.Unlock(ctx, "ann", phrase); err != nil {
		t.Fatal(err)
	}
	// Back to the server's key.
	if _, err := v.SetMode(ctx, "ann", vault.Server, ""); err != nil {
		t.Fatal(err)
	}
	room.read(t, second, "ann", 2)
	if err := v.Unlock(ctx, "ann", phrase); !errors.Is(err, vault.ErrMode) {
		t.Errorf("unlocked without a pass phrase: %v", err)
	}
}

// Who does nothing is locked, but not while a turn runs.
func TestIdle(t *testing.T) {
	db := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), []store.Part{vault.Part()})
	v := open(t, db, keyFile(t), vault.Options{Idle: 50 * time.Millisecond})
	locked := make(chan string)
	v.OnLock(func(person string) { locked <- person })
	if _, err := v.SetMode(t.Context(), "ann", vault.Own, phrase); err != nil {
		t.Fatal(err)
	}
	if who := <-locked; who != "ann" {
		t.Errorf("%s was locked", who)
	}
	if err := v.Unlock(t.Context(), "ann", phrase); err != nil {
		t.Fatal(err)
	}
	r, release, err := v.Hold(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-locked:
		t.Error("locked while a turn runs")
	case <-time.After(200 * time.Millisecond):
	}
	if _, err := r.Seal("p", nil); err != nil {
		t.Error(err)
	}
	release()
	<-locked
}

// What others do with what somebody shares is no use of theirs, after which they would stay unlocked.
func TestGuest(t *testing.T) {
	db := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), []store.Part{vault.Part()})
	v := open(t, db, keyFile(t), vault.Options{})
	used := func(ctx context.Context) time.Time {
		t.Helper()
		if _, err := v.Ring(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
		return vault.Used(v, "ann")
	}
	first := used(t.Context())
	if got := used(vault.AsGuest(t.Context())); !got.Equal(first) {
		t.Errorf("used at %v, not at %v", got, first)
	}
	if got := used(t.Context()); !got.After(first) {
		t.Errorf("used at %v still", got)
	}
}

// Locked while a turn runs, the keys are the turn's alone.
func TestHolding(t *testing.T) {
	db := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), []store.Part{vault.Part()})
	v := open(t, db, keyFile(t), vault.Options{})
	ctx := t.Context()
	if _, err := v.SetMode(ctx, "ann", vault.Own, phrase); err != nil {
		t.Fatal(err)
	}
	r, release, err := v.Hold(ctx, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Unlocked(); len(got) != 1 || got[0] != "ann" {
		t.Errorf("unlocked %q", got)
	}
	v.Lock("ann")
	if _, err := v.Ring(ctx, "ann"); !errors.Is(err, vault.ErrLocked) || len(v.Unlocked()) != 0 {
		t.Errorf("%v, unlocked %q", err, v.Unlocked())
	}
	turn := vault.Holding(ctx, "ann", r)
	held, err := v.Ring(turn, "ann")
	if err != nil || held != r {
		t.Errorf("the turn gets %v, %v", held, err)
	}
	if _, err := held.Seal("p", nil); err != nil {
		t.Error(err)
	}
	if other, err := v.Ring(turn, "bob"); err != nil || other == r {
		t.Errorf("another's keys are %v, %v", other, err)
	}
	release()
	if _, err := held.Seal("p", nil); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("after the turn: %v", err)
	}
	if m, err := vault.ModeOf(ctx, db, "ann"); err != nil || m != vault.Own {
		t.Errorf("mode %q, %v", m, err)
	}
}

// A server that has the keys of somebody hears that they were locked at another one.
func TestLockedElsewhere(t *testing.T) {
	db, key := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), []store.Part{vault.Part()}), keyFile(t)
	here, there := open(t, db, key, vault.Options{}), open(t, db, key, vault.Options{})
	locked := make(chan string, 2)
	there.OnLock(func(person string) { locked <- person })
	ringOf(t, there, "ann")
	if _, err := here.SetMode(t.Context(), "ann", vault.Own, phrase); err != nil {
		t.Fatal(err)
	}
	there.Lock("ann") // so that it looks at once
	<-locked
	if _, err := there.Ring(t.Context(), "ann"); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("it opens them: %v", err)
	}
	if who := <-locked; who != "ann" {
		t.Errorf("%s was locked", who)
	}
}

func testRotate(t *testing.T, openDB func() *store.DB) {
	ctx := t.Context()
	db, key := openDB(), keyFile(t)
	v := open(t, db, key, vault.Options{Grace: time.Nanosecond})
	late := open(t, db, key, vault.Options{}) // whose keys are young for an hour
	room := notes{db}
	room.add(t, v, "ann", 1, 2, 3, 4, 5, 6, 7)
	room.add(t, v, "bob", 8)
	early := ringOf(t, late, "ann") // as whatever is open for long keeps it
	if done, err := v.Rotate(ctx, "ann"); !done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	fresh, err := ringOf(t, v, "ann").Seal("p", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(ctx, func(store.Querier) error { // it reads the new key also within a transaction
		_, err := early.Open("p", fresh)
		return err
	})
	if err != nil || early.Newest() != 2 {
		t.Errorf("a ring from before: %v, generation %d", err, early.Newest())
	}
	room.read(t, v, "ann", 1)
	room.add(t, v, "ann", 9)
	room.read(t, late, "ann", 9)
	old := func() (n int) {
		rows, err := db.Query(ctx, `SELECT note FROM {notes} WHERE person = 'ann'`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var note []byte
			if err := rows.Scan(&note); err != nil {
				t.Fatal(err)
			}
			if g, err := vault.Generation(note); err == nil && g == 1 {
				n++
			}
		}
		return n
	}
	// Killed in the middle, it keeps the old key, and goes on the next time.
	stop, cancel := context.WithCancel(ctx)
	err = v.Reseal(stop, after{room, cancel})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled one: %v", err)
	}
	if n := old(); n == 0 || n == 7 {
		t.Errorf("%d of 7 notes have the old key", n)
	}
	if n := count(t, db, "{vault_keys}"); n != 3 {
		t.Errorf("%d keys", n)
	}
	if err := late.Reseal(ctx, room); err != nil {
		t.Fatal(err)
	}
	if n := old(); n != 0 {
		t.Errorf("%d notes have the old key", n)
	}
	if n := count(t, db, "{vault_keys}"); n != 3 {
		t.Errorf("%d keys: another server may still seal with the old one", n)
	}
	if err := v.Reseal(ctx, room); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "{vault_keys}"); n != 2 {
		t.Errorf("%d keys of two people", n)
	}
	for _, server := range []*vault.Vault{v, late} {
		room.read(t, server, "ann", 1)
		room.read(t, server, "ann", 9)
		room.read(t, server, "bob", 8)
	}
	// Tend is told of rotations.
	ctx, end := context.WithCancel(ctx)
	tended := make(chan struct{})
	go func() {
		defer close(tended)
		v.Tend(ctx, func(err error) { t.Error(err) }, told{room, end})
	}()
	if _, err := v.Rotate(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	<-tended
	room.read(t, v, "bob", 8)
}

// after is a room that ends its server after the first records.
type after struct {
	notes
	cancel func()
}

func (a after) Reseal(ctx context.Context, person string, ring *vault.Ring, from string, limit int) (string, int, error) {
	next, n, err := a.notes.Reseal(ctx, person, ring, from, limit)
	a.cancel()
	return next, n, err
}

// told is a room that ends its server when bob's note is sealed.
type told struct {
	notes
	end func()
}

func (a told) Reseal(ctx context.Context, person string, ring *vault.Ring, from string, limit int) (string, int, error) {
	next, n, err := a.notes.Reseal(ctx, person, ring, from, limit)
	if person == "bob" && n == 1 {
		a.end()
	}
	return next, n, err
}

// phraseSource is a pass phrase, and the next one.
type phraseSource struct {
	text, next string
	settle     error
}

func (p *phraseSource) Secrets(context.Context, bool) ([]vault.Secret, error) {
	s, err := vault.PhraseSecret(p.text)
	return []vault.Secret{s}, err
}

func (p *phraseSource) Next(context.Context) (vault.Secret, error) { return vault.PhraseSecret(p.next) }
func (p *phraseSource) Settle(context.Context, vault.Secret) error { return p.settle }
func (p *phraseSource) Advice() string                             { return "copy the pass phrase" }

// killed is a key file whose process ends before it knows which key is in use.
type killed struct{ vault.KeyFile }

var errKilled = errors.New("killed")

func (killed) Settle(context.Context, vault.Secret) error { return errKilled }

func testRotateServer(t *testing.T, openDB func() *store.DB) {
	ctx := t.Context()
	db, key := openDB(), keyFile(t)
	v := open(t, db, key, vault.Options{})
	room := notes{db}
	room.add(t, v, "ann", 1)
	room.add(t, v, "bob", 2)
	first, err := os.ReadFile(string(key))
	if err != nil {
		t.Fatal(err)
	}
	whole := func(when string, people ...string) {
		t.Helper()
		for i, person := range people {
			room.read(t, open(t, db, key, vault.Options{}), person, int64(i+1))
		}
	}
	// Killed before anything is wrapped: the next key lies there, and the old one is in use.
	if _, err := key.Next(ctx); err != nil {
		t.Fatal(err)
	}
	whole("before", "ann", "bob")
	if now, err := os.ReadFile(string(key)); err != nil || string(now) != string(first) {
		t.Errorf("the key was replaced too early, %v", err)
	}
	// Killed after: the next server finds the new key, and puts it in its place.
	if n, err := vault.RotateServer(ctx, db, key, killed{key}); !errors.Is(err, errKilled) {
		t.Errorf("%d, %v", n, err)
	}
	whole("after", "ann", "bob")
	now, err := os.ReadFile(string(key))
	if err != nil || string(now) == string(first) {
		t.Errorf("the key is still the old one, %v", err)
	}
	if left, err := filepath.Glob(string(key) + ".new*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	// A server that was there all the while goes on, also with new people.
	room.add(t, v, "cem", 3)
	whole("new people", "ann", "bob", "cem")
	// With the old key nothing opens.
	stale := keyFile(t)
	if err := os.WriteFile(string(stale), first, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open(ctx, db, stale, vault.Options{}); !errors.Is(err, vault.ErrServerKey) {
		t.Errorf("with the old key: %v", err)
	}
	// To a pass phrase, and to another.
	from := &phraseSource{text: phrase, next: phrase}
	if n, err := vault.RotateServer(ctx, db, key, from); n != 3 || err != nil {
		t.Fatalf("%d keys, %v", n, err)
	}
	if _, err := v.Ring(ctx, "dee"); !errors.Is(err, vault.ErrServerKey) {
		t.Errorf("a server with a key file makes keys: %v", err)
	}
	if n := count(t, db, "{vault_people}"); n != 3 {
		t.Errorf("%d people", n)
	}
	from.next = other
	if _, err := vault.RotateServer(ctx, db, from, from); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open(ctx, db, from, vault.Options{}); !errors.Is(err, vault.ErrServerKey) {
		t.Errorf("with the old pass phrase: %v", err)
	}
	room.read(t, open(t, db, &phraseSource{text: other}, vault.Options{}), "cem", 3)
}

// Nothing that holds a key prints it.
func TestKeysPrintNothing(t *testing.T) {
	raw := []byte(strings.Repeat("K", vault.KeySize))
	s, err := vault.KeySecret(raw)
	if err != nil {
		t.Fatal(err)
	}
	p, err := vault.PhraseSecret(phrase)
	if err != nil {
		t.Fatal(err)
	}
	r, err := vault.NewRing(map[uint32][]byte{1: raw})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []any{s, p, r, struct {
		R *vault.Ring
		S vault.Secret
	}{r, s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
			said := fmt.Sprintf(verb, x)
			if strings.Contains(said, "K") && !strings.Contains(said, "KeySize") || strings.Contains(said, "75") || strings.Contains(said, "4b4b") || strings.Contains(said, "quince") {
				t.Errorf("%s of %T: %s", verb, x, said)
			}
		}
	}
}

func TestSessions(t *testing.T) {
	raw := func(b byte) []byte { return []byte(strings.Repeat(string(b), vault.KeySize)) }
	old, err := vault.NewRing(map[uint32][]byte{1: raw('a')})
	if err != nil {
		t.Fatal(err)
	}
	both, err := vault.NewRing(map[uint32][]byte{1: raw('a'), 2: raw('b')})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := vault.NewRing(map[uint32][]byte{2: raw('b')})
	if err != nil {
		t.Fatal(err)
	}
	below := new(transcript.Memory)
	s, current, err := old.OpenSession(below)
	if err != nil || !current {
		t.Fatalf("%v, %v", current, err)
	}
	if _, err := s.Append([]byte(`{"type":"message","text":"plums"}`)); err != nil {
		t.Fatal(err)
	}
	if _, current, err := both.OpenSession(below); current || err != nil {
		t.Errorf("current %v, %v", current, err)
	}
	if _, _, err := fresh.OpenSession(below); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("without its key: %v", err)
	}
	for i, want := range []bool{true, false} {
		if changed, err := both.ResealSession(below); changed != want || err != nil {
			t.Errorf("time %d: %v, %v", i, changed, err)
		}
	}
	s, current, err = fresh.OpenSession(below)
	if err != nil || !current {
		t.Fatalf("%v, %v", current, err)
	}
	n := 0
	err = s.Records(func(_ transcript.Ref, record []byte) error {
		n++
		if !strings.Contains(string(record), "plums") {
			t.Errorf("a record: %s", record)
		}
		return nil
	})
	if n != 1 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}
