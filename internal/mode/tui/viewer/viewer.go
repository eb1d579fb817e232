// Package viewer is the full-screen reader of a conversation: everything that was
// said on the way from the beginning to where the session is, to scroll, search,
// unfold and copy.
//
// What is shown are items: a message; an answer together with the results of its
// calls; a divider where the conversation was condensed; the summary of a branch. An
// item is read and drawn when it comes into view, and forgotten when it is far away
// and the kept ones take more than a few megabytes. So opening costs one look at the
// shape of the tree, and scrolling costs what is shown, however long the conversation
// is.
//
// Where one is, is a row of an item. The rows on the screen follow from it alone: it
// stands in the middle, but near the beginning and the end. So n rows down and n rows
// up lead back to the same screen. What is added at the end moves nothing: the screen
// is held then until one scrolls.
//
// The number of items counts those too that turn out to be hidden when they are read:
// messages of programs that are not for people.
//
// A viewer belongs to the face's goroutine. Searching runs in one of its own, which
// ends with the search, with [Viewer.Close], or when the viewer leaves.
package viewer

import (
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/session"
)

// Options of a viewer.
type Options struct {
	Log session.Transcript
	// Labels are the names of tools for people, by their names; others show their own.
	Labels map[string]string
	// Busy reports whether the session works: calls at the end of the log without a
	// result are then shown as running, else as interrupted. nil: it does not.
	Busy    func() bool
	OnCopy  func(text string) // nil: nothing can be copied
	OnClose func()
}

// Viewer is the pane.
type Viewer struct {
	env *pane.Env
	o   Options

	branch branch
	all    bool            // items are expanded, but for those in turned
	turned map[string]bool // by the id of an item's first entry
	cache  cache
	cur    pos
	hold   *pos // the first row on the screen, while what is above and below it grows

	width, height int // of what was drawn last: of the text, and rows of it
	search        search
	note          string // said in the footer until the next key
	closed        bool
}

var _ pane.Full = (*Viewer)(nil)

// New opens the conversation at its end.
func New(env *pane.Env, o Options) *Viewer {
	v := &Viewer{env: env, o: o, turned: map[string]bool{}, width: 80 - gutter, height: 22}
	v.branch = load(o.Log)
	v.cur = pos{item: len(v.branch.items) - 1, row: end}
	return v
}

// Fullscreen implements [pane.Full].
func (v *Viewer) Fullscreen() {}

// Close ends a search that is under way. It may be called more than once.
func (v *Viewer) Close() {
	v.closed = true
	v.search.stop()
}

// Refresh shows what was added to the log since. It costs what is new; only after a
// move in the tree all is looked at again. At the end it stays at the end.
func (v *Viewer) Refresh() {
	follow := v.atEnd()
	var top *pos
	if !follow && len(v.branch.items) > 0 {
		at := v.top()
		top = &at
	}
	before := len(v.branch.items)
	selected := v.selectedID()
	fresh, grown := v.branch.grow(v.o.Log)
	if !grown {
		v.branch = load(v.o.Log)
		v.cache.clear()
		v.cur, top = pos{item: v.branch.find(selected)}, nil
		if v.cur.item < 0 {
			follow = true
		}
	} else {
		for i := max(0, before-1); i < len(v.branch.items); i++ {
			v.cache.drop(i) // what was last may have got results, or space below it
		}
	}
	if v.hold = top; follow {
		v.cur, v.hold = pos{item: len(v.branch.items) - 1, row: end}, nil
	}
	v.searchFresh(fresh, grown)
}

func (v *Viewer) selectedID() string {
	if v.cur.item < 0 || v.cur.item >= len(v.branch.items) {
		return ""
	}
	return v.branch.first(v.cur.item).id
}

// atEnd reports whether the last row is the current one.
func (v *Viewer) atEnd() bool {
	if !v.settle() {
		return true
	}
	_, n := v.walk(v.cur, 1)
	return n == 0
}

// gutter is how many cells stand before the text: the bar at what is selected.
const gutter = 2

// Draw is [pane.Pane]'s.
func (v *Viewer) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	v.resize(max(1, width-gutter), max(1, height-1))
	v.cache.begin()
	var rows []string
	if v.settle() {
		rows = v.body(width)
	} else {
		text := styled.Truncate(styled.Of("No messages yet.", theme.Muted), width, "")
		rows = append(rows, styled.Render(v.env.Styles, text))
	}
	v.cache.trim()
	if height == 1 {
		return rows[:1], screen.Cursor{Hidden: true}
	}
	for len(rows) < height-1 {
		rows = append(rows, "")
	}
	foot, column := v.footer(width)
	rows = append(rows, foot)
	if column < 0 {
		return rows, screen.Cursor{Hidden: true}
	}
	return rows, screen.Cursor{X: min(column, width-1), Y: height - 1}
}

// resize takes a new size. Within an item one stays about where one was.
func (v *Viewer) resize(width, height int) {
	v.height = height
	look := look{width: width, styles: v.env.Styles, links: v.env.Links}
	if look == v.cache.look {
		return
	}
	before := 0
	if r, ok := v.cache.rows[v.cur.item]; ok {
		before = len(r.rows)
	}
	v.width, v.cache.look, v.hold = width, look, nil
	v.cache.clear()
	if before > 0 && v.cur.row != end {
		last := v.cur.row == before-1
		v.cur.row = v.cur.row * len(v.rows(v.cur.item)) / before
		if last {
			v.cur.row = end
		}
	}
}

// body are the rows of the conversation, with the bar at what is selected.
func (v *Viewer) body(width int) []string {
	rows := make([]string, 0, v.height+1)
	bar, here, plain := v.bars()
	at := v.top()
	for len(rows) < v.height {
		lines := v.rows(at.item)
		for ; at.row < len(lines) && len(rows) < v.height; at.row++ {
			line, hit := lines[at.row], false
			if v.search.query != "" {
				line, hit = mark(line, v.search.query, v.env.Styles)
			}
			prefix := plain
			switch {
			case at == v.cur:
				prefix = here
			case at.item == v.cur.item && line != "":
				prefix = bar
			case hit && v.env.Styles.Profile() == theme.NoStyle:
				prefix = "* "
			}
			if line == "" && prefix == plain {
				prefix = ""
			}
			rows = append(rows, prefix+line)
		}
		next := v.shown(at.item, 1)
		if next < 0 {
			break
		}
		at = pos{item: next}
	}
	if width <= gutter { // there is no room for a bar and text
		for i, r := range rows {
			rows[i] = truncated(r, width)
		}
	}
	return rows
}

// bars are what stands before the rows of the selected item, before the current row,
// and before others.
func (v *Viewer) bars() (bar, here, plain string) {
	s := v.env.Styles
	sign := s.Symbols()
	bar = styled.Render(s, styled.Line{{Text: sign.Quote + " ", Look: theme.Look{Fg: theme.Accent}}})
	here = styled.Render(s, styled.Line{{Text: ">", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}, {Text: " "}})
	return bar, here, "  "
}
