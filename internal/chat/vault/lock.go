//go:build !js

package vault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
)

// waitLook is how often who waits for a person looks whether another server has changed the mode.
const waitLook = time.Minute

// Mode tells a person's mode, and whether the keys can be opened now, here.
func (v *Vault) Mode(ctx context.Context, person string) (m Mode, open bool, err error) {
	h, err := v.of(person)
	if err != nil {
		return "", false, err
	}
	defer h.mu.Unlock()
	k, err := readKeys(ctx, v.db, person)
	m = k.mode()
	return m, m == Server || h.lock != nil && !h.locking, err
}

// ModeOf tells a person's mode where nobody has the server's key.
func ModeOf(ctx context.Context, q store.Querier, person string) (Mode, error) {
	k, err := readKeys(ctx, q, person)
	return k.mode(), err
}

// Unlocked are the people in mode Own whose keys are in memory here.
func (v *Vault) Unlocked() (people []string) {
	v.mu.Lock()
	all := slices.Collect(maps.Values(v.people))
	v.mu.Unlock()
	for _, h := range all {
		h.mu.Lock()
		if h.lock != nil && !h.locking {
			people = append(people, h.person)
		}
		h.mu.Unlock()
	}
	return people
}

// SetMode changes a person's mode. For Own it takes the pass phrase, and gives the recovery
// key, which nobody can show again. The keys must be open. There is a new generation then, as
// older states of the database have the others in the other mode.
func (v *Vault) SetMode(ctx context.Context, person string, to Mode, phrase string) (recovery string, err error) {
	if to != Own && to != Server {
		return "", fmt.Errorf("%w: there is no mode %q", ErrMode, to)
	}
	var secrets lockSecrets
	if to == Own {
		if secrets, err = v.newLock(ctx, person, phrase); err != nil {
			return "", err
		}
	}
	h, err := v.of(person)
	if err != nil {
		return "", err
	}
	defer h.mu.Unlock()
	if err := v.refresh(ctx, h); err != nil {
		return "", err
	}
	err = v.update(ctx, func(q store.Querier, m *master) error {
		k, err := readKeys(ctx, q, person)
		if err != nil {
			return err
		}
		if k.mode() == to {
			return ErrMode
		}
		r, err := k.open(m, h.lock)
		if err != nil {
			return err
		}
		defer r.wipe()
		by, kind := m.wrap, kindServer
		if to == Own {
			by, kind = wrapper(secrets.lock), kindLock
		}
		if _, err := q.Exec(ctx, `DELETE FROM {vault_wraps} WHERE person = ?1`, person); err != nil {
			return err
		}
		for generation, key := range r.keys {
			w := wrap{person: person, generation: generation, kind: kind}
			if w.wrapped, err = by.Seal(w.place(), key.raw); err != nil {
				return err
			}
			if err := writeWrap(ctx, q, w); err != nil {
				return err
			}
		}
		for _, w := range secrets.wraps {
			if err := writeWrap(ctx, q, w); err != nil {
				return err
			}
		}
		if err := addGeneration(ctx, q, &wrap{person: person, generation: r.newest, kind: kind}, by); err != nil {
			return err
		}
		return changed(ctx, q, person)
	})
	if err != nil {
		return "", fmt.Errorf("change who can open the keys: %w", err)
	}
	if to == Own {
		v.unlocked(h, secrets.lock)
	} else {
		clear(h.lock)
		h.lock = nil
		h.stopIdle()
	}
	v.wake()
	return secrets.recovery, v.load(ctx, h)
}

// lockSecrets are a new lock key, and what opens it.
type lockSecrets struct {
	lock     []byte
	recovery string
	wraps    []wrap
}

func (v *Vault) newLock(ctx context.Context, person, phrase string) (lockSecrets, error) {
	s := lockSecrets{lock: newKey()}
	return s, v.wrapLock(ctx, person, phrase, &s)
}

// wrapLock wraps a lock key with a pass phrase and a new recovery key.
func (v *Vault) wrapLock(ctx context.Context, person, phrase string, s *lockSecrets) error {
	w, err := v.wrapPhrase(ctx, person, phrase, s.lock)
	if err != nil {
		return err
	}
	s.recovery = newRecovery()
	key, err := recoveryKey(s.recovery)
	if err != nil {
		return err
	}
	r := wrap{person: person, kind: kindRecovery}
	if r.wrapped, err = wrapper(key).Seal(r.place(), s.lock); err != nil {
		return err
	}
	s.wraps = []wrap{w, r}
	return nil
}

