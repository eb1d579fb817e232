package tool

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// SinkOptions bound the window of a [Sink].
type SinkOptions struct {
	Head      int       // bytes of the beginning to keep; 0 keeps none
	Tail      int       // bytes of the end to keep; 0 is 50 KB
	Columns   int       // bytes of a line to keep; 0 is 768, negative is no limit
	Artifacts Artifacts // where the whole goes once it does not fit; nil: nowhere
	Kind      string    // of the artifact: "bash"
	// Whole is how many bytes the artifact may have; 0 is 256 MB, negative is no
	// limit. Of more than that its beginning and its end are kept, with a line
	// between them that says so.
	Whole int64
}

const (
	defaultTail    = 50 << 10
	defaultColumns = 768
	defaultWhole   = 256 << 20

	// maxLine is how much of an unfinished line is held back, so that a carriage
	// return can take it back.
	maxLine = 8 << 10
)

// Sink takes output of any length and keeps a window of it. It is an io.Writer,
// safe for concurrent use; it cleans what it is given: invalid UTF-8 becomes
// U+FFFD, control sequences and other control characters but tab and newline are
// dropped, CR LF becomes LF, a lone CR starts its line anew, and a backspace
// takes back the character before it. A line of which more than 8 KB have
// arrived cannot be taken back any more; a CR then ends it.
//
// Nothing is lost before the first byte that the window does not hold: the sink
// then opens an artifact, writes what it has, and everything that follows. If the
// artifact fails the window goes on alone.
type Sink struct {
	mu     sync.Mutex
	clean  cleaner
	line   []byte // the unfinished line, cleaned
	parted bool   // the beginning of the unfinished line has left line
	back   bool   // a CR has come, and nothing after it
	win    window
	spill  spill
	lines  int   // ends of lines that have left line
	bytes  int64 // bytes that have left line
	closed bool
}

// NewSink makes a sink. It is closed by whoever made it.
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

// Write takes a piece of the output. It fails only after Close, with
// [io.ErrClosedPipe].
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

// char adds what the cleaner gave for bytes that were no clean text.
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

// restart takes the unfinished line back, or ends it if that is too late.
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

// commit adds what is not taken back any more.
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

// Close flushes what is held back and closes the artifact. The error is that of
// the artifact, which the notice of Output tells of too.
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

// Output is the window now; also before Close. What it says is in the artifact
// can be read there.
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
