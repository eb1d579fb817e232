// Package key turns what a terminal sends into events, and keys into actions.
//
// A [Reader] owns the bytes of one terminal: it cuts them into sequences,
// whatever the borders of its reads are, and delivers an [Event] for each: a
// [Press], a [Paste], a [Click], a [Resize], a [Focus] or a [Reply] to a query. [Bindings]
// say which [Action] a [Key] means in a [Context]; users change them by a file.
//
// The package promises that no byte of a control sequence ever becomes text,
// that a paste of any size costs time in proportion to its length and bounded
// memory, and that nothing runs while no key is pressed: the one timer there is
// lives only while an escape byte waits for what follows it.
package key

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Key is a key with its modifiers under its one canonical name: the modifiers
// in the order ctrl, alt, shift, super, hyper, each followed by "+", then the
// name of the key ("enter", "up", "f5") or the text it types. Letters are lower
// case: a capital A is "shift+a". Shift is not named where it only chose the
// character ("?"). The space bar is "space".
type Key string

// modifiers are all that count, in canonical order; the locks do not.
type modifiers uint8

const (
	modCtrl modifiers = 1 << iota
	modAlt
	modShift
	modSuper
	modHyper
)

var modifierNames = [...]string{"ctrl", "alt", "shift", "super", "hyper"}

// modifierAliases are the names that users and other programs write.
var modifierAliases = map[string]modifiers{
	"ctrl": modCtrl, "control": modCtrl,
	"alt": modAlt, "option": modAlt, "opt": modAlt, "meta": modAlt,
	"shift": modShift,
	"super": modSuper, "cmd": modSuper, "command": modSuper, "win": modSuper,
	"hyper": modHyper,
}

// names are the keys that type nothing.
var names = map[string]bool{
	"enter": true, "tab": true, "backspace": true, "esc": true, "space": true,
	"up": true, "down": true, "left": true, "right": true, "home": true, "end": true,
	"pageup": true, "pagedown": true, "insert": true, "delete": true, "clear": true,
	"menu": true, "pause": true, "printscreen": true, "wheelup": true, "wheeldown": true,
}

var nameAliases = map[string]string{
	"return": "enter", "escape": "esc", "pgup": "pageup", "pgdown": "pagedown", "pgdn": "pagedown",
	"del": "delete", "ins": "insert", "spacebar": "space", "bs": "backspace", "begin": "clear",
}

// Parse reads a key as users write it: case and the order of modifiers do not
// matter, and common other names are known ("Escape", "PgUp", "Cmd+K"). The
// error is one line that names the key.
func Parse(s string) (Key, error) {
	rest, mods := strings.TrimSpace(s), modifiers(0)
	for {
		i := strings.IndexByte(rest, '+')
		if i <= 0 || i == len(rest)-1 {
			break // no modifier left; a "+" at the end or alone is the key itself
		}
		name := strings.ToLower(strings.TrimSpace(rest[:i]))
		m, ok := modifierAliases[name]
		if !ok {
			return "", fmt.Errorf("unknown modifier %q in key %q (want ctrl, alt, shift, super or hyper)", rest[:i], s)
		}
		mods |= m
		rest = strings.TrimSpace(rest[i+1:])
	}
	base := strings.ToLower(rest)
	if a, ok := nameAliases[base]; ok {
		base = a
	}
	if !names[base] && !isFunction(base) && !printable(base) {
		return "", fmt.Errorf("unknown key %q (want a character or a name such as enter, up, f5)", s)
	}
	return compose(mods, base), nil
}

// printable reports whether s is one character that a key can type.
func printable(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n == len(s) && n > 0 && r != utf8.RuneError && unicode.IsPrint(r) && r != ' '
}

// isFunction reports whether s is "f1" to "f63".
func isFunction(s string) bool {
	if len(s) < 2 || len(s) > 3 || s[0] != 'f' || s[1] == '0' {
		return false
	}
	n := 0
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return n <= 63
}

func compose(m modifiers, base string) Key {
	if m == 0 {
		return Key(base)
	}
	var b strings.Builder
	for i, name := range modifierNames {
		if m&(1<<i) != 0 {
			b.WriteString(name)
			b.WriteByte('+')
		}
	}
	b.WriteString(base)
	return Key(b.String())
}

// typed is the key that types text, with the modifiers that were held. Letters
// know their shift by themselves; other characters need none.
func typed(text string, m modifiers) Key {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case text == " ":
		return compose(m, "space")
	case n != len(text):
		return compose(m&^modShift, text) // a cluster of several characters
	case unicode.ToLower(r) != r:
		return compose(m|modShift, string(unicode.ToLower(r)))
	case unicode.IsLower(r):
		return compose(m, text)
	case m&^modShift == 0:
		return Key(text)
	default:
		return compose(m, text)
	}
}

// Text is how the key is shown to people: "Ctrl+C", "Shift+Enter", "?".
func (k Key) Text() string {
	s := string(k)
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '+')
		if i <= 0 || i == len(s)-1 {
			break
		}
		b.WriteString(title(s[:i]))
		b.WriteByte('+')
		s = s[i+1:]
	}
	switch {
	case s == "pageup":
		s = "PageUp"
	case s == "pagedown":
		s = "PageDown"
	case names[s] || isFunction(s) || b.Len() > 0:
		s = title(s)
	}
	return b.String() + s
}

func title(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
