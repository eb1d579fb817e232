// Package robot uses a terminal program as a person does: it starts the program in a
// pseudo terminal, shows what it writes to an emulated terminal, presses keys, waits
// until the screen says something, and compares screens with golden files. It also
// measures what no one sees: frames, bytes, wake-ups, processor time and memory.
//
// A test never sleeps: the robot looks again whenever the program has written
// something. Everything a robot started ends with its test.
package robot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// Options of a robot.
type Options struct {
	Width, Height int      // 80×24 where not set
	Dir           string   // where the program runs; a new folder where not set
	Env           []string // added to an environment that is the same everywhere
	Light         bool     // the terminal has a light background
	Reflow        bool     // the terminal wraps anew when its width changes
	Scrollback    int      // rows the terminal keeps; see vt.Options
	// Timeout limits every wait; 10 s where not set. A test that reaches it fails and
	// shows the screen.
	Timeout time.Duration
}

// Robot runs one program. Its methods are for the goroutine of the test.
type Robot struct {
	t       testing.TB
	cmd     *exec.Cmd
	tty     *os.File
	timeout time.Duration
	ended   chan struct{} // the program is gone and everything it wrote is shown

	mu     sync.Mutex
	term   *vt.Terminal
	news   chan struct{} // closed and made anew when something was shown
	answer []byte        // what the terminal answers to the program
	err    error         // how the program ended
}

// Start runs a program in a terminal.
func Start(t testing.TB, o Options, name string, args ...string) *Robot {
	t.Helper()
	if o.Width <= 0 || o.Height <= 0 {
		o.Width, o.Height = 80, 24
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	r := &Robot{t: t, timeout: o.Timeout, ended: make(chan struct{}), news: make(chan struct{})}
	r.term = vt.New(vt.Options{
		Width: o.Width, Height: o.Height, Light: o.Light, Reflow: o.Reflow,
		Scrollback: o.Scrollback, Reply: (*replies)(r),
	})
	r.cmd = exec.Command(name, args...)
	r.cmd.Dir = o.Dir
	r.cmd.Env = append(environment(o.Dir), o.Env...)
	tty, err := pty.StartWithSize(r.cmd, size(o.Width, o.Height))
	if errors.Is(err, pty.ErrUnsupported) {
		t.Skip("there are no pseudo terminals on this system")
	}
	if err != nil {
		t.Fatalf("start %s in a terminal: %v", name, err)
	}
	r.tty = tty
	go r.show()
	t.Cleanup(r.stop)
	return r
}

func size(w, h int) *pty.Winsize {
	return &pty.Winsize{Cols: uint16(w), Rows: uint16(h), X: uint16(w * 10), Y: uint16(h * 20)}
}

// environment is what every program gets, so that screens are the same on every
// machine.
func environment(home string) []string {
	return []string{
		"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC",
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PS1=$ ", "TMPDIR=" + os.TempDir(),
	}
}

// replies takes what the terminal answers. It is written after the terminal is
// unlocked, because a program that does not read must not stop the robot from looking.
type replies Robot

func (r *replies) Write(p []byte) (int, error) {
	r.answer = append(r.answer, p...)
	return len(p), nil
}

// show feeds the terminal until the program ends.
func (r *Robot) show() {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.tty.Read(buf)
		r.mu.Lock()
		_, _ = r.term.Write(buf[:n])
		answer := r.answer
		r.answer = nil
		if err != nil { // the last process of the terminal is gone
			r.mu.Unlock()
			break
		}
		r.tell()
		r.mu.Unlock()
		if len(answer) > 0 {
			// A program that is gone needs no answer.
			_, _ = r.tty.Write(answer)
		}
	}
	err := r.cmd.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	close(r.ended)
	r.tell()
}

func (r *Robot) tell() {
	close(r.news)
	r.news = make(chan struct{})
}

func (r *Robot) stop() {
	last := r.Text()         // the guard of a program that is killed tidies up
	_ = r.cmd.Process.Kill() // it may be gone already
	select {
	case <-r.ended:
	case <-time.After(r.timeout):
		r.t.Error("something the program started keeps the terminal open")
	}
	if err := r.tty.Close(); err != nil {
		r.t.Errorf("close the terminal: %v", err)
	}
	if r.t.Failed() {
		r.t.Logf("the last screen:\n%s", last)
	}
}

// PID is the process of the program.
func (r *Robot) PID() int { return r.cmd.Process.Pid }

// Signal sends the program a signal.
func (r *Robot) Signal(sig os.Signal) error { return r.cmd.Process.Signal(sig) }

// Look calls f with the terminal, which does not change meanwhile and must not be
// kept.
func (r *Robot) Look(f func(*vt.Terminal)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.term)
}

// Text is the text of the screen.
func (r *Robot) Text() (s string) {
	r.Look(func(t *vt.Terminal) { s = t.Screen() })
	return s
}

// Dump is the screen with styles in words.
func (r *Robot) Dump() (s string) {
	r.Look(func(t *vt.Terminal) { s = t.Dump() })
	return s
}

// Stats is what the terminal counted: frames and bytes among others.
func (r *Robot) Stats() (s vt.Stats) {
	r.Look(func(t *vt.Terminal) { s = t.Stats() })
	return s
}

// Send writes bytes to the program as they are.
func (r *Robot) Send(p []byte) {
	r.t.Helper()
	// The terminal's buffer is small: a program that does not read would block this.
	if err := r.tty.SetWriteDeadline(time.Now().Add(r.timeout)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		r.t.Fatalf("send to the program: %v", err)
	}
	if _, err := r.tty.Write(p); err != nil {
		r.t.Fatalf("send %d bytes to the program: %v", len(p), err)
	}
}

