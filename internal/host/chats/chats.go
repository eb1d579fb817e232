// Package chats keeps the chats of people open: it begins a session for one when somebody comes
// to it, notes what has become of it, and ends it when nobody has been there for a while.
package chats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// Chats are the chats that this process has open.
type Chats struct {
	store *project.Store
	open  func(context.Context, host.Chat) (*session.Session, error)
	warn  func(string)
	keep  owner.Keeper

	ctx    context.Context // of what is noted
	stop   context.CancelFunc
	noting sync.WaitGroup
}

// New makes the chats of a store. open opens one, warn is told what went wrong where nobody
// waits for it, and idle is how long one stays open without company and work; 0 is until Close.
func New(store *project.Store, open func(context.Context, host.Chat) (*session.Session, error), idle time.Duration, warn func(string)) *Chats {
	c := &Chats{store: store, open: open, warn: warn}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.keep = owner.Keeper{Alone: true, Idle: idle, Open: c.begin}
	return c
}

// Drain lets the chats come to a point where ending them loses nothing; see [owner.Keeper.Drain].
func (c *Chats) Drain(ctx context.Context) { c.keep.Drain(ctx) }

// Close ends the chats that are open.
func (c *Chats) Close() {
	c.keep.Close()
	c.stop()
	c.noting.Wait()
}

// Len is how many are open.
func (c *Chats) Len() int { return c.keep.Len() }

// Face gives a handle of a person's chat, which leaves with its Close; see [owner.Keeper.Face].
// The error is [project.ErrUnknown] if they have no such chat, also in the trash.
func (c *Chats) Face(ctx context.Context, person, id, name string, answers bool) (session.Handle, error) {
	chat, err := c.store.Chat(ctx, person, id)
	if err != nil {
		return nil, err
	}
	if !chat.Trashed.IsZero() {
		return nil, project.ErrUnknown
	}
	return c.keep.Face(ctx, id, name, answers)
}

// Busy reports whether something is done in a chat now.
func (c *Chats) Busy(id string) bool {
	h, ok := c.keep.Handle(id)
	return ok && h.Facts().Working
}

// End ends a chat if it is open, and waits until it has ended. What is done in it stops.
func (c *Chats) End(ctx context.Context, id string) { c.keep.End(ctx, id) }

// begin opens the session of a chat.
func (c *Chats) begin(ctx context.Context, id string) (*session.Session, error) {
	person, err := c.store.PersonOf(ctx, id)
	if err != nil {
		return nil, err
	}
	chat, err := c.store.Chat(ctx, person, id)
	if err != nil {
		return nil, err
	}
	p, err := c.store.Project(ctx, person, chat.Project)
	if err != nil {
		return nil, err
	}
	level, err := llm.ParseLevel(first(chat.Thinking, p.Thinking))
	if err != nil {
		level = llm.LevelDefault
	}
	desk := session.NewDesk(session.DeskOptions{Wait: true})
	leave := desk.Attend() // people will come: the model may ask them
	defer leave()
	s, err := c.open(context.WithoutCancel(ctx), host.Chat{
		Log: func(o transcript.Options) (*transcript.Log, error) {
			return c.store.Open(context.WithoutCancel(ctx), person, chat, o)
		},
		Account: "person/" + person, Choice: host.Choice{Model: first(chat.Model, p.Model)}, Thinking: level,
		MaxTokens: p.MaxTokens, Instructions: p.Instructions, Tools: p.Tools, Mode: first(p.Mode, "auto-edit"), MaxCost: p.MaxCost,
		Desk: desk, Warn: func(line string) { c.warn("chat " + id + ": " + line) },
	})
	if err != nil {
		return nil, err
	}
	feed := s.Face("notes", false).Events(session.Cursor{})
	c.noting.Go(func() { c.note(person, id, s, feed) })
	return s, nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// note writes down what becomes of a chat, until it ends: what it is called and costs, which
// model was chosen, and that it was used.
func (c *Chats) note(person, id string, s *session.Session, feed session.Feed) {
	for {
		e, err := feed.Next(c.ctx)
		if err != nil {
			return
		}
		change, used := func(*project.About) error { return nil }, false
		switch e.Type {
		case session.TitleChanged:
			change = func(a *project.About) error {
				if a.Title == "" { // else a person has named it
					a.Title = e.Text
				}
				return nil
			}
		case session.ModelChanged:
			change = func(a *project.About) error {
				a.Model = s.Stats().Model
				return nil
			}
		case session.AgentSettled:
			used = true
			change = func(a *project.About) error {
				a.Cost = s.Stats().Cost
				if a.Title == "" {
					a.Title = firstWords(s.Log())
				}
				return nil
			}
		default:
			continue
		}
		_, err = c.store.SetChat(c.ctx, person, id, 0, "", change)
		if used {
			err = errors.Join(err, c.store.Used(c.ctx, person, id))
		}
		if err != nil && !errors.Is(err, project.ErrUnknown) { // else it was purged
			c.warn(fmt.Sprintf("chat %s: %v", id, err))
		}
	}
}

// firstWords are what a chat begins with.
func firstWords(log *transcript.Log) string {
	for _, n := range log.Nodes() {
		if n.Type != transcript.TypeMessage || n.Role != llm.RoleUser {
			continue
		}
		if e, err := log.Entry(n.ID); err == nil && e.Message != nil {
			return transcript.TitleOf(e.Message.Text())
		}
	}
	return ""
}
