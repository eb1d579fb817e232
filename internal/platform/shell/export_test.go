package shell

import (
	"bufio"
	"io"
	"time"
)

// Internals that tests look at.
var (
	ParseExports = parseExports
	Complete     = complete
	StartupOf    = startupOf
)

// Split passes pieces through a splitter and gives what is before and after mark.
func Split(mark string, pieces []string) (before, after string, found bool) {
	s := splitter{mark: mark}
	for _, p := range pieces {
		if found {
			after += p
			continue
		}
		b, a, ok := s.split([]byte(p))
		before += string(b)
		if found = ok; ok {
			after += string(a)
		}
	}
	return before + string(s.held), after, found
}

// ReadReport reads a report.
func ReadReport(r io.Reader) (token, dir, exports string, code int, err error) {
	m, err := readMessage(bufio.NewReader(r))
	return m.token, m.dir, m.exports, m.code, err
}

// Live is what passes output on while a command runs.
type Live struct{ l live }

func NewLive(emit func(string)) *Live { return &Live{live{emit: emit}} }

func (l *Live) Write(p string) { l.l.write([]byte(p)) }
func (l *Live) Close()         { l.l.close() }

// SetStartupTime limits the time of start-up files.
func (s *Shells) SetStartupTime(d time.Duration) { s.rc.limit = d }

// SetPatience limits the time that a command may leave its input unread.
func (j *Job) SetPatience(d time.Duration) { j.patient = d }

// Starts reports whether there is a persistent shell, or soon will be.
func (s *Shells) Starts() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starting != nil || s.shell != nil
}
