package tui

import (
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
)

// What tui.mouse says beside "off".
const (
	mouseFull   = "fullscreen" // in what fills the screen
	mouseAlways = "always"     // also in what stands in the prompt's place
)

// wantsMouse is what the terminal tells of the mouse. The prompt leaves it to the terminal, which
// selects and scrolls, but while something is proposed.
func (a *app) wantsMouse() terminal.Mouse {
	to := a.input.pointer.target()
	if to == nil || a.show.mouse != mouseAlways && (a.show.mouse != mouseFull || !a.display.full) {
		return terminal.MouseOff
	}
	if _, ok := to.(hoverable); ok {
		return terminal.MouseMoves
	}
	return terminal.MouseClicks
}

const (
	// maxAsked is how many clicks wait for the terminal; more are dropped.
	maxAsked = 16
	// askedTime is how long one waits: a terminal that does not answer loses it.
	askedTime = 2 * time.Second
)

// clickable takes clicks: a pane, or the prompt with what is proposed.
type clickable interface{ Handle(ev key.Event) }

// hoverable also shows what the mouse points at; see [pane.Hovered].
type hoverable interface {
	clickable
	Hover(h key.Hover) (changed bool)
}

// pointer gives the mouse to the pane with the keys. On the alternate screen a click names the
// pane's row. Elsewhere only the terminal knows on which of its rows the live part stands:
// it is asked where its cursor is, and the click waits for the answer.
type pointer struct {
	*base
	display *display
	panes   *panes
	prompt  *prompt
	asked   []delayed
	over    hoverable // shows what the mouse points at; nil: nothing does
}

// delayed is a click that waits, or a move.
type delayed struct {
	x, y  int // y from the first row of the target, if that was where the cursor was
	moved bool
	to    clickable
	row   int // of the live part, where the cursor was when the terminal was asked
	at    time.Time
}

// target is what the mouse is for; nil: nothing.
func (p *pointer) target() clickable {
	if top := p.panes.top(); top != nil {
		return top
	}
	if p.prompt.proposes() {
		return p.prompt
	}
	return nil
}

func (p *pointer) click(c key.Click) {
	switch to := p.target(); {
	case to == nil:
	case p.display.full:
		to.Handle(c)
		p.redraw()
	default:
		p.ask(delayed{x: c.X, y: c.Y, to: to})
	}
}

// hover shows what the mouse points at.
func (p *pointer) hover(h key.Hover) {
	to, ok := p.target().(hoverable)
	switch n := len(p.asked); {
	case !ok:
	case p.display.full:
		p.show(to, h)
	case n > 0 && p.asked[n-1].moved && p.asked[n-1].to == to: // the terminal is asked once for many moves
		p.asked[n-1].x, p.asked[n-1].y = h.X, h.Y-p.display.above
		p.forget()
	default:
		p.ask(delayed{x: h.X, y: h.Y, moved: true, to: to})
	}
}

func (p *pointer) show(to hoverable, h key.Hover) {
	if to.Hover(h) {
		p.redraw()
	}
	p.over = to
}

// leave forgets what the mouse points at: keys have changed what stands there.
func (p *pointer) leave() {
	if p.over != nil {
		p.over.Hover(key.Hover{X: -1, Y: -1})
		p.over = nil
	}
}

// forget drops what the terminal does not answer.
func (p *pointer) forget() {
	if n := len(p.asked); n > 0 && p.env.Now().Sub(p.asked[n-1].at) > askedTime {
		p.asked = nil
	}
}

// ask asks the terminal where its cursor is.
func (p *pointer) ask(d delayed) {
	p.forget()
	row, known := p.display.screen.CursorRow()
	if !known || len(p.asked) == maxAsked {
		return
	}
	d.y, d.row, d.at = d.y-p.display.above, row, p.env.Now()
	p.asked = append(p.asked, d)
	p.display.raw("\x1b[6n")
}

// cursor takes the terminal's answer for the oldest click that waits.
func (p *pointer) cursor(r key.Reply) {
	if len(p.asked) == 0 || len(r.Values) != 2 {
		return
	}
	first := p.asked[0]
	p.asked = p.asked[1:]
	if first.to != p.target() || p.display.full || p.env.Now().Sub(first.at) > askedTime {
		return // it was meant for what stood there before
	}
	first.y -= r.Values[0] - first.row
	if first.moved {
		p.show(first.to.(hoverable), key.Hover{X: first.x, Y: first.y})
		return
	}
	first.to.Handle(key.Click{X: first.x, Y: first.y})
	p.redraw()
}

// mistaken reports whether a key is only another reading of the terminal's answer: ESC [ 1 ; 5 R
// is the cursor in the first row, and Ctrl+F3.
func (p *pointer) mistaken(k key.Key) bool {
	return len(p.asked) > 0 && strings.HasSuffix(string(k), "f3")
}
