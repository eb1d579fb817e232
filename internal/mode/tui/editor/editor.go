// Package editor is the prompt people write in: a text of several lines with a
// cursor, undo, a kill ring, history, folded pastes and completions.
//
// It is a model: it reads no terminal and no file, starts no goroutine and knows
// no time. The face hands it events ([Editor.Handle]) and draws what
// [Editor.View] gives. An editor belongs to one goroutine.
//
// It promises that a key costs no more in a long text than in a short one, but
// for the line it is in; that what was written can be brought back by undo, a
// submitted prompt excepted; and that the text is valid UTF-8 without control
// characters other than tabs and line ends, whatever it was given.
//
// Files: text.go keeps the lines, wrap.go says how they are cut into rows, and
// undo.go what was changed; the others are what people do with them.
package editor

import (
	"errors"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// MaxText is how many bytes of text and folded pastes an editor takes. What
// would go beyond is refused as a whole.
const MaxText = 128 << 20

// ErrFull is what is said of text that was refused.
var ErrFull = errors.New("the prompt is full (128 MB): this text was not taken")

// Options of an [Editor]. All may be left out.
type Options struct {
	// Keys say what keys mean; nil is the defaults.
	Keys *key.Bindings
	// Placeholder is shown while the text is empty.
	Placeholder string
	// Styles decorate what [Editor.View] gives.
	Styles Styles
	// History gives the back-th entry before the present, 1 being the latest, of
	// those that begin with prefix. It is asked for one entry at a time.
	History func(prefix string, back int) (string, bool)
	// Completer proposes how to go on.
	Completer Completer
	// OnSubmit takes a text that was submitted. Without it, [Editor.Handle] leaves
	// submitting to its caller.
	OnSubmit func(text string)
	// OnProblem is told in one line what was not taken.
	OnProblem func(error)
}

// Editor is a text being written. Use [New].
type Editor struct {
	opts    Options
	doc     document
	lay     layout
	cur     pos
	goal    int // the column that up and down return to; -1: the cursor's
	journal journal
	folds   folds
	kills   ring
	browse  browse
	popup   popup
	win     window
}

// New is an empty editor.
func New(o Options) *Editor {
	if o.Keys == nil {
		o.Keys, _ = key.NewBindings(key.Overrides{})
	}
	e := &Editor{opts: o, doc: newDocument(), goal: -1, win: window{height: 1}}
	e.lay = layout{width: 80, label: e.folds.label}
	return e
}

// Rebind changes what keys mean to an editor.
func Rebind(e *Editor, keys *key.Bindings) { e.opts.Keys = keys }

// Text is the whole text, with folded pastes in full.
func (e *Editor) Text() string {
	return e.folds.expand(e.doc.slice(pos{}, e.doc.end()))
}

// Empty reports whether nothing has been written.
func (e *Editor) Empty() bool { return e.doc.size == 0 }

// Line is the text of the line the cursor is in, with folded pastes in full.
func (e *Editor) Line() string {
	return e.folds.expand(string(e.doc.at(e.cur.line).s))
}

// Cursor is the cursor's offset in bytes in [Editor.Text].
func (e *Editor) Cursor() int {
	return len(e.folds.expand(e.doc.slice(pos{}, e.cur)))
}

// Insert puts text at the cursor, as if it were typed at once.
func (e *Editor) Insert(text string) error {
	e.popup.close()
	return e.insert(kindOther, clean(text))
}

// SetText replaces the whole text; the cursor goes to its end. It can be undone.
func (e *Editor) SetText(text string) error {
	return e.setText(kindOther, clean(text))
}

func (e *Editor) setText(k kind, text string) error {
	end := e.doc.end()
	if e.folds.size+len(text) > MaxText {
		return ErrFull
	}
	e.change(k, pos{}, end, text)
	e.popup.close()
	return nil
}

// Submit takes the text out of the editor, folded pastes in full, and forgets
// what could be undone. It is false, and nothing happens, while there is nothing
// but white space.
func (e *Editor) Submit() (string, bool) {
	text := e.Text()
	if strings.TrimSpace(text) == "" {
		return "", false
	}
	for i, s := range e.kills.entries {
		e.kills.entries[i] = e.folds.expand(s)
	}
	e.doc, e.cur, e.goal = newDocument(), pos{}, -1
	e.journal, e.browse, e.win.top = journal{}, browse{}, scroll{}
	e.folds.clear()
	e.popup.close()
	return text, true
}

// Handoff is the text for another editor, and Return what came back from it. One
// line end at its end is that editor's and no part of the text. Text that did
// not change leaves everything as it was.
func (e *Editor) Handoff() string { return e.Text() }

// Return: see [Editor.Handoff].
func (e *Editor) Return(text string) error {
	text = strings.TrimSuffix(clean(text), "\n")
	if before := e.Text(); text == before || text+"\n" == before {
		return nil
	}
	return e.setText(kindOther, text)
}

// clean makes text fit to be in a document.
func clean(text string) string {
	text = key.CleanText(text)
	if strings.Contains(text, foldStart[:2]) { // both marks begin alike
		text = strings.NewReplacer(foldStart, "\uFFFD", foldEnd, "\uFFFD").Replace(text)
	}
	return text
}

func (e *Editor) insert(k kind, text string) error {
	if text == "" {
		return nil
	}
	if e.doc.size+e.folds.size+len(text) > MaxText {
		return ErrFull
	}
	e.change(k, e.cur, e.cur, text)
	return nil
}

// change replaces the text between two places, remembers how to undo it and puts
// the cursor behind what was inserted. All changes but undo itself come here.
func (e *Editor) change(k kind, from, to pos, text string) string {
	before := e.cur
	removed := e.doc.replace(from, to, text, &e.lay)
	if removed == "" && text == "" {
		return ""
	}
	e.place(from.advance(text))
	e.journal.add(change{kind: k, at: from, removed: removed, inserted: text, before: before, after: e.cur})
	if k != kindHistory {
		e.browse = browse{}
	}
	e.kills.yanked, e.kills.chain = false, false
	return removed
}

// place puts the cursor at p, or behind the cluster that p is within: text that
// was put together may have become one character.
func (e *Editor) place(p pos) {
	_, p.col = e.lay.boundaries(e.doc.at(p.line), p.col)
	e.cur, e.goal = p, -1
}

// moveTo is a motion: what comes next is a step of its own for undo and kills.
func (e *Editor) moveTo(p pos) {
	e.cur, e.goal = p, -1
	e.rest()
}

// rest ends what consecutive keys do together.
func (e *Editor) rest() {
	e.journal.open = false
	e.kills.yanked, e.kills.chain = false, false
}

func (e *Editor) problem(err error) {
	if err != nil && e.opts.OnProblem != nil {
		e.opts.OnProblem(err)
	}
}
