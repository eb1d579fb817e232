package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
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
		runs, err = attach(qs.ctx, s.Consoles(), c, in, out, qs.display.term.Size)
	})
	if err != nil && qs.ctx.Err() == nil {
		qs.notice(card.Failure, prose.Line(err.Error()))
	}
	return runs
}

// Keys that bring the terminal back: Ctrl+], as terminals send it, and as they do for a
// program that asked for kitty's protocol or for modified keys.
var backKeys = [][]byte{{0x1d}, []byte("\x1b[93;5u"), []byte("\x1b[27;5;93~")}

// sizeTime is how often the size of the terminal is looked at while a program has it.
const sizeTime = 200 * time.Millisecond

// attach joins a program to a terminal in raw mode, until the program ends or a key brings
// the terminal back; then runs is true.
func attach(ctx context.Context, programs session.Consoles, c *session.Console, in, out *os.File, size func() (int, int)) (runs bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	// The program has a screen of its own, on which it draws anew once it knows the size.
	width, height := size()
	const back = "Ctrl+] goes back to burin"
	title := prose.Short(c.Command, max(width-len(back)-2, 1))
	_, _ = out.WriteString("\x1b[?1049h\x1b[2J\x1b[H\x1b[2m" + back + "  " + title + "\x1b[0m\r\n")
	_ = programs.Resize(ctx, c.ID, width, max(height-1, 1)) // a change, so that it draws
	_ = programs.Resize(ctx, c.ID, width, height)
	go func() {
		ended <- programs.Follow(ctx, c.ID, func(b []byte) error {
			_, err := out.Write(b)
			return err
		})
		_ = in.SetReadDeadline(time.Now())
	}()
	go func() {
		tick := time.NewTicker(sizeTime)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if w, h := size(); w != width || h != height {
					width, height = w, h
					_ = programs.Resize(ctx, c.ID, w, h)
				}
			case <-ctx.Done():
				_ = in.SetReadDeadline(time.Now())
				return
			}
		}
	}()
	buf := make([]byte, 4<<10)
	for {
		n, rerr := in.Read(buf)
		typed := buf[:n]
		for _, key := range backKeys {
			if i := bytes.Index(typed, key); i >= 0 {
				typed, runs = typed[:i], true
			}
		}
		if len(typed) > 0 {
			if err := programs.Type(ctx, c.ID, typed); err != nil && errors.Is(err, session.ErrNoProgram) {
				runs = false
			}
		}
		if runs {
			cancel()
			<-ended
			return true, nil
		}
		if rerr != nil {
			break
		}
	}
	cancel()
	if err = <-ended; errors.Is(err, session.ErrNoProgram) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return false, err
}
