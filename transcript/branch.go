package transcript

import (
	"slices"

	"github.com/burin-dev/burin/llm"
)

// Branch reads the entries from the root to the entry with that id. It leaves out unreadable
// ones.
func (l *Log) Branch(id string) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.tree.find(id)
	if err != nil {
		return nil, err
	}
	path := l.tree.path(i)
	out := make([]Entry, 0, len(path))
	for _, i := range path {
		if e, err := l.read(i); err == nil {
			out = append(out, *e)
		}
	}
	return out, nil
}

// Recent reads what a compaction at the entry with that id works on: the part of its branch
// from the first entry that the last compaction kept, including that compaction, or the whole
// branch if there was none. An unreadable compaction doesn't count. The cost doesn't depend on
// the length of what is before. Pruned results are in their short form. Entries have no Raw.
func (l *Log) Recent(id string) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.tree.find(id)
	if err != nil {
		return nil, err
	}
	var path []int32
	kept := int32(-1) // where the walk ends, once a compaction was found
	for compacted := false; i >= 0; i = l.tree.nodes[i].parent {
		path = append(path, i)
		if i == kept {
			break
		}
		if compacted || l.tree.typ(i) != TypeCompaction {
			continue
		}
		e, err := l.read(i)
		if err != nil {
			continue
		}
		compacted = true
		if k, ok := l.tree.byID[e.FirstKeptID]; ok && l.tree.above(k, i) {
			kept = k
			continue
		}
		break // it kept nothing before it
	}
	slices.Reverse(path)
	short := shortForms{}
	for _, i := range path {
		if l.tree.nodes[i].kind == kindPrune {
			if e, err := l.read(i); err == nil {
				short.add(e)
			}
		}
	}
	out := make([]Entry, 0, len(path))
	records := ahead{log: l, path: path}
	for at, i := range path {
		if short[l.tree.nodes[i].id] == nil {
			m := new(llm.Message)
			if stamp, ok := records.message(at, m); ok {
				out = append(out, Entry{Type: TypeMessage, Timestamp: string(stamp), Message: m, Lost: records.lost})
				l.tree.place(&out[len(out)-1], i)
				continue
			}
		}
		if e, err := l.readShort(i, short); err == nil {
			e.Raw = nil
			out = append(out, *e)
		}
	}
	return out, nil
}

// Beyond reads what is on the branch to from but not on the branch to target: what is left
// behind by moving there.
func (l *Log) Beyond(from, target string) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.tree.find(from)
	if err != nil {
		return nil, err
	}
	j, err := l.tree.find(target)
	if err != nil {
		return nil, err
	}
	shared := map[int32]bool{}
	for ; j >= 0; j = l.tree.nodes[j].parent {
		shared[j] = true
	}
	var out []Entry
	for ; i >= 0 && !shared[i]; i = l.tree.nodes[i].parent {
		if e, err := l.read(i); err == nil {
			out = append(out, *e)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// Select reads the entries of the branch to id for which pick returns true.
func (l *Log) Select(id string, pick func(Node) bool) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := l.tree.find(id)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, i := range l.tree.path(at) {
		if !pick(l.tree.node(i)) {
			continue
		}
		if e, err := l.read(i); err == nil {
			out = append(out, *e)
		}
	}
	return out, nil
}

// Last reads the last entry of the branch to id for which pick and match return true; nil if
// there is none.
func (l *Log) Last(id string, pick func(Node) bool, match func(*Entry) bool) *Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.tree.find(id)
	if err != nil {
		return nil
	}
	for ; i >= 0; i = l.tree.nodes[i].parent {
		if !pick(l.tree.node(i)) {
			continue
		}
		if e, err := l.read(i); err == nil && match(e) {
			return e
		}
	}
	return nil
}
