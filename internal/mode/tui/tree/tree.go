// Package tree is the pane that shows all branches of a session and moves between
// them.
//
// Opening looks at the shape of the session only ([transcript.Log.Nodes]); an entry is
// read when its row is drawn. A straight run of entries is not indented; where it
// branches, each branch stands below a line, the one in use first. Entries on the way
// to where the session is have a bullet.
//
// What is promised: a key costs what is shown, except that a change of the filter or
// of the search lays out all entries again, without reading one. A search reads them
// in a goroutine that ends with the search or the pane.
//
// Decisions where the specification leaves room or is odd:
//
//   - All filters but "all" hide every entry that is for the program alone, not only
//     four types of them.
//   - Whether an answer is nothing but calls is known when it is read, so such answers
//     are left out row by row as they come into view. They stay where a branch begins
//     or ends with them, and after 200 in a row.
//   - Choosing the point where the session is keeps the tree open and says so.
//   - Nobody is asked about a summary where nothing would be left behind.
package tree

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// Options of a tree.
type Options struct {
	Log    session.Transcript
	Filter Filter // to begin with; "" is [Default]
	// Selected is the entry to begin at, as after a move that was given up; "" is where
	// the session is.
	Selected string
	// AskSummary asks, before a move, whether a summary of what is left is wanted.
	AskSummary bool

	OnSelect func(id string, o session.Navigation)
	// OnLabel is told the new name of an entry; "" is none any more.
	OnLabel  func(id, label string)
	OnCancel func()
}

// Tree is the pane.
type Tree struct {
	env *pane.Env
	o   Options

	nodes  []transcript.Node
	leaf   int    // where the session is; -1: before the first entry
	active []bool // is on the way there
	filter Filter
	layout layout
	cur    int // row of the layout

	facts  facts
	search search
	form   form // what is asked instead of the tree, or below it
	note   string
	window int   // rows of the tree that were drawn last
	drawn  []int // which rows of the layout they are
	hover  int   // the one of these that the mouse points at, from 1; 0: none
	head   int   // rows above them
	closed bool
}

var _ pane.Pane = (*Tree)(nil)

// New opens the tree at the point where the session is.
func New(env *pane.Env, o Options) *Tree {
	t := &Tree{env: env, o: o, filter: o.Filter, window: 5}
	if !t.filter.known() {
		t.filter = Default
	}
	t.load()
	at := t.find(o.Selected)
	if at < 0 {
		at = t.leaf
	}
	t.arrange(at)
	return t
}

// Close ends a search that is under way. It may be called more than once.
func (t *Tree) Close() {
	t.closed = true
	t.search.run.Stop()
	t.search.run = nil
}

// Refresh shows what was added to the log.
func (t *Tree) Refresh() {
	selected := t.node()
	t.load()
	t.facts = facts{}
	t.seek()
	t.arrange(selected)
}

// load takes the shape of the log.
func (t *Tree) load() {
	t.nodes = t.o.Log.Nodes()
	t.leaf = t.find(t.o.Log.Leaf())
	t.active = make([]bool, len(t.nodes))
	for i := t.leaf; i >= 0; i = t.nodes[i].Parent {
		t.active[i] = true
	}
}

// find is the node of an entry; -1 if there is none.
func (t *Tree) find(id string) int {
	i := len(t.nodes) - 1
	for i >= 0 && t.nodes[i].ID != id {
		i--
	}
	return i
}

// here is the point where the session is, as a person sees it: names and notes of
// programs behind it do not count.
func (t *Tree) here() int {
	i := t.leaf
	for i >= 0 && (t.nodes[i].Type == transcript.TypeLabel || t.nodes[i].Type == transcript.TypeCustom) {
		i = t.nodes[i].Parent
	}
	return i
}

// arrange lays out what the filter and the search leave, and selects a node, or what
// is nearest to it.
func (t *Tree) arrange(node int) {
	t.layout = arrange(t.nodes, t.active, t.keeps())
	t.drawn = t.drawn[:0] // they stand for other rows now
	t.cur = t.near(node)
	t.settle()
}

// near is the row of a node, of what is shown above it, or the last one.
func (t *Tree) near(node int) int {
	for ; node >= 0; node = t.nodes[node].Parent {
		if r := t.layout.rowOf[node]; r >= 0 {
			return int(r)
		}
	}
	return len(t.layout.rows) - 1
}

// node is the selected one; -1 if there is none.
func (t *Tree) node() int {
	if t.cur < 0 || t.cur >= len(t.layout.rows) {
		return -1
	}
	return int(t.layout.rows[t.cur].node)
}

// Draw is [pane.Pane]'s.
func (t *Tree) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	var asked []string
	var cursor screen.Cursor
	if t.form.pane != nil {
		asked, cursor = t.form.pane.Draw(width, min(height, max(3, height/2)))
		if !t.form.below || len(asked) >= height {
			return asked, cursor
		}
		height -= len(asked)
	}
	extra := min(3, height-1) // title, search, hint
	t.window = min(max(5, height/2), height-extra)
	var lines []styled.Line
	if extra >= 1 {
		lines = append(lines, t.title())
	}
	if extra >= 2 {
		lines = append(lines, t.query())
	}
	t.head = len(lines)
	lines = append(lines, t.rows(width)...)
	if asked != nil {
		cursor.Y += len(lines)
		return append(render(t.env.Styles, lines, width), asked...), cursor
	}
	if extra >= 3 {
		lines = append(lines, t.hint())
	}
	return render(t.env.Styles, lines, width), screen.Cursor{Hidden: true}
}

func (t *Tree) sign() theme.Symbols { return t.env.Styles.Symbols() }

func render(s *theme.Styles, lines []styled.Line, width int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = styled.Render(s, styled.Truncate(l, width, s.Symbols().Ellipsis))
	}
	return out
}

func (t *Tree) title() styled.Line {
	l := styled.Line{{Text: "Session tree", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}}
	return append(l, styled.Span{Text: " " + t.sign().Dot + " " + t.filter.words(), Look: theme.Look{Fg: theme.Muted}})
}

func (t *Tree) query() styled.Line {
	if t.search.query == "" {
		return styled.Of("Type to search", theme.Dim)
	}
	l := styled.Of("Search: ", theme.Muted)
	l = append(l, styled.Span{Text: prose.Inline(t.search.query), Look: theme.Look{Fg: theme.Text}})
	return append(l, styled.Span{Text: "  " + t.progress(), Look: theme.Look{Fg: theme.Muted}})
}

func (t *Tree) hint() styled.Line {
	if t.note != "" {
		return styled.Of(t.note, theme.Warning)
	}
	var words []string
	for _, k := range []struct {
		action key.Action
		does   string
	}{
		{key.SelectConfirm, "go there"}, {key.TreeLabel, "name"}, {key.TreeFilterNext, "filter"}, {key.SelectCancel, "close"},
	} {
		if keys := t.env.Keys.Keys(k.action); len(keys) > 0 {
			words = append(words, keys[0].Text()+" "+k.does)
		}
	}
	return styled.Of(strings.Join(words, " "+t.sign().Dot+" "), theme.Muted)
}
