package people

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/passkey"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxPasskeys  = 20
	challengeFor = 10 * time.Minute
	maxWhy       = 200 // characters of why one is refused
	handleSize   = 32  // bytes of what authenticators know a person by
)

// ErrPasskey means that a passkey doesn't sign anybody in; it doesn't tell why.
var ErrPasskey = errors.New("this passkey doesn't sign you in here: it was removed, or belongs to another server, or took too long. Try again, or sign in another way")

// passkeyTables are the second step of the tables.
const passkeyTables = `
CREATE TABLE {passkeys} (
	id         TEXT PRIMARY KEY,
	person     TEXT NOT NULL REFERENCES {people} (id) ON DELETE CASCADE,
	credential BLOB NOT NULL UNIQUE,
	public     BLOB NOT NULL,
	handle     BLOB NOT NULL,
	server     TEXT NOT NULL,
	name       TEXT NOT NULL,
	counter    INTEGER NOT NULL,
	synced     INTEGER NOT NULL,
	created    INTEGER NOT NULL,
	used       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX passkeys_by_person ON {passkeys} (person, created);
CREATE TABLE {spent} (hash BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT;`

// Passkey is a key with which a person signs in, without what it is checked with.
type Passkey struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Server  string    `json:"server"`           // the name of the server that it is for
	Synced  bool      `json:"synced,omitempty"` // it may be on several devices
	Created time.Time `json:"created"`
	Used    time.Time `json:"used,omitzero"` // last; missing: never
}

// Passkeys are the passkeys of people.
type Passkeys struct{ p *People }

// Passkeys gives the passkeys.
func (p *People) Passkeys() Passkeys { return Passkeys{p} }

// challenge is what a challenge is for. The browser has it, sealed, so that nothing is written for who
// only asks.
type challenge struct {
	Server string `json:"s"`
	Until  int64  `json:"u"`
	Person string `json:"p,omitempty"` // who adds a key; missing: it is for a sign-in
	Handle []byte `json:"h,omitempty"`
}

const challengePlace = "people/challenge"

