package chatfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// values gives the elements of a JSON array, or a value that is none, one at a time, so that a file need not be in memory as
// values. Of one that has more than most bytes long is true, and its text isn't whole.
func values(r io.Reader, most int, yield func(value []byte, long bool) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3)
	}
	first, err := skipSpace(in)
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	if err != nil {
		return err
	}
	if first != '[' && first != '{' {
		return errors.New("it is neither JSON nor a ZIP archive")
	}
	if first == '{' {
		if err := one(in, first, most, yield); err != nil {
			return err
		}
		if _, err := skipSpace(in); !errors.Is(err, io.EOF) {
			return errors.New("something follows the JSON")
		}
		return nil
	}
	for begun := false; ; begun = true {
		c, err := skipSpace(in)
		if err != nil {
			return early(err)
		}
		switch {
		case c == ']' && !begun:
			return nil
		case c == ']' || c == ',':
			return fmt.Errorf("the JSON has a %q where a chat is expected", c)
		}
		if err := one(in, c, most, yield); err != nil {
			return err
		}
		c, err = skipSpace(in)
		if err != nil {
			return early(err)
		}
		if c == ']' {
			return nil
		}
		if c != ',' {
			return fmt.Errorf("the JSON has a %q between two chats", c)
		}
	}
}

func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func skipSpace(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, err
		}
	}
}

// one reads a value up to its end, which its brackets tell.
func one(in *bufio.Reader, c byte, most int, yield func(value []byte, long bool) error) error {
	var value []byte
	depth, long, quoted, escaped := 0, false, false, false
	for {
		if len(value) < most {
			value = append(value, c)
		} else {
			long = true
		}
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 0 && !quoted {
			next, err := in.Peek(1)
			if c == '}' || c == ']' || c == '"' || err != nil || next[0] == ',' || next[0] == ']' {
				return yield(value, long)
			}
		}
		var err error
		if c, err = in.ReadByte(); err != nil {
			return early(err)
		}
	}
}
