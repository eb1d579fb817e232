package key

import "bytes"

// Bits of the button number in a mouse report (xterm's ctlseqs, "Mouse Tracking").
const (
	mouseShift, mouseAlt, mouseCtrl = 4, 8, 16
	mouseHeld                       = mouseShift | mouseAlt | mouseCtrl
	mouseWheel                      = 64     // the wheel up; one more is down
	mouseMoved                      = 32 + 3 // without a button
)

// maxCell is the last column or row a report may name; terminals are smaller.
const maxCell = 1 << 15

// isMouse reports whether a sequence is a mouse report in SGR form (mode 1006).
func isMouse(seq []byte) bool { return bytes.HasPrefix(seq, []byte("\x1b[<")) }

// mouse reads ESC [ < button ; column ; row M, which counts from 1; false for releases, for what no
// pane knows, and for reports that are not complete or name no cell.
func mouse(seq []byte) (Event, bool) {
	body := seq[len("\x1b[<"):]
	if len(body) == 0 || body[len(body)-1] != 'M' {
		return nil, false
	}
	var n [3]int
	field := 0
	digits := 0
	for _, c := range body[:len(body)-1] {
		switch {
		case c >= '0' && c <= '9' && n[field] <= maxCell:
			n[field] = n[field]*10 + int(c-'0')
			digits++
		case c == ';' && digits > 0 && field < 2:
			field, digits = field+1, 0
		default:
			return nil, false
		}
	}
	button, x, y := n[0], n[1]-1, n[2]-1
	if field != 2 || digits == 0 || x < 0 || y < 0 || x >= maxCell || y >= maxCell {
		return nil, false
	}
	switch button &^ mouseHeld {
	case mouseWheel:
		return Press{Key: compose(mouseMods(button), "wheelup")}, true
	case mouseWheel + 1:
		return Press{Key: compose(mouseMods(button), "wheeldown")}, true
	}
	if button&^mouseHeld == mouseMoved {
		return Hover{X: x, Y: y}, true
	}
	return Click{X: x, Y: y}, button == 0
}

func mouseMods(button int) (m modifiers) {
	for _, pair := range [...]struct {
		bit int
		mod modifiers
	}{{mouseShift, modShift}, {mouseAlt, modAlt}, {mouseCtrl, modCtrl}} {
		if button&pair.bit != 0 {
			m |= pair.mod
		}
	}
	return m
}
