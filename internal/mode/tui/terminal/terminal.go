// Package terminal takes the terminal that burin was started in, and gives it back as
// it was, whatever happens.
//
// [Open] finds it, [Terminal.Start] sets it up for the face: raw mode, bracketed
// paste, reports of focus and of the colour scheme, and questions about what it can
// do, whose answers come as [key.Reply] events. The last of the answers is that about
// device attributes, which every terminal gives; what has not been answered before it
// is not known to the terminal. [Terminal.Stop] undoes all of it.
//
// A guard, which is burin's own executable once more, waits for the end of the
// process. If it ends without having stopped the terminal, by a crash or kill -9, the
// guard does it. [Main] runs the guard.
package terminal

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// ErrNone is that the process has no terminal.
var ErrNone = errors.New("this is not a terminal")

// Sequences that turn on what the face needs. The reports are turned on before the
// questions, so that nothing arrives unasked behind the last answer.
const (
	turnOn = "\x1b[?2004h" + // bracketed paste
		"\x1b[?1004h" + // focus
		"\x1b[?2031h" // dark and light
	questions = "\x1b]11;?\x1b\\" + // the colour behind text
		"\x1b[?u" + // kitty's keyboard protocol
		"\x1b[?2026$p" + // synchronised updates
		"\x1b[16t" + // size of a cell in pixels
		"\x1b[c" // device attributes: the last one
	turnOff = "\x1b[?2031l\x1b[?1004l\x1b[?2004l"
	// makeSane is for a terminal whose user died in the middle of something.
	makeSane = "\x1b[?2026l\x1b[?7h\x1b[0m\x1b[?25h"

	kittyOn, kittyOff   = "\x1b[>1u", "\x1b[<u"
	modifyOn, modifyOff = "\x1b[>4;2m", "\x1b[>4;0m"
	altOff              = "\x1b[?1049l"
	// Buttons and the wheel, with positions beyond column 223; and every move. Most terminals
	// have one mode for both, so that the last one counts.
	mouseOn, mouseMoves = "\x1b[?1003l\x1b[?1000h\x1b[?1006h", "\x1b[?1003h"
	mouseOff            = "\x1b[?1006l\x1b[?1003l\x1b[?1000l"
)

// Mouse is what a terminal tells of the mouse.
type Mouse uint8

// What is told: nothing, so that the terminal selects text and scrolls by it; clicks and the
// wheel; moves, too.
const (
	MouseOff Mouse = iota
	MouseClicks
	MouseMoves
)

// on turns it on.
func (m Mouse) on() string {
	switch m {
	case MouseClicks:
		return mouseOn
	case MouseMoves:
		return mouseOn + mouseMoves
	case MouseOff:
	}
	return ""
}

// Terminal is the terminal of the process. Its methods are for one goroutine, but for
// Read.
type Terminal struct {
	in, out *os.File // the same one, but on Windows
	saved   *state
	guard   *guard

	keyboard string // what turns the keyboard's protocol on, "" while it is not known
	off      string // and off
	alt      bool
	mouse    Mouse // wanted; it is off while the terminal is stopped

	mu      sync.Mutex
	started bool
	ahead   atomic.Int64 // bytes to read that were typed before Start
}

// Open finds the terminal of the process. It changes nothing.
func Open() (*Terminal, error) {
	in, out, err := open()
	if err != nil {
		return nil, err
	}
	return &Terminal{in: in, out: out}, nil
}

// Start sets the terminal up. It may be called again after Stop.
func (t *Terminal) Start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started {
		return nil
	}
	saved, err := makeRaw(t.in, t.out)
	if err != nil {
		return fmt.Errorf("set up the terminal: %w", err)
	}
	t.saved = saved
	t.ahead.Store(int64(waiting(t.in)))
	t.started = true
	on := turnOn + t.keyboard + t.mouse.on()
	if t.keyboard == "" {
		on += questions
	}
	if _, err := t.out.WriteString(on); err != nil {
		t.stop()
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// Guard starts the process that restores the terminal if this one dies. It is apart
// from Start because it takes milliseconds that the first picture need not wait for.
// report is the file where a crash leaves its trace; the guard names it to the person.
func (t *Terminal) Guard(report string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.guard != nil || !t.started {
		return nil
	}
	g, err := startGuard(t.out, t.saved, report)
	if err != nil {
		return fmt.Errorf("guard the terminal: %w", err)
	}
	t.guard = g
	t.tellGuard()
	return nil
}

// tellGuard says what a restoration has to turn off.
func (t *Terminal) tellGuard() {
	if t.guard == nil {
		return
	}
	off := t.sequencesOff()
	if !t.started {
		off = ""
	}
	t.guard.tell(off)
}

// sequencesOff undoes what is on at the moment.
func (t *Terminal) sequencesOff() string {
	var b strings.Builder
	b.WriteString(makeSane)
	b.WriteString(t.off)
	if t.alt {
		b.WriteString(altOff)
		b.WriteString(t.off) // each screen has protocols of its own
	}
	if t.mouse != MouseOff {
		b.WriteString(mouseOff)
	}
	b.WriteString(turnOff)
	return b.String()
}

// Stop gives the terminal back. The cursor stays where it is.
func (t *Terminal) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop()
}

