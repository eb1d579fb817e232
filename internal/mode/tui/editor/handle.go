package editor

import (
	"fmt"

	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// Handle does what an event means here: a key of the contexts Editor and, while
// completions are shown, Select; text; a paste. It is false for what is not the
// editor's, or does nothing in its present state: the caller then looks for the
// key in [key.App].
func (e *Editor) Handle(ev key.Event) bool {
	switch ev := ev.(type) {
	case key.Press:
		return e.press(ev)
	case key.Paste:
		e.problem(e.Paste(ev.Text))
		if ev.Dropped > 0 {
			e.problem(fmt.Errorf("the paste was cut: %d bytes beyond 32 MB were dropped", ev.Dropped))
		}
		return true
	}
	return false
}

func (e *Editor) press(p key.Press) bool {
	if len(e.popup.items) > 0 {
		if a, ok := e.opts.Keys.Lookup(key.Select, p.Key); ok && e.pick(a) {
			return true
		}
	}
	if a, ok := e.opts.Keys.Lookup(key.Editor, p.Key); ok {
		return e.Do(a)
	}
	if p.Text == "" {
		return false
	}
	e.problem(e.insert(kindType, clean(p.Text)))
	e.ask(false)
	return true
}

// pick does what a key of lists does to the popup.
func (e *Editor) pick(a key.Action) bool {
	switch a {
	case key.SelectUp:
		e.Select(-1)
	case key.SelectDown:
		e.Select(1)
	case key.SelectConfirm:
		return e.Accept()
	case key.SelectCancel:
		return e.Dismiss()
	default:
		return false
	}
	return true
}

// Do does an action of the context Editor. It is false where the action is not
// the editor's or there was nothing to do.
func (e *Editor) Do(a key.Action) bool {
	switch a {
	case key.Complete:
		if len(e.popup.items) > 0 {
			return e.Accept()
		}
		return e.ask(true)
	case key.DeleteBackward, key.DeleteForward, key.DeleteWordBackward:
		if !e.delete(a) {
			return false
		}
		e.ask(false)
		return true
	case key.Submit:
		return e.submit()
	}
	done := e.move(a) || e.delete(a) || e.restore(a)
	if done {
		e.popup.close()
	}
	return done
}

func (e *Editor) move(a key.Action) bool {
	to := e.cur
	switch a {
	case key.CursorLeft:
		to = e.doc.left(to, &e.lay)
	case key.CursorRight:
		to = e.doc.right(to)
	case key.CursorWordLeft:
		to = e.doc.wordLeft(to, &e.lay)
	case key.CursorWordRight:
		to = e.doc.wordRight(to)
	case key.CursorLineStart:
		to.col = 0
	case key.CursorLineEnd:
		to.col = len(e.doc.at(to.line).s)
	case key.CursorTextStart:
		to = pos{}
	case key.CursorTextEnd:
		to = e.doc.end()
	case key.CursorUp:
		return e.up()
	case key.CursorDown:
		return e.down()
	case key.EditorPageUp:
		return e.moveRows(-max(1, e.win.height-1))
	case key.EditorPageDown:
		return e.moveRows(max(1, e.win.height-1))
	default:
		return false
	}
	e.moveTo(to)
	return true
}

// up goes one row up; from the first row it goes to history, and where there is
// none to the start of the text.
func (e *Editor) up() bool {
	if e.moveRows(-1) || e.older() {
		return true
	}
	if e.cur == (pos{}) {
		return false
	}
	e.moveTo(pos{})
	return true
}

// down is up's mirror image.
func (e *Editor) down() bool {
	if e.moveRows(1) || e.newer() {
		return true
	}
	if e.cur == e.doc.end() {
		return false
	}
	e.moveTo(e.doc.end())
	return true
}

func (e *Editor) delete(a key.Action) bool {
	switch a {
	case key.DeleteBackward:
		return e.remove(e.doc.left(e.cur, &e.lay), false)
	case key.DeleteForward:
		return e.remove(e.doc.right(e.cur), false)
	case key.DeleteWordBackward:
		return e.remove(e.doc.wordLeft(e.cur, &e.lay), true)
	case key.DeleteWordForward:
		return e.remove(e.doc.wordRight(e.cur), true)
	case key.DeleteToLineStart:
		if e.cur.col == 0 {
			return e.remove(e.doc.left(e.cur, &e.lay), true)
		}
		return e.remove(pos{e.cur.line, 0}, true)
	case key.DeleteToLineEnd:
		if end := len(e.doc.at(e.cur.line).s); e.cur.col < end {
			return e.remove(pos{e.cur.line, end}, true)
		}
		return e.remove(e.doc.right(e.cur), true)
	}
	return false
}

func (e *Editor) restore(a key.Action) bool {
	switch a {
	case key.Undo:
		e.browse = browse{}
		e.rest()
		return e.redone(e.journal.undo())
	case key.Redo:
		e.browse = browse{}
		e.rest()
		return e.redone(e.journal.redo())
	case key.Yank:
		return e.yank()
	case key.YankPop:
		return e.yankPop()
	case key.NewLine:
		err := e.insert(kindType, "\n")
		e.problem(err)
		return err == nil
	}
	return false
}

// submit hands the text over. A backslash before the cursor at the end of a line
// makes a new line instead, for terminals whose Shift+Enter is Enter.
func (e *Editor) submit() bool {
	if l := e.doc.at(e.cur.line).s; len(l) > 0 && e.cur.col == len(l) && l[len(l)-1] == '\\' {
		e.popup.close()
		e.change(kindOther, pos{e.cur.line, e.cur.col - 1}, e.cur, "\n")
		return true
	}
	if e.opts.OnSubmit == nil {
		return false
	}
	text, ok := e.Submit()
	if ok {
		e.opts.OnSubmit(text)
	}
	return true
}
