package edit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// SetEntries gives the list of mappings at path one entry for each of ids, in their order: an entry that has such an id
// stays as it is written, with its other keys and its comments, one that is missing is added with nothing but the id, and
// the others are removed. The list is made where it is missing. One that isn't written as lines, each of which begins with
// "-", is an error. key is the name that an entry has its id under; ids are not empty, and all different.
func SetEntries(text []byte, path []string, key string, ids []string) ([]byte, error) {
	d, err := parse(text)
	if err != nil {
		return nil, err
	}
	out, err := d.setEntries(path, key, ids)
	if err != nil {
		return nil, err
	}
	before, err := decode(d.raw)
	if err != nil {
		return nil, err
	}
	after, err := decode(out)
	if err != nil {
		return nil, errProof
	}
	put(before, path, entries(before, path, key, ids))
	if !reflect.DeepEqual(bare(before), bare(after)) {
		return nil, errProof
	}
	return out, nil
}

// entries is the list that SetEntries makes of what is there.
func entries(in map[string]any, path []string, key string, ids []string) []any {
	at := any(in)
	for _, name := range path {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	had, _ := at.([]any)
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = map[string]any{key: id}
		same := func(e any) bool {
			m, _ := e.(map[string]any)
			return m != nil && fmt.Sprint(m[key]) == id
		}
		if j := slices.IndexFunc(had, same); j >= 0 {
			list[i] = had[j]
		}
	}
	return list
}

func (d *document) setEntries(path []string, key string, ids []string) ([]byte, error) {
	written := func(id string) string { return scalar(key) + ": " + scalar(id) }
	block := ""
	for _, id := range ids {
		block += "\n- " + written(id)
	}
	if d.root == nil {
		return d.insertLines(d.end, "", path, block), nil
	}
	steps, err := d.find(path)
	if err != nil {
		return nil, err
	}
	last := steps[len(steps)-1]
	at := last.in.GetToken().Position
	byHand := fmt.Errorf("%d:%d: this is written in a way that can only be changed by hand", at.Line, at.Column)
	switch {
	case last.in.IsFlowStyle:
		return nil, byHand
	case last.entry == nil:
		indent := strings.Repeat(" ", last.in.Values[0].Key.GetToken().Position.Column-1)
		end := step{in: last.in, at: len(last.in.Values) - 1, entry: last.in.Values[len(last.in.Values)-1], limit: last.limit}
		return d.insertLines(d.entryEnd(end), indent, path[len(steps)-1:], block), nil
	}
	seq, ok := last.entry.Value.(*ast.SequenceNode)
	if !ok || seq.IsFlowStyle || len(steps) < len(path) || len(seq.Values) == 0 {
		return nil, byHand
	}
	return d.setItems(last, seq, ids, func(v ast.Node) string {
		m, ok := v.(*ast.MappingNode)
		if !ok {
			return ""
		}
		for _, pair := range m.Values {
			if keyName(pair) == key {
				return pair.Value.GetToken().Value
			}
		}
		return ""
	}, written)
}
