// Package notify makes the bytes that tell a person who has turned away from the
// terminal: its bell, and a notification on the desktop.
//
// [Bytes] is given the environment and says what to write to the terminal; [Send] is for a
// process that has none, and starts the program of the desktop that shows notifications. Words
// are cleaned and cut; that no secret is among them is the caller's part.
//
// Terminals know the sequences of one another by halves, so each gets the one it
// documents; one that knows none, or is not known, gets the bell. Within tmux the
// sequence is handed through, and the bell goes with it: tmux drops what it may not
// hand through, and says nothing.
package notify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// Mode is how a person wants to be told.
type Mode string

const (
	Off     Mode = "off"
	Bell    Mode = "bell"
	Desktop Mode = "desktop" // the bell where the terminal has no notifications
	Both    Mode = "both"
)

// Focus is what the terminal says about itself.
type Focus int

const (
	Unknown   Focus = iota // it does not report its focus
	Focused                // the person looks at it
	Unfocused              // or elsewhere
)

// maxWords is how many characters title and text have together.
const maxWords = 200

const bell = "\a"

// Bytes are what to write to the terminal; nil is nothing. There is nothing while the
// terminal has the focus. getenv is the environment; in it BURIN_NOTIFICATIONS, or
// PI_NOTIFICATIONS where that is not set, turns notifications of the desktop off.
func Bytes(getenv func(string) string, m Mode, f Focus, title, text string) []byte {
	if silenced(getenv) {
		switch m {
		case Desktop:
			return nil
		case Both:
			m = Bell
		}
	}
	if f == Focused || m != Bell && m != Desktop && m != Both {
		return nil
	}
	if m == Bell {
		return []byte(bell)
	}
	title, text = words(title, text)
	if title == "" {
		return []byte(bell)
	}
	s := sequence(protocolOf(getenv), title, text)
	if s == "" {
		return []byte(bell)
	}
	if inTmux(getenv) {
		return []byte("\x1bPtmux;" + strings.ReplaceAll(s, "\x1b", "\x1b\x1b") + "\x1b\\" + bell)
	}
	if m == Both {
		s += bell
	}
	return []byte(s)
}

func silenced(getenv func(string) string) bool {
	v := getenv("BURIN_NOTIFICATIONS")
	if v == "" {
		v = getenv("PI_NOTIFICATIONS")
	}
	switch strings.ToLower(v) {
	case "off", "0", "false":
		return true
	}
	return false
}

// words cleans a title and a text; together they have at most maxWords characters.
func words(title, text string) (string, string) {
	title, text = clean(title, maxWords), clean(text, maxWords)
	if title == "" {
		title, text = text, ""
	}
	return title, clean(text, maxWords-utf8.RuneCountInString(title))
}

// clean puts text on one line and takes everything out of it that does not stand for
// a character. What is cut ends with "…".
func clean(text string, limit int) string {
	if len(text) > 16*maxWords {
		text = text[:16*maxWords] // what follows would be cut anyway
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), prose.Deceptive(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	text = prose.Line(text)
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	if limit < 2 {
		return ""
	}
	return strings.TrimSpace(string([]rune(text)[:limit-1])) + "…"
}
