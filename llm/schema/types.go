package schema

import (
	"slices"
	"strings"
)

// typesOf are the types a schema allows, inferred from its other keywords where
// it names none. ok is false when it allows any.
func typesOf(n *tree) (types []string, ok bool) {
	switch t := n.get("type"); {
	case t.isArray():
		for _, item := range t.items {
			name, ok := item.text()
			if !ok || !known(name) {
				return nil, false
			}
			if !slices.Contains(types, name) {
				types = append(types, name)
			}
		}
		if len(types) == 0 {
			return nil, false
		}
	case t != nil:
		name, ok := t.text()
		if !ok || !known(name) {
			return nil, false
		}
		types = []string{name}
	default:
		if types = inferTypes(n); types == nil {
			return nil, false
		}
	}
	if n.get("nullable").isTrue() && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	if e := enumOf(n); e != nil {
		for _, v := range e.items {
			if typeOfValue(v) == "" {
				return nil, false // a fixed object or list
			}
		}
	}
	return types, true
}

func known(name string) bool {
	switch name {
	case "string", "number", "integer", "boolean", "object", "array", "null":
		return true
	}
	return false
}

func inferTypes(n *tree) []string {
	if e := enumOf(n); e != nil {
		var types []string
		for _, v := range e.items {
			t := typeOfValue(v)
			if t == "" {
				return nil
			}
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
		if i := slices.Index(types, "integer"); i >= 0 && slices.Contains(types, "number") {
			types = slices.Delete(types, i, i+1)
		}
		return types
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return n.get(k) != nil })
	}
	switch {
	case has("properties", "additionalProperties", "required"):
		return []string{"object"}
	case has("items", "minItems", "maxItems"):
		return []string{"array"}
	case has("pattern", "format", "minLength", "maxLength"):
		return []string{"string"}
	case has("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"):
		return []string{"number"}
	}
	return nil
}

// enumOf is the list of allowed values of an enum or const, or nil.
func enumOf(n *tree) *tree {
	if e := n.get("enum"); e.isArray() && len(e.items) > 0 {
		if n.get("nullable").isTrue() && !slices.ContainsFunc(e.items, (*tree).isNull) {
			e = array(append(slices.Clone(e.items), scalar(nil))...)
		}
		return e
	}
	if c := n.get("const"); c != nil {
		return array(c)
	}
	return nil
}

// typeOfValue is the schema type of a scalar, "" for objects and lists.
func typeOfValue(v *tree) string {
	switch {
	case v.isObject(), v.isArray():
		return ""
	case v.isNull():
		return "null"
	case v.isTrue(), v.isFalse():
		return "boolean"
	case v.raw[0] == '"':
		return "string"
	case strings.ContainsAny(string(v.raw), ".eE"):
		return "number"
	}
	return "integer"
}

func typeTree(types []string) *tree {
	if len(types) == 1 {
		return scalar(types[0])
	}
	list := array()
	for _, t := range types {
		list.items = append(list.items, scalar(t))
	}
	return list
}

func nullType() *tree {
	t := object()
	t.set("type", scalar("null"))
	return t
}

func isNullType(n *tree) bool {
	name, _ := n.get("type").text()
	return name == "null"
}

func hasType(n *tree, want string) bool {
	types, ok := typesOf(n)
	return ok && slices.Contains(types, want)
}

// nullable reports whether a converted schema takes null.
func nullable(n *tree) bool {
	if u := n.get("anyOf"); u != nil {
		return slices.ContainsFunc(u.items, nullable)
	}
	return hasType(n, "null")
}

// orNull makes a converted schema take null as well: a scalar by its list of
// types, anything else by a union that carries the description.
func orNull(n *tree) *tree {
	if nullable(n) {
		return n
	}
	if u := n.get("anyOf"); u != nil {
		out := n.shallow()
		out.set("anyOf", array(append(slices.Clone(u.items), nullType())...))
		return out
	}
	types, ok := typesOf(n)
	if ok && !slices.Contains(types, "object") && !slices.Contains(types, "array") {
		out := n.shallow()
		out.set("type", typeTree(append(types, "null")))
		if e := n.get("enum"); e != nil {
			out.set("enum", array(append(slices.Clone(e.items), scalar(nil))...))
		}
		return out
	}
	out, inner := object(), n.shallow()
	branches := array(inner, nullType())
	hoistDescription(out, branches)
	out.set("anyOf", branches)
	return out
}
