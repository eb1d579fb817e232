package key

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/tool"
)

// Taken is the problem that a user has given a key to another action than its own. Who has meant
// that needs to be told once, not at each start.
type Taken struct{ error }

// slot is a key where it is pressed.
type slot struct {
	context Context
	key     Key
}

// Bindings say what keys mean. They do not change; it is safe to use them from
// several goroutines.
type Bindings struct {
	actions map[slot]Action
	rows    []Binding
}

// NewBindings are the default bindings and extra ones, those of extensions, as
// overrides change them: an action's keys there replace its own, none disable it.
// Bindings can be used whatever the problems are. Each is one line: an action or
// a key that is not known is left out; where two actions want one key in one
// context, the first in the table keeps it; a key that a user gives to an action
// is taken from the action that had it by default.
func NewBindings(overrides Overrides, extra ...Binding) (*Bindings, []error) {
	l := layout{b: &Bindings{actions: map[slot]Action{}}, given: map[slot]Action{}, file: overrides.File}
	l.rows(extra)
	l.override(overrides.Actions)
	for i := range l.b.rows {
		if l.user[i] {
			l.assign(i)
		}
	}
	for i := range l.b.rows {
		if !l.user[i] {
			l.assign(i)
		}
	}
	sorting.Stable(l.b.rows, func(a, b Binding) int {
		return cmp.Or(cmp.Compare(contextOrder(a.Context), contextOrder(b.Context)), cmp.Compare(a.Context, b.Context))
	})
	return l.b, l.problems
}

// layout is the state of one NewBindings.
type layout struct {
	b        *Bindings
	index    map[Action]int
	own      [][]Key // default keys by row
	user     []bool  // rows whose keys a user chose
	given    map[slot]Action
	file     string
	problems []error
}

// problem adds what is wrong in a line of the user's file; 0 is not there.
func (l *layout) problem(line int, format string, args ...any) {
	l.problems = append(l.problems, problemAt(l.file, line, format, args...))
}

func problemAt(file string, line int, format string, args ...any) error {
	where := "key bindings: "
	if file != "" && line > 0 {
		where = file + ":" + strconv.Itoa(line) + ": "
	}
	return fmt.Errorf("%s%w", where, fmt.Errorf(format, args...))
}

// rows lists the actions there are, with their default keys in canonical form.
func (l *layout) rows(extra []Binding) {
	l.index = map[Action]int{}
	for i, b := range slices.Concat(defaults, extra) {
		if _, ok := l.index[b.Action]; ok {
			l.problem(0, "action %s already exists", b.Action)
			continue
		}
		keys := b.Keys
		if i >= len(defaults) {
			keys = nil
			for _, k := range b.Keys {
				keys = l.parse(keys, b.Action, 0, string(k))
			}
		}
		l.index[b.Action] = len(l.b.rows)
		l.own = append(l.own, keys)
		b.Keys, b.Default = keys, keys
		l.b.rows = append(l.b.rows, b)
	}
	l.user = make([]bool, len(l.b.rows))
}

func (l *layout) parse(keys []Key, a Action, line int, s string) []Key {
	k, err := Parse(s)
	if err != nil {
		l.problem(line, "%s: %w", a, err)
		return keys
	}
	if slices.Contains(keys, k) {
		return keys
	}
	return append(keys, k)
}

func (l *layout) override(overrides map[string]Override) {
	for _, id := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[id]
		a := Action(id)
		if renamed, ok := legacy[id]; ok {
			if _, both := overrides[string(renamed)]; both {
				continue // the newer name counts
			}
			a = renamed
		}
		i, ok := l.index[a]
		if !ok && elsewhere[id] {
			continue
		}
		if !ok {
			l.unknown(o.Line, id)
			continue
		}
		var keys []Key
		for _, s := range o.Keys {
			keys = l.parse(keys, a, o.Line, s)
		}
		if len(keys) == 0 && len(o.Keys) > 0 {
			continue // none of the keys is one: the action keeps its own
		}
		l.b.rows[i].Keys, l.user[i] = keys, true
		l.b.rows[i].File, l.b.rows[i].Line = l.file, o.Line
	}
}

// unknown says that an action doesn't exist, and which one may be meant.
func (l *layout) unknown(line int, id string) {
	var ids []string
	for a := range l.index {
		ids = append(ids, string(a))
	}
	if near, ok := tool.Nearest(id, ids); ok {
		l.problem(line, "unknown action %q (did you mean %q?)", id, near)
		return
	}
	l.problem(line, "unknown action %q; /hotkeys lists the actions", id)
}