func (v *Vault) wrapPhrase(ctx context.Context, person, phrase string, lock []byte) (w wrap, err error) {
	if err := checkPhrase(phrase); err != nil {
		return w, err
	}
	c := newCost()
	key, err := v.work.key(ctx, phrase, c)
	if err != nil {
		return w, err
	}
	w = wrap{person: person, kind: kindPhrase, params: c.text()}
	w.wrapped, err = wrapper(key).Seal(w.place(), lock)
	return w, err
}

// openLock gives the lock key for a pass phrase, or for a recovery key.
func (v *Vault) openLock(ctx context.Context, k keys, phrase, recovery string) (lock []byte, err error) {
	w, ok := k.find(kindPhrase)
	if !ok {
		return nil, ErrMode
	}
	var key []byte
	if recovery != "" {
		if w, ok = k.find(kindRecovery); !ok {
			return nil, ErrMode
		}
		key, err = recoveryKey(recovery)
	} else {
		var c cost
		if c, err = parseCost(w.params); err == nil {
			if len(phrase) > maxPhrase {
				return nil, ErrPassphrase
			}
			key, err = v.work.key(ctx, phrase, c)
		}
	}
	if err != nil {
		return nil, err
	}
	if lock, err = wrapper(key).Open(w.place(), w.wrapped); errors.Is(err, ErrKey) {
		return nil, ErrPassphrase
	}
	return lock, err
}

// Unlock opens the keys of a person in mode Own, on this server.
func (v *Vault) Unlock(ctx context.Context, person, phrase string) error {
	open, err := v.Unlocking(ctx, person, phrase)
	if err == nil {
		err = open(ctx)
	}
	return err
}

// Unlocking is Unlock in two steps: open is called once the person has proved everything else, such as a
// second factor.
func (v *Vault) Unlocking(ctx context.Context, person, phrase string) (open func(context.Context) error, err error) {
	k, err := readKeys(ctx, v.db, person)
	if err != nil {
		return nil, fmt.Errorf("unlock the keys: %w", err)
	}
	lock, err := v.openLock(ctx, k, phrase, "") // before h is locked: it takes a while
	if err != nil {
		return nil, fmt.Errorf("unlock the keys: %w", err)
	}
	return func(ctx context.Context) error { return v.unlock(ctx, person, lock, k.rotate) }, nil
}

func (v *Vault) unlock(ctx context.Context, person string, lock []byte, rotate bool) error {
	h, err := v.of(person)
	if err != nil {
		return err
	}
	defer h.mu.Unlock()
	before := h.lock
	h.lock = lock
	if err := v.load(ctx, h); err != nil {
		h.lock = before
		return err
	}
	clear(before)
	v.unlocked(h, lock)
	if rotate {
		return v.rotate(ctx, h)
	}
	return nil
}

// unlocked has the lock key of a person in memory, and wakes those who wait.
func (v *Vault) unlocked(h *held, lock []byte) {
	h.lock, h.locking, h.used = lock, false, time.Now()
	h.stopIdle()
	h.idle = time.AfterFunc(v.options.Idle, func() { v.lookIdle(h) })
	if h.opened != nil {
		close(h.opened)
		h.opened = nil
	}
	v.wake()
}

func (h *held) stopIdle() {
	if h.idle != nil {
		h.idle.Stop()
		h.idle = nil
	}
}

// lookIdle locks a person who has done nothing.
func (v *Vault) lookIdle(h *held) {
	h.mu.Lock()
	if h.lock == nil || h.idle == nil {
		h.mu.Unlock()
		return
	}
	left := v.options.Idle - time.Since(h.used)
	if h.holds > 0 {
		left = v.options.Idle
	}
	if left > 0 {
		h.idle.Reset(left)
		h.mu.Unlock()
		return
	}
	h.wipe()
	h.mu.Unlock()
	v.locked(h.person)
}

// wipe takes the keys of a person in mode Own from memory.
func (h *held) wipe() {
	h.stopIdle()
	if h.ring != nil {
		h.ring.wipe()
	}
	clear(h.lock)
	h.lock, h.ring, h.locking = nil, nil, false
}

