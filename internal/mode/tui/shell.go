package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// maxShown is how much of the output of a command is kept for its card while it runs.
const maxShown = 64 << 10

// shell runs a person's own command: "!cmd", which the model reads, or "!!cmd", which
// it does not.
func (a *app) shell(text string) {
	line, private := strings.CutPrefix(text, "!!")
	if !private {
		line = strings.TrimPrefix(text, "!")
	}
	line = strings.TrimSpace(line)
	s := a.session
	switch {
	case line == "":
		return
	case s == nil || a.opening:
		a.waiting = append(a.waiting, text)
		if !a.opening {
			a.open(Wish{})
		}
		return
	case a.work.first: // as what is sent after it
		a.waiting = append(a.waiting, text)
		return
	case a.work.busy != "":
		a.giveBack(text)
		a.flash(a.work.busy + " is under way; " + a.keyFor("app.interrupt") + " stops it")
		return
	}
	b := &call{id: "!" + fmt.Sprint(len(a.talk.blocks)), card: card.Own(line, private)}
	a.talk.add(b)
	o := &own{block: b, of: s}
	a.own = append(a.own, o)
	shown := &tail{}
	a.beside("the command", o, func(ctx context.Context) (func(), error) {
		r, err := s.Run(ctx, line, private, func(chunk string) {
			if shown.add(chunk) {
				a.inbox.post(func() {
					b.update(func(c *card.Call) { c.Content = []llm.Block{llm.Text{Text: shown.take()}} })
				})
			}
		})
		stopped := r.Cancelled || ctx.Err() != nil || errors.Is(err, session.ErrNotBegun)
		a.inbox.post(func() { // also where the session was left meanwhile
			a.own = slices.DeleteFunc(a.own, func(other *own) bool { return other == o })
			if b.ended {
				return
			}
			out := r.Output
			if err != nil && !stopped {
				out = err.Error()
			}
			b.update(func(c *card.Call) { c.End(out, err != nil || r.ExitCode != 0, stopped, r.ExitCode) })
			b.ended = true
			a.repo.Refresh()
		})
		return nil, nil
	})
}

// own is a command of the person's that runs.
type own struct {
	block *call
	of    *opened
	stop  context.CancelFunc // nil where it is the task that is stopped, or was told to stop
}

// stopOwn stops the commands that run beside what the model does, or did.
func (a *app) stopOwn() (stopped bool) {
	for _, o := range a.own {
		if o.stop != nil {
			o.stop()
			o.stop, stopped = nil, true
		}
	}
	return stopped
}

// endOwn ends what is shown of the commands of a session that is closed: what has not
// ended by then will not, and would stand before all that follows.
func (a *app) endOwn(of *opened) {
	for _, o := range a.own {
		if o.of == of && !o.block.ended {
			o.block.result(true, []llm.Block{llm.Text{Text: "did not end"}}, nil)
		}
	}
}

// beside runs a command that the person can stop, next to what the model does.
func (a *app) beside(what string, o *own, run func(ctx context.Context) (func(), error)) {
	if a.work.on {
		ctx, cancel := context.WithCancel(a.ctx)
		o.stop = cancel
		go func() {
			defer cancel()
			_, _ = run(ctx) // it says itself how it ended
		}()
		return
	}
	a.ahead(what, run)
}
