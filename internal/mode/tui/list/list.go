// Package list is the list that all selectors of the terminal's face are made of,
// and the one-line question that goes with it.
//
// A [List] shows rows with marks, details and headings, moves by the bindings of
// [key.Select], and searches in what is typed. [Choice] is a short list without a
// search; [Input] asks for one line, which may be a secret.
//
// It promises that drawing and moving cost what is shown, not what there is, and that
// a key never waits for a search: the search of a long list runs beside the face, and
// the rows change when it is done. Only a key that acts on the selected row waits for
// it, so that Enter means what was typed before. Text of items is data: it is made
// harmless when it is drawn.
//
// A click selects a row, and chooses the one that is selected.
//
// Files: list.go is what is told and asked, handle.go the keys, match.go how a text
// fits words, search.go how many are searched, draw.go and row.go the looks, seen.go what
// can be clicked on, field.go the line that is written in.
package list

import (
	"slices"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// Item is one row that can be chosen.
type Item struct {
	ID     string // given back when it is chosen; unique in the list
	Label  string // plain text
	Detail string // plain text, muted, behind the label; cut first where there is little room
	Group  string // a heading stands above the first of neighbouring items with the same group
	Search string // words that are searched beside Label, Detail and Group
	Mark   string // one or two cells before the label, such as a bullet for what is in use
	On     bool   // of a list with Toggle: is checked
	Dim    bool   // is drawn as what cannot be used yet; it can be chosen all the same
	// Line replaces Label and Detail in drawing, for rows with looks of their own.
	Line styled.Line
}

// Options of a list.
type Options struct {
	Title string
	// Items may be as many as one likes. They must not be changed afterwards.
	Items []Item
	// Selected is the ID of the item to begin at.
	Selected string
	// Query is what the search begins with.
	Query string
	// Empty is said where there are no items, and NoMatch where a search finds none.
	Empty, NoMatch string
	// Hint is the last row: what keys do beyond moving, choosing and leaving.
	Hint string
	// Chips are views of the same things, shown behind the title, and Chip the one to
	// begin with. Tab goes to the next; OnChip then sets its items.
	Chips []string
	Chip  int
	// Rows is how many rows of items are shown at most; 0 is as many as there is room.
	Rows int
	// NoSearch leaves letters to OnKey; otherwise typing searches.
	NoSearch bool
	// Filter ranks the items for a query, best first; nil is fuzzy by words. It is
	// called while a key waits.
	Filter func(query string, items []Item) []int
	// Preview gives at most height rows about the selected item, none wider than
	// width. It stands to the right of the list where there is room, else below. It is
	// called for each frame.
	Preview func(id string, width, height int) []string
	// Toggle makes a list of check boxes: Space toggles, and OnToggle is told. Enter
	// toggles too where OnChoose is nil.
	Toggle bool

	OnChoose func(id string)                   // Enter
	OnCancel func()                            // Esc (with a search: the first one clears it), Ctrl+C
	OnMove   func(id string)                   // another item is selected: live previews
	OnToggle func(id string, on bool)          // of Toggle
	OnQuery  func(query string)                // the search was changed by a person
	OnChip   func(i int)                       // another chip was chosen
	OnKey    func(p key.Press, id string) bool // keys that mean nothing to the list itself; asked before search
}

// List is a pane with rows to choose from.
type List struct {
	env   *pane.Env
	o     Options
	items []Item
	query *field

	shown []int32 // of a search: the items it found, best first; nil is all
	at    int     // the selected one of those that are shown
	top   int     // the first that is drawn
	page  int     // rows of items in the last frame
	told  string  // the selected ID that the owner knows of
	seen  seen    // what can be clicked on
	hover *Item   // what the mouse points at

	cols columns
	find finder
}

var _ pane.Hovered = (*List)(nil)

// New makes a list.
func New(env *pane.Env, o Options) *List {
	l := &List{env: env, o: o, query: newField(maxQuery), page: 10, cols: columns{env: env, boxes: o.Toggle}}
	l.query.set(o.Query)
	l.adopt(o.Items)
	l.search("")
	if o.Selected != "" {
		l.SetSelected(o.Selected)
	}
	l.told = l.Selected()
	return l
}

// Choice makes a short list without a search, as for a question with a few answers.
func Choice(env *pane.Env, o Options) *List {
	o.NoSearch = true
	return New(env, o)
}

// adopt takes the items and forgets what was known of the ones before.
func (l *List) adopt(items []Item) {
	if l.o.Toggle {
		items = slices.Clone(items) // their check boxes change here
	}
	l.o.Items = nil
	l.items = items
	l.find.reset(items)
	l.shown = nil
	l.cols.measure(items)
}

// SetItems replaces the items; the selection stays at its ID, or where it was. The
// items must not be changed afterwards. It costs time in proportion to their number,
// and OnMove is not called, nor by the other methods that set something.
func (l *List) SetItems(items []Item) {
	id, at := l.Selected(), l.at
	l.adopt(items)
	l.search(id)
	if !l.SetSelected(id) {
		l.at = at
		l.clamp()
	}
	l.told = l.Selected()
}

// SetSelected selects the item with that ID; false where it is not shown.
func (l *List) SetSelected(id string) bool {
	for i := range l.Len() {
		if l.item(i).ID == id {
			l.at, l.told = i, id
			return true
		}
	}
	return false
}

// Selected is the ID of the selected item, "" where there is none.
func (l *List) Selected() string {
	if l.at >= l.Len() {
		return ""
	}
	return l.item(l.at).ID
}

// Len is how many items are shown: all, or those that the search has found so far.
func (l *List) Len() int {
	if l.shown != nil {
		return len(l.shown)
	}
	return len(l.items)
}

// Query is what is searched.
func (l *List) Query() string { return l.query.text() }

// SetQuery searches for something else.
func (l *List) SetQuery(q string) {
	l.query.set(q)
	l.search(l.Selected())
	l.told = l.Selected()
}

// SetTitle changes the title.
func (l *List) SetTitle(s string) { l.o.Title = s }

// SetHint changes the last row.
func (l *List) SetHint(s string) { l.o.Hint = s }

// On lists the IDs of the items whose boxes are checked, in the order of the items.
func (l *List) On() []string {
	var ids []string
	for i := range l.items {
		if l.items[i].On {
			ids = append(ids, l.items[i].ID)
		}
	}
	return ids
}

// item is the i-th of those that are shown.
func (l *List) item(i int) *Item {
	if l.shown != nil {
		return &l.items[l.shown[i]]
	}
	return &l.items[i]
}

func (l *List) clamp() { l.at = max(0, min(l.at, l.Len()-1)) }

// SetChips replaces the chips, as for other counts in them.
func (l *List) SetChips(chips []string, active int) { l.o.Chips, l.o.Chip = chips, active }

// SetEmpty changes what is said where there are no items.
func (l *List) SetEmpty(s string) { l.o.Empty = s }