// locked tells others that a person was locked.
func (v *Vault) locked(person string) {
	for _, f := range v.onLock {
		f(person)
	}
}

// Lock takes the keys of a person from memory, as when the last device signs out. Turns that
// hold them go on until they end; nothing else gets them. Those of a person in mode Server stay.
func (v *Vault) Lock(person string) {
	h, err := v.of(person)
	if err != nil {
		return
	}
	h.checked = time.Time{}
	own := h.lock != nil
	if h.locking = own && h.holds > 0; own && !h.locking {
		h.wipe()
	}
	h.mu.Unlock()
	v.locked(person)
}

// ChangePassphrase gives the keys of a person in mode Own another pass phrase. The recovery key
// stays the same.
func (v *Vault) ChangePassphrase(ctx context.Context, person, old, phrase string) error {
	change, err := v.Rephrase(ctx, person, old, phrase)
	if err == nil {
		err = v.db.Update(ctx, func(q store.Querier) error { return change(ctx, q) })
	}
	return err
}

// Rephrase is ChangePassphrase with a transaction of the caller's, in which change is called.
func (v *Vault) Rephrase(ctx context.Context, person, old, phrase string) (change func(context.Context, store.Querier) error, err error) {
	k, err := readKeys(ctx, v.db, person)
	if err != nil {
		return nil, fmt.Errorf("change the pass phrase: %w", err)
	}
	lock, err := v.openLock(ctx, k, old, "")
	var w wrap
	if err == nil {
		w, err = v.wrapPhrase(ctx, person, phrase, lock)
		clear(lock)
	}
	if err != nil {
		return nil, fmt.Errorf("change the pass phrase: %w", err)
	}
	return func(ctx context.Context, q store.Querier) error { return rewrapIn(ctx, q, person, k, []wrap{w}) }, nil
}

// Recover gives the keys of a person in mode Own another pass phrase, and opens them. It gives a
// new recovery key; the old one is none any more.
func (v *Vault) Recover(ctx context.Context, person, recovery, phrase string) (next string, err error) {
	k, err := readKeys(ctx, v.db, person)
	if err != nil {
		return "", fmt.Errorf("recover the keys: %w", err)
	}
	if recovery == "" {
		return "", fmt.Errorf("recover the keys: %w", ErrPassphrase)
	}
	s := lockSecrets{}
	if s.lock, err = v.openLock(ctx, k, "", recovery); err == nil {
		if err = v.wrapLock(ctx, person, phrase, &s); err == nil {
			err = v.rewrap(ctx, person, k, s.wraps)
		}
	}
	if err != nil {
		return "", fmt.Errorf("recover the keys: %w", err)
	}
	return s.recovery, v.unlock(ctx, person, s.lock, k.rotate)
}

// rewrap replaces what opens a lock key, unless somebody else has meanwhile.
func (v *Vault) rewrap(ctx context.Context, person string, was keys, wraps []wrap) error {
	return v.db.Update(ctx, func(q store.Querier) error { return rewrapIn(ctx, q, person, was, wraps) })
}

func rewrapIn(ctx context.Context, q store.Querier, person string, was keys, wraps []wrap) error {
	now, err := readKeys(ctx, q, person)
	if err != nil {
		return err
	}
	a, _ := was.find(kindPhrase)
	if b, _ := now.find(kindPhrase); string(a.wrapped) != string(b.wrapped) {
		return ErrPassphrase
	}
	for _, w := range wraps {
		if err := writeWrap(ctx, q, w); err != nil {
			return err
		}
	}
	return changed(ctx, q, person)
}

// Wait returns when the keys of a person can be opened on this server.
func (v *Vault) Wait(ctx context.Context, person string) error {
	for {
		h, err := v.of(person)
		if err != nil {
			return err
		}
		err = v.refresh(ctx, h)
		if !errors.Is(err, ErrLocked) {
			h.mu.Unlock()
			return err
		}
		if h.opened == nil {
			h.opened = make(chan struct{})
		}
		opened := h.opened
		h.mu.Unlock()
		look := time.NewTimer(waitLook)
		select {
		case <-opened:
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return ctx.Err()
		}
		look.Stop()
	}
}
