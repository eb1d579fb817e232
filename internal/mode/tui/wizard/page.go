package wizard

import (
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// page is a text to read, with an Enter and an Esc.
type page struct {
	env      *pane.Env
	lines    func() []paragraph
	top      int
	onEnter  func()
	onCancel func()
	below    pane.Pane // has the keys, and stands below the text; may be nil
	above    int       // rows of the text that were drawn last
}

// paragraph is a text of one look, behind a mark.
type paragraph struct {
	mark  string
	text  string // may be anybody's
	token theme.Token
	link  string
}

// Draw is [pane.Pane]'s.
func (p *page) Draw(width, height int) ([]string, screen.Cursor) {
	var below []string
	cursor := screen.Cursor{Hidden: true}
	if p.below != nil {
		below, cursor = p.below.Draw(width, max(1, height/2))
	}
	rows := p.rows(width)
	room := max(0, height-len(below))
	p.top = max(0, min(p.top, len(rows)-room))
	rows = rows[p.top:min(len(rows), p.top+room)]
	p.above = len(rows)
	cursor.Y += p.above
	return append(rows, below...), cursor
}

func (p *page) rows(width int) []string {
	var rows []string
	for _, para := range p.lines() {
		if para.text == "" {
			rows = append(rows, "")
			continue
		}
		look := theme.Look{Fg: para.token}
		l := styled.Line{{Text: prose.Inline(para.text), Look: look, Link: para.link}}
		mark := styled.Line{{Text: para.mark, Look: look}}
		if para.mark == "" {
			mark = nil
		}
		rows = append(rows, wrap(p.env.Styles, l, width, 20, mark)...)
	}
	return rows
}

// Handle is [pane.Pane]'s.
func (p *page) Handle(ev key.Event) {
	if press, ok := ev.(key.Press); ok {
		if p.below == nil {
			switch press.Key {
			case "wheelup":
				p.top--
			case "wheeldown":
				p.top++
			}
		}
		switch a, _ := p.env.Keys.Lookup(key.Select, press.Key); a {
		case key.SelectUp, key.SelectPageUp:
			p.top--
			return
		case key.SelectDown, key.SelectPageDown:
			p.top++
			return
		case key.SelectConfirm:
			if p.onEnter != nil {
				p.onEnter()
				return
			}
		case key.SelectCancel:
			if p.onCancel != nil {
				p.onCancel()
				return
			}
		}
	}
	if c, ok := ev.(key.Click); ok {
		ev = c.In(p.above)
	}
	if p.below != nil {
		p.below.Handle(ev)
	}
}
