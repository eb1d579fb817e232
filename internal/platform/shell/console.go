package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Terminal is burin's end of the terminal of a command in the foreground. It is safe for
// concurrent use.
type Terminal struct {
	file *os.File
	stop context.CancelFunc

	mu sync.Mutex // of writing
}

// Write types. It fails if the command has ended, or does not read for five seconds.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.file.SetWriteDeadline(time.Now().Add(inputTime))
	n, err := t.file.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the program does not read: %d of %d bytes were typed", n, len(p))
	}
	return n, err
}

// Resize says how large the terminal is, in characters.
func (t *Terminal) Resize(cols, rows int) error { return resizeTerminal(t.file, cols, rows) }

// Stop ends the command with all it started.
func (t *Terminal) Stop() { t.stop() }

// shown is the environment of a command whose terminal a person sees: what keeps programs
// from waiting for a person is not wanted there.
func (s *Shells) shown(env []string) []string {
	own := s.o.Environ
	if own == nil {
		own = os.Environ()
	}
	hard := map[string]bool{"CI": true}
	for _, v := range hardening {
		name, _, _ := strings.Cut(v, "=")
		hard[name] = true
	}
	out := slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return hard[name]
	})
	for _, v := range own {
		if name, _, _ := strings.Cut(v, "="); hard[name] {
			out = append(out, v)
		}
	}
	return out
}