func (t *Terminal) stop() {
	if !t.started {
		return
	}
	// A terminal that is gone cannot be restored, and need not be.
	_, _ = t.out.WriteString(t.sequencesOff())
	restore(t.in, t.out, t.saved)
	t.started, t.alt = false, false
	t.tellGuard()
}

// Close ends the guard and closes the terminal.
func (t *Terminal) Close() error {
	t.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.guard != nil {
		t.guard.end()
		t.guard = nil
	}
	err := t.in.Close()
	if t.out != t.in {
		err = errors.Join(err, t.out.Close())
	}
	return err
}

// Reply takes what the terminal answered and turns on what follows from it: the
// keyboard protocol that it knows. It reports whether all questions are answered.
func (t *Terminal) Reply(r key.Reply) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Kind {
	case key.ReplyKeyboard:
		t.useKeyboard(kittyOn, kittyOff)
	case key.ReplyDevice:
		// xterm and tmux tell Shift+Enter from Enter in this way, and others ignore it.
		t.useKeyboard(modifyOn, modifyOff)
		return true
	}
	return false
}

func (t *Terminal) useKeyboard(on, off string) {
	if t.keyboard != "" || !t.started {
		return
	}
	t.keyboard, t.off = on, off
	_, _ = t.out.WriteString(on)
	t.tellGuard()
}

// Alternate is told when the face goes to the alternate screen, after it did, or
// leaves it, before it does.
func (t *Terminal) Alternate(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alt == on {
		return
	}
	t.alt = on
	if on {
		_, _ = t.out.WriteString(t.keyboard)
	} else {
		_, _ = t.out.WriteString(t.off)
	}
	t.tellGuard()
}

// Mouse asks for what the mouse does, or leaves it to the terminal. What was asked for holds
// across Stop and Start, and never while the terminal is stopped.
func (t *Terminal) Mouse(want Mouse) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mouse == want {
		return
	}
	t.mouse = want
	switch {
	case !t.started:
	case want == MouseOff:
		_, _ = t.out.WriteString(mouseOff)
		t.tellGuard()
	default:
		t.tellGuard() // first: it turns off what may be on
		_, _ = t.out.WriteString(want.on())
	}
}

// Size is the size in cells; 80×24 where it is not known.
func (t *Terminal) Size() (width, height int) {
	if w, h, err := size(t.out); err == nil && w > 0 && h > 0 {
		return w, h
	}
	return 80, 24
}

// SetReadDeadline ends a read that is under way.
func (t *Terminal) SetReadDeadline(at time.Time) error { return t.in.SetReadDeadline(at) }

// Foreground reports whether the process may change the terminal: in the background, it
// would be stopped for it.
func (t *Terminal) Foreground() bool { return foreground(t.out) }

// hurryTime is how long a terminal is waited for when the process is to end.
const hurryTime = time.Second

// Hurry has writes fail that the terminal does not take within a second from now: one
// that nobody reads, or that was stopped, would keep the process from ending. It may be
// called from any goroutine.
func (t *Terminal) Hurry() { _ = t.out.SetWriteDeadline(time.Now().Add(hurryTime)) } // best effort: not all files can

// Read reads what the terminal sends. An Enter that was pressed before Start came as a
// line feed, as terminals do by default; it is given as what Enter is since.
func (t *Terminal) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	if ahead := t.ahead.Load(); ahead > 0 {
		for i, b := range p[:min(int64(n), ahead)] {
			if b == '\n' {
				p[i] = '\r'
			}
		}
		t.ahead.Add(-min(int64(n), ahead))
	}
	return n, err
}

// Write writes to the terminal.
func (t *Terminal) Write(p []byte) (int, error) { return t.out.Write(p) }

// Lend opens the terminal once more, for a program that is given it while it is stopped.
// The caller closes both files; they may be one. The terminal's own must not be asked
// for their descriptors: reads could no longer be broken off.
func (t *Terminal) Lend() (in, out *os.File, err error) { return open() }

// LendRaw is Lend for a program that runs on a terminal of its own and is passed on byte by
// byte: keys come as they are typed, and what is written is not changed. back gives the
// terminal back as it was, whatever the program has turned on, and closes the files.
func (t *Terminal) LendRaw() (in, out *os.File, back func(), err error) {
	if in, out, err = open(); err != nil {
		return nil, nil, nil, err
	}
	saved, err := makeRaw(in, out)
	if err == nil {
		err = rawOutput(out)
	}
	if err != nil {
		_ = in.Close()
		_ = out.Close()
		return nil, nil, nil, err
	}
	return in, out, func() {
		_, _ = out.WriteString(programOff + altOff + makeSane + turnOff)
		restore(in, out, saved)
		_ = in.Close()
		_ = out.Close() // the same one, mostly
	}, nil
}

// programOff turns off what programs turn on: mice, keypads, protocols of the keyboard,
// scroll regions.
const programOff = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1l\x1b>\x1b[<u\x1b[>4;0m\x1b[r\x1b[4l\x1b[0 q"
