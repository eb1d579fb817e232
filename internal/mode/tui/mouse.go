package tui

import (
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
)

// What tui.mouse says beside "off".
const (
	mouseFull   = "fullscreen" // in what fills the screen
	mouseAlways = "always"     // also in what stands in the prompt's place
)

// wantsMouse reports whether the pane with the keys gets clicks and the wheel. The prompt never
// does: there the terminal selects and scrolls.
func (a *app) wantsMouse() bool {
	switch a.show.mouse {
	case mouseFull:
		return a.display.full
	case mouseAlways:
		return a.panes.top() != nil
	}
	return false
}

const (
	// maxAsked is how many clicks wait for the terminal; more are dropped.
	maxAsked = 16
	// askedTime is how long one waits: a terminal that does not answer loses it.
	askedTime = 2 * time.Second
)

// pointer gives clicks to the pane with the keys. On the alternate screen a click names the
// pane's row. Elsewhere only the terminal knows on which of its rows the live part stands:
// it is asked where its cursor is, and the click waits for the answer.
type pointer struct {
	*base
	display *display
	panes   *panes
	asked   []delayed
}

// delayed is a click that waits.
type delayed struct {
	click key.Click
	pane  pane.Pane
	row   int // of the live part, where the cursor was when the terminal was asked
	at    time.Time
}

func (p *pointer) click(c key.Click) {
	top := p.panes.top()
	if top == nil {
		return
	}
	if p.display.full {
		top.Handle(c)
		p.redraw()
		return
	}
	now := p.env.Now()
	if n := len(p.asked); n > 0 && now.Sub(p.asked[n-1].at) > askedTime {
		p.asked = nil
	}
	row, known := p.display.screen.CursorRow()
	if !known || len(p.asked) == maxAsked {
		return
	}
	p.asked = append(p.asked, delayed{click: c.In(p.display.above), pane: top, row: row, at: now})
	p.display.raw("\x1b[6n")
}

// cursor takes the terminal's answer for the oldest click that waits.
func (p *pointer) cursor(r key.Reply) {
	if len(p.asked) == 0 || len(r.Values) != 2 {
		return
	}
	first := p.asked[0]
	p.asked = p.asked[1:]
	if first.pane != p.panes.top() || p.display.full || p.env.Now().Sub(first.at) > askedTime {
		return // it was meant for what stood there before
	}
	first.pane.Handle(first.click.In(r.Values[0] - first.row))
	p.redraw()
}

// mistaken reports whether a key is only another reading of the terminal's answer: ESC [ 1 ; 5 R
// is the cursor in the first row, and Ctrl+F3.
func (p *pointer) mistaken(k key.Key) bool {
	return len(p.asked) > 0 && strings.HasSuffix(string(k), "f3")
}
