package notify

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v
			}
		}
		return ""
	}
}

func TestBytes(t *testing.T) {
	iterm, kitty, foot := env("TERM_PROGRAM=iTerm.app"), env("TERM=xterm-kitty"), env("TERM=foot")
	unknown := env("TERM=xterm-256color")
	for _, tt := range []struct {
		name        string
		env         func(string) string
		mode        Mode
		focus       Focus
		title, text string
		want        string
	}{
		{"off", iterm, Off, Unfocused, "t", "x", ""},
		{"no mode", iterm, "", Unfocused, "t", "x", ""},
		{"bell", iterm, Bell, Unfocused, "t", "x", "\a"},
		{"focused", iterm, Both, Focused, "t", "x", ""},
		{"focus not known", iterm, Desktop, Unknown, "t", "x", "\x1b]9;t: x\x1b\\"},
		{"both", iterm, Both, Unfocused, "Done", "", "\x1b]9;Done\x1b\\\a"},
		{"only a text", iterm, Desktop, Unfocused, "", "x", "\x1b]9;x\x1b\\"},
		{"nothing to say", iterm, Desktop, Unfocused, "\n", "\x1b", "\a"},
		{"no command of ConEmu", iterm, Desktop, Unfocused, "4;1;50", "", "\x1b]9; 4;1;50\x1b\\"},
		{"ghostty", env("TERM=xterm-ghostty"), Desktop, Unfocused, "t", "x", "\x1b]9;t: x\x1b\\"},
		{"wezterm", env("TERM_PROGRAM=WezTerm"), Desktop, Unfocused, "t", "x", "\x1b]9;t: x\x1b\\"},
		{"kitty", kitty, Desktop, Unfocused, "t", "x", "\x1b]99;i=burin:o=unfocused:d=0;t\x1b\\\x1b]99;i=burin:p=body;x\x1b\\"},
		{"kitty, title", kitty, Desktop, Unfocused, "t", "", "\x1b]99;i=burin:o=unfocused;t\x1b\\"},
		{"foot", foot, Desktop, Unfocused, "a;b", "c;d", "\x1b]777;notify;a,b;c;d\x1b\\"},
		{"urxvt", env("TERM=rxvt-unicode-256color"), Desktop, Unfocused, "t", "x", "\x1b]777;notify;t;x\x1b\\"},
		{"unknown", unknown, Desktop, Unfocused, "t", "x", "\a"},
		{"unknown, both", unknown, Both, Unfocused, "t", "x", "\a"},
		{"Windows Terminal", env("WT_SESSION=1"), Desktop, Unfocused, "t", "x", "\a"},
		{"screen", env("STY=1", "ITERM_SESSION_ID=1"), Desktop, Unfocused, "t", "x", "\a"},
		{"tmux in iTerm2", env("TMUX=/s,1,0", "TERM_PROGRAM=tmux", "TERM=tmux-256color", "LC_TERMINAL=iTerm2"), Desktop, Unfocused, "t", "x", "\x1bPtmux;\x1b\x1b]9;t: x\x1b\x1b\\\x1b\\\a"},
		{"tmux in kitty", env("TMUX=/s,1,0", "TERM=screen", "KITTY_WINDOW_ID=3"), Both, Unfocused, "t", "", "\x1bPtmux;\x1b\x1b]99;i=burin:o=unfocused;t\x1b\x1b\\\x1b\\\a"},
		{"tmux in an unknown one", env("TMUX=/s,1,0"), Desktop, Unfocused, "t", "x", "\a"},
		{"no desktop", env("TERM=foot", "PI_NOTIFICATIONS=off"), Desktop, Unfocused, "t", "x", ""},
		{"no desktop, bell", env("TERM=foot", "BURIN_NOTIFICATIONS=0"), Both, Unfocused, "t", "x", "\a"},
		{"ours counts first", env("TERM=foot", "BURIN_NOTIFICATIONS=on", "PI_NOTIFICATIONS=off"), Desktop, Unfocused, "t", "", "\x1b]777;notify;t;\x1b\\"},
		{"controls", foot, Desktop, Unfocused, "a\x1b]0;x\ab\u009b", "c\n\td \u202E\x00\xff e", "\x1b]777;notify;a]0,xb;c d e\x1b\\"},
	} {
		if got := string(Bytes(tt.env, tt.mode, tt.focus, tt.title, tt.text)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever the words are, the sequence is one, and has at most 200 characters of them.
func FuzzBytes(f *testing.F) {
	f.Add("title", strings.Repeat("ü", 300))
	f.Add(strings.Repeat("a b", 300), "x")
	f.Add("\x1b\\\x9c", "\u009c;")
	f.Add(strings.Repeat("a", 199), "xy")
	f.Fuzz(func(t *testing.T, title, text string) {
		for name, frame := range map[string][2]string{
			"TERM=foot":              {"\x1b]777;notify;", "\x1b\\"},
			"TERM_PROGRAM=iTerm.app": {"\x1b]9;", "\x1b\\"},
		} {
			got := string(Bytes(env(name), Desktop, Unknown, title, text))
			if got == "\a" {
				continue
			}
			body, ok := strings.CutPrefix(got, frame[0])
			body, ok2 := strings.CutSuffix(body, frame[1])
			if !ok || !ok2 || !utf8.ValidString(body) || strings.ContainsFunc(body, func(r rune) bool { return r < ' ' || r >= 0x7F && r < 0xA0 }) {
				t.Fatalf("%q", got)
			}
			if n := utf8.RuneCountInString(body); n > maxWords+3 { // and what stands between title and text
				t.Errorf("%d characters", n)
			}
		}
	})
}
