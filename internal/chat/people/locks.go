package people

import (
	"context"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

// Locks are the keys that people open with their passwords.
type Locks interface {
	// Rephrase gives what wraps the keys of a person with another password, in a transaction. The error is
	// [vault.ErrMode] where they need none, and [vault.ErrPassphrase] if the old one doesn't open them.
	Rephrase(ctx context.Context, person, old, password string) (change func(context.Context, store.Querier) error, err error)
}

// Phrase is a password as it opens keys, the same however a keyboard composes its letters.
func Phrase(password string) string { return string(normal(password)) }

// rewrap gives what has keys open with a new password. Keys that the old one doesn't open, as after a
// reset, stay as they are.
func (p *People) rewrap(ctx context.Context, person, old, password string) (func(context.Context, store.Querier) error, error) {
	nothing := func(context.Context, store.Querier) error { return nil }
	if p.Locks == nil {
		return nothing, nil
	}
	change, err := p.Locks.Rephrase(ctx, person, Phrase(old), Phrase(password))
	if errors.Is(err, vault.ErrMode) || errors.Is(err, vault.ErrPassphrase) {
		return nothing, nil
	}
	return change, err
}

// Confirmed reports nil if a person who is signed in has given their password. They must have one.
func (p *People) Confirmed(ctx context.Context, by By, person, password string) error {
	one, err := p.Get(ctx, person)
	if err == nil && !one.Password {
		err = InputError{"password", "set a password first: it locks the keys"}
	}
	if err == nil {
		err = p.confirm(ctx, one, password, by.Address, "password")
	}
	return err
}

// Guess makes an attempt to open the keys of a person who is signed in. Who fails too often has to wait, as at a
// sign-in.
func (p *People) Guess(ctx context.Context, by By, person string, attempt func() error) error {
	all := tries("keys/"+person, by.Address)
	if err := p.guard.reserve(ctx, all); err != nil {
		return err
	}
	if err := attempt(); err != nil {
		return err
	}
	return p.guard.succeeded(ctx, all)
}

// NoteKeys writes into the log what a person has done with their keys.
func (p *People) NoteKeys(ctx context.Context, by By, person, detail string) error {
	return p.change(ctx, by, person, "keys", detail, false, func(store.Querier) error { return nil })
}

// SignedIn reports whether a person is signed in on a device, on any server.
func (p *People) SignedIn(ctx context.Context, person string) (bool, error) {
	now := p.now()
	var n int
	err := p.db.QueryRow(ctx, `SELECT count(*) FROM {devices} d JOIN {people} o ON o.id = d.person WHERE d.person = ?1 AND d.seen > ?2 AND d.created > ?3 AND o.disabled = 0`,
		person, now.Add(-idleFor).Unix(), now.Add(-signedInFor).Unix()).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for devices: %w", err)
	}
	return n > 0, nil
}
