package edit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a file's bytes are its text. Decoding what encode gives is the
// identity, for each file that decode takes.
type encoding uint8

const (
	plainUTF8 encoding = iota
	markedUTF8
	utf16LE
	utf16BE
	latin1
)

const byteOrderMark = "\uFEFF"

var errBinary = errors.New("is a binary file")

// decode gives the text of a file, without a byte order mark. What is no UTF-8 is
// taken as Latin-1, in which each byte is a character: that is how files are
// shown, and it loses nothing.
func decode(data []byte) (string, encoding, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}):
		return "", 0, errBinary // UTF-32
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		text, err := decodeUTF16(data[2:], binary.LittleEndian)
		return text, utf16LE, err
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		text, err := decodeUTF16(data[2:], binary.BigEndian)
		return text, utf16BE, err
	case bytes.IndexByte(data, 0) >= 0:
		return "", 0, errBinary
	case !utf8.Valid(data):
		text := make([]byte, 0, len(data)+len(data)/8)
		for _, c := range data {
			text = utf8.AppendRune(text, rune(c))
		}
		return string(text), latin1, nil
	}
	if rest, ok := bytes.CutPrefix(data, []byte(byteOrderMark)); ok {
		return string(rest), markedUTF8, nil
	}
	return string(data), plainUTF8, nil
}

func decodeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	if len(data)%2 != 0 {
		return "", errors.New("begins like UTF-16 and has an odd number of bytes")
	}
	text := make([]byte, 0, len(data))
	for i := 0; i < len(data); i += 2 {
		r := rune(order.Uint16(data[i:]))
		if r == 0 {
			return "", errBinary
		}
		if utf16.IsSurrogate(r) {
			var low rune
			if i += 2; i < len(data) {
				low = rune(order.Uint16(data[i:]))
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return "", errors.New("begins like UTF-16 and has half a character in it")
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text), nil
}

// encode gives the bytes of a text that canHold found nothing against.
func (e encoding) encode(text string) []byte {
	switch e {
	case markedUTF8:
		return append([]byte(byteOrderMark), text...)
	case utf16LE:
		return encodeUTF16(text, binary.LittleEndian)
	case utf16BE:
		return encodeUTF16(text, binary.BigEndian)
	case latin1:
		out := make([]byte, 0, len(text))
		for _, r := range text {
			out = append(out, byte(r))
		}
		return out
	}
	return []byte(text)
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

// canHold says why a text cannot be part of a file in this encoding.
func (e encoding) canHold(text string) error {
	for _, r := range text {
		switch {
		case r == 0:
			return errors.New("the new text holds a NUL character, which no text file has")
		case e == latin1 && r > 0xff:
			return fmt.Errorf("the file is in Latin-1, which has no %q", r)
		}
	}
	return nil
}

// strayBytes counts the bytes of data that are no UTF-8, and the characters of
// several bytes that are.
func strayBytes(data []byte) (stray, wide int) {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			stray++
		} else {
			wide++
		}
		i += n
	}
	return stray, wide
}
