// Package push tells the browsers of people what happened while nobody looked: that an answer is
// finished, that an error ended it, that a question waits. The messages go to the push service of
// each browser (Web Push: RFC 8030), encrypted so that only the browser reads them (RFC 8291), and
// signed with a key of the server, as which the browser knows it (VAPID: RFC 8292).
//
// # What is kept
//
// A browser in which somebody is signed in has one subscription at most. Its address and keys are
// sealed with the keys of its person, the server's own key with those of [KeysID]. It goes when
// the person signs out there, when the push service says that it is gone, and with the person.
//
// A message that waits is a row with the ids of the subscription and of the chat, and what
// happened. A newer one about the same chat takes its place. What it says is put together when it is
// sent; nothing of what was written in a chat is in it but the title, if the person wants that.
//
// # Once
//
// Rows are written in the transaction that says what happened ([Store.Notify]), and each is deleted
// before it is sent, so that of several servers one sends it. A message that the push service
// doesn't take for now is written again, until it is a day old. A server that is killed
// while it sends loses that message: rather none than two.
package push

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/platform/outbound"
)

// Part is the tables.
func Part() store.Part {
	return store.Part{Name: "push", Steps: []string{`
CREATE TABLE {push_server} (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT;
CREATE TABLE {push_subscriptions} (
	id       TEXT PRIMARY KEY,
	person   TEXT NOT NULL,
	device   TEXT NOT NULL UNIQUE,
	hash     BLOB NOT NULL UNIQUE,
	created  INTEGER NOT NULL,
	sent     INTEGER NOT NULL DEFAULT 0,
	tested   INTEGER NOT NULL DEFAULT 0,
	later    INTEGER NOT NULL DEFAULT 0,
	failures INTEGER NOT NULL DEFAULT 0,
	failure  TEXT NOT NULL DEFAULT '',
	sealed   BLOB NOT NULL
) STRICT;
CREATE INDEX push_by_person ON {push_subscriptions} (person, id);
CREATE TABLE {push_waiting} (
	subscription TEXT NOT NULL REFERENCES {push_subscriptions} (id) ON DELETE CASCADE,
	chat         TEXT NOT NULL,
	kind         TEXT NOT NULL,
	created      INTEGER NOT NULL,
	PRIMARY KEY (subscription, chat)
) STRICT;
CREATE INDEX push_waiting_by_chat ON {push_waiting} (chat);`}}
}

// KeysID is whose keys in the vault seal the server's own key for push services.
const KeysID = "push"

// Kind is what a message says that happened.
type Kind string

// The kinds.
const (
	Done     Kind = "done"     // an answer is finished
	Failed   Kind = "error"    // an error ended it
	Question Kind = "question" // one waits for an answer
	Trial    Kind = "test"     // nothing: the person wants to see whether messages arrive
)

// message is what a browser gets.
type message struct {
	Kind    Kind   `json:"kind"`
	Chat    string `json:"chat,omitempty"`
	Session string `json:"session,omitempty"` // a coding session, in the place of a chat
	Title   string `json:"title,omitempty"`
}

// ofSession stands before the id of a coding session in the place of a chat's.
const ofSession = "session:"

var (
	// ErrUnknown means that a person has no such subscription.
	ErrUnknown = errors.New("you have no such subscription: GET /v1/me/push lists them")
	// ErrGone means that the push service knows a subscription no more. It was removed.
	ErrGone = errors.New("the push service knows this subscription no more, so it was removed: subscribe again")
)

// WaitError says when a test is possible again.
type WaitError struct{ Wait time.Duration }

func (e WaitError) Error() string {
	return fmt.Sprintf("a test was sent just now: try again in %v", e.Wait.Round(time.Second))
}

// ServiceError says why a message was not delivered.
type ServiceError struct{ Why string }

func (e ServiceError) Error() string { return e.Why }

// Subscription is what a browser says of itself, as its PushSubscription.toJSON() gives it.
type Subscription struct {
	Endpoint string           `json:"endpoint"`
	Keys     SubscriptionKeys `json:"keys"`
	Title    bool             `json:"title,omitempty"` // messages have the title of the chat
	// Sessions has the browser told of coding sessions, too, while its person is an admin.
	Sessions bool `json:"sessions,omitempty"`
}

