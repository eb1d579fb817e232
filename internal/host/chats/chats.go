// Package chats keeps the chats of people open: it begins a session for one when somebody comes
// to it, notes what has become of it, has people told who don't look, and ends it when nobody has been
// there for a while.
package chats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/chat/kit"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// Options of [New].
type Options struct {
	Store *project.Store
	// Finder has what was said indexed when a turn has ended.
	Finder *project.Finder
	// Attachments are the files that messages refer to.
	Attachments *project.Attachments
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
	Dial    func(ctx context.Context, address, chat string, v Visit) (session.Handle, error)
	// Push tells people of what they don't watch. nil is that nobody is told.
	Push *push.Store
}

// Visit is how somebody comes to a chat.
type Visit struct {
	Name    string // of the client
	Answers bool   // it answers questions, and the chat waits for it
	Watches bool   // it follows what happens, for somebody who looks
}

// Chats are the chats that this process has open. Where several servers share a database, each
// chat is open in one of them: the others are its clients, and take over what it was doing when it
// dies.
type Chats struct {
	o       Options
	server  string // the id of this one
	keep    owner.Keeper
	engine  *kit.Engine
	library *kit.Library

	ctx     context.Context // of what is noted
	stop    context.CancelFunc
	working sync.WaitGroup
	ending  atomic.Bool // what is done now is left to another server, or the next one

	again chan struct{} // has watch look at once

	mu        sync.Mutex
	waiting   map[string]bool             // people whose turns wait for them
	held      map[string]*held            // by the id of the chat
	forwarded map[string][]session.Handle // handles of chats that other servers have
	watched   map[string]int              // how many follow a chat that is open here
}

