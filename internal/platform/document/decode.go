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

// Encode is the reverse of [Decode]. Text that the encoding has no bytes for is
// an error that names the first such character.
func Encode(text, encoding string) ([]byte, error) {
	switch encoding {
	case "utf-8", "":
		return []byte(text), nil
	case "utf-8-bom":
		return append([]byte("\ufeff"), text...), nil
	case "utf-16le":
		return encodeUTF16(text, binary.LittleEndian), nil
	case "utf-16be":
		return encodeUTF16(text, binary.BigEndian), nil
	case "latin-1":
		out := make([]byte, 0, len(text))
		for _, r := range text {
			if r > 0xff {
				return nil, fmt.Errorf("the file is encoded in Latin-1, which has no %q", r)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	return nil, fmt.Errorf("unknown encoding %q", encoding)
}

func encodeUTF16(text string, order binary.AppendByteOrder) []byte {
	out := order.AppendUint16(make([]byte, 0, 2+2*len(text)), 0xfeff)
	for _, r := range text {
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(hi)), uint16(lo))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return out
}
