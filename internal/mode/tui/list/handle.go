package list

import (
	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// wheelRows is how far one click of a mouse's wheel moves.
const wheelRows = 3

// Handle is [pane.Pane]'s.
func (l *List) Handle(ev key.Event) {
	switch ev := ev.(type) {
	case key.Press:
		l.press(ev)
	case key.Paste:
		l.edit(ev)
	case key.Click:
		switch chip, it := l.seen.at(ev); {
		case chip >= 0:
			l.chip(chip)
		case it == nil:
		case it.ID == l.Selected():
			l.choose()
		default:
			told := l.told
			if l.SetSelected(it.ID) {
				l.told = told // the owner is told by moved
			}
		}
	}
	l.moved()
}

// Hover is [pane.Hovered]'s.
func (l *List) Hover(h key.Hover) (changed bool) {
	was := l.hover
	_, l.hover = l.seen.at(key.Click(h))
	return l.hover != was
}

// moved tells of a selection that is another than the owner knows of.
func (l *List) moved() {
	now := l.Selected()
	if now == l.told {
		return
	}
	l.told = now
	if l.o.OnMove != nil {
		l.o.OnMove(now)
	}
}

// press does what a key means: to the list, to its owner, to the search, in this
// order.
func (l *List) press(p key.Press) {
	if a, ok := l.env.Keys.Lookup(key.Select, p.Key); ok && l.act(a, p.Key) {
		return
	}
	switch p.Key {
	case "home", "ctrl+home": // the search has Ctrl+A and Ctrl+E
		l.moveTo(0)
		return
	case "end", "ctrl+end":
		l.moveTo(l.Len() - 1)
		return
	case "wheelup":
		l.moveTo(l.at - wheelRows)
		return
	case "wheeldown":
		l.moveTo(l.at + wheelRows)
		return
	case "tab", "shift+tab":
		if n := len(l.o.Chips); n > 0 {
			by := 1
			if p.Key == "shift+tab" {
				by = n - 1
			}
			l.chip((l.o.Chip + by) % n)
			return
		}
	case "space": // so the search of a list of boxes is one word
		if l.o.Toggle {
			l.toggle()
			return
		}
	}
	a, _ := l.env.Keys.Lookup(key.Editor, p.Key)
	if l.o.OnKey != nil {
		if p.Text == "" && a != key.DeleteBackward && a != key.DeleteWordBackward {
			l.settle() // it may act on the selected item
		}
		if l.o.OnKey(p, l.Selected()) {
			return
		}
	}
	if a == key.Submit {
		l.choose() // for people who took Enter from lists
		return
	}
	l.edit(p)
}

func (l *List) act(a key.Action, k key.Key) bool {
	switch a {
	case key.SelectUp:
		l.step(-1)
	case key.SelectDown:
		l.step(1)
	case key.SelectPageUp:
		l.moveTo(l.at - max(1, l.page-1))
	case key.SelectPageDown:
		l.moveTo(l.at + max(1, l.page-1))
	case key.SelectConfirm:
		l.choose()
	case key.SelectCancel:
		l.cancel(k)
	default:
		return false
	}
	return true
}

// step moves by one and goes round.
func (l *List) step(by int) {
	if n := l.Len(); n > 0 {
		l.at = (l.at + by + n) % n
	}
}

// moveTo moves to a row, or the nearest there is.
func (l *List) moveTo(i int) {
	l.at = i
	l.clamp()
}

func (l *List) choose() {
	l.settle()
	switch {
	case l.Len() == 0:
	case l.o.OnChoose != nil:
		l.o.OnChoose(l.Selected())
	case l.o.Toggle:
		l.toggle()
	}
}

// cancel clears the search or, where there is none, leaves. Ctrl+C always leaves.
func (l *List) cancel(k key.Key) {
	if !l.o.NoSearch && k != "ctrl+c" && l.query.text() != "" {
		keep := l.Selected()
		l.query.set("")
		l.queried(keep)
		return
	}
	l.find.cancel()
	if l.o.OnCancel != nil {
		l.o.OnCancel()
	}
}

func (l *List) chip(i int) {
	l.o.Chip = i
	if l.o.OnChip != nil {
		l.o.OnChip(i)
	}
}

func (l *List) toggle() {
	l.settle()
	if l.Len() == 0 {
		return
	}
	it := l.item(l.at)
	it.On = !it.On
	if l.o.OnToggle != nil {
		l.o.OnToggle(it.ID, it.On)
	}
}

// edit gives an event to the search.
func (l *List) edit(ev key.Event) {
	if l.o.NoSearch {
		return
	}
	before := l.query.text()
	if !l.query.handle(l.env.Keys, ev) || l.query.text() == before {
		return
	}
	keep := ""
	if l.query.text() == "" {
		keep = l.Selected() // it is seen among its neighbours then
	}
	l.queried(keep)
}

func (l *List) queried(keep string) {
	l.search(keep)
	if l.o.OnQuery != nil {
		l.o.OnQuery(l.query.text())
	}
}
