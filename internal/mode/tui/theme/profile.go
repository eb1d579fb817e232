package theme

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Profile is what a terminal can show, from nothing to all colours.
type Profile uint8

const (
	NoStyle   Profile = iota // no sequences at all: a pipe, a dumb terminal
	Mono                     // bold, underline and the like, and no colour: NO_COLOR
	ANSI16                   // the 16 colours users choose themselves
	ANSI256                  // xterm's 256
	TrueColor                // 24 bits
)

// DetectProfile tells what a terminal can show from the environment. NO_COLOR and
// FORCE_COLOR are obeyed before anything else; what is no terminal gets no style.
// Names of terminals that are not known get 16 colours, which are never wrong.
func DetectProfile(terminal bool, getenv func(string) string) Profile {
	forced := getenv("FORCE_COLOR") != "" && getenv("FORCE_COLOR") != "0" || getenv("CLICOLOR_FORCE") != "" && getenv("CLICOLOR_FORCE") != "0"
	term := strings.ToLower(getenv("TERM"))
	switch {
	case !terminal && !forced, term == "dumb" && !forced:
		return NoStyle
	case getenv("NO_COLOR") != "":
		return Mono
	}
	switch strings.ToLower(getenv("COLORTERM")) {
	case "truecolor", "24bit":
		return TrueColor
	}
	if getenv("WT_SESSION") != "" {
		return TrueColor
	}
	if p, ok := byName(term, getenv("TERM_PROGRAM")); ok {
		return p
	}
	return ANSI16
}

func byName(term, program string) (Profile, bool) {
	switch program {
	case "iTerm.app", "vscode", "WezTerm", "ghostty", "rio", "WarpTerminal":
		return TrueColor, true
	case "Apple_Terminal":
		return ANSI256, true
	}
	if strings.HasSuffix(term, "-direct") {
		return TrueColor, true
	}
	for _, name := range [...]string{"kitty", "alacritty", "ghostty", "wezterm", "foot", "contour", "rio"} {
		if strings.Contains(term, name) {
			return TrueColor, true
		}
	}
	for _, name := range [...]string{"256color", "xterm", "screen", "tmux", "rxvt", "konsole", "gnome", "vte", "st-"} {
		if strings.Contains(term, name) {
			return ANSI256, true
		}
	}
	return NoStyle, false
}

// Background is how bright a terminal is behind its text.
type Background uint8

const (
	UnknownBackground Background = iota
	DarkBackground
	LightBackground
)

// DetectBackground tells the background from a terminal's reply, to OSC 11
// ("\x1b]11;rgb:1e1e/1e1e/2e2e\x07") or to a question for its colour scheme
// ("\x1b[?997;1n"), or, without one, from the variable COLORFGBG ("15;0").
func DetectBackground(reply, colorFGBG string) Background {
	if scheme, ok := strings.CutPrefix(reply, "\x1b[?997;"); ok {
		switch scheme {
		case "1n":
			return DarkBackground
		case "2n":
			return LightBackground
		}
	}
	if color, ok := strings.CutPrefix(reply, "\x1b]11;"); ok {
		color = strings.TrimRight(color, "\x07\x1b\\")
		if c := ansi.XParseColor(color); c != nil {
			r, g, b, _ := c.RGBA()
			return brightness(RGB(r>>8<<16 | g>>8<<8 | b>>8))
		}
	}
	last := colorFGBG[strings.LastIndexByte(colorFGBG, ';')+1:]
	if i, err := strconv.ParseUint(last, 10, 8); err == nil {
		if i == 7 || i >= 9 && i < 16 {
			return LightBackground
		}
		if i < 16 {
			return DarkBackground
		}
		return brightness(Indexed(uint8(i)))
	}
	return UnknownBackground
}

// brightness calls a colour light if black is easier to read on it than white.
func brightness(c Color) Background {
	if c.Luminance() > 0.179 {
		return LightBackground
	}
	return DarkBackground
}
