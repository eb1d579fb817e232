// Package settings is the pane in which people read and change config.yml.
//
// A [Pane] shows the settings of one group at a time, each with its value and, where
// it is not the default, where that comes from. Typing searches all groups. Enter
// changes the selected setting: a switch goes over, a choice opens a list, everything
// else a line to write in. Backspace or Delete gives the default back; where that
// would drop a list it asks for a second press.
//
// The pane keeps no values of its own: it asks for the settings as they are, and tells
// its owner what to write. What the owner refuses is shown in one line and nothing
// changes. While a list of choices is open the owner hears of each that is selected, so
// that themes and signs can be seen before they are chosen; leaving the list tells the
// value from before.
//
// A key costs what is shown, and at most one pass over the settings, of which there
// are some eighty. Files: rows.go draws rows, tabs.go the frame around them, search.go
// ranks, change.go is what Enter and Delete do.
package settings

import (
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// Options of a Pane. All functions are called on the face's goroutine.
type Options struct {
	// Config gives the settings as they are now. It is asked after each change.
	Config func() *config.Config
	// Selected is the key of the setting to begin at.
	Selected string
	// Choices are values for settings whose choices are not fixed, such as the names
	// of themes, by key.
	Choices map[string][]string
	// Open shows a picker of the face's own for a key, such as for modelRoles; false
	// where there is none.
	Open func(key string) bool

	// OnSet writes a value, and OnUnset goes back to the default. The key waits for
	// them: a few milliseconds, as of config.Set.
	OnSet   func(key string, value any) error
	OnUnset func(key string) error
	// OnPreview shows what a value would look like. What was there before comes
	// again when it is not chosen.
	OnPreview func(key string, value any)
	OnClose   func()
}

// Pane shows and changes settings.
type Pane struct {
	env *pane.Env
	o   Options

	all    []entry
	byKey  map[string]*entry
	config *config.Config
	list   *list.List
	sub    pane.Pane // opened by Enter, or nil
	tab    int       // of config.Groups
	hits   []int     // of the search, by group; nil without one
	best   string    // key of the best hit

	note    string // what happened last, until the next key
	problem bool   // the note says what went wrong
	sure    string // key whose list goes with one more Delete
	wiped   bool   // the last key was a Backspace in the search

	head   int // rows above the list
	width  int // the rows were made for
	styles *theme.Styles
}

var _ pane.Full = (*Pane)(nil)

// New makes the pane.
func New(env *pane.Env, o Options) *Pane {
	p := &Pane{env: env, o: o, config: o.Config()}
	p.all, p.byKey = corpus()
	if e := p.byKey[o.Selected]; e != nil && p.shown(e.Setting) {
		p.tab = e.group
	}
	p.list = list.New(env, list.Options{
		Items: p.items(), Selected: o.Selected, Filter: p.filter,
		Empty: "No settings here.", NoMatch: "No setting matches. Esc clears the search.",
		OnChoose: p.change, OnCancel: o.OnClose, OnQuery: p.queried, OnKey: p.key, OnMove: p.moved,
	})
	return p
}

// Fullscreen implements [pane.Full].
func (p *Pane) Fullscreen() {}

// Refresh takes up settings that were changed elsewhere.
func (p *Pane) Refresh() {
	p.config = p.o.Config()
	p.list.SetItems(p.items())
}

// Handle is [pane.Pane]'s.
func (p *Pane) Handle(ev key.Event) {
	var a key.Action
	switch given := ev.(type) {
	case key.Press:
		a, _ = p.env.Keys.Lookup(key.Editor, given.Key)
	case key.Paste:
	case key.Click:
		if p.sub == nil && p.head > 0 && given.Y == 0 {
			p.clickTab(given.X)
			return
		}
		ev = given.In(p.head)
	default:
		return
	}
	p.note, p.problem = "", false
	if p.sub != nil {
		p.sub.Handle(ev)
		return
	}
	searched, sure := p.list.Query() != "", p.sure
	p.list.Handle(ev)
	if p.sure == sure { // it was another key than the one that asks for certainty
		p.sure = ""
	}
	switch a {
	case key.DeleteBackward, key.DeleteWordBackward, key.DeleteToLineStart:
		p.wiped = p.wiped || searched
	default:
		p.wiped = false
	}
}

// Hover is [pane.Hovered]'s.
func (p *Pane) Hover(h key.Hover) bool {
	if sub, ok := p.sub.(pane.Hovered); ok {
		return sub.Hover(h.In(p.head))
	}
	return p.sub == nil && p.list.Hover(h.In(p.head))
}

// Draw is [pane.Pane]'s. The frame has the same height whatever is shown in it.
func (p *Pane) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	if p.width != width || p.styles != p.env.Styles {
		p.width, p.styles = width, p.env.Styles
		p.list.SetItems(p.items())
	}
	head, foot := p.frame(width, height)
	p.head = len(head)
	body := height - len(head) - len(foot)
	var rows []string
	var cursor screen.Cursor
	if p.sub != nil {
		rows, cursor = p.sub.Draw(width, body)
	} else {
		rows, cursor = p.list.Draw(width, body)
	}
	rows = rows[:min(len(rows), body)]
	out := append(make([]string, 0, height), head...)
	out = append(out, rows...)
	for range body - len(rows) {
		out = append(out, "")
	}
	cursor.Y += len(head)
	return append(out, foot...), cursor
}

