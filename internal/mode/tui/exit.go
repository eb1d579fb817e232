package tui

import "github.com/burin-dev/burin/internal/host/archive"

// exit is how far the end of the face has come.
type exit struct {
	*base
	quit   bool // the person leaves, or the terminal is gone
	ending bool // the person has left: what is open is being closed
	atOnce bool // without waiting for that
	err    error
	moveTo [2]string // the session's file, and the folder that it is to be moved to
	moved  archive.Moved
	demo   bool // is what the person wants to see next
	detach *Detached
}

// failed ends the face when the terminal can no longer be written.
func (e *exit) failed(err error) {
	switch {
	case err == nil || e.quit:
	case e.ctx.Err() != nil: // it was told to end, and does not wait for the terminal
		e.quit = true
	default:
		e.quit, e.err = true, err
	}
}
