//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// watchSize has the loop told when the size of the terminal changes, and when the
// program goes on after it was suspended.
func (d *display) watchSize() {
	d.sizes = make(chan os.Signal, 1)
	signal.Notify(d.sizes, syscall.SIGWINCH)
}

// suspend gives the terminal to the shell that burin was started from, until it brings
// burin back.
func (d *display) suspend() {
	d.handOver(func() {
		resumed := make(chan os.Signal, 1)
		signal.Notify(resumed, syscall.SIGCONT)
		defer signal.Stop(resumed)
		// The whole group, as the terminal would: who started burin in a pipe waits too.
		if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
			return
		}
		// The system stops nobody whom no shell could bring back: burin that is the first
		// program of its terminal goes on at once.
		select {
		case <-resumed:
		case <-d.ctx.Done():
		case <-time.After(stopTime):
		}
		for !d.term.Foreground() && d.ctx.Err() == nil { // it goes on in the background, such as to be ended
			select {
			case <-resumed:
			case <-d.ctx.Done():
			}
		}
	})
}

// stopTime is more than the system needs to stop a process that it was told to stop.
const stopTime = 250 * time.Millisecond
