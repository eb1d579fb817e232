package tool

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// SinkOptions set the limits of a [Sink].
type SinkOptions struct {
	Head      int       // bytes of the beginning to keep; 0 keeps none
	Tail      int       // bytes of the end to keep; 0 is 50 KB
	Columns   int       // bytes of a line to keep; 0 is 768, negative is no limit
	Artifacts Artifacts // where the whole text goes if it doesn't fit; nil keeps only the window
	Kind      string    // kind of the artifact, such as "bash"
	// Whole is how many bytes the artifact may have; 0 is 256 MB, negative is no limit. Beyond
	// that, it keeps the beginning and the end with a line between them that says so.
	Whole int64
}

const (
	defaultTail    = 50 << 10
	defaultColumns = 768
	defaultWhole   = 256 << 20

	// maxLine is how much of an unfinished line is held back, so that a carriage return can
	// discard it.
	maxLine = 8 << 10
)

// Sink takes output of any length and keeps a window of it. It is an io.Writer and safe for
// concurrent use. It cleans what it gets: invalid UTF-8 becomes U+FFFD, control sequences and
// control characters except tab and newline are dropped, CR LF becomes LF, a lone CR restarts
// its line, and a backspace removes the character before it. After 8 KB a line can't be
// discarded any more; a CR then ends it.
//
// Before the window drops its first byte, the sink opens an artifact and writes what it has
// and everything that follows, so nothing is lost. If the artifact fails, the window continues
// alone.
type Sink struct {
	mu     sync.Mutex
	clean  cleaner
	line   []byte // the unfinished line, cleaned
	parted bool   // the beginning of the unfinished line has left line
	back   bool   // the last character was a CR
	win    window
	spill  spill
	lines  int   // line ends that have left line
	bytes  int64 // bytes that have left line
	closed bool
}

// NewSink makes a sink. The caller must close it.
func NewSink(o SinkOptions) *Sink {
	if o.Tail == 0 {
		o.Tail = defaultTail
	}
	if o.Columns == 0 {
		o.Columns = defaultColumns
	}
	if o.Whole == 0 {
		o.Whole = defaultWhole
	}
	return &Sink{
		win:   window{headMax: max(o.Head, 0), tailMax: max(o.Tail, 0), columns: o.Columns},
		spill: spill{artifacts: o.Artifacts, kind: o.Kind, max: o.Whole},
	}
}

// Write adds a piece of the output. It fails only after Close, with [io.ErrClosedPipe].
func (s *Sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	for rest := p; len(rest) > 0; {
		if n := s.clean.run(rest); n > 0 {
			s.text(rest[:n])
			rest = rest[n:]
			continue
		}
		n, r := s.clean.step(rest)
		s.char(r)
		rest = rest[n:]
	}
	return len(p), nil
}

// char adds what the cleaner returned for bytes that were not clean text.
func (s *Sink) char(r rune) {
	switch r {
	case 0:
	case '\r':
		s.back = true
	case '\b':
		_, n := utf8.DecodeLastRune(s.line)
		s.line = s.line[:len(s.line)-n]
	default:
		var b [utf8.UTFMax]byte
		s.text(b[:utf8.EncodeRune(b[:], r)])
	}
}

// text adds clean text.
func (s *Sink) text(p []byte) {
	if s.back {
		s.back = false
		if p[0] != '\n' {
			s.restart()
		}
	}
	if len(s.line) > 0 || s.parted {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.begin(p)
			return
		}
		s.begin(p[:i+1])
		s.commit(s.line)
		s.line, s.parted = s.line[:0], false
		p = p[i+1:]
	}
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		s.commit(p[:i+1])
		p = p[i+1:]
	}
	s.begin(p)
}

// restart discards the unfinished line, or ends it if it is too late for that.
func (s *Sink) restart() {
	if s.parted {
		s.line = append(s.line, '\n')
		s.commit(s.line)
	}
	s.line, s.parted = s.line[:0], false
}

// begin adds p to the unfinished line.
func (s *Sink) begin(p []byte) {
	if len(s.line)+len(p) <= maxLine {
		s.line = append(s.line, p...)
		return
	}
	s.commit(s.line)
	s.commit(p)
	s.line, s.parted = s.line[:0], true
}

// commit adds what can't be discarded any more.
func (s *Sink) commit(p []byte) {
	if len(p) == 0 {
		return
	}
	s.lines += bytes.Count(p, []byte{'\n'})
	s.bytes += int64(len(p))
	if s.spill.idle() && s.win.overflows(p) {
		s.spill.open(s.win.head, s.win.tail)
	}
	s.spill.write(p)
	s.win.add(p)
}

// Close flushes what is held back and closes the artifact. Its error is that of the artifact;
// the notice of Output mentions it too.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.char(s.clean.rest())
	s.commit(s.line)
	s.parted = s.parted || len(s.line) > 0
	s.line = nil
	return s.spill.close()
}

// Output returns the current window; it works before Close too. Everything that it says is in
// the artifact can be read there.
func (s *Sink) Output() Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spill.flush()
	lines := s.lines
	if len(s.line) > 0 || s.parted {
		lines++
	}
	o := s.win.output(s.line, lines)
	o.Bytes = s.bytes + int64(len(s.line))
	s.spill.tell(&o)
	return o
}
