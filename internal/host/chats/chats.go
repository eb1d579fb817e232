// Package chats keeps the chats of people open: it begins a session for one when somebody comes
// to it, notes what has become of it, and ends it when nobody has been there for a while.
package chats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// Options of [New].
type Options struct {
	Store *project.Store
	// Open opens the session of a chat.
	Open func(context.Context, host.Chat) (*session.Session, error)
	// Idle is how long a chat stays open without company and work; 0 is until Close.
	Idle time.Duration
	// Warn is told what went wrong where nobody waits for it.
	Warn func(string)
	// Ended is told of a chat that has ended here.
	Ended func(id string)
	// Keys are those of people: they are held while a turn runs, and chats of people end who lock theirs.
	Keys *vault.Vault
	// Limits are those of a person now.
	Limits func(ctx context.Context, person string) (people.Limits, error)
	// Quotas keeps what people spend.
	Quotas *quota.Quotas
	// Address is where other servers reach this one, and Dial connects to one there. "" is that
	// there are no others.
	Address string
	Dial    func(ctx context.Context, address, chat, name string) (session.Handle, error)
}

// Chats are the chats that this process has open. Where several servers share a database, each
// chat is open in one of them: the others are its clients, and take over what it was doing when it
// dies.
type Chats struct {
	o      Options
	server string // the id of this one
	keep   owner.Keeper

	ctx     context.Context // of what is noted
	stop    context.CancelFunc
	working sync.WaitGroup
	ending  atomic.Bool // what is done now is left to another server, or the next one

	again chan struct{} // has watch look at once

	mu        sync.Mutex
	waiting   map[string]bool             // people whose turns wait for them
	held      map[string]*held            // by the id of the chat
	forwarded map[string][]session.Handle // handles of chats that other servers have
}

// held is a chat that is open here.
type held struct {
	holder   string
	person   string
	mu       sync.Mutex   // of a turn that begins or has ended
	ring     *vault.Ring  // while a turn runs
	release  func()       // nil: none does
	accepted atomic.Int64 // the number of the last turn
	settled  atomic.Int64 // and of the last that has ended
}

// Times between servers. A transcript's lease ends after 15 s.
const (
	beatTime  = 3 * time.Second
	silence   = 10 * time.Second // after which a server may be dead, or stopped
	takeTime  = 25 * time.Second // how long a chat is tried that another server may be about to lose
	openTime  = 2 * time.Second  // how long one is tried that is just being opened or ended here
	firstWait = 20 * time.Millisecond
	lastWait  = 300 * time.Millisecond
	firstLook = 100 * time.Millisecond
)

// New makes the chats of a store.
func New(o Options) *Chats {
	c := &Chats{o: o, server: rand.Text()[:10], again: make(chan struct{}, 1), waiting: map[string]bool{}, held: map[string]*held{}, forwarded: map[string][]session.Handle{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.keep = owner.Keeper{Alone: true, Idle: o.Idle, Open: c.begin}
	c.working.Go(c.watch)
	o.Keys.OnLock(c.locked)
	return c
}

// Drain lets the chats come to a point where ending them loses nothing; see [owner.Keeper.Drain].
func (c *Chats) Drain(ctx context.Context) {
	c.ending.Store(true)
	c.keep.Drain(ctx)
}

// Close ends the chats that are open. What is done in them goes on in another server, or when this
// one starts again.
func (c *Chats) Close() {
	c.ending.Store(true)
	c.keep.Close()
	c.stop()
	c.working.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), beatTime)
	defer cancel()
	if err := c.o.Store.Leave(ctx, c.server); err != nil {
		c.o.Warn(err.Error())
	}
}

// Len is how many are open.
func (c *Chats) Len() int { return c.keep.Len() }

