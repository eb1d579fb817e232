package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/burin-dev/burin/internal/model/credential/database"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/model/credential/secret"
	"github.com/burin-dev/burin/internal/prose"
)

// Secret is a key or token; it prints as a placeholder.
type Secret = secret.Secret

// Kind is the kind of a credential.
type Kind string

const (
	KindAPIKey Kind = "api_key"
	KindOAuth  Kind = "oauth" // an access token, sent as bearer
	KindNone   Kind = "none"  // the provider needs no key; never stored
)

// Settings are what models.yml says about a provider's key.
type Settings struct {
	// APIKey is the name of a variable if one of that name is set, else the key
	// itself.
	APIKey    Secret
	APIKeyEnv string // name of a variable; before APIKey
	Pinned    bool   // the key above goes before stored credentials and the provider's own variables
	Keyless   bool   // the provider needs no key
	OAuth     *oauth.Provider
}

// Options say where credentials are. Home must be set.
type Options struct {
	Home string
	// LookupEnv reads the environment; nil = [os.LookupEnv].
	LookupEnv func(string) (string, bool)
	// EnvFiles are read for variables that the environment does not have; nil =
	// <Home>/.env, then ~/.env.
	EnvFiles []string
	// Provider gives the settings of a provider; nil = none has any.
	Provider func(provider string) Settings
	Keyring  Keyring      // nil = [SystemKeyring]
	HTTP     *http.Client // for logins and renewals; nil = [wire.DefaultClient]
}

// Manager finds, keeps and renews credentials. It is safe for concurrent use, also
// by several processes with one home. Close it at the end.
type Manager struct {
	o    Options
	env  *environ
	keys sealKeys
	auth oauth.Client
	now  func() time.Time

	flights  singleflight.Group
	renewals sync.WaitGroup

	mu        sync.Mutex
	overrides map[string]Secret
	db        *store
	turn      map[string]int64  // provider -> id that had the last turn
	unsaved   map[int64]unsaved // renewed tokens that the database did not take
	closed    bool
}

// New makes a manager. Nothing is read or opened yet.
func New(o Options) *Manager {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.EnvFiles == nil {
		o.EnvFiles = []string{filepath.Join(o.Home, ".env")}
		if home, err := os.UserHomeDir(); err == nil {
			o.EnvFiles = append(o.EnvFiles, filepath.Join(home, ".env"))
		}
	}
	if o.Provider == nil {
		o.Provider = func(string) Settings { return Settings{} }
	}
	if o.Keyring == nil {
		o.Keyring = SystemKeyring()
	}
	return &Manager{
		o: o, env: &environ{lookup: o.LookupEnv, files: o.EnvFiles},
		keys: sealKeys{home: o.Home, ring: o.Keyring}, auth: oauth.Client{HTTP: o.HTTP}, now: time.Now,
		overrides: map[string]Secret{}, turn: map[string]int64{}, unsaved: map[int64]unsaved{},
	}
}

// Close waits for renewals under way, because a vendor may have replaced a token
// that is not stored yet, and closes the database. The wait is bounded by the
// time-outs of a renewal, a minute; a program that must end at once may exit
// without it.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.renewals.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.db == nil {
		return nil
	}
	db := m.db
	m.db = nil
	return db.db.Close()
}

// Override sets the key of a provider for the life of the process, before every
// other source. An empty key removes it. It is given for one provider so that a
// fallback to another vendor never sends it there.
func (m *Manager) Override(provider string, key Secret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key == "" {
		delete(m.overrides, provider)
	} else {
		m.overrides[provider] = key
	}
}

func (m *Manager) override(provider string) Secret {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.overrides[provider]
}

var errClosed = errors.New("the credentials are closed")

// store is the open database: nil if there is none and create is not set.
func (m *Manager) store(ctx context.Context, create bool) (*store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.db != nil:
		return m.db, nil
	case m.closed:
		return nil, errClosed
	}
	open := database.OpenExisting
	if create {
		open = database.Open
	}
	db, err := open(ctx, m.o.Home)
	if errors.Is(err, os.ErrNotExist) && !create {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m.db = &store{db}
	return m.db, nil
}

