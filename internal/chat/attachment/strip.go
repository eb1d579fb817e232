package attachment

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// stripping gives a picture without what it says about its origin; other files as they are.
// Closing it ends the work.
func stripping(in *bufio.Reader, kind string) io.ReadCloser {
	var strip func(io.Writer, *bufio.Reader) error
	switch kind {
	case "image/jpeg":
		strip = stripJPEG
	case "image/png":
		strip = stripPNG
	case "image/webp":
		strip = stripWebP
	default:
		return io.NopCloser(in)
	}
	r, w := io.Pipe()
	go func() {
		err := strip(w, in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrImage
		}
		w.CloseWithError(err) // nil is the end
	}()
	return r
}

// stripJPEG keeps the segments that a picture is made of. What comes after the picture, such as
// the film of a moving photo, goes too.
func stripJPEG(w io.Writer, in *bufio.Reader) error {
	out := bufio.NewWriter(w)
	if err := copyN(out, in, 2); err != nil {
		return err
	}
	var marker byte
	var known bool // marker was read behind the data of a scan
	for {
		if !known {
			b, err := in.ReadByte()
			if err != nil {
				return err
			}
			if b != 0xff {
				return ErrImage
			}
			for marker = 0xff; marker == 0xff; { // any number of them is one
				if marker, err = in.ReadByte(); err != nil {
					return err
				}
			}
		}
		known = false
		switch {
		case marker == 0xd9: // the end
			_, _ = out.Write([]byte{0xff, marker})
			return out.Flush()
		case marker == 0x01, marker >= 0xd0 && marker <= 0xd7:
			_, _ = out.Write([]byte{0xff, marker})
			continue
		}
		segment := make([]byte, 2, 64<<10)
		if _, err := io.ReadFull(in, segment); err != nil {
			return err
		}
		length := int(binary.BigEndian.Uint16(segment))
		if length < 2 {
			return ErrImage
		}
		segment = segment[:length]
		if _, err := io.ReadFull(in, segment[2:]); err != nil {
			return err
		}
		if keep := keptJPEG(marker, segment[2:]); keep != nil {
			_, _ = out.Write([]byte{0xff, marker})
			_, _ = out.Write(binary.BigEndian.AppendUint16(nil, uint16(len(keep)+2)))
			if _, err := out.Write(keep); err != nil {
				return err
			}
		}
		if marker == 0xda {
			var err error
			if marker, err = copyScan(out, in); err != nil {
				return err
			}
			known = true
		}
	}
}

// copyScan copies the data of a scan, and gives the marker after it.
func copyScan(out *bufio.Writer, in *bufio.Reader) (marker byte, err error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != 0xff {
			if err := out.WriteByte(b); err != nil {
				return 0, err
			}
			continue
		}
		next, err := in.ReadByte()
		for err == nil && next == 0xff {
			next, err = in.ReadByte()
		}
		if err != nil {
			return 0, err
		}
		if next != 0 && (next < 0xd0 || next > 0xd7) {
			return next, nil
		}
		if _, err := out.Write([]byte{0xff, next}); err != nil {
			return 0, err
		}
	}
}

// keptJPEG is what stays of a segment; nil is nothing.
func keptJPEG(marker byte, data []byte) []byte {
	has := func(name string) bool { return bytes.HasPrefix(data, []byte(name)) }
	switch {
	case marker == 0xe0 && has("JFIF\x00"), marker == 0xe2 && has("ICC_PROFILE\x00"), marker == 0xee && has("Adobe"):
		if marker == 0xe0 && len(data) >= 14 { // without a small picture
			data = append(slices.Clone(data[:12]), 0, 0)
		}
		return data
	case marker == 0xe1 && has("Exif\x00\x00"):
		if turned := orientation(data[6:]); turned > 1 && turned <= 8 {
			return exifTurned(turned)
		}
		return nil
	case marker >= 0xe0 && marker <= 0xef, marker == 0xfe: // of applications, and comments
		return nil
	}
	return data
}

// orientation is how a picture is turned, 0 where that isn't said.
func orientation(tiff []byte) uint16 {
	if len(tiff) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if string(tiff[:2]) == "II" {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0
	}
	count := int64(order.Uint16(tiff[at:]))
	for i := range count {
		entry := at + 2 + i*12
		if entry+12 > int64(len(tiff)) {
			return 0
		}
		if order.Uint16(tiff[entry:]) == 0x0112 {
			return order.Uint16(tiff[entry+8:])
		}
	}
	return 0
}

// exifTurned is an Exif segment that says how the picture is turned, and nothing else.
func exifTurned(turned uint16) []byte {
	data := []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01")
	data = binary.BigEndian.AppendUint16(data, turned)
	return append(data, 0, 0, 0, 0, 0, 0)
}

// keptPNG are the chunks beside the critical ones that say how a picture looks.
func keptPNG(name string) bool {
	switch name {
	case "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "mDCV", "cLLI", "sBIT", "bKGD", "hIST", "pHYs", "sPLT", "acTL", "fcTL", "fdAT":
		return true
	}
	return name[0] >= 'A' && name[0] <= 'Z'
}

func stripPNG(w io.Writer, in *bufio.Reader) error {
	if err := copyN(w, in, 8); err != nil {
		return err
	}
	for {
		head := make([]byte, 8)
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		length := int64(binary.BigEndian.Uint32(head)) + 4 // with the check sum
		name := string(head[4:])
		out := w
		if !keptPNG(name) {
			out = io.Discard
		}
		if _, err := out.Write(head); err != nil {
			return err
		}
		if err := copyN(out, in, length); err != nil {
			return err
		}
		if name == "IEND" {
			return nil
		}
	}
}

// stripWebP keeps the length of everything, as it stands at the beginning: what goes becomes
// zeros.
func stripWebP(w io.Writer, in *bufio.Reader) error {
	head := make([]byte, 12)
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	left := int64(binary.LittleEndian.Uint32(head[4:])) - 4
	if _, err := w.Write(head); err != nil {
		return err
	}
	for left >= 8 {
		chunk := make([]byte, 8)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return err
		}
		size := int64(binary.LittleEndian.Uint32(chunk[4:]))
		size += size & 1
		if left -= 8 + size; left < 0 {
			return ErrImage
		}
		name := string(chunk[:4])
		keep := slices.Contains([]string{"VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP"}, name)
		if !keep {
			copy(chunk, "JUNK")
		}
		if _, err := w.Write(chunk); err != nil {
			return err
		}
		switch {
		case !keep:
			if _, err := io.CopyN(io.Discard, in, size); err != nil {
				return err
			}
			if err := copyN(w, zeros{}, size); err != nil {
				return err
			}
			continue
		case name == "VP8X" && size > 0:
			flags, err := in.ReadByte()
			if err != nil {
				return err
			}
			const exif, xmp = 0x08, 0x04
			if _, err := w.Write([]byte{flags &^ (exif | xmp)}); err != nil {
				return err
			}
			size--
		}
		if err := copyN(w, in, size); err != nil {
			return err
		}
	}
	if left != 0 {
		return ErrImage
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func copyN(w io.Writer, r io.Reader, n int64) error {
	if _, err := io.CopyN(w, r, n); err != nil {
		return fmt.Errorf("copy a part of a picture: %w", err)
	}
	return nil
}
