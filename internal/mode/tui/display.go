package tui

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/prose"
)

// display is the terminal: what reads keys from it, what draws on it, and who else has it.
type display struct {
	*base
	exit     *exit
	term     terminalOf
	screen   *screen.Screen
	keys     chan key.Event
	stopKeys func()         // ends reading them
	sizes    chan os.Signal // its size has changed
	resized  time.Time      // the last such change
	ready    bool           // it has answered
	full     bool           // the alternate screen is shown
	above    int            // rows of the live part above the pane
	focus    notify.Focus
}

// showFull shows the alternate screen, or goes back from it.
func (d *display) showFull(want bool) {
	d.redraw()
	if want == d.full {
		return
	}
	d.full = want
	if want {
		d.exit.failed(d.screen.EnterFullscreen())
		d.term.Alternate(true)
		return
	}
	d.term.Alternate(false)
	d.exit.failed(d.screen.LeaveFullscreen())
}

// handOver gives the terminal to another program while run runs. The loop waits; events
// of the session wait with the session.
func (d *display) handOver(run func()) {
	d.stopKeys()
	d.term.Alternate(false)
	d.exit.failed(d.screen.Suspend())
	d.term.Stop()
	run()
	if d.ctx.Err() != nil { // it is to end, and has nothing to do with the terminal any more
		d.exit.quit = true
		return
	}
	d.exit.failed(d.term.Start())
	w, h := d.term.Size()
	d.screen.Restore()
	d.screen.Resize(w, h)
	if d.full {
		d.exit.failed(d.screen.EnterFullscreen())
		d.term.Alternate(true)
	}
	d.startKeys()
	d.redraw()
}

// startKeys reads the terminal until stopKeys.
func (d *display) startKeys() {
	ctx, cancel := context.WithCancel(d.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.readKeys(ctx)
	}()
	d.stopKeys = func() {
		cancel()
		// Where a read cannot be broken off, it ends with the next key.
		select {
		case <-ended:
		case <-time.After(time.Second):
		}
	}
}

func (d *display) resize() {
	w, h := d.term.Size()
	d.screen.Resize(w, h)
	d.resized = d.env.Now()
	d.redraw()
}

// readKeys reads the terminal until ctx ends or the terminal is gone.
func (d *display) readKeys(ctx context.Context) {
	err := key.NewReader(d.term, key.Options{}).Run(ctx, d.keys)
	if ctx.Err() == nil {
		d.inbox.post(func() { d.exit.quit, d.exit.err = true, err })
	}
}

// raw writes a sequence that shows nothing.
func (d *display) raw(sequence string) {
	if _, err := d.term.Write([]byte(sequence)); err != nil {
		d.exit.failed(err)
	}
}

// attention tells a person who looks elsewhere.
func (d *display) attention(mode notify.Mode, text string) {
	if b := notify.Bytes(d.getenv, mode, d.focus, "burin", text); len(b) > 0 {
		d.raw(string(b))
	}
}

// hidden stands above the rows that there is room for.
func (d *display) hidden(n int) string {
	return fmt.Sprintf("%s %s above", d.env.Styles.Symbols().Ellipsis, prose.Count(n, "more line"))
}
