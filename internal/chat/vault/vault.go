//go:build !js

package vault

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/transcript/sealed"
)

// Part is the tables of the vault.
func Part() store.Part {
	return store.Part{Name: "vault", Steps: []string{`
CREATE TABLE {vault_server} (
	id INTEGER PRIMARY KEY,
	params TEXT NOT NULL,
	proof BLOB NOT NULL
) STRICT;
CREATE TABLE {vault_people} (
	person TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	rotate INTEGER NOT NULL
) STRICT;
CREATE TABLE {vault_keys} (
	person TEXT NOT NULL,
	generation INTEGER NOT NULL,
	created INTEGER NOT NULL,
	PRIMARY KEY (person, generation)
) STRICT;
CREATE TABLE {vault_wraps} (
	person TEXT NOT NULL,
	generation INTEGER NOT NULL,
	kind TEXT NOT NULL,
	wrapped BLOB NOT NULL,
	params TEXT NOT NULL,
	PRIMARY KEY (person, generation, kind)
) STRICT;`}}
}

// Mode says who can open a person's records.
type Mode string

// The modes.
const (
	Server Mode = "server" // the server, at any time
	Own    Mode = "own"    // the server while the person has unlocked them
)

// ErrMode means that a person has no pass phrase, or has one already.
var ErrMode = errors.New("the keys are not in the mode for that")

const (
	defaultIdle  = 12 * time.Hour
	defaultGrace = time.Hour
	trust        = 5 * time.Second // that a ring is used before the database is asked whether it is the newest
	renewWait    = 2 * time.Second // for another goroutine that reads the keys
)

// Options are about time.
type Options struct {
	// Idle is how long an unlocked person stays so without use; 0 is 12 hours.
	Idle time.Duration
	// Grace is how old a generation must be before those before it are deleted: no server
	// seals with an older one by then. 0 is an hour.
	Grace time.Duration
}

// Vault has the keys of all people. Any goroutine may use it.
type Vault struct {
	db      *store.DB
	source  Source
	options Options
	work    stretches
	master  atomic.Pointer[master]
	kick    chan struct{} // a rotation has something to do

	mu     sync.Mutex
	people map[string]*held
	onLock []func(person string)
}

// held is what is in memory of a person.
type held struct {
	person  string
	mu      sync.Mutex
	ring    *Ring // one as long as the person isn't locked
	version int64
	checked time.Time
	lock    []byte // the lock key of a person in mode Own, while it is unlocked
	holds   int
	locking bool // when the last hold ends
	used    time.Time
	idle    *time.Timer
	opened  chan struct{} // closed when it is unlocked; nil while nobody waits
}

// Open opens the vault of a database, with the server's key of a source. The caller closes it.
func Open(ctx context.Context, db *store.DB, source Source, o Options) (*Vault, error) {
	o.Idle, o.Grace = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.Grace, defaultGrace)
	v := &Vault{db: db, source: source, options: o, work: make(stretches, 2), people: map[string]*held{}, kick: make(chan struct{}, 1)}
	m, err := findMaster(ctx, db, source, v.work)
	if err != nil {
		return nil, fmt.Errorf("open the vault: %w", err)
	}
	v.master.Store(m)
	return v, nil
}

// Close locks everybody.
func (v *Vault) Close() {
	v.mu.Lock()
	all := v.people
	v.people = map[string]*held{}
	v.mu.Unlock()
	for _, h := range all {
		h.mu.Lock()
		h.wipe()
		h.mu.Unlock()
	}
}

// PeerToken is the token of servers among each other, which all know that have the server's key.
func (v *Vault) PeerToken() string { return v.master.Load().peer }

// OnLock has f called when a person was locked. It is called before the vault is used.
func (v *Vault) OnLock(f func(person string)) { v.onLock = append(v.onLock, f) }

// of is what is in memory of a person, locked. The caller unlocks it.
func (v *Vault) of(person string) (*held, error) {
	if person == "" || strings.Contains(person, "/") {
		return nil, fmt.Errorf("%q is not the id of a person", person)
	}
	v.mu.Lock()
	h := v.people[person]
	if h == nil {
		h = &held{person: person}
		v.people[person] = h
	}
	v.mu.Unlock()
	h.mu.Lock()
	return h, nil
}

// Ring gives the keys of a person, and makes them at the first use. Whoever keeps it longer than
// for one operation uses [Vault.Hold].
func (v *Vault) Ring(ctx context.Context, person string) (*Ring, error) {
	if held, ok := ctx.Value(holding{}).(holding); ok && held.person == person {
		return held.ring, nil
	}
	h, err := v.of(person)
	if err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	if err := v.refresh(ctx, h); err != nil {
		return nil, err
	}
	return h.ring, nil
}

