// Package access keeps who may use the server: tokens for programs, each with the rights it was
// given. What is kept of a token is its hash, in burin.db, so that nobody who reads the file
// can use it.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/model/credential/database"
	"github.com/burin-dev/burin/session/remote"
)

// Token is a token without its secret.
type Token struct {
	Name    string        `json:"name"`
	Rights  remote.Rights `json:"rights"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires,omitzero"` // zero: never
	Used    time.Time     `json:"used,omitzero"`    // last, to the minute; zero: never
}

// Errors of tokens.
var (
	ErrUnknown = errors.New("there is no such token")
	ErrTaken   = errors.New("there is such a token already")
)

// Prefix begins each token, so that people and programs that look for leaked secrets know it.
const Prefix = "burin_"

// maxName is how many bytes a name has at most.
const maxName = 64

// Store is the tokens of one user.
type Store struct {
	home string // the folder of burin.db

	mu sync.Mutex
	db *sql.DB // nil: not opened, or not there yet
}

// New makes a store. Its file is opened when it is needed. The caller closes it.
func New(home string) *Store { return &Store{home: home} }

// Close closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	return db.Close()
}

// open opens the file. The error is an [fs.ErrNotExist] if it is not there and make is false.
func (s *Store) open(ctx context.Context, make bool) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		return s.db, nil
	}
	open := database.OpenExisting
	if make {
		open = database.Open
	}
	db, err := open(ctx, s.home)
	if err == nil {
		s.db = db
	}
	return db, err
}

// Add makes a token with a name that no other one has, and returns its secret, which is kept
// nowhere. Expires may be zero.
func (s *Store) Add(ctx context.Context, name string, rights remote.Rights, expires time.Time) (secret string, err error) {
	switch {
	case name == "" || len(name) > maxName || strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("a token's name has from 1 to %d characters on one line, not %q", maxName, name)
	case !rights.Known():
		return "", fmt.Errorf("the rights of a token are watch, steer, answer or own, not %q", rights)
	}
	db, err := s.open(ctx, true)
	if err != nil {
		return "", err
	}
	secret = Prefix + rand.Text()
	sum := sha256.Sum256([]byte(secret))
	done, err := db.ExecContext(ctx, `INSERT INTO tokens (name, hash, rights, created, expires) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
		name, sum[:], string(rights), time.Now().Unix(), unix(expires))
	if err != nil {
		return "", fmt.Errorf("add token %q: %w", name, err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return "", errors.Join(ErrTaken, err)
	}
	return secret, nil
}

// List returns the tokens in the order in which they were added, those that have expired too.
func (s *Store) List(ctx context.Context) (all []Token, err error) {
	db, err := s.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT name, rights, created, expires, used FROM tokens ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list the tokens: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		t, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("list the tokens: %w", err)
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// Remove removes a token. Whoever uses it is refused from then on.
func (s *Store) Remove(ctx context.Context, name string) error {
	db, err := s.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrUnknown
	}
	if err != nil {
		return err
	}
	done, err := db.ExecContext(ctx, `DELETE FROM tokens WHERE name = ?`, name)
	if err != nil {
		return fmt.Errorf("remove token %q: %w", name, err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(ErrUnknown, err)
	}
	return nil
}

// useEvery is how exactly the last use is known: it is written at most so often.
const useEvery = time.Minute

// Find returns the token with a secret. The error is [ErrUnknown] if there is none, or if it has
// expired.
func (s *Store) Find(ctx context.Context, secret string) (t Token, err error) {
	if !strings.HasPrefix(secret, Prefix) {
		return t, ErrUnknown
	}
	db, err := s.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return t, ErrUnknown
	}
	if err != nil {
		return t, err
	}
	// The hash of a secret that cannot be guessed tells nothing by how long it takes to find it.
	sum := sha256.Sum256([]byte(secret))
	t, err = scan(db.QueryRowContext(ctx, `SELECT name, rights, created, expires, used FROM tokens WHERE hash = ?`, sum[:]))
	now := time.Now()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Token{}, ErrUnknown
	case err != nil:
		return Token{}, fmt.Errorf("look for a token: %w", err)
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return Token{}, ErrUnknown
	case now.Sub(t.Used) >= useEvery:
		// Where it can't be written, the token is good all the same.
		_, _ = db.ExecContext(ctx, `UPDATE tokens SET used = ? WHERE hash = ?`, now.Unix(), sum[:])
	}
	return t, nil
}

func scan(row interface{ Scan(...any) error }) (t Token, err error) {
	var created, expires, used int64
	err = row.Scan(&t.Name, &t.Rights, &created, &expires, &used)
	t.Created, t.Expires, t.Used = since(created), since(expires), since(used)
	return t, err
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