// SubscriptionKeys are those that messages are encrypted with.
type SubscriptionKeys struct {
	P256dh string `json:"p256dh"`
	Auth   string `json:"auth"`
}

// Subscribed is a subscription in a list.
type Subscribed struct {
	ID     string `json:"id"`
	Device string `json:"device"` // the id of the browser's
	Name   string `json:"name"`   // of the browser, such as "Firefox on Linux"
	Title  bool   `json:"title"`  // messages have the title of the chat
	// Sessions: it is told of coding sessions, too.
	Sessions bool `json:"sessions,omitempty"`

	Created time.Time `json:"created"`
	Sent    time.Time `json:"sent,omitzero"`     // the last message
	Failure string    `json:"failure,omitempty"` // why the last one was not delivered
	Current bool      `json:"current,omitempty"` // it is that of the browser that asks
}

// sealed is what is sealed of a subscription.
type sealed struct {
	Subscription
	Site string `json:"site"` // where the browser reaches the server
}

// Options of [New].
type Options struct {
	// Contact is where push services find who runs the server, mailto: or https:. "" is where the
	// browser reaches it.
	Contact string
	// Hosts are push services that may be reached although they aren't on the internet; see
	// [outbound.Transport].
	Hosts []string
	// Base has the proxies and authorities; nil is Go's default.
	Base *http.Transport
	// Devices are the browsers in which a person is signed in.
	Devices func(ctx context.Context, person string) ([]people.Device, error)
	// Title is what a chat of a person is called.
	Title func(ctx context.Context, person, chat string) (string, error)
	// SessionTitle is what a coding session is called, if a person may see it. nil: nobody is told of one.
	SessionTitle func(ctx context.Context, person, session string) (title string, may bool, err error)
	// Subscribed is called when a browser has subscribed, and must not block. It may be nil.
	Subscribed func()
}

// Keys gives the keys of people.
type Keys interface {
	// Ring is the keys of a person. An error says why they can't be used now.
	Ring(ctx context.Context, person string) (*vault.Ring, error)
}

// Store keeps the subscriptions of all people, and sends messages. Any goroutine may use it.
type Store struct {
	db     *store.DB
	keys   Keys
	o      Options
	client *http.Client
	kick   chan struct{} // something is to be sent
	now    func() time.Time
}

