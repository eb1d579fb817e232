package key

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

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
func NewBindings(overrides map[string][]string, extra ...Binding) (*Bindings, []error) {
	l := layout{b: &Bindings{actions: map[slot]Action{}}, given: map[slot]Action{}}
	l.rows(extra)
	l.override(overrides)
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
	slices.SortStableFunc(l.b.rows, func(a, b Binding) int {
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
	problems []error
}

func (l *layout) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Errorf("keybindings: "+format, args...))
}

// rows lists the actions there are, with their default keys in canonical form.
func (l *layout) rows(extra []Binding) {
	l.index = map[Action]int{}
	for i, b := range slices.Concat(defaults, extra) {
		if _, ok := l.index[b.Action]; ok {
			l.problem("action %s already exists", b.Action)
			continue
		}
		keys := b.Keys
		if i >= len(defaults) {
			keys = nil
			for _, k := range b.Keys {
				keys = l.parse(keys, b.Action, string(k))
			}
		}
		l.index[b.Action] = len(l.b.rows)
		l.own = append(l.own, keys)
		b.Keys = keys
		l.b.rows = append(l.b.rows, b)
	}
	l.user = make([]bool, len(l.b.rows))
}

func (l *layout) parse(keys []Key, a Action, s string) []Key {
	k, err := Parse(s)
	if err != nil {
		l.problem("%s: %w", a, err)
		return keys
	}
	if slices.Contains(keys, k) {
		return keys
	}
	return append(keys, k)
}

func (l *layout) override(overrides map[string][]string) {
	for _, id := range slices.Sorted(maps.Keys(overrides)) {
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
			l.problem("unknown action %q; /hotkeys lists the actions", id)
			continue
		}
		var keys []Key
		for _, s := range overrides[id] {
			keys = l.parse(keys, a, s)
		}
		if len(keys) == 0 && len(overrides[id]) > 0 {
			continue // none of the keys is one: the action keeps its own
		}
		l.b.rows[i].Keys, l.user[i] = keys, true
	}
}

// assign gives row i its keys, those that are free.
func (l *layout) assign(i int) {
	row := &l.b.rows[i]
	var kept []Key
	for _, k := range row.Keys {
		s := slot{row.Context, k}
		if by, ok := l.given[slot{group(row.Context), k}]; ok && !l.user[i] && by != row.Action {
			l.problem("%s is %s now and no longer %s", k, by, row.Action)
			continue
		}
		if by, ok := l.b.actions[s]; ok {
			l.problem("%s is bound to both %s and %s; %s keeps it", k, by, row.Action, by)
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

// ParseOverrides reads a keybindings.json: an object of action ids, each with a
// key or a list of keys; an empty list disables the action. Entries of another
// form are left out and named in the problems, one line each.
func ParseOverrides(data []byte) (map[string][]string, []error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, []error{fmt.Errorf("keybindings: want an object of action ids with keys: %w", err)}
	}
	overrides := map[string][]string{}
	var problems []error
	for _, id := range slices.Sorted(maps.Keys(file)) {
		var one string
		var many []string
		switch {
		case json.Unmarshal(file[id], &many) == nil && many != nil:
			overrides[id] = many
		case json.Unmarshal(file[id], &one) == nil && one != "":
			overrides[id] = []string{one}
		default:
			problems = append(problems, fmt.Errorf("keybindings: %s: want a key or a list of keys", id))
		}
	}
	return overrides, problems
}
