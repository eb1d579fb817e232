package tui

import (
	"context"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/external"
)

// handOver gives the terminal to another program while run runs. The loop waits; events
// of the session wait with the session.
func (a *app) handOver(run func()) {
	a.stopKeys()
	a.term.Alternate(false)
	a.failed(a.screen.Suspend())
	a.term.Stop()
	run()
	if a.ctx.Err() != nil { // it is to end, and has nothing to do with the terminal any more
		a.quit = true
		return
	}
	a.failed(a.term.Start())
	w, h := a.term.Size()
	a.screen.Restore()
	a.screen.Resize(w, h)
	if a.full {
		a.failed(a.screen.EnterFullscreen())
		a.term.Alternate(true)
	}
	a.startKeys()
	a.dirty, a.urgent = true, true
}

// startKeys reads the terminal until stopKeys.
func (a *app) startKeys() {
	ctx, cancel := context.WithCancel(a.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.readKeys(ctx)
	}()
	a.stopKeys = func() {
		cancel()
		// Where a read cannot be broken off, it ends with the next key.
		select {
		case <-ended:
		case <-time.After(time.Second):
		}
	}
}

// editOutside gives the prompt to the person's own editor.
func (a *app) editOutside() {
	text, err := a.outside(a.editor.Handoff())
	if err != nil {
		a.say(card.Warning, oneLine(err.Error()))
		return
	}
	if err := a.editor.Return(text); err != nil {
		a.say(card.Warning, oneLine(err.Error()))
	}
}

// outside gives a text to the person's own editor, with the terminal.
func (a *app) outside(text string) (edited string, err error) {
	a.handOver(func() {
		in, out, lendErr := a.term.Lend()
		if lendErr != nil {
			edited, err = text, lendErr
			return
		}
		defer in.Close()
		defer out.Close()
		edited, err = external.Edit(a.ctx, external.Options{Getenv: a.o.Getenv, Dir: a.o.Dir, Stdin: in, Stdout: out, Stderr: out}, text)
	})
	return edited, err
}
