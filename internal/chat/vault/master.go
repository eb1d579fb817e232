//go:build !js

package vault

import (
	"bytes"
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/platform/keyfile"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// ErrServerKey means that a server doesn't have the key of its database.
var ErrServerKey = errors.New("the database belongs to a server with another key")

// Secret is the server's key, or a pass phrase that it is made of. It prints as "key".
type Secret struct {
	raw    []byte
	phrase string
}

// KeySecret is a key of [KeySize] bytes.
func KeySecret(raw []byte) (Secret, error) {
	if len(raw) < KeySize {
		return Secret{}, fmt.Errorf("the server's key has %d bytes, not %d", len(raw), KeySize)
	}
	return Secret{raw: bytes.Clone(raw[:KeySize])}, nil
}

// PhraseSecret is a pass phrase.
func PhraseSecret(phrase string) (Secret, error) { return Secret{phrase: phrase}, checkPhrase(phrase) }

// Format implements [fmt.Formatter].
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "key") }

// Source has the server's key.
type Source interface {
	// Secrets gives what may be the server's key. Of a new database, it makes a key where
	// there is none.
	Secrets(ctx context.Context, fresh bool) ([]Secret, error)
	// Next makes the secret that takes the key's place, and keeps it where Secrets finds it too.
	Next(ctx context.Context) (Secret, error)
	// Settle is told which of the secrets is in use.
	Settle(ctx context.Context, s Secret) error
	// Advice says what to do where no secret is the right one.
	Advice() string
}

// KeyFile keeps the server's key in the file at a path. While it is replaced, the next one is in
// the file of that name with .new.
type KeyFile string

var _ Source = KeyFile("")

func (f KeyFile) next() string { return string(f) + ".new" }

// Secrets implements [Source].
func (f KeyFile) Secrets(_ context.Context, fresh bool) (found []Secret, err error) {
	if fresh {
		if _, err := keyfile.Make(string(f)); err != nil {
			return nil, fmt.Errorf("make the server's key %s: %w", string(f), err)
		}
	}
	for _, path := range []string{string(f), f.next()} {
		raw, err := keyfile.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the server's key %s: %w", path, err)
		}
		s, err := KeySecret(raw)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}

// Next implements [Source].
func (f KeyFile) Next(context.Context) (Secret, error) {
	raw, err := keyfile.Make(f.next()) // one that a killed burin has left was never used
	if err != nil {
		return Secret{}, fmt.Errorf("make the server's new key %s: %w", f.next(), err)
	}
	return KeySecret(raw)
}

