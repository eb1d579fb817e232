package session

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/burin-dev/burin/agent"
)

// ErrNoProgram means that a program has ended.
var ErrNoProgram = errors.New("this program has ended")

// Console is a foreground program with a terminal, where the user can watch and type.
type Console struct {
	ID      string `json:"id"`
	CallID  string `json:"callId,omitempty"` // the tool call that waits for it
	Command string `json:"command"`
}

// ConsoleTerminal is the terminal of a program.
type ConsoleTerminal interface {
	io.Writer // types
	Resize(cols, rows int) error
	Stop()
}

// Screens are the terminals of programs that users can see. Faces that can show them register
// here. What a program writes goes only to faces: it is neither an event nor stored, and what
// is typed is not recorded anywhere.
type Screens struct {
	mu       sync.Mutex
	tell     func(Event) // nil while there is no session
	watching int         // faces that can show a terminal
	open     []*shownProgram
}

// shownProgram is a program with its terminal.
type shownProgram struct {
	Console
	screens  *Screens
	terminal ConsoleTerminal

	mu      sync.Mutex
	recent  []byte // the end of its output
	total   int    // bytes of its output
	changed chan struct{}
	over    bool
}

// recentBytes is how much of a program's output is kept for a face that comes later, or is
// slow. Older output is lost for it; most programs redraw when asked.
const recentBytes = 256 << 10

// Watch says that a face can show terminals, until leave is called. leave must be called once.
func (s *Screens) Watch() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watching--
	})
}

// CanShow reports whether a face can show a terminal.
func (s *Screens) CanShow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watching > 0
}

// Show shows a program, and returns a writer for its output; closing the writer ends the
// program's display.
func (s *Screens) Show(call, command string, t ConsoleTerminal) io.WriteCloser {
	p := &shownProgram{Console: Console{ID: rand.Text()[:12], CallID: call, Command: command}, screens: s, terminal: t, changed: make(chan struct{})}
	s.mu.Lock()
	s.open = append(s.open, p)
	s.mu.Unlock()
	s.say(Event{Event: agent.Event{Type: ConsoleOpened}, Data: &p.Console})
	return p
}

// Write takes the program's output.
func (p *shownProgram) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = append(p.recent, b...)
	if len(p.recent) > 2*recentBytes {
		p.recent = slices.Clone(p.recent[len(p.recent)-recentBytes:])
	}
	p.total += len(b)
	p.wake()
	return len(b), nil
}

// wake wakes followers. The caller holds mu.
func (p *shownProgram) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Close ends the program's display.
func (p *shownProgram) Close() error {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return nil
	}
	p.over = true
	p.wake()
	p.mu.Unlock()
	s := p.screens
	s.mu.Lock()
	s.open = slices.DeleteFunc(s.open, func(o *shownProgram) bool { return o == p })
	s.mu.Unlock()
	s.say(Event{Event: agent.Event{Type: ConsoleClosed}, Data: &p.Console})
	return nil
}

func (s *Screens) find(id string) (*shownProgram, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.open {
		if p.ID == id {
			return p, nil
		}
	}
	return nil, ErrNoProgram
}

// List returns the programs that are shown, oldest first.
func (s *Screens) List(context.Context) ([]Console, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Console{}
	for _, p := range s.open {
		all = append(all, p.Console)
	}
	return all, nil
}

// Follow passes what a program has written and writes to output, until it ends, ctx ends, or
// output fails. It leaves out what a slow reader could not take in time.
func (s *Screens) Follow(ctx context.Context, id string, output func([]byte) error) error {
	p, err := s.find(id)
	if err != nil {
		return err
	}
	for at := 0; ; {
		p.mu.Lock()
		from := max(0, len(p.recent)-(p.total-at))
		b := slices.Clone(p.recent[from:])
		at = p.total
		over, changed := p.over, p.changed
		p.mu.Unlock()
		if len(b) > 0 {
			if err := output(b); err != nil {
				return err
			}
			continue // there may be more by now
		}
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Type sends keys to a program.
func (s *Screens) Type(_ context.Context, id string, keys []byte) error {
	p, err := s.find(id)
	if err != nil {
		return err
	}
	_, err = p.terminal.Write(keys)
	return err
}

// Resize sets the size of the screen on which a program is shown, in characters.
func (s *Screens) Resize(_ context.Context, id string, cols, rows int) error {
	p, err := s.find(id)
	if err != nil {
		return err
	}
	if cols < 1 || rows < 1 || cols > 1000 || rows > 1000 {
		return errors.New("a terminal has 1 to 1000 columns and rows")
	}
	return p.terminal.Resize(cols, rows)
}

// Stop ends a program with everything it started.
func (s *Screens) Stop(_ context.Context, id string) error {
	p, err := s.find(id)
	if err != nil {
		return err
	}
	p.terminal.Stop()
	return nil
}

func (s *Screens) bind(tell func(Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell = tell
}

func (s *Screens) say(e Event) {
	s.mu.Lock()
	tell := s.tell
	s.mu.Unlock()
	if tell != nil {
		tell(e)
	}
}
