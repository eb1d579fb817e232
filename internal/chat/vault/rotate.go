//go:build !js

package vault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/transcript/sealed"
)

// Sealed is a room that keeps sealed records of people.
type Sealed interface {
	// Reseal looks at up to limit records of a person after a place, in an order of its own, and
	// seals those with the ring's newest key that have another. It gives the place of the
	// last one, "" where there is none after it, and how many it has sealed. "" is also the
	// place before the first. A record that somebody else changes meanwhile is theirs to
	// seal. One that can't be opened is passed over with [Skip].
	Reseal(ctx context.Context, person string, ring *Ring, after string, limit int) (next string, n int, err error)
}

const (
	resealLimit = 200              // records at a time
	tendEvery   = 10 * time.Minute // other processes rotate keys, too
	maxPasses   = 5                // over all records of a person, while new ones have old keys
)

// Rotate makes a new key for a person. Where their keys are locked, they get it when they
// unlock them, and done is false.
func (v *Vault) Rotate(ctx context.Context, person string) (done bool, err error) {
	h, err := v.of(person)
	if err != nil {
		return false, err
	}
	defer h.mu.Unlock()
	h.checked = time.Time{}
	err = v.refresh(ctx, h)
	if errors.Is(err, ErrLocked) {
		if _, err := v.db.Exec(ctx, `UPDATE {vault_people} SET rotate = 1 WHERE person = ?1`, person); err != nil {
			return false, fmt.Errorf("rotate the key of %s: %w", person, err)
		}
		return false, nil
	}
	if err == nil {
		err = v.rotate(ctx, h)
	}
	return err == nil, err
}

// rotate makes a new key for a person whose keys are open.
func (v *Vault) rotate(ctx context.Context, h *held) error {
	err := v.update(ctx, func(q store.Querier, m *master) error {
		k, err := readKeys(ctx, q, h.person)
		if err != nil {
			return err
		}
		r, err := k.open(m, h.lock) // what can't open them must not wrap one
		if err != nil {
			return err
		}
		w := wrap{person: h.person, generation: r.newest, kind: kindServer}
		r.wipe()
		by := m.wrap
		if k.mode() == Own {
			w.kind, by = kindLock, wrapper(h.lock)
		}
		if err := addGeneration(ctx, q, &w, by); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `UPDATE {vault_people} SET rotate = 0 WHERE person = ?1`, h.person); err != nil {
			return err
		}
		return changed(ctx, q, h.person)
	})
	if err != nil {
		return fmt.Errorf("rotate the key of %s: %w", h.person, err)
	}
	v.wake()
	return v.load(ctx, h)
}

// People are all who have keys.
func (v *Vault) People(ctx context.Context) ([]string, error) {
	return v.names(ctx, `SELECT person FROM {vault_people} ORDER BY person`)
}

func (v *Vault) names(ctx context.Context, query string) (all []string, err error) {
	rows, err := v.db.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

// wake has Tend look at once.
func (v *Vault) wake() {
	select {
	case v.kick <- struct{}{}:
	default:
	}
}

// Tend seals the records of the rooms with the newest keys of their people, and deletes keys that
// no record has, until ctx ends. failed is told what went wrong; it is tried again later.
func (v *Vault) Tend(ctx context.Context, failed func(error), rooms ...Sealed) {
	every := time.NewTicker(tendEvery)
	defer every.Stop()
	for {
		if err := v.Reseal(ctx, rooms...); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-v.kick:
		case <-every.C:
		}
	}
}

// Reseal does once what [Vault.Tend] does. Killed, it starts over the next time, and passes
// over what it has done.
func (v *Vault) Reseal(ctx context.Context, rooms ...Sealed) error {
	// The server's key may have been replaced meanwhile.
	if err := v.update(ctx, func(store.Querier, *master) error { return nil }); err != nil {
		return fmt.Errorf("look for the server's key: %w", err)
	}
	people, err := v.names(ctx, `SELECT person FROM {vault_keys} GROUP BY person HAVING count(*) > 1 ORDER BY person`)
	if err != nil {
		return fmt.Errorf("look for old keys: %w", err)
	}
	var failures []error
	for _, person := range people {
		if err := v.resealPerson(ctx, person, rooms); err != nil && !errors.Is(err, ErrLocked) {
			failures = append(failures, fmt.Errorf("seal the records of %s with the new key: %w", person, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(failures...)
}

func (v *Vault) resealPerson(ctx context.Context, person string, rooms []Sealed) error {
	ring, release, err := v.Hold(ctx, person)
	if err != nil {
		return err
	}
	defer release()
	for range maxPasses {
		// By its age at the beginning of the pass, no server has sealed with an older key since.
		var created int64
		if err := v.db.QueryRow(ctx, `SELECT created FROM {vault_keys} WHERE person = ?1 AND generation = ?2`, person, ring.Newest()).Scan(&created); err != nil {
			return err
		}
		old := time.Since(time.Unix(created, 0)) >= v.options.Grace
		n, left := 0, &skipped{}
		for _, room := range rooms {
			sealed, err := walk(context.WithValue(ctx, skippedKey{}, left), room, person, ring)
			if err != nil {
				return err
			}
			n += sealed
		}
		if !old {
			return nil // later
		}
		if n == 0 && left.n > 0 {
			return fmt.Errorf("%d records can't be opened, and stay as they are with the old key; the first: %w", left.n, left.first)
		}
		if n == 0 {
			return v.retire(ctx, person, ring.Newest())
		}
	}
	return nil
}

type skippedKey struct{}

// skipped are records of a pass that can't be opened.
type skipped struct {
	n     int
	first error
}

// Skip says whether an error of a record means that it can't be opened, now or later, so that a room passes over it and
// seals the others again. The record keeps its old key, which is why that isn't deleted.
func Skip(ctx context.Context, err error) bool {
	if !errors.Is(err, ErrKey) && !errors.Is(err, ErrRetired) && !errors.Is(err, ErrLarge) && !errors.Is(err, sealed.ErrKey) {
		return false
	}
	if s, ok := ctx.Value(skippedKey{}).(*skipped); ok {
		if s.n++; s.first == nil {
			s.first = err
		}
	}
	return true
}

func walk(ctx context.Context, room Sealed, person string, ring *Ring) (sealed int, err error) {
	for after := ""; ; {
		next, n, err := room.Reseal(ctx, person, ring, after, resealLimit)
		sealed += n
		if err != nil || next == "" {
			return sealed, err
		}
		if next == after {
			return sealed, fmt.Errorf("%T doesn't get past %q", room, after)
		}
		after = next
	}
}

// retire deletes the generations before the newest.
func (v *Vault) retire(ctx context.Context, person string, newest uint32) error {
	return v.db.Update(ctx, func(q store.Querier) error {
		for _, table := range []string{"{vault_wraps}", "{vault_keys}"} {
			if _, err := q.Exec(ctx, `DELETE FROM `+table+` WHERE person = ?1 AND generation > 0 AND generation < ?2`, person, newest); err != nil {
				return err
			}
		}
		return changed(ctx, q, person)
	})
}
