package picture

import (
	"slices"
	"strings"
)

// Protocol is a way to show pictures.
type Protocol string

const (
	None   Protocol = ""
	Kitty  Protocol = "kitty"
	ITerm2 Protocol = "iterm2"
	Sixel  Protocol = "sixel"
)

// Terminal is what is known of a terminal.
type Terminal struct {
	Getenv func(string) string
	// Attributes are the answer to a query of primary device attributes; nil where
	// there was none. 4 among them is sixel.
	Attributes []int
}

// sixelAttribute is the number of sixel graphics in primary device attributes.
const sixelAttribute = 4

// Detect chooses how pictures are shown. BURIN_IMAGE_PROTOCOL, or else
// PI_FORCE_IMAGE_PROTOCOL, decides where it names a protocol or none.
//
// Inside of tmux and screen there are no sequences of other terminals: passed through,
// a picture would stand where the multiplexer does not know of it, and stay there when
// windows change. A tmux that draws sixel itself says so in its attributes.
func Detect(t Terminal) Protocol {
	for _, name := range []string{"BURIN_IMAGE_PROTOCOL", "PI_FORCE_IMAGE_PROTOCOL"} {
		switch strings.ToLower(t.Getenv(name)) {
		case "kitty":
			return Kitty
		case "iterm2", "iterm":
			return ITerm2
		case "sixel":
			return Sixel
		case "none", "off":
			return None
		}
	}
	sixel := None
	if len(t.Attributes) > 0 && slices.Contains(t.Attributes[1:], sixelAttribute) { // the first is the terminal's class
		sixel = Sixel
	}
	term := t.Getenv("TERM")
	if t.Getenv("TMUX") != "" || t.Getenv("STY") != "" || strings.HasPrefix(term, "tmux") || strings.HasPrefix(term, "screen") {
		return sixel
	}
	program := t.Getenv("TERM_PROGRAM")
	switch {
	case t.Getenv("KITTY_WINDOW_ID") != "", term == "xterm-kitty", term == "xterm-ghostty", program == "ghostty":
		return Kitty
	case program == "iTerm.app", program == "WezTerm", t.Getenv("LC_TERMINAL") == "iTerm2":
		return ITerm2
	}
	return sixel
}