// Press presses keys by name, such as "ctrl+c", "shift+up", "enter" or "ä". They are
// sent as the terminal would in the modes the program has set.
func (r *Robot) Press(keys ...string) {
	r.t.Helper()
	for _, key := range keys {
		var p []byte
		var err error
		r.Look(func(t *vt.Terminal) { p, err = encode(key, t) })
		if err != nil {
			r.t.Fatal(err)
		}
		r.Send(p)
	}
}

// Click clicks with the left button on the first cell of text, wherever the screen shows it. A
// terminal tells a program of it only if it asked for that; so it must have.
func (r *Robot) Click(text string) {
	r.t.Helper()
	x, y := r.find(text)
	r.mouse(0, x, y)
}

// Hover moves the mouse to the first cell of text, as a terminal tells of it that was asked for
// moves, too.
func (r *Robot) Hover(text string) {
	r.t.Helper()
	moves := false
	r.Look(func(t *vt.Terminal) { moves = t.Mode(1003) })
	if !moves {
		r.t.Fatal("the program did not ask for moves of the mouse")
	}
	x, y := r.find(text)
	r.mouse(35, x, y)
}

// find is the first cell of text on the screen.
func (r *Robot) find(text string) (x, y int) {
	r.t.Helper()
	x, y = -1, -1
	r.Look(func(t *vt.Terminal) {
		for i, line := range t.Lines() {
			if before, _, found := strings.Cut(line, text); found && y < 0 {
				x, y = ansi.StringWidth(before), i
			}
		}
	})
	if y < 0 {
		r.t.Fatalf("there is no %q to click on", text)
	}
	return x, y
}

// Wheel turns the wheel of the mouse by so many clicks down, or up where less than 0.
func (r *Robot) Wheel(down int) {
	r.t.Helper()
	button := 65
	if down < 0 {
		button, down = 64, -down
	}
	for range down {
		r.mouse(button, 0, 0)
	}
}

// HasMouse reports whether the program asked for the mouse.
func (r *Robot) HasMouse() (on bool) {
	r.Look(func(t *vt.Terminal) { on = t.Mode(1000) && t.Mode(1006) })
	return on
}

// mouse presses a button on a cell and lets it go.
func (r *Robot) mouse(button, x, y int) {
	r.t.Helper()
	if !r.HasMouse() {
		r.t.Fatal("the program did not ask for the mouse")
	}
	p := fmt.Appendf(nil, "\x1b[<%d;%d;%dM", button, x+1, y+1)
	if button == 0 {
		p = fmt.Appendf(p, "\x1b[<0;%d;%dm", x+1, y+1)
	}
	r.Send(p)
}

// Type types text, character by character; a line end is the enter key.
func (r *Robot) Type(text string) {
	r.t.Helper()
	r.Send([]byte(strings.ReplaceAll(text, "\n", "\r")))
}

// Paste pastes text, bracketed if the program asked for that.
func (r *Robot) Paste(text string) {
	r.t.Helper()
	var bracketed bool
	r.Look(func(t *vt.Terminal) { bracketed = t.Mode(2004) })
	text = strings.ReplaceAll(text, "\n", "\r")
	if bracketed {
		text = "\x1b[200~" + text + "\x1b[201~"
	}
	r.Send([]byte(text))
}

// Resize changes the size of the terminal; the program is told by the system.
func (r *Robot) Resize(w, h int) {
	r.t.Helper()
	var err error
	r.Look(func(t *vt.Terminal) { // at once, as what is shown in between is laid out for neither
		err = pty.Setsize(r.tty, size(w, h))
		t.Resize(w, h)
	})
	if err != nil {
		r.t.Fatalf("change the size of the terminal: %v", err)
	}
}

// WaitFor waits until ok, which is asked whenever something was shown. what says what
// was waited for, should it never happen.
func (r *Robot) WaitFor(what string, ok func(*vt.Terminal) bool) {
	r.t.Helper()
	limit := time.NewTimer(r.timeout)
	defer limit.Stop()
	for {
		r.mu.Lock()
		done, news := ok(r.term), r.news
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
			continue
		default:
		}
		select {
		case <-news:
		case <-limit.C:
			r.t.Fatalf("after %v still waiting for %s", r.timeout, what)
		case <-r.ended:
			r.mu.Lock()
			done, err := ok(r.term), r.err
			r.mu.Unlock()
			if !done {
				r.t.Fatalf("the program ended (%v) before %s", err, what)
			}
			return
		}
	}
}

// WaitText waits until the screen holds text, which may be wrapped, even within a word that isn't
// short: where depends on what stands before it, such as the path of a test's folder.
func (r *Robot) WaitText(text string) {
	r.t.Helper()
	const short = 8 // bytes: less than that could be made of the ends of two words
	words, letters := strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(text), "")
	r.WaitFor(fmt.Sprintf("%q on the screen", text), func(t *vt.Terminal) bool {
		screen := t.Screen()
		return strings.Contains(screen, text) ||
			strings.Contains(words, " ") && strings.Contains(strings.Join(strings.Fields(screen), " "), words) ||
			len(letters) >= short && strings.Contains(strings.Join(strings.Fields(screen), ""), letters)
	})
}

// WaitGone waits until the screen does not hold text.
func (r *Robot) WaitGone(text string) {
	r.t.Helper()
	r.WaitFor(fmt.Sprintf("%q to leave the screen", text), func(t *vt.Terminal) bool {
		return !strings.Contains(t.Screen(), text)
	})
}

// WaitEnd waits until the program has ended and gives its exit code, -1 where a
// signal ended it.
func (r *Robot) WaitEnd() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(r.timeout):
		r.t.Fatalf("after %v the program still runs", r.timeout)
	}
	return r.cmd.ProcessState.ExitCode()
}

var _ io.Writer = (*replies)(nil)
