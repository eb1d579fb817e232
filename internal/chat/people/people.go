// Package people keeps who may use a server: people with their roles and passkeys, the browsers in which
// they are signed in, tokens for programs, links that sign somebody in or invite them, groups, quotas,
// and a log of what was done with all that.
//
// # Secrets
//
// What proves who somebody is isn't kept: passwords are argon2id hashes, and of the random secrets
// of devices, tokens, links and recovery codes there is a SHA-256. The secret of a second factor
// is needed in the clear, and sealed with the keys of its person.
//
// # What is promised
//
//   - The owner of the machine is there from the beginning, as an admin, and stays one.
//   - Whether a name exists can't be learned from a failed sign-in: not from its answer, its
//     time, or the wait after it.
//   - A link, a code and a recovery code work once, on all servers of the database.
//   - Who is removed, disabled or signed out is nobody's at the next look.
package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session/remote"
)

// Part is the tables.
func Part() store.Part {
	return store.Part{Name: "people", Steps: []string{`
CREATE TABLE {people} (
	id        TEXT PRIMARY KEY,
	name      TEXT NOT NULL,
	folded    TEXT NOT NULL UNIQUE,
	display   TEXT NOT NULL,
	role      TEXT NOT NULL,
	created   INTEGER NOT NULL,
	disabled  INTEGER NOT NULL DEFAULT 0,
	password  TEXT NOT NULL DEFAULT '',
	totp      BLOB,
	totp_new  BLOB,
	totp_step INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE {removed} (person TEXT PRIMARY KEY) STRICT;
CREATE TABLE {tokens} (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	person  TEXT NOT NULL REFERENCES {people} (id) ON DELETE CASCADE,
	name    TEXT NOT NULL,
	hash    BLOB NOT NULL UNIQUE,
	rights  TEXT NOT NULL,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	used    INTEGER NOT NULL DEFAULT 0,
	UNIQUE (person, name)
) STRICT;
CREATE TABLE {devices} (
	id        TEXT PRIMARY KEY,
	person    TEXT NOT NULL REFERENCES {people} (id) ON DELETE CASCADE,
	hash      BLOB NOT NULL UNIQUE,
	old       BLOB,
	rotated   INTEGER NOT NULL,
	confirmed INTEGER NOT NULL,
	name      TEXT NOT NULL,
	address   TEXT NOT NULL,
	created   INTEGER NOT NULL,
	seen      INTEGER NOT NULL
) STRICT;
CREATE INDEX devices_by_person ON {devices} (person, seen);
CREATE INDEX devices_by_old ON {devices} (old);
CREATE TABLE {links} (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	hash    BLOB NOT NULL UNIQUE,
	kind    TEXT NOT NULL,
	person  TEXT REFERENCES {people} (id) ON DELETE CASCADE,
	role    TEXT NOT NULL,
	factor  INTEGER NOT NULL DEFAULT 0,
	author  TEXT NOT NULL,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL
) STRICT;
CREATE TABLE {recovery} (
	person TEXT NOT NULL REFERENCES {people} (id) ON DELETE CASCADE,
	hash   BLOB NOT NULL,
	PRIMARY KEY (person, hash)
) STRICT;
CREATE TABLE {attempts} (
	hash     BLOB PRIMARY KEY,
	failures INTEGER NOT NULL,
	until    INTEGER NOT NULL,
	last     INTEGER NOT NULL
) STRICT;
CREATE INDEX attempts_by_last ON {attempts} (last);
CREATE TABLE {audit} (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	time    INTEGER NOT NULL,
	who     TEXT NOT NULL,
	what    TEXT NOT NULL,
	target    TEXT NOT NULL,
	address TEXT NOT NULL,
	detail  TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_time ON {audit} (time);
CREATE INDEX audit_by_what ON {audit} (what, id);
CREATE TABLE {teams} (
	id      TEXT PRIMARY KEY,
	name    TEXT NOT NULL,
	folded  TEXT NOT NULL UNIQUE,
	models  TEXT NOT NULL,
	budget  INTEGER
) STRICT;
CREATE TABLE {team_members} (
	team   TEXT NOT NULL REFERENCES {teams} (id) ON DELETE CASCADE,
	person TEXT NOT NULL REFERENCES {people} (id) ON DELETE CASCADE,
	PRIMARY KEY (team, person)
) STRICT;
CREATE INDEX team_members_by_person ON {team_members} (person);
CREATE TABLE {quotas} (
	person  TEXT PRIMARY KEY REFERENCES {people} (id) ON DELETE CASCADE,
	budget  INTEGER,
	storage INTEGER,
	turns   INTEGER
) STRICT;`, passkeyTables, identityTables}}
}

