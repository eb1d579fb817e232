package wire

import (
	"bufio"
	"bytes"
	"io"
)

// NewFrames reads server-sent events, or one JSON object as a single frame: some
// endpoints answer whole though a stream was asked for, and some report an error
// that way under status 200.
func NewFrames(r io.Reader) FrameReader {
	return &frames{r: bufio.NewReaderSize(r, readAhead)}
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
		if _, err := f.r.Peek(1); err != nil {
			return 0, err
		}
		b, _ := f.r.Peek(f.r.Buffered())
		text := bytes.TrimLeft(b, " \t\r\n")
		if len(text) > 0 {
			first := text[0]
			_, _ = f.r.Discard(len(b) - len(text))
			return first, nil
		}
		_, _ = f.r.Discard(len(b))
	}
}