// assign gives row i its keys, those that are free.
func (l *layout) assign(i int) {
	row := &l.b.rows[i]
	var kept []Key
	for _, k := range row.Keys {
		s := slot{row.Context, k}
		if by, ok := l.given[slot{group(row.Context), k}]; ok && !l.user[i] && by != row.Action {
			l.problems = append(l.problems, Taken{problemAt(l.file, l.lineOf(by), "%s is %s now and no longer %s", k, by, row.Action)})
			continue
		}
		if by, ok := l.b.actions[s]; ok {
			l.problem(row.Line, "%s is bound to both %s and %s; %s keeps it", k, by, row.Action, by)
			continue
		}
		l.b.actions[s] = row.Action
		kept = append(kept, k)
		// A key that the action had anyway is no reason to take it from others.
		if l.user[i] && !slices.Contains(l.own[i], k) {
			l.given[slot{group(row.Context), k}] = row.Action
		}
	}
	row.Keys = kept
}

// lineOf is where the user's file gives an action keys.
func (l *layout) lineOf(a Action) int { return l.b.rows[l.index[a]].Line }

// group joins the contexts that hear the same key presses.
func group(c Context) Context {
	switch c {
	case App:
		return Editor
	case Tree:
		return Select
	}
	return c
}

// Lookup is the action of k in c; false when there is none. Keys that the editor
// does not bind are looked for in [App], those of the tree in [Select].
func (b *Bindings) Lookup(c Context, k Key) (Action, bool) {
	if a, ok := b.actions[slot{c, k}]; ok {
		return a, true
	}
	switch c {
	case Editor:
		c = App
	case Tree:
		c = Select
	default:
		return "", false
	}
	a, ok := b.actions[slot{c, k}]
	return a, ok
}

// Keys are the keys that do a, the preferred one first.
func (b *Bindings) Keys(a Action) []Key {
	for _, r := range b.rows {
		if r.Action == a {
			return slices.Clone(r.Keys)
		}
	}
	return nil
}

// Help lists all actions with the keys they have, sorted by context, in each the most
// useful ones first.
// Actions without a key are among them.
func (b *Bindings) Help() []Binding {
	rows := slices.Clone(b.rows)
	for i := range rows {
		rows[i].Keys = slices.Clone(rows[i].Keys)
	}
	return rows
}

func contextOrder(c Context) int {
	if i := slices.Index([]Context{App, Editor, Select, Tree}, c); i >= 0 {
		return i
	}
	return 4
}

// Overrides are what a keybindings.json says.
type Overrides struct {
	File    string // its name, for problems and help; "" is not known
	Actions map[string]Override
}

// Override is the keys of one action; none disable it.
type Override struct {
	Keys []string
	Line int // where it stands; 0 is not known
}

// ErrNotObject reports a keybindings.json of which nothing can be used.
var ErrNotObject = errors.New("want an object of action ids with keys")

// ParseOverrides reads the text of a keybindings.json: an object of action ids, each with a
// key or a list of keys; an empty list disables the action. Entries of another form are left
// out and named in the problems, one line each. A text that is no such object is an
// [ErrNotObject].
func ParseOverrides(file string, data []byte) (Overrides, []error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	o := Overrides{File: file, Actions: map[string]Override{}}
	line := func(at int) int { return 1 + bytes.Count(data[:min(at, len(data))], []byte("\n")) }
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		at := 0
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = int(syntax.Offset)
		}
		return o, []error{problemAt(file, line(at), "%w: %w", ErrNotObject, err)}
	}
	lines := map[string]int{}
	r := jsontext.Reader{Text: data}
	r.Object(func(id []byte) bool {
		lines[string(id)] = line(r.At)
		return r.Skip()
	})
	var problems []error
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		var one string
		var many []string
		switch at := lines[id]; {
		case json.Unmarshal(entries[id], &many) == nil && many != nil:
			o.Actions[id] = Override{Keys: many, Line: at}
		case json.Unmarshal(entries[id], &one) == nil && one != "":
			o.Actions[id] = Override{Keys: []string{one}, Line: at}
		default:
			problems = append(problems, problemAt(file, at, "%s: want a key or a list of keys", id))
		}
	}
	return o, problems
}
