package robot

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// Modifiers as xterm and kitty count them.
const (
	shift = 1
	alt   = 2
	ctrl  = 4
	super = 8
)

// special are the keys with sequences: CSI number final, or with a modifier CSI
// number ; modifier final. A number of 1 is left out where there is no modifier.
var special = map[string]struct {
	number int
	final  byte
}{
	"up": {1, 'A'}, "down": {1, 'B'}, "right": {1, 'C'}, "left": {1, 'D'}, "home": {1, 'H'}, "end": {1, 'F'},
	"insert": {2, '~'}, "delete": {3, '~'}, "pageup": {5, '~'}, "pagedown": {6, '~'},
	"f1": {1, 'P'}, "f2": {1, 'Q'}, "f3": {1, 'R'}, "f4": {1, 'S'},
	"f5": {15, '~'}, "f6": {17, '~'}, "f7": {18, '~'}, "f8": {19, '~'},
	"f9": {20, '~'}, "f10": {21, '~'}, "f11": {23, '~'}, "f12": {24, '~'},
}

// plain are the keys that have one byte since there were terminals.
var plain = map[string]byte{"enter": '\r', "tab": '\t', "escape": 0x1b, "esc": 0x1b, "backspace": 0x7f, "space": ' '}

// encode gives what a terminal in the modes of t sends for a key such as "ctrl+shift+left".
func encode(key string, t *vt.Terminal) ([]byte, error) {
	mods, name := split(key)
	kitty, _ := t.Keyboard()
	if s, ok := special[name]; ok {
		return sequence(s.number, s.final, mods, t.Mode(1)), nil
	}
	code, known := plain[name]
	r := rune(code)
	if !known {
		var size int
		if r, size = utf8.DecodeRuneInString(name); size != len(name) || size == 0 {
			return nil, fmt.Errorf("there is no key %q: keys are characters and names such as ctrl+c, shift+up, enter, f5", key)
		}
	}
	// Disambiguation leaves what makes text as it is, and enter, tab and backspace.
	text := mods&^shift == 0 && !(known && mods != 0)
	if kitty&1 != 0 && (!text || r == 0x1b) {
		if mods == 0 {
			return fmt.Appendf(nil, "\x1b[%du", r), nil
		}
		return fmt.Appendf(nil, "\x1b[%d;%du", r, mods+1), nil
	}
	return legacy(r, name, mods), nil
}

// split takes the modifiers of a key from its name. "+" itself is a key.
func split(key string) (mods int, name string) {
	names := map[string]int{"shift": shift, "alt": alt, "ctrl": ctrl, "super": super}
	parts := strings.Split(key, "+")
	if key == "+" || strings.HasSuffix(key, "++") {
		parts = append(parts[:len(parts)-2], "+")
	}
	for i, p := range parts[:len(parts)-1] {
		m, ok := names[p]
		if !ok {
			return mods, strings.Join(parts[i:], "+")
		}
		mods |= m
	}
	return mods, parts[len(parts)-1]
}

func sequence(number int, final byte, mods int, application bool) []byte {
	switch {
	case mods != 0:
		return fmt.Appendf(nil, "\x1b[%d;%d%c", number, mods+1, final)
	case number != 1:
		return fmt.Appendf(nil, "\x1b[%d%c", number, final)
	case application || final >= 'P':
		return []byte{0x1b, 'O', final}
	}
	return []byte{0x1b, '[', final}
}

// legacy encodes a key as terminals did before there were protocols.
func legacy(r rune, name string, mods int) []byte {
	var p []byte
	switch {
	case r == '\t' && mods&shift != 0:
		return []byte("\x1b[Z")
	case mods&ctrl != 0 && name == "space":
		p = []byte{0}
	case mods&ctrl != 0 && r >= '@' && r <= '~':
		p = []byte{byte(r) & 0x1f}
	case mods&ctrl != 0 && (r == '-' || r == '/'):
		p = []byte{0x1f}
	case mods&shift != 0 && len(name) == 1:
		p = []byte(strings.ToUpper(name))
	default:
		p = utf8.AppendRune(nil, r)
	}
	if mods&alt != 0 {
		p = slices.Insert(p, 0, 0x1b)
	}
	return p
}
