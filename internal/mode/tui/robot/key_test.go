package robot

import (
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

func TestEncode(t *testing.T) {
	for _, tt := range []struct{ key, modes, want string }{
		{"a", "", "a"},
		{"ä", "", "ä"},
		{"shift+a", "", "A"},
		{"ctrl+c", "", "\x03"},
		{"ctrl+space", "", "\x00"},
		{"ctrl+/", "", "\x1f"},
		{"alt+b", "", "\x1bb"},
		{"+", "", "+"},
		{"alt++", "", "\x1b+"},
		{"enter", "", "\r"},
		{"esc", "", "\x1b"},
		{"tab", "", "\t"},
		{"shift+tab", "", "\x1b[Z"},
		{"backspace", "", "\x7f"},
		{"up", "", "\x1b[A"},
		{"up", "\x1b[?1h", "\x1bOA"},
		{"ctrl+shift+left", "", "\x1b[1;6D"},
		{"pagedown", "", "\x1b[6~"},
		{"f1", "", "\x1bOP"},
		{"f12", "", "\x1b[24~"},
		{"alt+delete", "", "\x1b[3;3~"},
		{"a", "\x1b[>1u", "a"},
		{"esc", "\x1b[>1u", "\x1b[27u"},
		{"enter", "\x1b[>1u", "\r"},
		{"shift+enter", "\x1b[>1u", "\x1b[13;2u"},
		{"ctrl+c", "\x1b[>1u", "\x1b[99;5u"},
		{"ctrl+c", "\x1b[>1u\x1b[<u", "\x03"},
	} {
		term := vt.New(vt.Options{})
		_, _ = term.WriteString(tt.modes)
		got, err := encode(tt.key, term)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s with %q: %q, %v, want %q", tt.key, tt.modes, got, err, tt.want)
		}
	}
	for _, key := range []string{"", "nokey", "meta+x", "ctrl+"} {
		if got, err := encode(key, vt.New(vt.Options{})); err == nil {
			t.Errorf("%q gives %q", key, got)
		}
	}
}
