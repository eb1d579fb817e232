package tree

import (
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// Handle is [pane.Pane]'s.
func (t *Tree) Handle(ev key.Event) {
	if t.closed {
		return
	}
	if t.form.pane != nil {
		t.form.pane.Handle(ev)
		return
	}
	switch ev := ev.(type) {
	case key.Press:
		t.note = ""
		t.press(ev)
	case key.Paste:
		t.typed(prose.Inline(ev.Text))
	case key.Click:
		t.click(ev.In(t.head).Y)
	}
}

// Hover is [pane.Hovered]'s.
func (t *Tree) Hover(h key.Hover) (changed bool) {
	was := t.hover
	t.hover = 0
	if y := h.Y - t.head; t.form.pane == nil && y >= 0 && y < len(t.drawn) {
		t.hover = y + 1
	}
	return t.hover != was
}

// click selects the entry in a row that was drawn, and goes there if it was selected.
func (t *Tree) click(row int) {
	if row < 0 || row >= len(t.drawn) {
		return
	}
	t.note = ""
	if at := t.drawn[row]; at == t.cur {
		t.confirm()
	} else {
		t.cur = at
	}
}

func (t *Tree) press(p key.Press) {
	action, _ := t.env.Keys.Lookup(key.Tree, p.Key)
	if f, ok := filterOf(action, t.filter); ok {
		t.setFilter(f)
		return
	}
	switch {
	case action == key.SelectCancel && p.Key != "ctrl+c" && t.search.query != "":
		t.retype("")
	case action == key.SelectCancel:
		t.cancel()
	case action == key.SelectConfirm:
		t.confirm()
	case action == key.TreeLabel:
		t.askName()
	case p.Key == "backspace":
		_, n := utf8.DecodeLastRuneInString(t.search.query)
		t.retype(t.search.query[:len(t.search.query)-n])
	case t.move(action, p.Key):
	default:
		t.typed(p.Text)
	}
}

// wheel is how many rows one click of a mouse's wheel moves.
const wheel = 3

// move does keys that move the selection.
func (t *Tree) move(action key.Action, k key.Key) bool {
	last := len(t.layout.rows) - 1
	switch {
	case action == key.SelectUp:
		t.wrap(-1)
	case action == key.SelectDown:
		t.wrap(1)
	case action == key.SelectPageUp, k == "left":
		t.cur, _ = t.step(t.cur, -t.window)
	case action == key.SelectPageDown, k == "right":
		t.cur, _ = t.step(t.cur, t.window)
	case k == "wheelup", k == "wheeldown":
		by := wheel
		if k == "wheelup" {
			by = -wheel
		}
		t.cur, _ = t.step(t.cur, by)
	case k == "home" && last >= 0:
		t.cur = max(0, t.visible(0, 1))
	case k == "end" && last >= 0:
		t.cur = max(0, t.visible(last, -1))
	default:
		return false
	}
	return true
}

// wrap moves by a row; behind the last one comes the first.
func (t *Tree) wrap(dir int) {
	if len(t.layout.rows) == 0 {
		return
	}
	at, n := t.step(t.cur, dir)
	if n == 0 && dir > 0 {
		at = t.visible(0, 1)
	} else if n == 0 {
		at = t.visible(len(t.layout.rows)-1, -1)
	}
	if at >= 0 {
		t.cur = at
	}
}

func (t *Tree) setFilter(f Filter) {
	node := t.node()
	t.filter = f
	t.arrange(node)
}

// settle goes on to a row that is shown where the selected one is left out.
func (t *Tree) settle() {
	if t.cur < 0 || t.cur >= len(t.layout.rows) || !t.quiet(t.cur) {
		return
	}
	if at := t.visible(t.cur, -1); at >= 0 {
		t.cur = at
	} else if at := t.visible(t.cur, 1); at >= 0 {
		t.cur = at
	}
}

// maxQuery is how many bytes of a query are taken; more is dropped.
const maxQuery = 1000

// typed adds to the query.
func (t *Tree) typed(text string) {
	if text != "" && len(t.search.query)+len(text) <= maxQuery {
		t.retype(t.search.query + text)
	}
}

func (t *Tree) retype(query string) {
	if query == t.search.query {
		return
	}
	node := t.node()
	if node < 0 {
		node = t.leaf
	}
	t.search.query = query
	t.seek()
	t.arrange(node)
}

func (t *Tree) cancel() {
	t.Close()
	if t.o.OnCancel != nil {
		t.o.OnCancel()
	}
}

// confirm goes to the selected point, or asks first whether a summary is wanted.
func (t *Tree) confirm() {
	node := t.node()
	if node < 0 {
		return
	}
	target := t.target(node)
	switch {
	case node == target && node == t.here():
		t.note = "You are already at this point."
	case t.o.AskSummary && t.leaves(target):
		t.askSummary(node, "no")
	default:
		t.choose(node, session.Navigation{})
	}
}

// target is where a move to a node leads: before what would be said again.
func (t *Tree) target(node int) int {
	n := &t.nodes[node]
	if n.Role == llm.RoleUser || n.Type == transcript.TypeCustomMessage {
		return n.Parent
	}
	return node
}

// leaves reports whether a move to a node leaves something behind.
func (t *Tree) leaves(target int) bool {
	here := t.here()
	for at := target; at >= here; at = t.nodes[at].Parent {
		if at == here {
			return false
		}
		if at < 0 {
			break
		}
	}
	return true
}

func (t *Tree) choose(node int, o session.Navigation) {
	t.Close()
	if t.o.OnSelect != nil {
		t.o.OnSelect(t.nodes[node].ID, o)
	}
}
