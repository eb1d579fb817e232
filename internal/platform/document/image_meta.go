package document

import (
	"bytes"
	"encoding/binary"
)

// orientation is how the picture must be turned to stand upright, 1 to 8 as in
// Exif. Only JPEG files are asked.
func orientation(format string, data []byte) int {
	if format != "image/jpeg" {
		return 1
	}
	turn := 1
	segments(data, func(marker byte, body []byte) bool {
		exif, ok := bytes.CutPrefix(body, []byte("Exif\x00\x00"))
		if marker != 0xe1 || !ok {
			return true
		}
		if n := exifOrientation(exif); n >= 1 && n <= 8 {
			turn = n
		}
		return false
	})
	return turn
}

func exifOrientation(b []byte) int {
	if len(b) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 0
	}
	entries := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(entries) < 12 {
			return 0
		}
		if order.Uint16(entries) == 0x0112 && order.Uint16(entries[2:]) == 3 {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[12:]
	}
	return 0
}

// progressive reports whether a JPEG is, which makes it larger to decode.
func progressive(data []byte) bool {
	found := false
	segments(data, func(marker byte, _ []byte) bool {
		found = marker == 0xc2
		return !found
	})
	return found
}

// segments visits the segments of a JPEG before its first scan, until visit
// returns false.
func segments(data []byte, visit func(marker byte, body []byte) bool) {
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff {
			return
		}
		marker := data[at+1]
		switch {
		case marker == 0xff: // a fill byte
			at++
			continue
		case marker == 0xda:
			return
		case marker == 0x01, marker >= 0xd0 && marker <= 0xd8: // these have no length
			at += 2
			continue
		}
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		if length < 2 || at+2+length > len(data) {
			return
		}
		if !visit(marker, data[at+4:at+2+length]) {
			return
		}
		at += 2 + length
	}
}

// animated reports whether a GIF has more than one frame. It passes over the
// blocks without decoding them.
func animated(data []byte) bool {
	if len(data) < 13 {
		return false
	}
	at := 13 + colorTable(data[10])
	for frames := 0; at < len(data); {
		switch data[at] {
		case 0x21: // an extension: its label, then blocks
			at += 2
		case 0x2c:
			if frames++; frames > 1 {
				return true
			}
			if at+10 > len(data) {
				return false
			}
			at += 10 + colorTable(data[at+9]) + 1
		default:
			return false
		}
		for at < len(data) && data[at] != 0 {
			at += 1 + int(data[at])
		}
		at++
	}
	return false
}

func colorTable(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}
