package wire

import (
	"bufio"
	"io"
	"strings"
)

// NewFrames reads server-sent events, or one JSON object as a single frame: some
// endpoints answer whole though a stream was asked for, and some report an error
// that way under status 200.
func NewFrames(r io.Reader) FrameReader {
	return &frames{r: bufio.NewReaderSize(r, 4<<10)}
}

type frames struct {
	r    *bufio.Reader
	sse  *SSE
	done bool
}

// Next returns the next frame.
func (f *frames) Next() (Frame, error) {
	if f.sse != nil {
		return f.sse.Next()
	}
	if f.done {
		return Frame{}, io.EOF
	}
	first, err := f.peek()
	if err != nil {
		return Frame{}, err
	}
	if first != '{' {
		f.sse = NewSSE(f.r)
		return f.sse.Next()
	}
	f.done = true
	body, err := io.ReadAll(io.LimitReader(f.r, MaxFrame+1))
	if err == nil && len(body) > MaxFrame {
		err = ErrFrameTooLarge
	}
	return Frame{Data: body}, err
}

// peek skips white space, which says nothing in either framing.
func (f *frames) peek() (byte, error) {
	for {
		b, err := f.r.Peek(1)
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(" \t\r\n", b[0]) < 0 {
			return b[0], nil
		}
		_, _ = f.r.Discard(1)
	}
}