// Hold gives the keys of a person for a turn, during which they stay open. The caller calls
// release once it doesn't seal any more.
func (v *Vault) Hold(ctx context.Context, person string) (r *Ring, release func(), err error) {
	if held, ok := ctx.Value(holding{}).(holding); ok && held.person == person {
		return held.ring, func() {}, nil // as long as who holds it
	}
	h, err := v.of(person)
	if err != nil {
		return nil, nil, err
	}
	defer h.mu.Unlock()
	if err := v.refresh(ctx, h); err != nil {
		return nil, nil, err
	}
	h.holds++
	return h.ring, sync.OnceFunc(func() {
		h.mu.Lock()
		h.holds--
		h.used = time.Now()
		now := h.holds == 0 && h.locking
		if now {
			h.wipe()
		}
		h.mu.Unlock()
		if now {
			v.locked(person)
		}
	}), nil
}

// holding is a ring that is held for what a context is for, and also its key.
type holding struct {
	person string
	ring   *Ring
}

// Holding gives a context in which [Vault.Ring] gives a ring that was held, also while its person is being locked.
func Holding(ctx context.Context, person string, r *Ring) context.Context {
	return context.WithValue(ctx, holding{}, holding{person, r})
}

// guest is the key of a context of [AsGuest].
type guest struct{}

// AsGuest gives a context for using somebody's keys on behalf of others, who share something of theirs: their keys are locked
// after a while all the same.
func AsGuest(ctx context.Context) context.Context { return context.WithValue(ctx, guest{}, true) }

// wrap is a wrapped key.
type wrap struct {
	person     string
	generation uint32
	kind       string
	wrapped    []byte
	params     string
}

func (w wrap) place() string { return wrapPlace(w.person, w.generation, w.kind) }