// Face gives a handle of a person's chat, which leaves with its Close; see [owner.Keeper.Face].
// The error is [project.ErrUnknown] if they have no such chat, also in the trash. A chat that a
// server had which has died is waited for.
func (c *Chats) Face(ctx context.Context, person, id, name string, answers bool) (session.Handle, error) {
	chat, err := c.o.Store.Chat(ctx, person, id)
	if err != nil {
		return nil, err
	}
	if !chat.Trashed.IsZero() {
		return nil, project.ErrUnknown
	}
	late, wait := time.Now().Add(openTime), firstWait
	if c.o.Address != "" {
		late = time.Now().Add(takeTime)
	}
	for {
		h, err := c.keep.Face(ctx, id, name, answers)
		if !errors.Is(err, transcript.ErrLocked) {
			return h, err
		}
		if h := c.forward(ctx, id, name); h != nil {
			return h, nil
		}
		if time.Now().After(late) {
			return nil, err
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, lastWait)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Here is Face for a chat that is open in this process, whoever's it is; otherwise the error is
// [project.ErrUnknown]. It is for other servers.
func (c *Chats) Here(ctx context.Context, id, name string, answers bool) (session.Handle, error) {
	if _, ok := c.keep.Handle(id); !ok {
		return nil, project.ErrUnknown
	}
	return c.keep.Face(ctx, id, name, answers)
}

// Moved reports whether a chat that was open here, or at another server, is at another one now, or
// about to be.
func (c *Chats) Moved(ctx context.Context, id string) bool {
	holder, err := c.o.Store.Holder(ctx, id)
	return err == nil && c.o.Address != "" && project.ServerOf(holder) != c.server
}

// forward connects to the server that has a chat; nil: it can't be reached.
func (c *Chats) forward(ctx context.Context, id, name string) session.Handle {
	if c.o.Address == "" {
		return nil
	}
	holder, err := c.o.Store.Holder(ctx, id)
	if err != nil {
		return nil
	}
	address, err := c.o.Store.Address(ctx, project.ServerOf(holder), silence)
	if err != nil || address == "" || project.ServerOf(holder) == c.server {
		return nil
	}
	dialing, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	h, err := c.o.Dial(dialing, address, id, name)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forwarded[id] = append(c.forwarded[id], h)
	return &away{Handle: h, c: c, id: id}
}

// away is a handle of a chat that another server has.
type away struct {
	session.Handle
	c  *Chats
	id string
}

// Behind is the handle that this one stands for.
func (a *away) Behind() session.Handle { return a.Handle }

// Close implements [session.Handle].
func (a *away) Close() error {
	a.c.mu.Lock()
	all := slices.DeleteFunc(a.c.forwarded[a.id], func(h session.Handle) bool { return h == a.Handle })
	if a.c.forwarded[a.id] = all; len(all) == 0 {
		delete(a.c.forwarded, a.id)
	}
	a.c.mu.Unlock()
	return a.Handle.Close()
}

// leave closes the handles of a chat that another server had, so that whoever has one comes again.
func (c *Chats) leave(id string) {
	c.mu.Lock()
	all := c.forwarded[id]
	delete(c.forwarded, id)
	c.mu.Unlock()
	for _, h := range all {
		_ = h.Close() // it only leaves
	}
}

// Busy reports whether something is done in a chat now.
func (c *Chats) Busy(id string) bool {
	h, ok := c.keep.Handle(id)
	return ok && h.Facts().Working
}

// End ends a chat if it is open, and waits until it has ended. What is done in it stops.
func (c *Chats) End(ctx context.Context, id string) { c.keep.End(ctx, id) }

// watch says that this server lives, and takes over turns that no living server has.
func (c *Chats) watch() {
	wait := firstLook
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(wait):
		case <-c.again:
		}
		wait = beatTime
		if err := c.look(c.ctx); err != nil && c.ctx.Err() == nil {
			c.o.Warn("look for turns to take over: " + err.Error())
		}
	}
}

func (c *Chats) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	if c.o.Address != "" {
		if err := c.o.Store.Beat(ctx, c.server, c.o.Address); err != nil {
			return err
		}
	}
	c.mu.Lock()
	mine := maps.Clone(c.held)
	c.mu.Unlock()
	for id, h := range mine { // this server may have been stopped for longer than its leases
		if now, err := c.o.Store.Holder(ctx, id); err == nil && now != h.holder {
			c.End(ctx, id)
		}
	}
	open, err := c.o.Store.Unsettled(ctx)
	if err != nil {
		return err
	}
	for id, holder := range open {
		server := project.ServerOf(holder)
		if server == c.server || c.ending.Load() {
			continue
		}
		if address, err := c.o.Store.Address(ctx, server, silence); err != nil || address != "" {
			continue // it lives
		}
		h, err := c.keep.Face(ctx, id, "takeover", false)
		switch {
		case err == nil:
			_ = h.Close() // it only leaves; begin went on with the turn
			c.leave(id)
		case errors.Is(err, vault.ErrLocked):
			c.await(ctx, id)
		case !errors.Is(err, transcript.ErrLocked) && !errors.Is(err, project.ErrUnknown):
			c.o.Warn("take over chat " + id + ": " + err.Error())
		}
	}
	return nil
}