// OwnerID is the id of the owner of this machine.
const OwnerID = "owner"

// Role says how much a person may do.
type Role string

// Roles. Each may do what those after it may.
const (
	Admin  Role = "admin"  // manages people; has the coding sessions of this machine
	Member Role = "member" // has chats of their own
	Viewer Role = "viewer" // looks
)

func (r Role) rank() int {
	switch r {
	case Admin:
		return 3
	case Member:
		return 2
	case Viewer:
		return 1
	}
	return 0
}

// Known reports whether it is a role.
func (r Role) Known() bool { return r.rank() > 0 }

// Include reports whether the role may do what another may.
func (r Role) Include(other Role) bool { return other.Known() && r.rank() >= other.rank() }

// Most are the rights that somebody with the role has at most.
func (r Role) Most() remote.Rights {
	switch r {
	case Admin, Member:
		return remote.Own
	case Viewer:
		return remote.Watch
	}
	return ""
}

// Person is somebody who may use the server.
type Person struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`    // to sign in with
	Display      string    `json:"display"` // what others see
	Role         Role      `json:"role"`
	Created      time.Time `json:"created"`
	Disabled     bool      `json:"disabled,omitempty"`
	Password     bool      `json:"password"`      // there is one
	SecondFactor bool      `json:"second_factor"` // it is asked for
	Passkeys     int       `json:"passkeys,omitempty"`
	Identities   int       `json:"identities,omitempty"` // accounts elsewhere
}

// Who is who sends a request.
type Who struct {
	Name   string // of the token, or the person's
	Person string // the id
	Role   Role
	Rights remote.Rights // "" is nobody's
	Token  int64         // the id; 0 is none
	Device string        // the id; "" is none
}

// By is who does something, for the log.
type By struct {
	Person  string // the id; "" is somebody who isn't signed in
	Address string // where from; "" is this machine's command line
}

var (
	// ErrUnknown means that there is no such person, device, token, group or invitation.
	ErrUnknown = errors.New("unknown")
	// ErrTaken means that the name is another's.
	ErrTaken = errors.New("taken")
	// ErrOwner means that the owner of the machine must stay as they are.
	ErrOwner = errors.New("the owner of this machine stays an admin, and can't be disabled or removed")
	// ErrLink means that a link or code was used, has expired, or never was one.
	ErrLink = errors.New("the link was used already, has expired, or isn't complete: ask for a new one")
)

// InputError says what is wrong with a field that somebody filled in.
type InputError struct{ Field, Wrong string }

func (e InputError) Error() string { return e.Field + ": " + e.Wrong }

// People are those of one server. Any goroutine may use it.
type People struct {
	// Locks are the keys that people open with their passwords. nil: there are none.
	Locks Locks

	db     *store.DB
	keys   Keys
	now    func() time.Time
	hashes *hashes
	guard  guard
}

// Keys gives the keys of people.
type Keys interface {
	// Ring is the keys of a person. An error says why they can't be used now.
	Ring(ctx context.Context, person string) (*vault.Ring, error)
}

// Open makes the owner if they are not there yet. The keys may be nil where nobody signs in; now
// may be nil.
func Open(ctx context.Context, db *store.DB, keys Keys, now func() time.Time) (*People, error) {
	if now == nil {
		now = time.Now
	}
	p := &People{db: db, keys: keys, now: now, hashes: newHashes(argonMemory), guard: guard{db, now}}
	if _, err := p.Get(ctx, OwnerID); !errors.Is(err, ErrUnknown) {
		return p, err
	}
	_, err := db.Exec(ctx, `INSERT INTO {people} (id, name, folded, display, role, created) VALUES (?1, ?1, ?1, 'Owner', 'admin', ?2) ON CONFLICT DO NOTHING`, OwnerID, now().Unix())
	if err != nil {
		return nil, fmt.Errorf("add the owner: %w", err)
	}
	return p, nil
}

const personColumns = `id, name, display, role, created, disabled <> 0, password <> '', totp IS NOT NULL, (SELECT count(*) FROM {passkeys} WHERE person = {people}.id), (SELECT count(*) FROM {identities} WHERE person = {people}.id)`

func scanPerson(row interface{ Scan(...any) error }) (one Person, err error) {
	var created int64
	err = row.Scan(&one.ID, &one.Name, &one.Display, &one.Role, &created, &one.Disabled, &one.Password, &one.SecondFactor, &one.Passkeys, &one.Identities)
	if errors.Is(err, sql.ErrNoRows) {
		return Person{}, fmt.Errorf("%w person", ErrUnknown)
	}
	one.Created = since(created)
	return one, err
}

// List returns all people, by name.
func (p *People) List(ctx context.Context) ([]Person, error) {
	rows, err := p.db.Query(ctx, `SELECT `+personColumns+` FROM {people} ORDER BY folded`)
	return collect(rows, err, "list the people", scanPerson)
}

// Get returns the person with an id.
func (p *People) Get(ctx context.Context, id string) (Person, error) {
	return scanPerson(p.db.QueryRow(ctx, `SELECT `+personColumns+` FROM {people} WHERE id = ?1`, asText(id)))
}

// Named returns the person with a name.
func (p *People) Named(ctx context.Context, name string) (Person, error) {
	one, err := scanPerson(p.db.QueryRow(ctx, `SELECT `+personColumns+` FROM {people} WHERE folded = ?1`, fold(asText(name))))
	if errors.Is(err, ErrUnknown) {
		return one, fmt.Errorf("%w person %q", ErrUnknown, prose.Plain(name, maxName))
	}
	return one, err
}

// Limits of what is kept of a person.
const (
	maxName    = 64 // bytes of a name
	maxDisplay = 80 // characters
	maxTokens  = 100
	maxDevices = 50
)

// fold is a name without its case.
func fold(name string) string { return strings.ToLower(name) }

// checkName says what is wrong with a name. Only letters that everybody can tell apart are in one.
func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-@+", r)
	}) {
		return InputError{"name", fmt.Sprintf("use from 1 to %d letters from a to z, digits, and . _ - @ +", maxName)}
	}
	return nil
}

// checkDisplay gives the name that others see: that to sign in with if there is no other.
func checkDisplay(display, name string) (string, error) {
	display = strings.TrimSpace(display)
	switch {
	case display == "":
		return name, nil
	case utf8.RuneCountInString(display) > maxDisplay, strings.ContainsFunc(display, prose.Steers):
		return "", InputError{"display", fmt.Sprintf("use at most %d characters, on one line", maxDisplay)}
	}
	return display, nil
}

// add adds a person in a transaction.
func (p *People) add(ctx context.Context, q store.Querier, name, display string, role Role, password string) (string, error) {
	id := strings.ToLower(rand.Text())
	n, err := q.Exec(ctx, `INSERT INTO {people} (id, name, folded, display, role, created, password) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`,
		id, name, fold(name), display, string(role), p.now().Unix(), password)
	if err == nil && n == 0 {
		err = fmt.Errorf("name: %q is %w: choose another", name, ErrTaken)
	}
	return id, err
}

// Add adds a person, who has no password yet.
func (p *People) Add(ctx context.Context, by By, name, display string, role Role) (id string, err error) {
	display, err = checkDisplay(display, name)
	if err = errors.Join(checkName(name), err, checkRole(role)); err != nil {
		return "", err
	}
	err = p.db.Update(ctx, func(q store.Querier) (err error) {
		if id, err = p.add(ctx, q, name, display, role, ""); err != nil {
			return err
		}
		return p.note(ctx, q, by, "person.add", id, string(role))
	})
	return id, err
}

func checkRole(role Role) error {
	if !role.Known() {
		return InputError{"role", fmt.Sprintf("must be admin, member or viewer, not %q", role)}
	}
	return nil
}

// change changes one person, who isn't the owner if that is said.
func (p *People) change(ctx context.Context, by By, id, what, detail string, notOwner bool, do func(q store.Querier) error) error {
	if notOwner && id == OwnerID {
		return ErrOwner
	}
	id = asText(id)
	return p.db.Update(ctx, func(q store.Querier) error {
		var n int
		if err := q.QueryRow(ctx, `SELECT count(*) FROM {people} WHERE id = ?1`, id).Scan(&n); err != nil {
			return fmt.Errorf("change a person: %w", err)
		}
		if n == 0 {
			return fmt.Errorf("%w person", ErrUnknown)
		}
		if err := do(q); err != nil {
			return err
		}
		return p.note(ctx, q, by, what, id, detail)
	})
}

// set changes one person by a statement whose first parameter is the id.
func (p *People) set(ctx context.Context, by By, id, what, detail string, notOwner bool, statement string, args ...any) error {
	return p.change(ctx, by, id, what, detail, notOwner, func(q store.Querier) error {
		if _, err := q.Exec(ctx, statement, append([]any{id}, args...)...); err != nil {
			return fmt.Errorf("change a person: %w", err)
		}
		return nil
	})
}

// SetRole gives a person another role.
func (p *People) SetRole(ctx context.Context, by By, id string, role Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	return p.set(ctx, by, id, "person.role", string(role), true, `UPDATE {people} SET role = ?2 WHERE id = ?1`, string(role))
}

// Disable keeps a person out, and signs them out everywhere. Their tokens work again when they
// are enabled.
func (p *People) Disable(ctx context.Context, by By, id string) error {
	return p.change(ctx, by, id, "person.disable", "", true, func(q store.Querier) error {
		err := dropSecrets(ctx, q, id, "")
		if err == nil {
			_, err = q.Exec(ctx, `UPDATE {people} SET disabled = ?2 WHERE id = ?1`, id, p.now().Unix())
		}
		return err
	})
}

// Enable lets a person in again.
func (p *People) Enable(ctx context.Context, by By, id string) error {
	return p.set(ctx, by, id, "person.enable", "", true, `UPDATE {people} SET disabled = 0 WHERE id = ?1`)
}

// SetDisplay changes the name that others see.
func (p *People) SetDisplay(ctx context.Context, by By, id, display string) error {
	one, err := p.Get(ctx, id)
	if err == nil {
		display, err = checkDisplay(display, one.Name)
	}
	if err != nil {
		return err
	}
	return p.set(ctx, by, id, "person.display", "", false, `UPDATE {people} SET display = ?2 WHERE id = ?1`, display)
}

// Remove removes a person with everything that is kept of them here but the log. What other rooms
// have of them is theirs to remove; see Removed.
func (p *People) Remove(ctx context.Context, by By, id string) error {
	return p.change(ctx, by, id, "person.remove", "", true, func(q store.Querier) error { return remove(ctx, q, id) })
}

// remove removes a person in a transaction.
func remove(ctx context.Context, q store.Querier, id string) error {
	_, err := q.Exec(ctx, `INSERT INTO {removed} (person) VALUES (?1)`, id)
	if err == nil {
		_, err = q.Exec(ctx, `DELETE FROM {people} WHERE id = ?1`, id)
	}
	if err != nil {
		return fmt.Errorf("remove a person: %w", err)
	}
	return nil
}

// Removed are people who were removed, while other rooms may still have something of theirs.
func (p *People) Removed(ctx context.Context) ([]string, error) {
	rows, err := p.db.Query(ctx, `SELECT person FROM {removed}`)
	return collect(rows, err, "list who was removed", func(row interface{ Scan(...any) error }) (id string, err error) {
		err = row.Scan(&id)
		return id, err
	})
}

// Forgotten says in a transaction that no room has anything of somebody who was removed.
func Forgotten(ctx context.Context, q store.Querier, id string) error {
	_, err := q.Exec(ctx, `DELETE FROM {removed} WHERE person = ?1`, id)
	return err
}

// dropSecrets signs a person out everywhere but on one device, and makes links for them worthless.
func dropSecrets(ctx context.Context, q store.Querier, person, but string) error {
	_, err := q.Exec(ctx, `DELETE FROM {devices} WHERE person = ?1 AND id <> ?2`, person, but)
	if err == nil {
		_, err = q.Exec(ctx, `DELETE FROM {links} WHERE person = ?1`, person)
	}
	return err
}

// collect reads all rows.
func collect[T any](rows *sql.Rows, err error, doing string, scan func(interface{ Scan(...any) error }) (T, error)) ([]T, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// asText is a string that both databases take. One that had to be changed names nothing.
func asText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// hashed is what is kept of a random secret. Its time tells nothing: what can't be guessed
// can't be found byte by byte.
func hashed(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func since(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
