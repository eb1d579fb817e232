package tool

import (
	"bufio"
	"fmt"
)

// spill writes the whole output into an artifact: nothing until it is opened, then everything
// before, then everything after. After a failure it discards what it gets.
type spill struct {
	artifacts Artifacts
	kind      string
	max       int64 // bytes of the artifact; negative is no limit

	file    Artifact
	out     *bufio.Writer
	err     error
	written int64 // into out
	total   int64 // given to write
	end     ring  // the last bytes of an artifact that exceeds max
}

// maxSpillTail is how much of the end is kept of an artifact that exceeds its limit, or a
// quarter of the limit if that is less.
const maxSpillTail = 1 << 20

// idle reports whether the artifact could still be opened.
func (s *spill) idle() bool { return s.artifacts != nil && s.file == nil && s.err == nil }

func (s *spill) open(before ...[]byte) {
	file, err := s.artifacts.Create(s.kind)
	if err != nil {
		s.err = fmt.Errorf("create an artifact: %w", err)
		return
	}
	s.file, s.out = file, bufio.NewWriterSize(file, 32<<10)
	for _, p := range before {
		s.write(p)
	}
}

func (s *spill) write(p []byte) {
	if s.file == nil || s.err != nil {
		return
	}
	s.total += int64(len(p))
	if s.max >= 0 {
		room := max(s.max-s.tailMax()-s.written, 0)
		if int64(len(p)) > room {
			s.end.limit = int(s.tailMax())
			s.end.write(p[room:])
			p = p[:room]
		}
	}
	n, err := s.out.Write(p)
	s.written += int64(n)
	s.fail(err)
}

func (s *spill) tailMax() int64 { return min(s.max/4, maxSpillTail) }

func (s *spill) fail(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("write the artifact: %w", err)
	}
}

// flush makes everything written so far readable. The end of an artifact that is too long
// follows when it is closed.
func (s *spill) flush() {
	if s.out != nil && s.err == nil {
		s.fail(s.out.Flush())
	}
}

func (s *spill) close() error {
	if s.file == nil {
		return s.err
	}
	if gone := s.gone(); gone > 0 && s.err == nil {
		_, err := fmt.Fprintf(s.out, "\n[artifact cut: the first %s and the last %s of %s are kept; %s between them are not]\n",
			size(s.written), size(int64(s.end.len())), size(s.total), size(gone))
		s.fail(err)
	}
	if s.err == nil {
		a, b := s.end.parts()
		_, err := s.out.Write(a)
		s.fail(err)
		_, err = s.out.Write(b)
		s.fail(err)
	}
	s.flush()
	err := s.file.Close()
	s.fail(err)
	return s.err
}

// gone returns how many bytes the artifact will not have.
func (s *spill) gone() int64 { return s.total - s.written - int64(s.end.len()) }

// tell notes in o where the whole output is.
func (s *spill) tell(o *Output) {
	switch {
	case s.err != nil:
		o.ArtifactError = s.err.Error()
	case s.file != nil:
		o.Artifact = s.file.ID()
		o.ArtifactLost = s.gone()
	}
}

// ring keeps the last limit bytes of what is written to it.
type ring struct {
	limit int
	buf   []byte
	at    int // position of the oldest byte, once buf is full
}

func (r *ring) len() int { return len(r.buf) }

func (r *ring) write(p []byte) {
	if len(p) >= r.limit {
		r.buf, r.at = append(r.buf[:0], p[len(p)-r.limit:]...), 0
		return
	}
	if room := r.limit - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.at:], p)
		p = p[n:]
		r.at = (r.at + n) % r.limit
	}
}

// parts returns the bytes in order. They are valid until the next write.
func (r *ring) parts() (a, b []byte) { return r.buf[r.at:], r.buf[:r.at] }
