package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// Frame is one message of a framed stream.
type Frame struct {
	// Event is the event's name: the event field of server-sent events, the
	// :event-type header of the AWS event stream (or :exception-type). May be empty.
	Event []byte
	Data  []byte
	// Exception marks a message of type exception or error of the AWS event stream.
	Exception bool
}

// FrameReader reads a framed stream. The bytes of a frame are valid until the
// next call. At the regular end of the stream Next returns io.EOF; in the
// middle of a frame io.ErrUnexpectedEOF.
type FrameReader interface {
	Next() (Frame, error)
}

// MaxFrame is the size limit of one frame in bytes. Larger ones end the stream
// with [ErrFrameTooLarge]: whole images travel in one frame, but a stream that
// never ends its line must not fill the memory.
const MaxFrame = 32 << 20

// ErrFrameTooLarge reports a frame larger than MaxFrame.
var ErrFrameTooLarge = fmt.Errorf("a frame of the stream is larger than %d MiB", MaxFrame>>20)

// maxField is how long a line that is no data may become before the rest of it is
// skipped. The names of events are short, and one that is cut is a name that nobody
// knows, as it was before.
const maxField = 1 << 10

// SSE reads server-sent events as the HTML standard defines them: lines end in
// LF, CRLF or CR; the space after the colon is optional; several data lines
// join with a newline; comments and unknown fields are skipped; a leading
// byte order mark is dropped. Departing from the standard, data that is cut off
// by the end of the stream without a final empty line is still delivered, as
// some servers end that way.
type SSE struct {
	r     *bufio.Reader
	event []byte
	data  []byte
	line  []byte // a line that did not fit the reader's buffer
	begun bool
	sawCR bool // the last line ended in CR: skip an LF that follows
	id    []byte
	retry []byte
}

// mark is the byte order mark in UTF-8.
const mark = "\xEF\xBB\xBF"

// dataField begins the only lines that may be long.
var dataField = []byte("data:")

// readAhead is how much of a stream is read at a time, in bytes. Each answer that comes has a buffer
// of that size, and hundreds come at a time to a server.
const readAhead = 8 << 10

// NewSSE reads server-sent events from r.
func NewSSE(r io.Reader) *SSE { return &SSE{r: bufio.NewReaderSize(r, readAhead)} } // r itself if it is one

// Next returns the next event that has data.
func (s *SSE) Next() (Frame, error) {
	s.event, s.data = s.event[:0], s.data[:0]
	has := false
	for {
		line, err := s.readLine()
		if err != nil {
			if err == io.EOF && has {
				return Frame{Event: s.event, Data: s.data}, nil
			}
			return Frame{}, err
		}
		if len(line) == 0 {
			if has {
				return Frame{Event: s.event, Data: s.data}, nil
			}
			s.event = s.event[:0]
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) {
		case "data":
			switch {
			case !has && len(s.line) > 0:
				// A long line is the frame already, after its field: it needs no copy.
				n := copy(s.line, value)
				s.data, s.line = s.line[:n], s.data
			case len(s.data)+len(value) >= MaxFrame:
				return Frame{}, ErrFrameTooLarge
			default:
				if has {
					s.data = append(s.data, '\n')
				}
				s.data = grown(s.data, value)
			}
			has = true
		case "event":
			s.event = append(s.event[:0], value...)
		case "id":
			s.id = append(s.id[:0], value...)
		case "retry":
			s.retry = append(s.retry[:0], value...)
		}
	}
}

// ID is the id that came last, with which a stream can be resumed; "" if none came.
func (s *SSE) ID() string { return string(s.id) }

// Retry is how long the server wants its client to wait before the stream is resumed, if it
// has said so.
func (s *SSE) Retry() (time.Duration, bool) {
	ms, err := strconv.ParseUint(string(s.retry), 10, 31)
	return time.Duration(ms) * time.Millisecond, err == nil
}

// readLine returns the next line without its end. A last line that has no end
// is returned before io.EOF.
func (s *SSE) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		buf, err := s.peek()
		if err != nil {
			if err == io.EOF && len(s.line) > 0 {
				return s.line, nil
			}
			return nil, err
		}
		if s.sawCR {
			s.sawCR = false
			if buf[0] == '\n' {
				s.discard(1)
				continue
			}
		}
		if !s.begun {
			s.begun = true
			if buf[0] == mark[0] { // no field begins so: wait for the rest of the mark
				if head, _ := s.r.Peek(len(mark)); string(head) == mark {
					s.discard(len(mark))
				}
				continue
			}
		}
		end := lineEnd(buf)
		if end < 0 {
			if len(s.line)+len(buf) > MaxFrame {
				return nil, ErrFrameTooLarge
			}
			s.hold(buf)
			s.discard(len(buf))
			continue
		}
		s.sawCR = buf[end] == '\r'
		if len(s.line) == 0 {
			// The common case: the whole line is in the buffer. It stays there
			// until the next read, which Next finishes with before it reads on.
			line := buf[:end]
			s.discard(end + 1)
			return line, nil
		}
		s.hold(buf[:end])
		s.discard(end + 1)
		return s.line, nil
	}
}

// hold keeps a piece of a line whose end has not arrived. Only data may be long:
// nobody reads a comment or an unknown field.
func (s *SSE) hold(piece []byte) {
	if len(s.line) < maxField || bytes.HasPrefix(s.line, dataField) {
		s.line = grown(s.line, piece)
	}
}

// grown appends to b, whose room doubles: append's smaller steps leave five times a
// long frame behind as garbage.
func grown(b, piece []byte) []byte {
	if len(b)+len(piece) > cap(b) {
		b = slices.Grow(b, max(len(b), len(piece)))
	}
	return append(b, piece...)
}

// peek waits until at least one byte is buffered and returns all that is.
func (s *SSE) peek() ([]byte, error) {
	if s.r.Buffered() == 0 {
		if _, err := s.r.Peek(1); err != nil {
			return nil, err
		}
	}
	return s.r.Peek(s.r.Buffered())
}

func (s *SSE) discard(n int) { _, _ = s.r.Discard(n) } // n bytes are buffered: cannot fail

// lineEnd is the index of the first CR or LF in b, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:lf], '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// WriteSSE writes one server-sent event; event may be empty.
func WriteSSE(w io.Writer, event string, data []byte) error {
	var buf bytes.Buffer
	buf.Grow(len(event) + len(data) + 24)
	if event != "" {
		fmt.Fprintf(&buf, "event: %s\n", event)
	}
	for {
		line, rest, more := bytes.Cut(data, []byte{'\n'})
		buf.WriteString("data: ")
		buf.Write(line)
		buf.WriteByte('\n')
		if !more {
			break
		}
		data = rest
	}
	buf.WriteByte('\n')
	_, err := w.Write(buf.Bytes())
	return err
}