// Settle implements [Source].
func (f KeyFile) Settle(_ context.Context, s Secret) error {
	if raw, err := keyfile.Read(string(f)); err == nil && bytes.Equal(raw[:KeySize], s.raw) {
		return nil
	}
	// Not renamed: a link stays one, and the other of two that come at once finds nothing missing.
	if err := smallfile.Replace(string(f), s.raw); err != nil {
		return fmt.Errorf("keep the server's key: %w", err)
	}
	err := errors.Join(os.Remove(f.next()), remove(f.next()+".lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Advice implements [Source].
func (f KeyFile) Advice() string {
	return "copy the key of the other servers, or from the backup, to " + string(f)
}

// master is the server's key as it is used.
type master struct {
	secret Secret
	wrap   *Ring
	proof  []byte // in the database, too
	peer   string // what servers with the key know each other by
}

func newMaster(s Secret, raw []byte) *master {
	return &master{s, wrapper(derive(raw, "server wrap")), derive(raw, "server proof"), hex.EncodeToString(derive(raw, "server peers"))}
}

// fits reports whether it is the key of a database with that proof.
func (m *master) fits(proof []byte) bool { return subtle.ConstantTimeCompare(m.proof, proof) == 1 }

// proved is what the database has of the server's key.
type proved struct {
	params string // "" is a key without pass phrase
	proof  []byte
}

func readProof(ctx context.Context, q store.Querier) (p proved, err error) {
	err = q.QueryRow(ctx, `SELECT params, proof FROM {vault_server} WHERE id = 1`).Scan(&p.params, &p.proof)
	return p, err
}

func writeProof(ctx context.Context, q store.Querier, p proved) error {
	_, err := q.Exec(ctx, `INSERT INTO {vault_server} (id, params, proof) VALUES (1, ?1, ?2)
		ON CONFLICT (id) DO UPDATE SET params = excluded.params, proof = excluded.proof`, p.params, p.proof)
	return err
}

// makeMaster makes the key of a secret that is used for the first time.
func makeMaster(ctx context.Context, s Secret, work stretches) (*master, proved, error) {
	raw, params := s.raw, ""
	if s.phrase != "" {
		c := newCost()
		var err error
		if raw, err = work.key(ctx, s.phrase, c); err != nil {
			return nil, proved{}, err
		}
		params = c.text()
	}
	m := newMaster(s, raw)
	return m, proved{params, m.proof}, nil
}

// findMaster finds the server's key, and makes that of a new database.
func findMaster(ctx context.Context, db *store.DB, source Source, work stretches) (*master, error) {
	p, err := readProof(ctx, db)
	if errors.Is(err, sql.ErrNoRows) {
		if err := firstMaster(ctx, db, source, work); err != nil {
			return nil, err
		}
		p, err = readProof(ctx, db)
	}
	if err != nil {
		return nil, fmt.Errorf("look for the server's key: %w", err)
	}
	secrets, err := source.Secrets(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, s := range secrets {
		raw := s.raw
		switch {
		case (p.params != "") != (s.phrase != ""):
			continue
		case p.params != "":
			c, err := parseCost(p.params)
			if err != nil {
				return nil, err
			}
			if raw, err = work.key(ctx, s.phrase, c); err != nil {
				return nil, err
			}
		}
		if m := newMaster(s, raw); m.fits(p.proof) {
			return m, source.Settle(ctx, s)
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrServerKey, source.Advice())
}

// firstMaster makes the key of a new database, unless another server is faster.
func firstMaster(ctx context.Context, db *store.DB, source Source, work stretches) error {
	secrets, err := source.Secrets(ctx, true)
	if err != nil {
		return err
	}
	if len(secrets) == 0 {
		return fmt.Errorf("the server has no key: %s", source.Advice())
	}
	_, p, err := makeMaster(ctx, secrets[0], work)
	if err != nil {
		return err
	}
	return db.Update(ctx, func(q store.Querier) error {
		if _, err := readProof(ctx, q); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return writeProof(ctx, q, p)
	})
}

// RotateServer gives the database another server's key, the next one of a source, and wraps the
// keys of all people with it. from has the key that it has now. Killed at any point, the old
// key or the new one is in use, and either source still has it.
func RotateServer(ctx context.Context, db *store.DB, from, to Source) (wrapped int, err error) {
	work := make(stretches, 1)
	old, err := findMaster(ctx, db, from, work)
	if err != nil {
		return 0, err
	}
	secret, err := to.Next(ctx)
	if err != nil {
		return 0, err
	}
	next, p, err := makeMaster(ctx, secret, work)
	if err != nil {
		return 0, err
	}
	err = db.Update(ctx, func(q store.Querier) error {
		wrapped = 0
		now, err := readProof(ctx, q)
		if err != nil {
			return err
		}
		if !old.fits(now.proof) {
			return fmt.Errorf("%w: another burin has just replaced it", ErrServerKey)
		}
		all, err := readWraps(ctx, q, `kind = ?1`, kindServer)
		if err != nil {
			return err
		}
		for _, w := range all {
			raw, err := old.wrap.Open(w.place(), w.wrapped)
			if err != nil {
				return fmt.Errorf("the key of %s: %w", w.person, err)
			}
			w.wrapped, err = next.wrap.Seal(w.place(), raw)
			clear(raw)
			if err == nil {
				err = writeWrap(ctx, q, w)
			}
			if err != nil {
				return err
			}
			wrapped++
		}
		return writeProof(ctx, q, p)
	})
	if err != nil {
		return 0, err
	}
	return wrapped, to.Settle(ctx, secret)
}

// Equal reports whether two secrets are the same.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare(s.raw, other.raw) == 1 && subtle.ConstantTimeCompare([]byte(s.phrase), []byte(other.phrase)) == 1
}
