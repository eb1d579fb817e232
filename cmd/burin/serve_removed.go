package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/private"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/store"
)

// forgetEvery is how often a server looks for people who were removed, by other processes too.
const forgetEvery = time.Minute

// forgetRemoved removes what the rooms have of people who were removed, until ctx ends.
func (k *kept) forgetRemoved(ctx context.Context, failed func(error)) {
	for {
		gone, err := k.people.Removed(ctx)
		for _, person := range gone {
			if e := k.forget(ctx, person); e != nil {
				err = errors.Join(err, fmt.Errorf("remove the data of %s: %w", person, e))
			}
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-time.After(forgetEvery):
		case <-ctx.Done():
			return
		}
	}
}

// forget removes what the rooms have of a person. The keys go last: what a room may have left is
// noise then.
func (k *kept) forget(ctx context.Context, person string) error {
	chats, err := project.ChatsOf(ctx, k.projects, person, "")
	if err != nil {
		return err
	}
	for _, id := range chats {
		k.chats.End(ctx, id)
	}
	if err := project.PurgePerson(ctx, k.projects, person); err != nil {
		return err
	}
	tenants := gremlin.NewTenants(k.db)
	registered, err := tenants.List(ctx, person)
	if err != nil {
		return err
	}
	for _, t := range registered {
		if err := tenants.Remove(ctx, person, t.Number, true); err != nil {
			return err
		}
	}
	err = k.db.Update(ctx, func(q store.Querier) error {
		return errors.Join(quota.Forget(ctx, q, person), push.Forget(ctx, q, person), private.Forget(ctx, q, person), k.index.Delete(ctx, q, person), k.pieces.Delete(ctx, q, person), k.vault.Delete(ctx, q, person), people.Forgotten(ctx, q, person))
	})
	k.vault.Lock(person)
	return err
}

// trashDays is how long projects and chats stay in the trash.
const trashDays = 30

// emptyTrash removes for good what has been in the trash for too long, until ctx ends.
func (k *kept) emptyTrash(ctx context.Context, failed func(error)) {
	for {
		if err := k.projects.Purge(ctx, time.Now().AddDate(0, 0, -trashDays)); err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("empty the trash: %w", err))
		}
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return
		}
	}
}