func readWraps(ctx context.Context, q store.Querier, where string, args ...any) (all []wrap, err error) {
	rows, err := q.Query(ctx, `SELECT person, generation, kind, wrapped, params FROM {vault_wraps} WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var w wrap
		if err := rows.Scan(&w.person, &w.generation, &w.kind, &w.wrapped, &w.params); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, rows.Err()
}

func writeWrap(ctx context.Context, q store.Querier, w wrap) error {
	_, err := q.Exec(ctx, `INSERT INTO {vault_wraps} (person, generation, kind, wrapped, params) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (person, generation, kind) DO UPDATE SET wrapped = excluded.wrapped, params = excluded.params`,
		w.person, w.generation, w.kind, w.wrapped, w.params)
	return err
}

// keys are those of a person as the database has them.
type keys struct {
	version int64
	rotate  bool
	wraps   []wrap
}

// find is the wrap of a kind; generation 0 has one of each at most.
func (k *keys) find(kind string) (wrap, bool) {
	for _, w := range k.wraps {
		if w.kind == kind {
			return w, true
		}
	}
	return wrap{}, false
}

func (k *keys) mode() Mode {
	if _, own := k.find(kindPhrase); own {
		return Own
	}
	return Server
}

func readKeys(ctx context.Context, q store.Querier, person string) (k keys, err error) {
	err = q.QueryRow(ctx, `SELECT version, rotate FROM {vault_people} WHERE person = ?1`, person).Scan(&k.version, &k.rotate)
	if errors.Is(err, sql.ErrNoRows) {
		return k, nil
	}
	if err == nil {
		k.wraps, err = readWraps(ctx, q, `person = ?1`, person)
	}
	return k, err
}

// errStale means that the server's key was replaced meanwhile.
var errStale = errors.New("the server's key was replaced")

// update runs do with the server's key, in a transaction.
func (v *Vault) update(ctx context.Context, do func(q store.Querier, m *master) error) error {
	for try := 0; ; try++ {
		m := v.master.Load()
		err := v.db.Update(ctx, func(q store.Querier) error {
			p, err := readProof(ctx, q)
			if err != nil {
				return err
			}
			if !m.fits(p.proof) {
				return errStale
			}
			return do(q, m)
		})
		if !errors.Is(err, errStale) || try > 0 {
			return err
		}
		if err := v.reload(ctx); err != nil {
			return err
		}
	}
}

// refresh makes the ring of a person the newest.
func (v *Vault) refresh(ctx context.Context, h *held) error {
	if h.locking {
		return ErrLocked
	}
	now := time.Now()
	if ctx.Value(guest{}) == nil {
		h.used = now
	}
	if h.ring != nil && time.Since(h.checked) < trust {
		return nil
	}
	if h.ring != nil {
		var version int64
		err := v.db.QueryRow(ctx, `SELECT version FROM {vault_people} WHERE person = ?1`, h.person).Scan(&version)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("look for the keys: %w", err)
		}
		if err == nil && version == h.version {
			h.checked = now
			return nil
		}
	}
	return v.load(ctx, h)
}

// load reads the keys of a person, and makes the first. Without that it takes no transaction: a
// ring may be asked within one.
func (v *Vault) load(ctx context.Context, h *held) error {
	k, err := readKeys(ctx, v.db, h.person)
	if err == nil && k.version == 0 {
		err = v.update(ctx, func(q store.Querier, m *master) (err error) {
			if k, err = readKeys(ctx, q, h.person); err == nil && k.version == 0 {
				k, err = firstKey(ctx, q, h.person, m)
			}
			return err
		})
	}
	var r *Ring
	if err == nil {
		r, err = k.open(v.master.Load(), h.lock)
	}
	if errors.Is(err, ErrKey) { // the server's key was replaced, perhaps
		if err = v.reload(ctx); err == nil {
			r, err = k.open(v.master.Load(), h.lock)
		}
	}
	if errors.Is(err, ErrLocked) {
		if h.ring != nil { // another server has changed the mode or the lock key
			go v.locked(h.person) // which may ask for them, when h is free
		}
		h.wipe()
	}
	if err != nil {
		return fmt.Errorf("open the keys: %w", err)
	}
	v.keep(h, r, k.version)
	return nil
}

// reload reads the server's key again.
func (v *Vault) reload(ctx context.Context) error {
	m, err := findMaster(ctx, v.db, v.source, v.work)
	if err == nil {
		v.master.Store(m)
	}
	return err
}

// keep has the ring of a person have the keys that were read.
func (v *Vault) keep(h *held, r *Ring, version int64) {
	if h.ring == nil {
		h.ring = &Ring{renew: func() { v.renew(h) }}
	}
	h.ring.take(r)
	h.version, h.checked = version, time.Now()
}

// renew reads the keys of a person again for a ring that lacks one. Whoever reads them may wait for
// the transaction in which this is called, so that it doesn't wait for long.
func (v *Vault) renew(h *held) {
	ctx, cancel := context.WithTimeout(context.Background(), renewWait)
	defer cancel()
	for !h.mu.TryLock() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
	defer h.mu.Unlock()
	if h.ring != nil {
		_ = v.load(ctx, h) // else the key stays unknown
	}
}

// open opens all keys.
func (k *keys) open(m *master, lock []byte) (*Ring, error) {
	by, kind := m.wrap, kindServer
	if k.mode() == Own {
		if lock == nil {
			return nil, ErrLocked
		}
		by, kind = wrapper(lock), kindLock
	}
	raw := map[uint32][]byte{}
	defer func() {
		for _, key := range raw {
			clear(key)
		}
	}()
	for _, w := range k.wraps {
		if w.kind != kind {
			continue
		}
		key, err := by.Open(w.place(), w.wrapped)
		if errors.Is(err, ErrKey) && kind == kindLock {
			return nil, ErrLocked
		}
		if err != nil {
			return nil, fmt.Errorf("generation %d: %w", w.generation, err)
		}
		raw[w.generation] = key
	}
	return NewRing(raw)
}

// firstKey makes a person's first generation.
func firstKey(ctx context.Context, q store.Querier, person string, m *master) (keys, error) {
	if _, err := q.Exec(ctx, `INSERT INTO {vault_people} (person, version, rotate) VALUES (?1, 1, 0)`, person); err != nil {
		return keys{}, err
	}
	w := wrap{person: person, kind: kindServer}
	err := addGeneration(ctx, q, &w, m.wrap)
	return keys{version: 1, wraps: []wrap{w}}, err
}

// addGeneration adds a key after the generation of w, which becomes its wrap.
func addGeneration(ctx context.Context, q store.Querier, w *wrap, by *Ring) (err error) {
	w.generation++
	raw := newKey()
	defer clear(raw)
	if w.wrapped, err = by.Seal(w.place(), raw); err != nil {
		return err
	}
	if _, err := q.Exec(ctx, `INSERT INTO {vault_keys} (person, generation, created) VALUES (?1, ?2, ?3)`, w.person, w.generation, time.Now().Unix()); err != nil {
		return err
	}
	return writeWrap(ctx, q, *w)
}

// changed has all servers read a person's keys again.
func changed(ctx context.Context, q store.Querier, person string) error {
	_, err := q.Exec(ctx, `UPDATE {vault_people} SET version = version + 1 WHERE person = ?1`, person)
	return err
}

// Delete deletes the keys of a person in a transaction. Whatever is still sealed with them is
// lost. After the commit the caller locks the person.
func (v *Vault) Delete(ctx context.Context, q store.Querier, person string) error {
	for _, table := range []string{"{vault_wraps}", "{vault_keys}", "{vault_people}"} {
		if _, err := q.Exec(ctx, `DELETE FROM `+table+` WHERE person = ?1`, person); err != nil {
			return fmt.Errorf("delete the keys: %w", err)
		}
	}
	return nil
}

// Check reports, in the transaction that keeps what was sealed, whether the key is still there
// that a ring seals with. What takes longer than some minutes asks, as [ErrRetired] means
// that the work is to be done again.
func (v *Vault) Check(ctx context.Context, q store.Querier, person string, r *Ring) error {
	var n int
	err := q.QueryRow(ctx, `SELECT count(*) FROM {vault_keys} WHERE person = ?1 AND generation = ?2`, person, r.Newest()).Scan(&n)
	if err == nil && n == 0 {
		err = ErrRetired
	}
	return err
}

// SessionKey gives the key of new transcripts of a person.
func (v *Vault) SessionKey(ctx context.Context, person string) (sealed.Key, error) {
	r, err := v.Ring(ctx, person)
	if err != nil {
		return sealed.Key{}, err
	}
	return r.SessionKey(r.Newest())
}
