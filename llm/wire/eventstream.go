package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// EventStream reads the binary event stream of AWS (application/vnd.amazon.eventstream):
// per message a prelude of total length, header length and CRC-32, the headers,
// the payload, and a CRC-32 of all before it, big-endian.
type EventStream struct {
	r   *bufio.Reader
	buf []byte
}

// NewEventStream reads AWS event stream messages from r.
func NewEventStream(r io.Reader) *EventStream {
	return &EventStream{r: bufio.NewReaderSize(r, 16<<10)}
}

var (
	errCorrupt = errors.New("the event stream is corrupt")
	errHeader  = fmt.Errorf("%w: broken header", errCorrupt)
)

const preludeLen, overheadLen = 12, 16

// Next returns the next message.
func (e *EventStream) Next() (Frame, error) {
	prelude, err := e.r.Peek(preludeLen)
	if err != nil {
		if err == io.EOF && len(prelude) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err // io.EOF only between messages
	}
	total := int(binary.BigEndian.Uint32(prelude[0:]))
	headers := int(binary.BigEndian.Uint32(prelude[4:]))
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) {
		return Frame{}, fmt.Errorf("%w: wrong checksum of a message head", errCorrupt)
	}
	if total > MaxFrame {
		return Frame{}, ErrFrameTooLarge
	}
	if total < overheadLen || headers > total-overheadLen {
		return Frame{}, fmt.Errorf("%w: impossible message length %d", errCorrupt, total)
	}
	if cap(e.buf) < total {
		e.buf = make([]byte, total+total/2)
	}
	msg := e.buf[:total]
	if _, err := io.ReadFull(e.r, msg); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	if crc32.ChecksumIEEE(msg[:total-4]) != binary.BigEndian.Uint32(msg[total-4:]) {
		return Frame{}, fmt.Errorf("%w: wrong checksum of a message", errCorrupt)
	}
	f := Frame{Data: msg[preludeLen+headers : total-4]}
	if err := f.readHeaders(msg[preludeLen : preludeLen+headers]); err != nil {
		return Frame{}, err
	}
	return f, nil
}

// readHeaders takes the few headers that matter; others are skipped by type.
func (f *Frame) readHeaders(h []byte) error {
	bad := errHeader
	for len(h) > 0 {
		n := int(h[0])
		if len(h) < 2+n {
			return bad
		}
		name, kind := h[1:1+n], h[1+n]
		h = h[2+n:]
		var size int
		switch kind {
		case 0, 1: // booleans, by type alone
		case 2:
			size = 1
		case 3:
			size = 2
		case 4:
			size = 4
		case 5, 8:
			size = 8
		case 9:
			size = 16
		case 6, 7: // byte array, string: length first
			if len(h) < 2 {
				return bad
			}
			size = int(binary.BigEndian.Uint16(h))
			h = h[2:]
		default:
			return bad
		}
		if len(h) < size {
			return bad
		}
		value := h[:size]
		h = h[size:]
		if kind != 7 {
			continue
		}
		switch string(name) {
		case ":event-type":
			f.Event = value
		case ":exception-type", ":error-code":
			f.Event, f.Exception = value, true
		case ":message-type":
			if string(value) == "exception" || string(value) == "error" {
				f.Exception = true
			}
		}
	}
	return nil
}

// AppendEventStream appends one message to dst: event is the :event-type, or
// the :exception-type if exception is set.
func AppendEventStream(dst []byte, event string, exception bool, payload []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, preludeLen)...)
	header := func(name, value string) {
		dst = append(dst, byte(len(name)))
		dst = append(dst, name...)
		dst = append(dst, 7)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(value)))
		dst = append(dst, value...)
	}
	if exception {
		header(":exception-type", event)
		header(":content-type", "application/json")
		header(":message-type", "exception")
	} else {
		header(":event-type", event)
		header(":content-type", "application/json")
		header(":message-type", "event")
	}
	headers := len(dst) - start - preludeLen
	dst = append(dst, payload...)
	total := len(dst) - start + 4
	binary.BigEndian.PutUint32(dst[start:], uint32(total))
	binary.BigEndian.PutUint32(dst[start+4:], uint32(headers))
	binary.BigEndian.PutUint32(dst[start+8:], crc32.ChecksumIEEE(dst[start:start+8]))
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}
