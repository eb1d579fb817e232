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

// shell runs the person's own commands.
type shell struct {
	*base
	*current
	facts    *facts
	composer *composer
	work     *work
	outbox   *outbox
	open     func(Wish) // opens a session
	own      []*own     // commands that run
}

// run runs a person's own command: "!cmd", which the model reads, or "!!cmd", which
// it does not.
func (h *shell) run(text string) {
	line, private := strings.CutPrefix(text, "!!")
	if !private {
		line = strings.TrimPrefix(text, "!")
	}
	line = strings.TrimSpace(line)
	s := h.session
	switch {
	case line == "":
		return
	case s == nil || h.opening:
		h.outbox.wait(text, enclosed{})
		if !h.opening {
			h.open(Wish{})
		}
		return
	case h.work.first: // as what is sent after it
		h.outbox.wait(text, enclosed{})
		return
	case h.work.busy != "":
		h.composer.giveBack(text)
		h.flash(h.work.busy + " is in progress; " + h.keyFor("app.interrupt") + " stops it")
		return
	}
	b := &call{id: "!" + fmt.Sprint(len(h.talk.blocks)), card: card.Own(line, private)}
	h.talk.add(b)
	o := &own{block: b, of: s}
	h.own = append(h.own, o)
	shown := &tail{}
	h.beside("the command", o, func(ctx context.Context) (func(), error) {
		r, err := s.Conversation().Run(ctx, line, private, func(chunk string) {
			if shown.add(chunk) {
				h.inbox.post(func() {
					b.update(func(c *card.Call) { c.Content = []llm.Block{llm.Text{Text: shown.take()}} })
				})
			}
		})
		stopped := r.Cancelled || ctx.Err() != nil || errors.Is(err, session.ErrNotBegun)
		h.inbox.post(func() { // also where the session was left meanwhile
			h.own = slices.DeleteFunc(h.own, func(other *own) bool { return other == o })
			if b.ended {
				return
			}
			out := r.Output
			if err != nil && !stopped {
				out = err.Error()
			}
			b.update(func(c *card.Call) { c.End(out, err != nil || r.ExitCode != 0, stopped, r.ExitCode) })
			b.ended = true
			h.facts.repo.Refresh()
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

// stop stops the commands that run beside what the model does, or did.
func (h *shell) stop() (stopped bool) {
	for _, o := range h.own {
		if o.stop != nil {
			o.stop()
			o.stop, stopped = nil, true
		}
	}
	return stopped
}

// end ends what is shown of the commands of a session that is closed: what has not
// ended by then will not, and would stand before all that follows.
func (h *shell) end(of *opened) {
	for _, o := range h.own {
		if o.of == of && !o.block.ended {
			o.block.result(true, []llm.Block{llm.Text{Text: "did not end"}}, nil)
		}
	}
}

// beside runs a command that the person can stop, next to what the model does.
func (h *shell) beside(what string, o *own, run func(ctx context.Context) (func(), error)) {
	if h.work.on {
		ctx, cancel := context.WithCancel(h.ctx)
		o.stop = cancel
		go func() {
			defer cancel()
			_, _ = run(ctx) // it says itself how it ended
		}()
		return
	}
	h.work.ahead(what, run)
}
