package notify

import "strings"

// protocol is the sequence in which a terminal takes notifications.
type protocol int

const (
	none   protocol = iota
	osc9            // iTerm2's: a text
	osc777          // urxvt's: a title and a text
	osc99           // kitty's
)

// protocolOf says what a terminal documents. TERM_PROGRAM and TERM are tmux's own
// within it; what else a terminal sets is that of the one tmux was started in, which
// is the best that can be known.
func protocolOf(getenv func(string) string) protocol {
	// GNU screen and Zellij keep the sequences to themselves.
	if getenv("STY") != "" || getenv("ZELLIJ") != "" || getenv("TERM") == "dumb" {
		return none
	}
	term := getenv("TERM")
	switch getenv("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "ghostty":
		return osc9
	case "rio", "contour":
		return osc777
	case "Apple_Terminal", "vscode", "Hyper", "WarpTerminal":
		return none
	}
	switch {
	case term == "xterm-kitty", getenv("KITTY_WINDOW_ID") != "":
		return osc99
	case term == "xterm-ghostty", getenv("GHOSTTY_RESOURCES_DIR") != "",
		getenv("WEZTERM_PANE") != "",
		getenv("ITERM_SESSION_ID") != "", getenv("LC_TERMINAL") == "iTerm2":
		return osc9
	case term == "foot", strings.HasPrefix(term, "foot-"), strings.HasPrefix(term, "rxvt-unicode"), term == "contour":
		return osc777
	}
	// Windows Terminal (WT_SESSION) takes OSC 9 for ConEmu's and shows nothing; its
	// bell flashes in the task bar. Other terminals are not known.
	return none
}

func inTmux(getenv func(string) string) bool { return getenv("TMUX") != "" }

// sequence writes a notification. Its words are clean. Sequences end with ST: one that
// a terminal does not know must not ring.
func sequence(p protocol, title, text string) string {
	const end = "\x1b\\"
	switch p {
	case osc9:
		if text != "" {
			title += ": " + text
		}
		if title[0] >= '0' && title[0] <= '9' {
			title = " " + title // "4;" and others are ConEmu's commands
		}
		return "\x1b]9;" + title + end
	case osc777:
		// A semicolon would end the title.
		return "\x1b]777;notify;" + strings.ReplaceAll(title, ";", ",") + ";" + text + end
	case osc99:
		// kitty itself leaves it out where its window has the focus.
		if text == "" {
			return "\x1b]99;i=burin:o=unfocused;" + title + end
		}
		return "\x1b]99;i=burin:o=unfocused:d=0;" + title + end + "\x1b]99;i=burin:p=body;" + text + end
	}
	return ""
}
