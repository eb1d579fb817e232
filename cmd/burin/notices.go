package main

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// notices tells a person on the desktop what becomes of a session that nobody is attached to.
type notices struct {
	getenv    func(string) string
	done, ask notify.Mode
	after     time.Duration // work shorter than this ends without a notification
	always    bool          // even if it was shorter, or can't begin

	mu      sync.Mutex
	b       *owner.Background // nil: it is not open yet
	id, dir string
	began   time.Time
	sending sync.WaitGroup
}

func newNotices(p *program, settings *config.Config, always bool) *notices {
	return &notices{getenv: p.getenv, done: notify.Mode(settings.Text("completion.notify")), ask: notify.Mode(settings.Text("ask.notify")), after: seconds(settings, "completion.afterSeconds"), always: always}
}

// of is called with the session when it is open.
func (n *notices) of(b *owner.Background) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.b, n.id, n.dir = b, prose.Inline(b.Facts().ID), filepath.Base(b.Transcript().Header().CWD)
}

func (n *notices) event(e *session.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e.Type {
	case agent.AgentStart:
		if n.began.IsZero() {
			n.began = time.Now()
		}
	case session.QuestionAsked:
		n.send(n.ask, "waits for your answer")
	case session.AgentSettled:
		long := n.always || time.Since(n.began) >= n.after
		n.began = time.Time{}
		switch t, _ := e.Data.(*session.SettledTurn); {
		case t == nil || !long || t.Reason == agent.ReasonAborted:
		case t.Reason == agent.ReasonDone:
			n.send(n.done, "has done its work")
		default:
			n.send(n.done, "has stopped before its work was done")
		}
	}
}

// send shows a notification, which has no words of the session: desktops keep them.
func (n *notices) send(m notify.Mode, what string) {
	if n.b == nil || n.b.Attended() {
		return
	}
	n.show(m, "burin in "+n.dir, "Session "+n.id+" "+what+".")
}

func (n *notices) show(m notify.Mode, title, text string) {
	n.sending.Go(func() {
		const most = 10 * time.Second
		ctx, stop := context.WithTimeout(context.Background(), most)
		defer stop()
		_ = notify.Send(ctx, n.getenv, m, title, text) // a desktop may not be there
	})
}

// close waits until all is shown. err is why the session could not be opened, if it could not.
func (n *notices) close(err error) {
	n.mu.Lock()
	if err != nil && n.b == nil && n.always {
		n.show(n.done, "burin", "A scheduled prompt could not run: burin schedule list says why.")
	}
	n.mu.Unlock()
	n.sending.Wait()
}