// Info describes a stored credential without its secret.
type Info struct {
	ID       int64
	Provider string
	Kind     Kind
	Label    string
	Account  string // of a login
	Hint     string // end of an API key
	Created  time.Time
	LastUsed time.Time // within a minute; zero = never
	Blocked  time.Time // passed over until then; zero = not
	Disabled string    // cause; empty = enabled
	Problem  string    // why the secret cannot be read; empty = it can
}

// List describes the stored credentials by provider and id. A secret that cannot
// be read is the problem of its entry, not an error.
func (m *Manager) List(ctx context.Context) ([]Info, error) {
	s, err := m.store(ctx, false)
	if err != nil || s == nil {
		return nil, err
	}
	rows, err := s.list(ctx, "")
	if err != nil {
		return nil, err
	}
	out := make([]Info, len(rows))
	for i := range rows {
		out[i] = m.describe(ctx, &rows[i])
	}
	return out, nil
}

func (m *Manager) describe(ctx context.Context, r *row) Info {
	info := Info{
		ID: r.id, Provider: r.provider, Kind: r.kind, Label: r.label, Created: r.created,
		LastUsed: r.lastUsed, Disabled: r.disabled,
	}
	if r.blocked.After(m.now()) {
		info.Blocked = r.blocked
	}
	p, err := m.keys.open(ctx, r)
	if err != nil {
		info.Problem = err.Error()
		return info
	}
	info.Account = p.Account
	if r.kind == KindAPIKey {
		info.Hint = p.secret().Hint()
	}
	return info
}

// Add stores an API key. A key that is stored already is not stored twice:
// it is enabled again and keeps its id, and added is false.
func (m *Manager) Add(ctx context.Context, provider, label string, key Secret) (id int64, added bool, err error) {
	text := strings.TrimSpace(key.Reveal())
	if provider == "" || strings.ContainsAny(provider, " \t\r\n\x00") {
		return 0, false, errors.New("a key needs the id of its provider")
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return 0, false, fmt.Errorf("this is no key for %s: a key is one word of printable characters", provider)
	}
	return m.keep(ctx, provider, KindAPIKey, label, &payload{Key: text}, func(have *payload) bool { return have.Key == text })
}

// keep stores p, in the place of the stored credential that is the same if there
// is one.
func (m *Manager) keep(ctx context.Context, provider string, kind Kind, label string, p *payload, same func(*payload) bool) (id int64, added bool, err error) {
	s, err := m.store(ctx, true)
	if err != nil {
		return 0, false, err
	}
	key, err := m.keys.get(ctx, true)
	if err != nil {
		return 0, false, fmt.Errorf("store the credential: %w; if that key is lost for good, remove %s and add all keys again", err, m.keys.path())
	}
	rows, err := s.list(ctx, provider)
	if err != nil {
		return 0, false, err
	}
	for i := range rows {
		r := &rows[i]
		have, err := m.keys.open(ctx, r)
		if r.kind != kind || err != nil || !same(have) {
			continue
		}
		if label == "" {
			label = r.label
		}
		if p.Key != "" && p.Key == have.Key {
			p = have // which may know more: the account of the login it came from
		}
		sealed, err := key.seal(r.id, provider, kind, p)
		if err != nil {
			return 0, false, fmt.Errorf("seal the credential: %w", err)
		}
		met, err := s.change(ctx, "UPDATE credentials SET sealed = ?, revision = revision + 1, label = ?, disabled = '', blocked_until = 0 WHERE id = ?", sealed, label, r.id)
		if err != nil {
			return 0, false, err
		}
		if met {
			m.mu.Lock()
			delete(m.unsaved, r.id)
			m.mu.Unlock()
			return r.id, false, nil
		}
	}
	id, err = s.insert(ctx, key, provider, kind, label, p, m.now())
	return id, err == nil, err
}

