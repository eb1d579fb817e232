package chats

import (
	"context"
	"errors"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/session"
)

// A turn holds the keys of its person, who may lock them meanwhile. What is open of them in memory besides, chats in
// which no turn runs, ends then. A turn whose server died and whose keys are locked waits for its person.

// with is a context in which the keys that a turn holds are used.
func (h *held) with(ctx context.Context) context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.release == nil {
		return ctx
	}
	return vault.Holding(ctx, h.person, h.ring)
}

// let gives the keys back when the turn with a number has ended, and no later one has begun.
func (h *held) let(n int64) {
	h.mu.Lock()
	release := h.release
	if h.accepted.Load() > n {
		release = nil
	}
	if release != nil {
		h.ring, h.release = nil, nil
	}
	h.mu.Unlock()
	if release != nil {
		release()
	}
}

// acceptWithin counts a turn that begins, within the number of turns that its person may have; nil is any. It
// holds their keys until it has ended.
func (c *Chats) acceptWithin(ctx context.Context, id string, h *held, most *int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return limitError{errors.New("the chat is opened again, as something about it has changed: try again"), session.ErrOwnerGone}
	}
	ring, release, err := c.o.Keys.Hold(ctx, h.person)
	if err != nil {
		return err
	}
	n, err := c.o.Store.Accept(ctx, id, h.holder, most)
	if err != nil || h.release != nil {
		release()
	} else {
		h.ring, h.release = ring, release
	}
	switch {
	case err == nil:
		h.accepted.Store(n)
		project.Changed(c.o.Store, h.person)
	case errors.Is(err, project.ErrNotHeld):
		c.working.Go(func() { c.End(c.ctx, id) })
	}
	return sessionError(err)
}

// locked ends the chats of a person that are open and do nothing, and those that others have in projects of the person. What
// these do ends by itself: it reaches nothing of the project any more.
func (c *Chats) locked(person string) {
	if c.ending.Load() {
		return
	}
	c.library.Forget()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, h := range c.held {
		switch busy := c.Busy(id); {
		case h.person != person && h.owner != person:
		case !busy:
			c.working.Go(func() { c.End(c.ctx, id) })
		default:
			h.stale.Store(h.person != person)
		}
	}
}

// await has turns of a locked person, or in a project of one, go on as soon as the keys are unlocked here.
func (c *Chats) await(ctx context.Context, id string, locked error) {
	person, err := c.o.Store.PersonOf(ctx, id)
	if err != nil {
		return // it is in the trash by now
	}
	if of, ok := errors.AsType[*project.LockedError](locked); ok {
		person = of.Person
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[person] {
		return
	}
	c.waiting[person] = true
	c.working.Go(func() {
		err := c.o.Keys.Wait(c.ctx, person)
		c.mu.Lock()
		delete(c.waiting, person)
		c.mu.Unlock()
		if err == nil {
			select {
			case c.again <- struct{}{}:
			default:
			}
		}
	})
}
