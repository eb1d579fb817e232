package vt

import (
	"fmt"
	"io"
)

// interpreter carries out what the parser finds and answers queries.
type interpreter struct {
	screen   *screen
	keyboard *keyboard
	desktop  *desktop
	tally    *tally
	light    bool
	reply    io.Writer
}

var _ sink = (*interpreter)(nil)

// Stats counts what a terminal has seen.
type Stats struct {
	Bytes    int64
	Frames   int // synchronised updates that ended
	Bells    int
	Graphics int // images of the kitty, sixel or iTerm2 protocols, which are not drawn
}

// tally counts what came.
type tally struct {
	stats   Stats
	unknown map[string]int
}

func (y *tally) unknownSequence(kind string, raw []byte) {
	if len(raw) > 64 {
		raw = raw[:64]
	}
	name := fmt.Sprintf("%s %q", kind, raw)
	if _, ok := y.unknown[name]; ok || len(y.unknown) < 1000 {
		y.unknown[name]++
	}
}

// reset is RIS: everything but the scrollback, the clipboard, marks and notes, and what
// was counted.
func (in *interpreter) reset() {
	in.screen.reset()
	*in.keyboard = keyboard{}
	in.desktop.title, in.desktop.titles = "", nil
	in.desktop.colors = [3]string{}
}

func (in *interpreter) print(r rune) { in.screen.print(r) }

func (in *interpreter) unknownSequence(kind string, raw []byte) { in.tally.unknownSequence(kind, raw) }

func (in *interpreter) answer(format string, a ...any) {
	if in.reply != nil {
		// Whoever reads the answers may be gone; the screen stays right without.
		_, _ = fmt.Fprintf(in.reply, format, a...)
	}
}

func (in *interpreter) execute(b byte) {
	g := in.screen.cur
	switch b {
	case 0x07:
		in.tally.stats.Bells++
		return
	case 0x08:
		g.x = max(g.x-1, 0)
	case 0x09:
		in.screen.tab(1)
	case 0x0a, 0x0b, 0x0c:
		if in.screen.newline {
			g.x = 0
		}
		in.screen.index()
	case 0x0d:
		g.x = 0
	case 0x0e, 0x0f:
		in.screen.charsets.shifted = b == 0x0e
		return
	default:
		return // the others have no meaning for a screen
	}
	g.wrap = false
	in.screen.last.ok = false
}