// Remove deletes a stored credential. Ids are not used again.
func (m *Manager) Remove(ctx context.Context, id int64) error {
	return m.change(ctx, "DELETE FROM credentials WHERE id = ?", id)
}

// Logout deletes the stored credentials of a provider that came from a login, API
// keys that a login gave included, and says how many there were.
func (m *Manager) Logout(ctx context.Context, provider string) (int, error) {
	s, err := m.store(ctx, false)
	if err != nil || s == nil {
		return 0, err
	}
	rows, err := s.list(ctx, provider)
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range rows {
		if r := &rows[i]; r.kind == KindOAuth || m.fromLogin(ctx, r) {
			if err := m.Remove(ctx, r.id); err != nil && !errors.Is(err, ErrNoCredential) {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func (m *Manager) fromLogin(ctx context.Context, r *row) bool {
	p, err := m.keys.open(ctx, r)
	return err == nil && p.TokenURL != ""
}

// How long a credential is blocked when nobody says.
const (
	defaultUsageLimit = 15 * time.Minute
	defaultBackoff    = 30 * time.Second
)

// MarkUsageLimit blocks a stored credential until its quota is free again; a zero
// until is a quarter of an hour. The next [Manager.Key] gives another credential at
// once, or a [*BlockedError] that says when the first is free. Id 0, a credential
// that is not stored, gives [ErrNoCredential]: there is nothing to switch to.
func (m *Manager) MarkUsageLimit(ctx context.Context, id int64, until time.Time) error {
	if until.IsZero() {
		until = m.now().Add(defaultUsageLimit)
	}
	return m.change(ctx, "UPDATE credentials SET blocked_until = max(blocked_until, ?) WHERE id = ?", until.UnixMilli(), id)
}

// MarkBackoff blocks a stored credential for d, half a minute if d is 0, after a rate
// limit; see [Manager.MarkUsageLimit].
func (m *Manager) MarkBackoff(ctx context.Context, id int64, d time.Duration) error {
	if d <= 0 {
		d = defaultBackoff
	}
	return m.MarkUsageLimit(ctx, id, m.now().Add(d))
}

// Disable takes a stored credential out of use, because the vendor refuses it. The
// cause is one line for people.
func (m *Manager) Disable(ctx context.Context, id int64, cause string) error {
	cause = prose.Line(cause)
	if cause == "" {
		cause = "disabled"
	}
	return m.change(ctx, "UPDATE credentials SET disabled = ? WHERE id = ?", cause, id)
}

// Enable brings a stored credential back into use and ends its block.
func (m *Manager) Enable(ctx context.Context, id int64) error {
	return m.change(ctx, "UPDATE credentials SET disabled = '', blocked_until = 0 WHERE id = ?", id)
}

func (m *Manager) change(ctx context.Context, query string, args ...any) error {
	s, err := m.store(ctx, false)
	if err != nil {
		return err
	}
	if s == nil {
		return ErrNoCredential
	}
	met, err := s.change(ctx, query, args...)
	if err == nil && !met {
		return ErrNoCredential
	}
	return err
}

// login is how a provider is logged in to, if it is.
func (m *Manager) login(provider string) (oauth.Provider, bool) {
	if p := m.o.Provider(provider).OAuth; p != nil {
		q := *p
		q.ID = provider
		return q, true
	}
	list := oauth.Builtin()
	i := slices.IndexFunc(list, func(p oauth.Provider) bool { return p.ID == provider })
	if i < 0 {
		return oauth.Provider{}, false
	}
	return list[i], true
}

func (r *row) name() string {
	s := fmt.Sprintf("key %d", r.id)
	if r.kind == KindOAuth {
		s = fmt.Sprintf("login %d", r.id)
	}
	if r.label != "" {
		s += fmt.Sprintf(" %q", r.label)
	}
	return s
}
