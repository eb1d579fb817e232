package editor

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxItems bounds the completions of one answer; more are left out.
	maxItems = 1000
	// maxQuery is how much of the line before the cursor a completer is shown.
	maxQuery = 4096
)

// A Completer proposes how the text at the cursor goes on: files after "@",
// commands after "/", paths.
type Completer interface {
	// Complete is asked after each change that typing makes. It answers at once
	// (true), with no items where there is nothing to propose, or hands its answer
	// to [Editor.Completed] later (false), on the editor's goroutine. It must not
	// take long: the key waits.
	Complete(Query) (Completion, bool)
}

// A Query asks for completions.
type Query struct {
	// Generation tells this query from all others; an answer that comes later
	// names it.
	Generation uint64
	// Line is the text of the line before the cursor, at most its last 4 KB.
	// Folded pastes are in it as U+FFFC.
	Line string
	// First says that the line is the first of the text.
	First bool
	// Asked says that a person asked, rather than typed on.
	Asked bool
}

// A Completion is the answer to a [Query].
type Completion struct {
	// Start is the offset in Query.Line of what the items replace, up to the
	// cursor.
	Start int
	Items []Item
}

// An Item is one way to go on.
type Item struct {
	Label  string // what is shown
	Detail string // shown beside it; may be empty
	Insert string // what replaces the text; Label when empty
	// More says that completion goes on from here, as after a folder.
	More bool
}

// A Popup is what is proposed at the moment.
type Popup struct {
	Items    []Item
	Selected int
}

// popup is the state of completion. Its generation counts changes, so that an
// answer to an older question is known.
type popup struct {
	generation uint64
	asked      bool // the query under way was asked for
	items      []Item
	selected   int
	start      pos
}

// Popup is what is proposed; false when nothing is. The items must not be changed.
func (e *Editor) Popup() (Popup, bool) {
	return Popup{Items: e.popup.items, Selected: e.popup.selected}, len(e.popup.items) > 0
}

// Completed takes the answer to an earlier query. It is false, and the answer is
// dropped, when the text or the cursor has changed since.
func (e *Editor) Completed(generation uint64, c Completion) bool {
	if generation != e.popup.generation {
		return false
	}
	e.propose(c)
	return true
}

// Refresh asks an editor's completer once more, because it knows more than when it was asked.
func Refresh(e *Editor) { e.ask(false) }

// ask asks the completer, after a change or because a person wants it.
func (e *Editor) ask(asked bool) bool {
	e.popup.generation++
	if e.opts.Completer == nil {
		return false
	}
	line, cut := e.doc.before(e.cur)
	if line == "" {
		e.popup.close()
		return false
	}
	if e.popup.start.line != e.cur.line || e.cur.before(e.popup.start) {
		e.popup.items, e.popup.selected = nil, 0 // typing has left what they were for
	}
	e.popup.asked = asked
	c, now := e.opts.Completer.Complete(Query{
		Generation: e.popup.generation, Line: line, First: e.cur.line == 0 && cut == 0, Asked: asked,
	})
	if now {
		e.propose(c)
	}
	return true
}

// fold is how a folded paste looks to a completer: the object replacement
// character.
const fold = "\uFFFC"

// before is the text of the line before a place and where it begins.
func (d *document) before(p pos) (string, int) {
	s := d.at(p.line).s[:p.col]
	cut := max(0, len(s)-maxQuery)
	for cut > 0 && cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	var out []byte
	for i := cut; i < len(s); {
		n := clusterLen(s[i:])
		if _, ok := foldID(s[i : i+n]); ok {
			// As long as the paste's cluster is, so that offsets mean the same.
			out = append(out, fold...)
			for range n - len(fold) {
				out = append(out, ' ')
			}
		} else {
			out = append(out, s[i:i+n]...)
		}
		i += n
	}
	return string(out), cut
}

// propose shows what a completer answered to the query of now.
func (e *Editor) propose(c Completion) {
	line, cut := e.doc.before(e.cur)
	if len(c.Items) == 0 || c.Start < 0 || c.Start > len(line) {
		e.popup.items, e.popup.selected = nil, 0
		return
	}
	_, at := e.lay.boundaries(e.doc.at(e.cur.line), cut+c.Start)
	e.popup.start = pos{e.cur.line, at}
	e.popup.items = c.Items[:min(len(c.Items), maxItems)]
	e.popup.selected = 0
	if e.popup.asked && len(c.Items) == 1 {
		e.Accept()
	}
}

// Select moves the selection by n items; it goes round.
func (e *Editor) Select(n int) {
	if size := len(e.popup.items); size > 0 {
		e.popup.selected = ((e.popup.selected+n)%size + size) % size
	}
}

// Written reports whether one of the proposals stands there already, written out, and no
// other was chosen: taking it would add a space or a slash at most.
func (e *Editor) Written() bool {
	from := e.popup.start
	if len(e.popup.items) == 0 || e.popup.selected > 0 || from.line != e.cur.line || e.cur.before(from) {
		return false
	}
	there := strings.TrimRight(string(e.doc.at(e.cur.line).s[from.col:e.cur.col]), "/ ")
	return slices.ContainsFunc(e.popup.items, func(it Item) bool {
		return strings.TrimRight(cmp.Or(it.Insert, it.Label), "/ ") == there
	})
}

// Accept puts the selected item into the text. It is false when nothing is
// proposed or there is no room.
func (e *Editor) Accept() bool {
	if len(e.popup.items) == 0 {
		return false
	}
	item := e.popup.items[e.popup.selected]
	from := e.popup.start
	e.popup.close()
	text := cmp.Or(item.Insert, item.Label)
	if from.line != e.cur.line || e.cur.before(from) || e.doc.size+e.folds.size+len(text) > MaxText {
		return false
	}
	e.change(kindOther, from, e.cur, clean(text))
	if item.More {
		e.ask(false)
	}
	return true
}

// Dismiss closes the popup; answers under way are dropped.
func (e *Editor) Dismiss() bool {
	open := len(e.popup.items) > 0
	e.popup.close()
	return open
}

// close proposes nothing any more; answers under way are dropped.
func (p *popup) close() { *p = popup{generation: p.generation + 1} }