// New makes a Store. [Store.Tend] sends.
func New(db *store.DB, keys Keys, o Options) *Store {
	return &Store{
		db: db, keys: keys, o: o, kick: make(chan struct{}, 1), now: time.Now,
		client: &http.Client{Transport: outbound.Transport(o.Base, o.Hosts...), Timeout: sendTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

func place(id string) string { return "push_subscriptions/" + id }

const maxEndpoint = 2048 // bytes

// check says what is wrong with a subscription.
func (s *Subscription) check() error {
	wrong := func(field, text string) error { return people.InputError{Field: field, Wrong: text} }
	u, err := url.Parse(s.Endpoint)
	switch {
	case len(s.Endpoint) > maxEndpoint:
		return wrong("endpoint", fmt.Sprintf("must have at most %d bytes", maxEndpoint))
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return wrong("endpoint", "must be an https address, as the browser gives it")
	}
	if _, err := s.Keys.public(); err != nil {
		return wrong("keys.p256dh", "must be the public key that the browser gives, in base64url")
	}
	if _, err := s.Keys.secret(); err != nil {
		return wrong("keys.auth", fmt.Sprintf("must be the %d bytes that the browser gives, in base64url", authSize))
	}
	return nil
}

func decode(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}

func (k SubscriptionKeys) public() (*ecdh.PublicKey, error) {
	raw, err := decode(k.P256dh)
	if err != nil {
		return nil, err
	}
	return ecdh.P256().NewPublicKey(raw)
}

func (k SubscriptionKeys) secret() ([]byte, error) {
	raw, err := decode(k.Auth)
	if err == nil && len(raw) != authSize {
		err = fmt.Errorf("%d bytes", len(raw))
	}
	return raw, err
}

// Subscribe keeps the subscription of a browser in which a person is signed in, in place of the one that
// it had, and of one with the same address, which is the same browser. site is where it reaches the
// server.
func (s *Store) Subscribe(ctx context.Context, person, device, site string, sub Subscription) (Subscribed, error) {
	if err := sub.check(); err != nil {
		return Subscribed{}, err
	}
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return Subscribed{}, err
	}
	data, err := json.Marshal(sealed{sub, site})
	if err != nil {
		return Subscribed{}, err
	}
	id, hash := strings.ToLower(rand.Text()), sha256.Sum256([]byte(sub.Endpoint))
	closed, err := ring.Seal(place(id), data)
	if err != nil {
		return Subscribed{}, err
	}
	created := s.now().Truncate(time.Millisecond)
	err = s.db.Update(ctx, func(q store.Querier) error {
		_, err := q.Exec(ctx, `DELETE FROM {push_subscriptions} WHERE device = ?1 OR hash = ?2`, device, hash[:])
		if err == nil {
			_, err = q.Exec(ctx, `INSERT INTO {push_subscriptions} (id, person, device, hash, created, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
				id, person, device, hash[:], created.UnixMilli(), closed)
		}
		return err
	})
	if err != nil {
		return Subscribed{}, fmt.Errorf("subscribe: %w", err)
	}
	if s.o.Subscribed != nil {
		s.o.Subscribed()
	}
	all, err := s.List(ctx, person, device)
	if i := slices.IndexFunc(all, func(one Subscribed) bool { return one.ID == id }); err == nil && i >= 0 {
		return all[i], nil
	}
	return Subscribed{}, errors.Join(err, ErrUnknown) // signed out meanwhile
}

// row is a subscription as the database has it.
type row struct {
	id, person, device string
	sealed             []byte
}

func (s *Store) open(ctx context.Context, r row) (sub sealed, err error) {
	ring, err := s.keys.Ring(ctx, r.person)
	if err != nil {
		return sub, err
	}
	data, err := ring.Open(place(r.id), r.sealed)
	if err == nil {
		err = json.Unmarshal(data, &sub)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", place(r.id), err)
	}
	return sub, err
}

// List gives the subscriptions of a person, the oldest first. device is the browser that asks.
func (s *Store) List(ctx context.Context, person, device string) ([]Subscribed, error) {
	devices, err := s.o.Devices(ctx, person)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, `SELECT id, device, created, sent, failure, sealed FROM {push_subscriptions} WHERE person = ?1 ORDER BY created, id`, person)
	if err != nil {
		return nil, fmt.Errorf("list the subscriptions: %w", err)
	}
	defer rows.Close()
	type found struct {
		Subscribed
		sealed []byte
	}
	var all []found
	for rows.Next() {
		var one found
		var created, sent int64
		if err := rows.Scan(&one.ID, &one.Device, &created, &sent, &one.Failure, &one.sealed); err != nil {
			return nil, fmt.Errorf("list the subscriptions: %w", err)
		}
		one.Created, one.Current = time.UnixMilli(created), one.Device == device
		if sent > 0 {
			one.Sent = time.UnixMilli(sent)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the subscriptions: %w", err)
	}
	list := []Subscribed{}
	for _, one := range all {
		i := slices.IndexFunc(devices, func(d people.Device) bool { return d.ID == one.Device })
		if i < 0 {
			continue // signed out there: Tend removes it
		}
		sub, err := s.open(ctx, row{one.ID, person, one.Device, one.sealed})
		if err != nil {
			return nil, err
		}
		one.Title, one.Sessions, one.Name = sub.Title, sub.Sessions, devices[i].Name
		list = append(list, one.Subscribed)
	}
	return list, nil
}

// Remove removes a subscription of a person.
func (s *Store) Remove(ctx context.Context, person, id string) error {
	n, err := s.db.Exec(ctx, `DELETE FROM {push_subscriptions} WHERE person = ?1 AND id = ?2`, person, id)
	if err == nil && n == 0 {
		err = ErrUnknown
	}
	return err
}

// Forget removes in a transaction all that is kept of a person.
func Forget(ctx context.Context, q store.Querier, person string) error {
	_, err := q.Exec(ctx, `DELETE FROM {push_subscriptions} WHERE person = ?1`, person)
	return err
}

// Notify has the browsers of a person told in a transaction what happened in a chat. After the
// commit the caller calls [Store.Wake].
func (s *Store) Notify(ctx context.Context, q store.Querier, person, chat string, kind Kind) error {
	_, err := q.Exec(ctx, `INSERT INTO {push_waiting} (subscription, chat, kind, created)
		SELECT id, ?2, ?3, ?4 FROM {push_subscriptions} WHERE person = ?1
		ON CONFLICT (subscription, chat) DO UPDATE SET kind = excluded.kind, created = excluded.created`, person, chat, string(kind), s.now().UnixMilli())
	if err != nil {
		return fmt.Errorf("tell the browsers of %s: %w", person, err)
	}
	return nil
}

// Subscribed reports whether any browser gets messages.
func (s *Store) Subscribed(ctx context.Context) (any bool, err error) {
	err = s.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM {push_subscriptions})`).Scan(&any)
	return any, err
}

// NotifySession has browsers told what happened in a coding session: those that want it, of people who may see it.
func (s *Store) NotifySession(ctx context.Context, session string, kind Kind) error {
	_, err := s.db.Exec(ctx, `INSERT INTO {push_waiting} (subscription, chat, kind, created)
		SELECT id, ?1, ?2, ?3 FROM {push_subscriptions} WHERE true
		ON CONFLICT (subscription, chat) DO UPDATE SET kind = excluded.kind, created = excluded.created`, ofSession+session, string(kind), s.now().UnixMilli())
	if err != nil {
		return fmt.Errorf("tell browsers of session %s: %w", session, err)
	}
	s.Wake()
	return nil
}

// AnsweredSession is [Store.Answered] for a coding session.
func (s *Store) AnsweredSession(ctx context.Context, session string) error {
	return s.Answered(ctx, ofSession+session)
}

// Answered says that no question waits in a chat any more, so that nobody is told who wasn't yet.
func (s *Store) Answered(ctx context.Context, chat string) error {
	_, err := s.db.Exec(ctx, `DELETE FROM {push_waiting} WHERE chat = ?1 AND kind = ?2`, chat, string(Question))
	return err
}

// Wake has Tend look at once.
func (s *Store) Wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

var _ vault.Sealed = (*Store)(nil)

// Reseal implements [vault.Sealed].
func (s *Store) Reseal(ctx context.Context, person string, ring *vault.Ring, after string, limit int) (next string, n int, err error) {
	if person == KeysID {
		return "", 0, s.resealKey(ctx, ring)
	}
	rows, err := s.db.Query(ctx, `SELECT id, sealed FROM {push_subscriptions} WHERE person = ?1 AND id > ?2 ORDER BY id LIMIT ?3`, person, after, limit)
	if err != nil {
		return "", 0, err
	}
	defer rows.Close()
	var all []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.sealed); err != nil {
			return "", 0, err
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return "", 0, err
	}
	for _, r := range all {
		next = r.id
		fresh, err := again(ring, place(r.id), r.sealed)
		if err != nil {
			return "", n, err
		}
		if fresh == nil {
			continue
		}
		changed, err := s.db.Exec(ctx, `UPDATE {push_subscriptions} SET sealed = ?3 WHERE id = ?1 AND sealed = ?2`, r.id, r.sealed, fresh)
		if err != nil {
			return "", n, err
		}
		n += int(changed)
	}
	if len(all) < limit {
		next = ""
	}
	return next, n, nil
}

// again seals a record with the newest key; nil is that it has it.
func again(ring *vault.Ring, place string, old []byte) ([]byte, error) {
	if generation, err := vault.Generation(old); err == nil && generation == ring.Newest() {
		return nil, nil
	}
	data, err := ring.Open(place, old)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return ring.Seal(place, data)
}

// rowOf reads a subscription.
func (s *Store) rowOf(ctx context.Context, id string) (r row, err error) {
	r.id = id
	err = s.db.QueryRow(ctx, `SELECT person, device, sealed FROM {push_subscriptions} WHERE id = ?1`, id).Scan(&r.person, &r.device, &r.sealed)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknown
	}
	return r, err
}