// begin opens the session of a chat, and goes on with a turn that another one left.
func (c *Chats) begin(ctx context.Context, id string) (*session.Session, error) {
	ctx = context.WithoutCancel(ctx)
	person, err := c.o.Store.PersonOf(ctx, id)
	if err != nil {
		return nil, err
	}
	chat, err := c.o.Store.Chat(ctx, person, id)
	if err != nil {
		return nil, err
	}
	p, err := c.o.Store.Project(ctx, person, chat.Project)
	if err != nil {
		return nil, err
	}
	files, err := c.o.Store.Files(ctx, person, chat.Project)
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
	h := &held{holder: c.server + "/" + rand.Text()[:10], person: person}
	unsettled := false
	s, err := c.o.Open(ctx, host.Chat{
		Log: func(o transcript.Options) (*transcript.Log, error) {
			log, err := c.o.Store.Open(ctx, person, chat, o, func() { c.working.Go(func() { c.End(c.ctx, id) }) })
			if err == nil {
				unsettled, err = c.o.Store.Hold(ctx, id, h.holder)
			}
			return log, err
		},
		Accept: func(ctx context.Context) error { return c.accept(ctx, person, id, h) },
		Models: func(ctx context.Context) ([][]string, error) {
			is, err := c.o.Limits(ctx, person)
			return is.Models, err
		},
		Meter: &purse{c: c, person: person, chat: id, held: h},
		Files: files.Files(c.ctx), Account: "person/" + person, Choice: host.Choice{Model: first(chat.Model, p.Model)}, Thinking: level,
		MaxTokens: p.MaxTokens, Instructions: p.Instructions, Tools: p.Tools, Mode: first(p.Mode, "auto-edit"), MaxCost: p.MaxCost,
		Desk: desk, Warn: func(line string) { c.o.Warn("chat " + id + ": " + line) },
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.held[id] = h
	c.mu.Unlock()
	feed := s.Face("notes", false).Events(session.Cursor{})
	c.working.Go(func() { c.note(person, id, h, s, feed) })
	if unsettled {
		c.goOn(ctx, id, h, s)
	}
	return s, nil
}

// goOn continues a turn that was accepted and has not ended.
func (c *Chats) goOn(ctx context.Context, id string, h *held, s *session.Session) {
	if err := c.acceptWithin(ctx, id, h, nil); err != nil { // its person's turns were counted when it began
		c.o.Warn("chat " + id + ": " + err.Error())
		return
	}
	face := s.Face("takeover", false)
	_, err := face.Conversation().Resend(ctx)
	if err == nil {
		err = face.Queue().Release(ctx)
	}
	if err != nil {
		c.o.Warn("chat " + id + ": go on with a turn: " + err.Error())
	}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// note writes down what becomes of a chat, until it ends: what it is called and costs, which
// model was chosen, and that its turns have ended.
func (c *Chats) note(person, id string, h *held, s *session.Session, feed session.Feed) {
	defer func() {
		c.mu.Lock()
		if c.held[id] == h {
			delete(c.held, id)
		}
		c.mu.Unlock()
		h.let(h.accepted.Load())
		c.o.Ended(id)
	}()
	for {
		e, err := feed.Next(c.ctx)
		if err != nil {
			return
		}
		var change func(a *project.About)
		switch e.Type {
		case session.TitleChanged:
			change = func(a *project.About) { a.Title = first(a.Title, e.Text) } // one that a person gave stays
		// What the session says is asked for before: it may wait for the database, as the change
		// has others do.
		case session.ModelChanged:
			model := s.Stats().Model
			change = func(a *project.About) { a.Model = model }
		case session.AgentSettled:
			cost, words := s.Stats().Cost, firstWords(s.Log())
			change = func(a *project.About) { a.Cost, a.Title = cost, first(a.Title, words) }
		default:
			continue
		}
		n := h.accepted.Load()
		err = c.o.Store.Note(h.with(c.ctx), person, id, h.holder, change)
		if e.Type == session.AgentSettled && !s.Facts().Working && c.over(e) && !errors.Is(err, project.ErrNotHeld) {
			err = errors.Join(err, c.o.Store.Settle(c.ctx, id, h.holder, n))
			h.settled.Store(n)
			h.let(n)
		}
		if err != nil && c.ctx.Err() == nil && !errors.Is(err, project.ErrUnknown) && !errors.Is(err, project.ErrNotHeld) { // else it was purged, or is another server's
			c.o.Warn(fmt.Sprintf("chat %s: %v", id, err))
		}
	}
}

// over reports whether a turn that has settled is over: one that only stopped because this server
// ends goes on elsewhere.
func (c *Chats) over(e session.Event) bool {
	turn, ok := e.Data.(*session.SettledTurn)
	return !c.ending.Load() || ok && turn.Reason == agent.ReasonDone
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
