// Package console joins a terminal to a program that runs on a terminal of its own, as the
// session that started it shows it.
package console

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// Terminal is a terminal in raw mode.
type Terminal struct {
	In, Out *os.File
	Size    func() (width, height int)
	// Back gives the program a screen of its own and lets Ctrl+] leave it.
	Back bool
}

// Keys that bring the terminal back: Ctrl+], as terminals send it, and as they do for a
// program that asked for kitty's protocol or for modified keys.
var backKeys = [][]byte{{0x1d}, []byte("\x1b[93;5u"), []byte("\x1b[27;5;93~")}

// sizeTime is how often the size of the terminal is looked at while a program has it.
const sizeTime = 200 * time.Millisecond

// Join shows a program in a terminal, and types into it what is typed there, until the program
// ends or a key brings the terminal back; then runs is true.
func Join(ctx context.Context, programs session.Consoles, c *session.Console, t Terminal) (runs bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	width, height := t.Size()
	if t.Back {
		const back = "Ctrl+] goes back to burin"
		title := prose.Short(c.Command, max(width-len(back)-2, 1))
		_, _ = t.Out.WriteString("\x1b[?1049h\x1b[2J\x1b[H\x1b[2m" + back + "  " + title + "\x1b[0m\r\n")
	}
	// A program draws anew when the size changes.
	_ = programs.Resize(ctx, c.ID, width, max(height-1, 1))
	_ = programs.Resize(ctx, c.ID, width, height)
	go func() {
		ended <- programs.Follow(ctx, c.ID, func(b []byte) error {
			_, err := t.Out.Write(b)
			return err
		})
		_ = t.In.SetReadDeadline(time.Now())
	}()
	go followSize(ctx, programs, c.ID, t, width, height)
	if runs = typing(ctx, programs, c.ID, t); runs {
		cancel()
		<-ended
		return true, nil
	}
	cancel()
	if err = <-ended; errors.Is(err, session.ErrNoProgram) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return false, err
}

// followSize tells the program when the size of the terminal changes. It ends the reading of
// keys when ctx ends.
func followSize(ctx context.Context, programs session.Consoles, id string, t Terminal, width, height int) {
	tick := time.NewTicker(sizeTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if w, h := t.Size(); w != width || h != height {
				width, height = w, h
				_ = programs.Resize(ctx, id, w, h)
			}
		case <-ctx.Done():
			_ = t.In.SetReadDeadline(time.Now())
			return
		}
	}
}

// typing types into a program until reading fails or a key brings the terminal back.
func typing(ctx context.Context, programs session.Consoles, id string, t Terminal) (back bool) {
	buf := make([]byte, 4<<10)
	for {
		n, rerr := t.In.Read(buf)
		typed := buf[:n]
		if t.Back {
			for _, key := range backKeys {
				if i := bytes.Index(typed, key); i >= 0 {
					typed, back = typed[:i], true
				}
			}
		}
		if len(typed) > 0 {
			if err := programs.Type(ctx, id, typed); errors.Is(err, session.ErrNoProgram) {
				back = false
			}
		}
		if back || rerr != nil {
			return back
		}
	}
}