// key has what means nothing to the list.
func (p *Pane) key(k key.Press, id string) bool {
	a, _ := p.env.Keys.Lookup(key.Editor, k.Key)
	empty := p.list.Query() == ""
	switch {
	case k.Key == "tab" || empty && k.Key == "right":
		p.turn(1)
	case k.Key == "shift+tab" || empty && k.Key == "left":
		p.turn(-1)
	case empty && a == key.DeleteBackward && p.wiped:
		// The search is wiped away by a key that repeats; it must not go on with
		// settings.
	case empty && (a == key.DeleteBackward || a == key.DeleteForward) && id != "":
		p.reset(id)
	case empty && k.Key == "space" && id != "":
		if e := p.byKey[id]; e != nil && e.Type == config.Bool {
			p.change(id)
		}
	default:
		return false
	}
	return true
}

// turn goes to another group; in a search, to the next one with a hit.
func (p *Pane) turn(by int) {
	groups := len(config.Groups())
	for i := 1; i <= groups; i++ {
		if p.open((p.tab + i*by + i*groups) % groups) {
			return
		}
	}
}

// open goes to a group; false where a search found nothing in it.
func (p *Pane) open(group int) bool {
	switch {
	case p.hits == nil:
		p.tab = group
		p.list.SetItems(p.items())
		p.list.SetSelected(p.first())
	case p.hits[group] > 0:
		p.tab = group
		p.list.SetSelected(p.firstHit(group))
	default:
		return false
	}
	return true
}

// clickTab goes to the group in a column of the first row.
func (p *Pane) clickTab(x int) {
	line, first := p.tabs(p.width)
	if i := line.At(x); i >= 0 {
		p.open(first + i)
	}
}

// queried takes up that the search has begun, goes on or has ended. A search that ended
// leaves one in the group of what was selected.
func (p *Pane) queried(query string) {
	searching := strings.TrimSpace(query) != ""
	switch id := p.list.Selected(); {
	case searching && p.hits == nil:
		p.hits = make([]int, len(config.Groups()))
		p.list.SetItems(p.items())
		p.list.SetSelected(p.best)
	case !searching && p.hits != nil:
		p.hits = nil
		if e := p.byKey[id]; e != nil {
			p.tab = e.group
		}
		p.list.SetItems(p.items())
		p.list.SetSelected(id)
	}
	p.moved(p.list.Selected())
}

// moved makes the group of what a search has selected the present one.
func (p *Pane) moved(id string) {
	if e := p.byKey[id]; e != nil && p.hits != nil {
		p.tab = e.group
	}
}
