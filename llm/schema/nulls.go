package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// DropNulls removes from args the members that are null only because strict
// mode makes the model write every property: those whose property is optional
// in schema and does not itself take null. schema is the original one, not the
// result of [Strict]. What cannot be told for sure stays; args that need no
// change, or are not a JSON object, are returned as they are.
func DropNulls(args, schema json.RawMessage) json.RawMessage {
	if !strings.Contains(string(args), "null") {
		return args
	}
	value, err := parseTree(args)
	if err != nil || !value.isObject() {
		return args
	}
	root, err := parseTree(schema)
	if err != nil {
		return args
	}
	d := &dropper{root: root}
	if !d.walk(value, root) {
		return args
	}
	return value.bytes()
}

const lookups = 500

type dropper struct {
	root   *tree
	budget int // schemas still to be looked at for one value, against references in circles
}

// walk cleans value in place and reports whether it changed.
func (d *dropper) walk(value, n *tree) bool {
	d.budget = lookups
	n = d.settle(n, value)
	if n == nil {
		return false
	}
	changed := false
	switch {
	case value.isArray():
		for _, item := range value.items {
			changed = d.walk(item, n.get("items")) || changed
		}
	case value.isObject():
		props := n.get("properties")
		for _, f := range slices.Clone(value.fields) {
			p := props.get(f.key)
			if p == nil {
				continue
			}
			d.budget = lookups
			if f.value.isNull() && !listed(n.get("required"), f.key) && !d.takesNull(p) {
				value.remove(f.key)
				changed = true
				continue
			}
			changed = d.walk(f.value, p) || changed
		}
	}
	return changed
}

// settle follows references and picks the branch of a union that is meant, if
// only one can be.
func (d *dropper) settle(n, value *tree) *tree {
	for n.isObject() && d.spend() {
		if ref, ok := n.get("$ref").text(); ok {
			n = d.root.at(ref)
			continue
		}
		if all := n.get("allOf"); all.isArray() && len(all.items) == 1 {
			n = overlay(n, all.items[0], "allOf")
			continue
		}
		u := n.get("anyOf")
		if u == nil {
			u = n.get("oneOf")
		}
		if u == nil || n.get("properties") != nil {
			return n
		}
		want := "array"
		if value.isObject() {
			want = "object"
		}
		var fit *tree
		for _, b := range u.items {
			if r := d.settle(b, value); r != nil && hasType(r, want) {
				if fit != nil {
					return nil
				}
				fit = r
			}
		}
		return fit
	}
	return nil
}

func (d *dropper) spend() bool {
	d.budget--
	return d.budget > 0
}

// takesNull reports whether a property's own schema allows null, or may.
func (d *dropper) takesNull(n *tree) bool {
	if !n.isObject() || !d.spend() {
		return true
	}
	if ref, ok := n.get("$ref").text(); ok {
		return d.takesNull(d.root.at(ref))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if u := n.get(key); u.isArray() && slices.ContainsFunc(u.items, shapes) {
			return slices.ContainsFunc(u.items, d.takesNull)
		}
	}
	if all := n.get("allOf"); all.isArray() {
		return !slices.ContainsFunc(all.items, func(b *tree) bool { return !d.takesNull(b) })
	}
	types, ok := typesOf(n)
	return !ok || slices.Contains(types, "null")
}

func listed(list *tree, name string) bool {
	if !list.isArray() {
		return false
	}
	return slices.ContainsFunc(list.items, func(t *tree) bool {
		s, ok := t.text()
		return ok && s == name
	})
}
