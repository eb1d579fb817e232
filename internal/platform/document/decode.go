package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrBinary is data that is no text.
var ErrBinary = errors.New("binary data, not text")

// Decode gives a text file's content as UTF-8 and says how it was encoded:
// "utf-8", "utf-8-bom", "utf-16le", "utf-16be", "latin-1". It fails for binary
// data with [ErrBinary]. UTF-16 is known by its byte order mark; the text is
// without marks. [Encode] gives the same bytes back.
func Decode(data []byte) (text string, encoding string, err error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}) && !bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}):
		text, err = decodeUTF16(data[2:], binary.LittleEndian)
		return text, "utf-16le", err
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		text, err = decodeUTF16(data[2:], binary.BigEndian)
		return text, "utf-16be", err
	case !looksLikeText(data, false):
		return "", "", ErrBinary
	}
	if rest, ok := bytes.CutPrefix(data, []byte("\ufeff")); ok && utf8.Valid(rest) {
		return string(rest), "utf-8-bom", nil
	}
	if utf8.Valid(data) {
		return string(data), "utf-8", nil
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for _, c := range data {
		out = utf8.AppendRune(out, rune(c))
	}
	return string(out), "latin-1", nil
}

func decodeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	if len(data)%2 != 0 {
		return "", fmt.Errorf("UTF-16 of an odd number of bytes: %w", ErrBinary)
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i += 2 {
		r := rune(order.Uint16(data[i:]))
		switch {
		case utf16.IsSurrogate(r):
			if i+3 >= len(data) {
				return "", fmt.Errorf("UTF-16 that ends within a character: %w", ErrBinary)
			}
			i += 2
			if r = utf16.DecodeRune(r, rune(order.Uint16(data[i:]))); r == utf8.RuneError {
				return "", fmt.Errorf("UTF-16 with half a character: %w", ErrBinary)
			}
		case r == 0:
			return "", ErrBinary
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}
