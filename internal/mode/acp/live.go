package acp

import (
	"context"
	"errors"
	"sync"

	"github.com/burin-dev/burin/agent"
	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/session"
)

// live is an open session.
type live struct {
	id      string
	dir     string // as the client wrote it
	conn    *proto.Conn
	client  *proto.InitializeRequest
	folder  Folder
	handle  session.Handle
	feed    session.Feed
	teller  *teller
	asker   *asker
	prompts *prompts
	screens *terminals // nil: the client has no terminals
	notices *notices
	events  bool // the client wants raw events

	ctx  context.Context // ends when the session is closed here
	stop context.CancelFunc
	all  sync.WaitGroup
}

// start begins to send updates to the client.
func (l *live) start() {
	l.all.Go(func() { l.notices.run(l.ctx) })
	l.all.Go(l.follow)
}

// close ends the session if this process owns it, and else leaves it.
func (l *live) close() error {
	l.prompts.cancelAll()
	ctx, stop := context.WithTimeout(context.Background(), closeWait)
	defer stop()
	if l.handle.Owns() {
		_ = l.handle.Conversation().Abort(ctx) // Close ends the turn if this fails
	}
	err := l.handle.Close()
	l.stop()
	l.all.Wait()
	l.prompts.settleAll()
	return err
}

// tell sends updates.
func (l *live) tell(updates ...any) error {
	for _, u := range updates {
		if err := l.conn.Notify(l.ctx, proto.MethodSessionUpdate, proto.Update{SessionID: l.id, Update: u}); err != nil {
			return err
		}
	}
	return nil
}

// follow sends what happens to the client until the session ends. A client that reads slowly
// misses pieces of answers but no whole message: see [session.Feed].
func (l *live) follow() {
	if err := l.tell(l.commands(), l.options()); err != nil {
		return
	}
	l.askOpen()
	l.showOpen()
	if l.tell(l.teller.plan(l.ctx)...) != nil {
		return
	}
	for {
		e, err := l.feed.Next(l.ctx)
		if err != nil {
			l.ended(err)
			return
		}
		if err := l.happened(&e); err != nil {
			return
		}
	}
}

// ended answers the open prompts when the session has ended without this face.
func (l *live) ended(err error) {
	if l.ctx.Err() == nil && !errors.Is(err, session.ErrClosed) {
		l.notices.add("error", "The burin that had this session open has ended: load the session again.")
	}
	l.prompts.settleAll()
}

// event is a raw event.
type event struct {
	SessionID string         `json:"sessionId"`
	Epoch     string         `json:"epoch"`
	Event     *session.Event `json:"event"`
}

// happened sends what the client has to know about one event.
func (l *live) happened(e *session.Event) error {
	if l.events {
		if err := l.conn.Notify(l.ctx, EventMethod, event{l.id, l.feed.Cursor().Epoch, e}); err != nil {
			return err
		}
	}
	if err := l.tell(l.teller.translate(l.ctx, e)...); err != nil {
		return err
	}
	switch e.Type {
	case session.QuestionAsked:
		if q, ok := e.Data.(*session.Question); ok {
			l.ask(q)
		}
	case session.QuestionSettled:
		if s, ok := e.Data.(*session.Settled); ok {
			l.asker.settled(s.ID)
		}
	case session.ConsoleOpened:
		if c, ok := e.Data.(*session.Console); ok {
			l.showProgram(c)
		}
	case session.ConsoleClosed:
		if c, ok := e.Data.(*session.Console); ok && l.screens != nil {
			l.screens.ended(c.ID)
		}
	case session.ModelChanged, session.FallbackApplied, session.Promoted, session.ThinkingChanged, session.ModeChanged:
		if err := l.tell(l.options()); err != nil {
			return err
		}
	case session.AgentSettled:
		if t, ok := e.Data.(*session.SettledTurn); ok {
			l.prompts.settle(t.IDs...)
		}
	case session.EventsLost, session.OwnerChanged:
		l.catchUp()
	}
	return nil
}

// catchUp settles prompts that ended while events were lost.
func (l *live) catchUp() {
	for _, id := range l.prompts.open() {
		l.all.Go(func() {
			if _, err := l.handle.Conversation().Wait(l.ctx, id); err == nil {
				l.prompts.settle(id)
			}
		})
	}
}

// askOpen asks the questions that were open before the client came.
func (l *live) askOpen() {
	open, err := l.handle.Questions().Open(l.ctx)
	if err != nil {
		return
	}
	for i := range open {
		l.ask(&open[i])
	}
}

// ask asks a question without waiting for the answer.
func (l *live) ask(q *session.Question) {
	ctx, done := l.asker.begin(l.ctx, q.ID)
	if ctx == nil {
		return
	}
	l.all.Go(func() {
		defer done()
		reply, ok := l.asker.ask(ctx, q)
		if ctx.Err() != nil || !ok {
			return // answered elsewhere, or withdrawn
		}
		_ = l.handle.Questions().Answer(ctx, q.ID, reply) // the first answer counts
	})
}

// showOpen shows the programs that were running before the client came.
func (l *live) showOpen() {
	if l.screens == nil {
		return
	}
	open, err := l.handle.Consoles().List(l.ctx)
	if err != nil {
		return
	}
	for i := range open {
		l.showProgram(&open[i])
	}
}

// showProgram shows a program that needs a person, without waiting for its end.
func (l *live) showProgram(c *session.Console) {
	if l.screens != nil && l.screens.add(c.ID) {
		l.all.Go(func() { l.screens.show(l.ctx, c) })
	}
}

// notices are messages for the person. Any goroutine may add one, and none blocks on a client
// that reads slowly.
type notices struct {
	queue chan proto.Notice
	send  func(proto.Notice)
}

func newNotices(send func(proto.Notice)) *notices {
	return &notices{make(chan proto.Notice, 100), send}
}

// add queues a notice. It drops it if 100 are queued already.
func (n *notices) add(severity, text string) {
	if text == "" {
		return
	}
	select {
	case n.queue <- proto.Notice{Kind: "notice", Severity: severity, Title: text}:
	default:
	}
}

func (n *notices) run(ctx context.Context) {
	for {
		select {
		case one := <-n.queue:
			n.send(one)
		case <-ctx.Done():
			return
		}
	}
}

// stopOf is the stop reason of the protocol for a reason.
func stopOf(r agent.Reason) string {
	switch r {
	case agent.ReasonLength:
		return proto.StopMaxTokens
	case agent.ReasonMaxTurns:
		return proto.StopMaxTurns
	case agent.ReasonAborted:
		return proto.StopCancelled
	case agent.ReasonRefused:
		return proto.StopRefusal
	}
	return proto.StopEndTurn
}
