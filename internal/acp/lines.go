package acp

import (
	"bufio"
	"errors"
	"io"
)

var errTooLong = errors.New("the line is too long")

// lines reads lines of at most MaxLine bytes. A longer one is passed over to its end, and
// never in memory.
type lines struct {
	r     *bufio.Reader
	whole []byte // of a line that is longer than the reader's buffer
}

// next gives a line, which is good until the next call. The last line need not end.
func (l *lines) next() ([]byte, error) {
	l.whole = nil // a large message is not kept for the small ones after it
	for long := false; ; {
		part, err := l.r.ReadSlice('\n')
		switch {
		case err == nil && long:
			return nil, errTooLong
		case err == nil && l.whole == nil:
			return part, nil
		case errors.Is(err, io.EOF) && len(part)+len(l.whole) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF) && long:
			return nil, errTooLong
		case err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF):
			return nil, err
		}
		if !long && len(l.whole)+len(part) > MaxLine {
			long, l.whole = true, nil
		}
		if !long {
			l.whole = append(l.whole, part...)
		}
		if err == nil && long {
			return nil, errTooLong
		}
		if err == nil || errors.Is(err, io.EOF) {
			return l.whole, nil
		}
	}
}