// held is a chat that is open here.
type held struct {
	holder   string
	person   string
	owner    string       // of the project
	opened   project.Chat // as it was then
	stale    atomic.Bool  // its project's keys were locked meanwhile, or what it was opened with has changed
	mu       sync.Mutex   // of a turn that begins or has ended
	ring     *vault.Ring  // while a turn runs
	release  func()       // nil: none does
	over     bool         // it ends, and no turn begins any more
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
	c := &Chats{o: o, engine: kit.NewEngine(), library: kit.NewLibrary(), server: rand.Text()[:10], again: make(chan struct{}, 1), waiting: map[string]bool{}, held: map[string]*held{}, forwarded: map[string][]session.Handle{}, watched: map[string]int{}}
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
func (c *Chats) Face(ctx context.Context, person, id string, v Visit) (session.Handle, error) {
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
		h, err := c.keep.Face(ctx, id, v.Name, v.Answers)
		if !errors.Is(err, transcript.ErrLocked) {
			return c.watching(id, v, h, err)
		}
		if h := c.forward(ctx, id, v); h != nil {
			return h, nil
		}
		if time.Now().After(late) {
			return nil, elsewhere{c.o.Address != ""}
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, lastWait)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// elsewhere is the error of a chat that another server has open, which can't be asked.
type elsewhere struct{ shared bool } // by servers of a database that several may have

func (e elsewhere) Error() string {
	if e.shared {
		return "another server has this chat open and can't be reached: check server.address there, or try again in a minute"
	}
	return "another burin serve has this chat open: use that one, or end it; servers share chats only on PostgreSQL (server.database)"
}

func (elsewhere) Unwrap() error { return transcript.ErrLocked }

// Here is Face for a chat that is open in this process, whoever's it is; otherwise the error is
// [project.ErrUnknown]. It is for other servers.
func (c *Chats) Here(ctx context.Context, id string, v Visit) (session.Handle, error) {
	if _, ok := c.keep.Handle(id); !ok {
		return nil, project.ErrUnknown
	}
	h, err := c.keep.Face(ctx, id, v.Name, v.Answers)
	return c.watching(id, v, h, err)
}

// watching counts somebody who follows a chat, until the handle is closed.
func (c *Chats) watching(id string, v Visit, h session.Handle, err error) (session.Handle, error) {
	if err != nil || !v.Watches {
		return h, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched[id]++
	return &watcher{Handle: h, leave: sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.watched[id]--; c.watched[id] == 0 {
			delete(c.watched, id)
		}
	})}, nil
}

// watcher is the handle of somebody who follows a chat.
type watcher struct {
	session.Handle
	leave func()
}

// Close implements [session.Handle].
func (w *watcher) Close() error {
	w.leave()
	return w.Handle.Close()
}

// tells reports whether a person is told what happens in a chat: nobody of theirs looks.
func (c *Chats) tells(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Push != nil && c.watched[id] == 0
}

// Moved reports whether a chat that was open here, or at another server, is at another one now, or
// about to be.
func (c *Chats) Moved(ctx context.Context, id string) bool {
	holder, err := c.o.Store.Holder(ctx, id)
	return err == nil && c.o.Address != "" && project.ServerOf(holder) != c.server
}

// forward connects to the server that has a chat; nil: it can't be reached.
func (c *Chats) forward(ctx context.Context, id string, v Visit) session.Handle {
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
	h, err := c.o.Dial(dialing, address, id, v)
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
		if c.ending.Load() || mine[id] != nil && mine[id].holder == holder {
			continue
		}
		if server != c.server { // else it ended here, as its session was lost when it had just been opened
			if address, err := c.o.Store.Address(ctx, server, silence); err != nil || address != "" {
				continue // it lives
			}
		}
		h, err := c.keep.Face(ctx, id, "takeover", false)
		switch {
		case err == nil:
			_ = h.Close() // it only leaves; begin went on with the turn
			c.leave(id)
		case errors.Is(err, vault.ErrLocked):
			c.await(ctx, id, err)
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
	if errors.Is(err, project.ErrUnreadable) {
		return nil, fmt.Errorf("the project of this chat can't be opened: move the chat to another project (%w)", err)
	}
	if err != nil {
		return nil, err
	}
	files, err := c.o.Store.Files(ctx, person, chat.Project)
	if err != nil {
		return nil, err
	}
	files = vfs.By(files, vfs.Author{Who: vfs.Model, ID: id})
	set, err := project.PreferencesOf(ctx, c.o.Store, person)
	if err != nil {
		return nil, err
	}
	if set.Unreadable != "" {
		c.o.Warn("chat " + id + ": what its person has set for all chats can't be opened, so it goes without")
	}
	level, err := llm.ParseLevel(first(chat.Thinking, p.Thinking))
	if err != nil {
		level = llm.LevelDefault
	}
	tools := kit.New(kit.Options{Tools: p.Tools, Tree: files, Chat: id, Format: p.Format, Began: chat.Created, Engine: c.engine, Library: c.library, Project: p.ID, Temperature: p.Temperature, Prefill: p.Prefill})
	desk := session.NewDesk(session.DeskOptions{Wait: true})
	leave := desk.Attend() // people will come: the model may ask them
	defer leave()
	h := &held{holder: c.server + "/" + rand.Text()[:10], person: person, owner: project.OwnerOf(&p), opened: chat}
	unsettled := false
	s, err := c.o.Open(ctx, host.Chat{
		Log: func(o transcript.Options) (*transcript.Log, error) {
			before, err := c.o.Store.Holder(ctx, id)
			if err != nil {
				return nil, err
			}
			log, err := c.o.Store.Open(ctx, person, chat, o, func() { c.working.Go(func() { c.End(c.ctx, id) }) })
			if err != nil {
				return nil, err
			}
			if unsettled, err = c.o.Store.Hold(ctx, id, before, h.holder); err != nil {
				if errors.Is(err, project.ErrNotHeld) { // another one was faster: Face tries again
					err = fmt.Errorf("%w: %w", transcript.ErrLocked, err)
				}
				return nil, errors.Join(err, log.Close())
			}
			return log, nil
		},
		Accept: func(ctx context.Context) error { return c.accept(ctx, person, id, h) },
		Models: func(ctx context.Context) ([][]string, error) {
			is, err := c.o.Limits(ctx, person)
			return is.Models, err
		},
		Meter: &purse{c: c, person: person, chat: id, project: chat.Project, held: h},
		Attachment: func(ctx context.Context, file string) ([]byte, string, error) {
			return c.o.Attachments.Take(ctx, person, id, file)
		},
		Files: tools.Tree.Files(c.ctx), Account: "person/" + person, Choice: host.Choice{Model: first(chat.Model, p.Model)}, Thinking: level,
		MaxTokens: p.MaxTokens, ModelSearch: p.Tools.Web != nil && p.Tools.Web.Model, Instructions: joined(set.Instructions, p.Instructions, chat.Instructions), Without: tools.Without, Extra: tools.Tools, Chains: tools.Chains, Minions: c.minions(h, p, chat, files), Mode: project.ModeFor(&p, person), MaxCost: p.MaxCost,
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

// joined are instructions one after the other.
func joined(all ...string) string {
	all = slices.DeleteFunc(all, func(text string) bool { return strings.TrimSpace(text) == "" })
	return strings.Join(all, "\n\n")
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// note writes down what becomes of a chat, until it ends: what it is called and costs, which
// model was chosen, and that its turns have ended. Then it has the index know what was said.
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
		err = c.noteOne(person, id, h, s, e)
		if err == nil && e.Type == session.AgentSettled {
			err = c.o.Finder.Index(h.with(c.ctx), person, id, h.holder, s.Log())
		}
		if e.Type == session.AgentSettled {
			h.let(h.settled.Load())
		}
		if err != nil && c.ctx.Err() == nil && !errors.Is(err, project.ErrUnknown) && !errors.Is(err, project.ErrNotHeld) && !errors.Is(err, vault.ErrLocked) { // else it was purged, is another server's, or is indexed later
			c.o.Warn(fmt.Sprintf("chat %s: %v", id, err))
		}
	}
}

func (c *Chats) noteOne(person, id string, h *held, s *session.Session, e session.Event) error {
	var change func(a *project.Chat)
	switch e.Type {
	case session.TitleChanged:
		change = func(a *project.Chat) { a.Title = first(a.Title, e.Text) } // one that a person gave stays
	// What the session says is asked for before: it may wait for the database, as the change
	// has others do.
	case session.ModelChanged:
		model := s.Stats().Model
		change = func(a *project.Chat) { a.Model = model }
	case session.AgentSettled:
		cost, words := s.Stats().Cost, firstWords(s.Log())
		change = func(a *project.Chat) {
			a.Cost, a.Title = cost, first(a.Title, words)
			if a.Project != h.opened.Project || a.Instructions != h.opened.Instructions || a.Thinking != h.opened.Thinking {
				h.stale.Store(true)
			}
		}
	case session.AgentChanged:
		if a, ok := e.Data.(*session.Agent); !ok || a.State != session.AgentIdle {
			return nil
		}
		return c.settleMinions(id, h, s)
	case session.QuestionAsked, session.QuestionSettled:
		return c.tellQuestion(person, id, h, s, e.Type)
	default:
		return nil
	}
	n := h.accepted.Load()
	err := c.o.Store.Note(h.with(c.ctx), person, id, h.holder, change)
	if e.Type == session.AgentSettled && !s.Facts().Working && c.over(e) && !errors.Is(err, project.ErrNotHeld) {
		err = errors.Join(err, c.o.Store.Settle(c.ctx, id, h.holder, n, c.tellEnd(person, id, e)))
		h.settled.Store(n)
		project.Changed(c.o.Store, person)
		c.wake()
		h.mu.Lock()
		h.over = h.stale.Load() && h.accepted.Load() == n // else when the next turn has ended
		if h.over {
			c.working.Go(func() { c.End(c.ctx, id) })
		}
		h.mu.Unlock()
	}
	return err
}

// tellEnd tells a person in a transaction how a turn ended; nil: they aren't told.
func (c *Chats) tellEnd(person, id string, e session.Event) func(q store.Querier) error {
	turn, ok := e.Data.(*session.SettledTurn)
	if !ok || turn.Reason == agent.ReasonAborted || !c.tells(id) { // who stopped it knows
		return nil
	}
	kind := push.Failed
	if turn.Reason == agent.ReasonDone || turn.Reason == agent.ReasonLength {
		kind = push.Done
	}
	return func(q store.Querier) error { return c.o.Push.Notify(c.ctx, q, person, id, kind) }
}

// tellQuestion tells a person that a question waits, or that none does any more.
func (c *Chats) tellQuestion(person, id string, h *held, s *session.Session, what agent.EventType) (err error) {
	switch open, e := s.Face("notes", false).Questions().Open(c.ctx); {
	case c.o.Push == nil || e != nil:
	case what == session.QuestionSettled && len(open) == 0:
		err = c.o.Push.Answered(c.ctx, id)
	case what == session.QuestionAsked && len(open) > 0 && c.tells(id):
		err = c.o.Store.Holding(c.ctx, id, h.holder, func(q store.Querier) error {
			return c.o.Push.Notify(c.ctx, q, person, id, push.Question)
		})
		c.wake()
	}
	return err
}

// wake has what people are told sent.
func (c *Chats) wake() {
	if c.o.Push != nil {
		c.o.Push.Wake()
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
