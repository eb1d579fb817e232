package tui

import (
	"errors"
	"slices"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/console"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/question"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// console is a program of a call that wants the person's terminal. It asks first: whoever
// types a prompt does not type into a program all of a sudden.
func (qs *questions) console(c *session.Console) {
	if slices.ContainsFunc(qs.list, func(o *ask) bool { return o.id == c.ID }) {
		return
	}
	s, k := qs.session, &ask{id: c.ID}
	k.pane = func() pane.Pane {
		return question.NewConfirm(qs.env, question.ConfirmOptions{
			Title: "A program needs you", Text: prose.Line(prose.Clip(c.Command, 1000)) + "\nIt gets your terminal; Ctrl+] brings burin back while it runs.",
			Yes: "Open it", No: "Stop it", OnTyped: qs.composer.typedOn,
			OnDone: func(open bool) {
				qs.answered(k)
				if !open {
					go qs.stopConsole(s, c.ID)
					return
				}
				if qs.lendTerminal(s, c) {
					qs.console(c) // it runs on
				}
			},
		})
	}
	qs.enqueue(k)
}

// consoleClosed takes away the question about a program that has ended.
func (qs *questions) consoleClosed(c *session.Console) {
	if i := slices.IndexFunc(qs.list, func(q *ask) bool { return q.id == c.ID }); i >= 0 {
		qs.answered(qs.list[i])
	}
}

func (qs *questions) stopConsole(s *opened, id string) {
	if err := s.Consoles().Stop(qs.ctx, id); err != nil && !errors.Is(err, session.ErrNoProgram) && qs.ctx.Err() == nil {
		qs.inbox.post(func() { qs.sayError(err) })
	}
}

// lendTerminal gives a program the terminal until it ends or the person wants it back, and
// reports whether it still runs.
func (qs *questions) lendTerminal(s *opened, c *session.Console) (runs bool) {
	var err error
	qs.display.handOver(func() {
		in, out, back, lendErr := qs.display.term.LendRaw()
		if err = lendErr; err != nil {
			return
		}
		defer back()
		runs, err = console.Join(qs.ctx, s.Consoles(), c, console.Terminal{In: in, Out: out, Size: qs.display.term.Size, Back: true})
	})
	if err != nil && qs.ctx.Err() == nil {
		qs.notice(card.Failure, prose.Line(err.Error()))
	}
	return runs
}
