package viewer

import (
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/prose"
)

// Handle is [pane.Pane]'s.
func (v *Viewer) Handle(ev key.Event) {
	if v.closed {
		return
	}
	v.cache.begin()
	switch ev := ev.(type) {
	case key.Press:
		v.note = ""
		if v.search.editing {
			v.edit(ev)
		} else {
			v.press(ev)
		}
	case key.Paste:
		if v.search.editing {
			v.write(prose.Inline(ev.Text))
		}
	case key.Click:
		v.click(ev.Y)
	}
	v.cache.trim()
}

// press does what a key means to the reader.
func (v *Viewer) press(p key.Press) {
	action, _ := v.env.Keys.Lookup(key.Select, p.Key)
	if expand, _ := v.env.Keys.Lookup(key.App, p.Key); expand == key.ExpandTools {
		action = key.SelectConfirm
	}
	if action == key.SelectCancel && p.Key == "esc" && v.search.query != "" {
		v.forget()
		return
	}
	if action == key.SelectCancel || p.Key == "q" {
		v.leave()
		return
	}
	if p.Key == "/" {
		v.search.stop()
		v.search = search{editing: true, from: v.cur}
		return
	}
	if !v.settle() {
		return
	}
	v.search.landed = true // who moves is not taken elsewhere by a hit that comes late
	if !v.scroll(action, p.Key) {
		v.act(action, p.Key)
	}
}

// click makes a row of the screen the current one, and does what Enter does where it was that
// already. The screen stays as it is, so that a second click meets the same row.
func (v *Viewer) click(row int) {
	if v.search.editing {
		v.search.editing = false
		if v.search.query == "" {
			v.forget()
		}
	}
	if row < 0 || row >= v.height || !v.settle() {
		return
	}
	top := v.top()
	at, n := v.walk(top, row)
	if n < row { // below the end
		return
	}
	v.note, v.search.landed = "", true
	if at == v.cur {
		v.turn(at.item)
	}
	v.cur, v.hold = at, &top
}

// wheel is how many rows one click of a mouse's wheel moves.
const wheel = 3

// scroll does keys that move.
func (v *Viewer) scroll(action key.Action, k key.Key) bool {
	switch {
	case action == key.SelectUp, k == "k":
		v.release()
		v.cur, _ = v.walk(v.cur, -1)
	case action == key.SelectDown, k == "j":
		v.release()
		v.cur, _ = v.walk(v.cur, 1)
	case k == "wheelup":
		v.release()
		v.cur, _ = v.walk(v.cur, -wheel)
	case k == "wheeldown":
		v.release()
		v.cur, _ = v.walk(v.cur, wheel)
	case action == key.SelectPageUp, k == "b", k == "shift+space":
		v.page(-1)
	case action == key.SelectPageDown, k == "space", k == "f":
		v.page(1)
	case k == "home", k == "g":
		v.cur, v.hold = pos{}, nil
	case k == "end", k == "shift+g":
		v.cur, v.hold = pos{item: len(v.branch.items) - 1, row: end}, nil
	case k == "tab", k == "shift+j":
		v.jump(v.shown(v.cur.item, 1))
	case k == "shift+tab", k == "shift+k":
		v.jump(v.shown(v.cur.item, -1))
	case k == "u":
		if !v.jumpUser(-1) {
			v.note = "This is the first prompt."
		}
	case k == "shift+u":
		if !v.jumpUser(1) {
			v.note = "This is the last prompt."
		}
	case k == "n":
		v.again(1)
	case k == "shift+n":
		v.again(-1)
	default:
		return false
	}
	return true
}

// act does keys that do something with the selected item.
func (v *Viewer) act(action key.Action, k key.Key) {
	switch {
	case action == key.SelectConfirm:
		v.turn(v.cur.item)
	case k == "e":
		v.all = !v.all
		v.hold = nil
		clear(v.turned)
		v.cache.clear()
	case k == "c":
		v.copy(v.text(v.cur.item), true, "Copied.")
	case k == "y":
		block, ok := code(v.text(v.cur.item))
		v.copy(block, ok, "Copied the last block of code.")
	}
}

func (v *Viewer) copy(text string, ok bool, said string) {
	if !ok || text == "" || v.o.OnCopy == nil {
		v.note = "Nothing to copy here."
		return
	}
	v.note = said
	v.o.OnCopy(text)
}

// turn expands an item, or collapses it.
func (v *Viewer) turn(i int) {
	id := v.branch.first(i).id
	if v.turned[id] {
		delete(v.turned, id)
	} else {
		v.turned[id] = true
	}
	v.cache.drop(i)
	v.hold = nil
}

func (v *Viewer) leave() {
	v.Close()
	if v.o.OnClose != nil {
		v.o.OnClose()
	}
}

// forget ends the search; one stays where one is.
func (v *Viewer) forget() {
	v.search.stop()
	v.search = search{}
}

// edit does a key while the query is written.
func (v *Viewer) edit(p key.Press) {
	s := &v.search
	action, _ := v.env.Keys.Lookup(key.Select, p.Key)
	switch {
	case action == key.SelectCancel, p.Key == "backspace" && s.typed == "":
		v.cur = s.from
		v.forget()
	case action == key.SelectConfirm:
		s.editing = false
		if s.query == "" {
			v.forget()
		}
	case action == key.SelectUp:
		v.again(-1)
	case action == key.SelectDown:
		v.again(1)
	case p.Key == "backspace":
		_, n := utf8.DecodeLastRuneInString(s.typed)
		v.retype(s.typed[:len(s.typed)-n])
	case p.Key == "ctrl+u":
		v.retype("")
	case p.Key == "ctrl+w":
		v.retype(strings.TrimRight(s.typed, " ")[:strings.LastIndexByte(strings.TrimRight(s.typed, " "), ' ')+1])
	default:
		v.write(p.Text)
	}
}

// maxQuery is how many bytes of a query are taken; more is dropped.
const maxQuery = 1000

func (v *Viewer) write(text string) {
	if text != "" && len(v.search.typed)+len(text) <= maxQuery {
		v.retype(v.search.typed + text)
	}
}

func (v *Viewer) retype(text string) {
	v.search.typed = text
	v.cur, v.hold = v.search.from, nil
	v.seek()
}