// seal makes a challenge.
func (k Passkeys) seal(ctx context.Context, c challenge) ([]byte, error) {
	c.Until = k.p.now().Add(challengeFor).Unix()
	ring, err := k.p.keys.Ring(ctx, KeysID)
	if err != nil {
		return nil, fmt.Errorf("make a challenge: %w", err)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return ring.Seal(challengePlace, raw)
}

// unseal gives what a challenge is for, if it is one of this server and in time.
func (k Passkeys) unseal(ctx context.Context, party passkey.Party, client passkey.Bytes) (c challenge, sealed []byte, err error) {
	if sealed, err = passkey.ChallengeOf(client); err != nil {
		return c, nil, refusedError{err.Error()}
	}
	ring, err := k.p.keys.Ring(ctx, KeysID)
	if err != nil {
		return c, nil, fmt.Errorf("open a challenge: %w", err)
	}
	raw, err := ring.Open(challengePlace, sealed)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	switch {
	case err != nil:
		return c, nil, refusedError{"the challenge isn't of this server"}
	case c.Server != party.ID:
		return c, nil, refusedError{"the challenge is for another name of the server"}
	case k.p.now().Unix() >= c.Until:
		return c, nil, refusedError{"it took too long"}
	}
	return c, sealed, nil
}

// spend uses up what a browser had sealed, on all servers of the database.
func (p *People) spend(ctx context.Context, q store.Querier, sealed []byte, until int64) error {
	_, err := q.Exec(ctx, `DELETE FROM {spent} WHERE until <= ?1`, p.now().Unix())
	if err != nil {
		return fmt.Errorf("use a challenge: %w", err)
	}
	n, err := q.Exec(ctx, `INSERT INTO {spent} (hash, until) VALUES (?1, ?2) ON CONFLICT DO NOTHING`, hashed(string(sealed)), until)
	if err != nil {
		return fmt.Errorf("use a challenge: %w", err)
	}
	if n == 0 {
		return refusedError{"the challenge was used already"}
	}
	return nil
}

// Begin gives what a browser makes a new key for a person with, who confirms it with the password where
// there is one.
func (k Passkeys) Begin(ctx context.Context, by By, person, password string, party passkey.Party) (none passkey.Creation, err error) {
	one, err := k.p.Get(ctx, person)
	if err == nil {
		err = k.p.confirm(ctx, one, password, by.Address, "password")
	}
	if err != nil {
		return none, err
	}
	handle := make([]byte, handleSize)
	_, _ = rand.Read(handle) // never fails
	rows, err := k.p.db.Query(ctx, `SELECT credential, handle, server FROM {passkeys} WHERE person = ?1 ORDER BY created, id`, person)
	had, err := collect(rows, err, "list the passkeys", func(row interface{ Scan(...any) error }) (id passkey.Bytes, err error) {
		var known []byte
		var server string
		err = row.Scan((*[]byte)(&id), &known, &server)
		handle = known // one for all of them
		if server != party.ID {
			id = nil
		}
		return id, err
	})
	if err != nil {
		return none, err
	}
	if len(had) >= maxPasskeys {
		return none, InputError{"password", fmt.Sprintf("a person has at most %d passkeys: remove one", maxPasskeys)}
	}
	here := had[:0]
	for _, id := range had {
		if id != nil {
			here = append(here, id)
		}
	}
	sealed, err := k.seal(ctx, challenge{Server: party.ID, Person: person, Handle: handle})
	if err != nil {
		return none, err
	}
	return party.Creation(sealed, passkey.User{ID: handle, Name: one.Name, DisplayName: one.Display}, here), nil
}

// Add keeps a new key of a person. Without a name it has that of the browser.
func (k Passkeys) Add(ctx context.Context, by By, person, name, agent string, party passkey.Party, made passkey.Made) (none Passkey, err error) {
	if name = strings.TrimSpace(name); name == "" {
		name = deviceName(agent)
	}
	if len(name) > maxName || strings.ContainsFunc(name, prose.Steers) {
		return none, InputError{"name", fmt.Sprintf("use at most %d characters, on one line", maxName)}
	}
	c, sealed, err := k.unseal(ctx, party, made.Response.ClientData)
	if err == nil && c.Person != person {
		err = refusedError{"the challenge is for somebody else"}
	}
	var key passkey.Key
	if err == nil {
		if key, err = party.Register(sealed, made); err != nil {
			err = refusedError{err.Error()}
		}
	}
	if err != nil {
		return none, notAdded(err)
	}
	one := Passkey{ID: strings.ToLower(rand.Text()), Name: asText(name), Server: party.ID, Synced: key.Synced, Created: since(k.p.now().Unix())}
	err = k.p.change(ctx, by, person, "passkey.add", one.Name, false, func(q store.Querier) error {
		if err := k.p.spend(ctx, q, sealed, c.Until); err != nil {
			return err
		}
		var had int
		if err := q.QueryRow(ctx, `SELECT count(*) FROM {passkeys} WHERE person = ?1`, person).Scan(&had); err != nil {
			return fmt.Errorf("add a passkey: %w", err)
		}
		if had >= maxPasskeys {
			return InputError{"credential", fmt.Sprintf("a person has at most %d passkeys: remove one", maxPasskeys)}
		}
		n, err := q.Exec(ctx, `INSERT INTO {passkeys} (id, person, credential, public, handle, server, name, counter, synced, created)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING`,
			one.ID, person, key.ID, key.Public, c.Handle, party.ID, one.Name, int64(key.Counter), number(key.Synced), one.Created.Unix())
		if err != nil {
			return fmt.Errorf("add a passkey: %w", err)
		}
		if n == 0 {
			return InputError{"credential", "the passkey is there already"}
		}
		return nil
	})
	if err != nil {
		return none, notAdded(err)
	}
	return one, nil
}

// notAdded says why a passkey isn't added.
func notAdded(err error) error {
	if refused, ok := errors.AsType[refusedError](err); ok {
		return InputError{"credential", "the passkey can't be added: " + prose.Plain(refused.why, maxWhy)}
	}
	return err
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// List returns the passkeys of a person, in the order in which they were added.
func (k Passkeys) List(ctx context.Context, person string) ([]Passkey, error) {
	rows, err := k.p.db.Query(ctx, `SELECT id, name, server, synced <> 0, created, used FROM {passkeys} WHERE person = ?1 ORDER BY created, id`, person)
	return collect(rows, err, "list the passkeys", func(row interface{ Scan(...any) error }) (one Passkey, err error) {
		var created, used int64
		err = row.Scan(&one.ID, &one.Name, &one.Server, &one.Synced, &created, &used)
		one.Created, one.Used = since(created), since(used)
		return one, err
	})
}

// Remove removes a passkey of a person. Browsers that it has signed in stay so.
func (k Passkeys) Remove(ctx context.Context, by By, person, id string) error {
	return k.p.db.Update(ctx, func(q store.Querier) error {
		var name string
		err := q.QueryRow(ctx, `SELECT name FROM {passkeys} WHERE id = ?1 AND person = ?2`, asText(id), person).Scan(&name)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w passkey", ErrUnknown)
		}
		if err == nil {
			_, err = q.Exec(ctx, `DELETE FROM {passkeys} WHERE id = ?1`, asText(id))
		}
		if err != nil {
			return fmt.Errorf("remove a passkey: %w", err)
		}
		return k.p.note(ctx, q, by, "passkey.remove", person, name)
	})
}

// Request gives what a browser signs somebody in with. Nothing is kept of it.
func (k Passkeys) Request(ctx context.Context, party passkey.Party) (none passkey.Request, err error) {
	sealed, err := k.seal(ctx, challenge{Server: party.ID})
	if err != nil {
		return none, err
	}
	return party.Request(sealed), nil
}

// SignIn signs the person of a passkey in. A second factor isn't asked for: the passkey is two.
func (k Passkeys) SignIn(ctx context.Context, party passkey.Party, signed passkey.Signed, from From) (secret string, err error) {
	all := tries(fmt.Sprintf("passkey/%x", []byte(signed.ID)), from.Address)
	if err := k.p.guard.reserve(ctx, all); err != nil {
		return "", err
	}
	var person string
	err = k.p.db.Update(ctx, func(q store.Querier) (err error) {
		secret, person, err = k.signIn(ctx, q, party, signed, from)
		return err
	})
	if refused, ok := errors.AsType[refusedError](err); ok {
		noted := k.p.db.Update(ctx, func(q store.Querier) error {
			return k.p.note(ctx, q, By{Address: from.Address}, signInFails, person, "passkey: "+prose.Plain(refused.why, maxWhy))
		})
		return "", errors.Join(ErrPasskey, noted)
	}
	if err != nil {
		return "", err
	}
	return secret, k.p.guard.succeeded(ctx, all)
}

// refusedError says why somebody is refused, for the log.
type refusedError struct{ why string }

func (e refusedError) Error() string { return e.why }

// signIn signs in in a transaction, and says whose key it is even if it is refused.
func (k Passkeys) signIn(ctx context.Context, q store.Querier, party passkey.Party, signed passkey.Signed, from From) (secret, person string, err error) {
	key := passkey.Key{ID: signed.ID}
	var id, server string
	var handle []byte
	var disabled bool
	err = q.QueryRow(ctx, `SELECT k.id, k.person, k.public, k.handle, k.server, k.counter, k.synced <> 0, o.disabled <> 0
		FROM {passkeys} k JOIN {people} o ON o.id = k.person WHERE k.credential = ?1`, []byte(signed.ID)).
		Scan(&id, &person, &key.Public, &handle, &server, &key.Counter, &key.Synced, &disabled)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", "", refusedError{"it isn't known"}
	case err != nil:
		return "", "", fmt.Errorf("look for a passkey: %w", err)
	case server != party.ID:
		return "", person, refusedError{"it is for another name of the server"}
	case !bytes.Equal(handle, signed.Response.User):
		return "", person, refusedError{"it is of somebody else"}
	}
	c, sealed, err := k.unseal(ctx, party, signed.Response.ClientData)
	if err == nil && c.Person != "" {
		err = refusedError{"the challenge is for a new key"}
	}
	if err == nil { // first: who sends an answer again isn't a copy of the key
		err = k.p.spend(ctx, q, sealed, c.Until)
	}
	var counter uint32
	if err == nil {
		if counter, err = party.Check(sealed, signed, key); err != nil {
			err = refusedError{err.Error()}
		}
	}
	if err != nil {
		return "", person, err
	}
	if disabled {
		return "", person, refusedError{"the person is disabled"}
	}
	if _, err := q.Exec(ctx, `UPDATE {passkeys} SET counter = ?2, used = ?3 WHERE id = ?1`, id, int64(counter), k.p.now().Unix()); err != nil {
		return "", person, fmt.Errorf("sign in: %w", err)
	}
	secret, err = k.p.enter(ctx, q, person, from)
	return secret, person, err
}
