package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Limits of OpenAI's strict mode, and one of ours against schemas that grow
// without bound when their references are inlined.
const (
	strictNesting    = 10
	strictProperties = 5000
	strictNodes      = 20000
)

// Strict rewrites a schema so that OpenAI's strict mode takes it: every
// property is required (an optional one may be null instead), no object takes
// other properties, references are inlined (recursive ones kept under $defs),
// oneOf becomes anyOf, an allOf of one is collapsed, a const becomes an enum,
// missing types are inferred, and keywords outside the provider's subset are
// dropped, which widens the schema but never narrows it. No schema at all means
// no arguments.
//
// It reports false, and returns nothing, for schemas whose meaning would be
// lost: free-form objects and maps, patternProperties, tuples, values of any
// type, an allOf of several. Such a tool is sent with strict set to false.
func Strict(raw json.RawMessage) (json.RawMessage, bool) { return enforce(raw, false) }

// Exact is [Strict] for schemas that need no null in place of an absent
// property: it reports false where any property is optional. What satisfies the
// result satisfies the original.
func Exact(raw json.RawMessage) (json.RawMessage, bool) { return enforce(raw, true) }

func enforce(raw json.RawMessage, exact bool) (json.RawMessage, bool) {
	root, err := parseTree(plainOf(raw))
	if len(raw) == 0 || (err == nil && root.isNull()) {
		root, err = object(), nil
	}
	if err != nil || !root.isObject() {
		return nil, false
	}
	s := &strictizer{root: root, exact: exact, names: map[string]string{}, taken: map[string]bool{}}
	start, ok := s.resolve(root)
	if !ok || (start.get("type") != nil && !hasType(start, "object")) || start.get("anyOf") != nil || start.get("oneOf") != nil {
		return nil, false
	}
	start = start.shallow()
	start.set("type", scalar("object"))
	if start.get("properties") == nil {
		// A root without properties is a tool without arguments. Anywhere else
		// it would be an object of any shape.
		start.set("properties", object())
		start.set("additionalProperties", orFalse(start.get("additionalProperties")))
	}
	start.remove("nullable")
	for {
		known := len(s.order)
		s.stack, s.nodes, s.props = []string{"#"}, 0, 0
		out, ok := s.convert(start, 0)
		if !ok || !s.appendDefs(out) {
			return nil, false
		}
		if len(s.order) == known {
			return out.bytes(), true
		}
		// What turned out to be recursive had been inlined once before that
		// was known. The second pass refers to it from the start.
	}
}

func orFalse(t *tree) *tree {
	if t == nil {
		return scalar(false)
	}
	return t
}

type strictizer struct {
	root  *tree
	exact bool
	stack []string          // pointers being inlined, to find recursion
	names map[string]string // recursive pointers and their names under $defs
	order []string          // keys of names in the order of discovery
	taken map[string]bool
	nodes int
	props int
}

// resolve follows the references of the root, and the allOf of one.
func (s *strictizer) resolve(n *tree) (*tree, bool) {
	for range maxDepth {
		if ref, ok := n.get("$ref").text(); ok {
			n = overlay(n, s.root.at(ref), "$ref")
		} else if all := n.get("allOf"); all.isArray() && len(all.items) == 1 {
			n = overlay(n, all.items[0], "allOf")
		} else {
			return n, n.isObject()
		}
	}
	return nil, false
}

// appendDefs adds the definitions that recursive references point to.
func (s *strictizer) appendDefs(out *tree) bool {
	defs := object()
	for i := 0; i < len(s.order); i++ { // converting one may discover more
		pointer := s.order[i]
		s.stack = []string{pointer}
		def, ok := s.convert(s.root.at(pointer), 0)
		if !ok {
			return false
		}
		defs.set(s.names[pointer], def)
	}
	if len(defs.fields) > 0 {
		out.set("$defs", defs)
	}
	return true
}

// convert rewrites one schema. level is the number of objects around it.
func (s *strictizer) convert(n *tree, level int) (*tree, bool) {
	s.nodes++
	if !n.isObject() || level > strictNesting || s.nodes > strictNodes {
		return nil, false
	}
	if ref := n.get("$ref"); ref != nil {
		return s.reference(n, ref, level)
	}
	if all := n.get("allOf"); all != nil {
		if !all.isArray() || len(all.items) != 1 {
			return nil, false
		}
		return s.convert(overlay(n, all.items[0], "allOf"), level)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if n.get(key) != nil {
			return s.union(n, key, level)
		}
	}
	return s.plain(n, level)
}

// overlay is base with the members of n, except key, set over it.
func overlay(n, base *tree, key string) *tree {
	if !base.isObject() {
		return base
	}
	out := base.shallow()
	for _, f := range n.fields {
		if f.key != key {
			out.set(f.key, f.value)
		}
	}
	return out
}

func (s *strictizer) reference(n, ref *tree, level int) (*tree, bool) {
	pointer, _ := ref.text()
	target := s.root.at(pointer)
	if target == nil {
		return nil, false
	}
	if _, recursive := s.names[pointer]; recursive || slices.Contains(s.stack, pointer) {
		out := object()
		if pointer == "#" {
			out.set("$ref", scalar("#"))
		} else {
			// The provider takes no other keyword beside a reference.
			out.set("$ref", scalar("#/$defs/"+s.define(pointer)))
		}
		return out, true
	}
	s.stack = append(s.stack, pointer)
	out, ok := s.convert(overlay(n, target, "$ref"), level)
	s.stack = s.stack[:len(s.stack)-1]
	return out, ok
}

// define names a recursive pointer.
func (s *strictizer) define(pointer string) string {
	if name, ok := s.names[pointer]; ok {
		return name
	}
	base := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, pointer[strings.LastIndexByte(pointer, '/')+1:])
	name := base
	for i := 2; s.taken[name] || name == ""; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	s.names[pointer], s.taken[name] = name, true
	s.order = append(s.order, pointer)
	return name
}

// shapeKeys are keywords that say what a value is, as opposed to how a
// combination of optional properties is restricted.
var shapeKeys = []string{"type", "properties", "items", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "additionalProperties", "patternProperties"}

// union rewrites a schema whose key is anyOf or oneOf. What is described only
// inside of the one branch that is not null is described on the union, where
// models look for it.
func (s *strictizer) union(n *tree, key string, level int) (*tree, bool) {
	branches := n.get(key)
	if !branches.isArray() || len(branches.items) == 0 {
		return nil, false
	}
	if !slices.ContainsFunc(branches.items, shapes) {
		// Only "one of these must be present": a restriction, which may go.
		rest := n.shallow()
		rest.remove(key)
		return s.convert(rest, level)
	}
	if n.get("properties") != nil || n.get("items") != nil || n.get("enum") != nil || n.get("const") != nil {
		return nil, false
	}
	out := object()
	if d := n.get("description"); d != nil {
		out.set("description", d)
	}
	list := array()
	for _, b := range branches.items {
		if t := n.get("type"); t != nil && b.isObject() && b.get("type") == nil && b.get("$ref") == nil {
			b = b.shallow()
			b.first("type", t)
		}
		c, ok := s.convert(b, level)
		if !ok {
			return nil, false
		}
		list.items = append(list.items, c)
	}
	if n.get("nullable").isTrue() && !slices.ContainsFunc(list.items, nullable) {
		list.items = append(list.items, nullType())
	}
	if len(list.items) == 1 {
		return overlay(out, list.items[0], ""), true
	}
	hoistDescription(out, list)
	out.set("anyOf", list)
	return out, true
}

func shapes(b *tree) bool {
	return b.isObject() && slices.ContainsFunc(shapeKeys, func(k string) bool { return b.get(k) != nil })
}

func hoistDescription(out, branches *tree) {
	var sole *tree
	for _, b := range branches.items {
		if isNullType(b) {
			continue
		}
		if sole != nil {
			return
		}
		sole = b
	}
	if sole == nil || sole.get("description") == nil {
		return
	}
	if out.get("description") == nil {
		out.first("description", sole.get("description"))
	}
	sole.remove("description")
}

// keep lists the keywords of the provider's subset that are copied as they are.
var keep = []string{
	"description", "pattern", "format", "multipleOf", "minimum", "maximum",
	"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}

// formats are the string formats the provider knows.
var formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// plain rewrites a schema that is no reference and no combination.
func (s *strictizer) plain(n *tree, level int) (*tree, bool) {
	types, ok := typesOf(n)
	if !ok {
		return nil, false
	}
	isObject, isArray := slices.Contains(types, "object"), slices.Contains(types, "array")
	out := object()
	typed := func() {
		if out.get("type") == nil {
			out.set("type", typeTree(types))
		}
	}
	for _, f := range n.fields {
		switch {
		case f.key == "type":
			typed()
		case f.key == "properties" && isObject:
			typed()
			if !s.object(n, out, level) {
				return nil, false
			}
		case f.key == "items" && isArray:
			typed()
			items, ok := s.convert(f.value, level)
			if !ok {
				return nil, false
			}
			out.set("items", items)
		case f.key == "enum" || f.key == "const":
			values := enumOf(n)
			if values == nil {
				return nil, false // a list of no values: nothing can be written there
			}
			typed()
			out.set("enum", values)
		case f.key == "pattern":
			// Look-around is not supported.
			if p, ok := f.value.text(); ok && !strings.Contains(p, "(?") {
				out.set(f.key, f.value)
			}
		case f.key == "format":
			if name, ok := f.value.text(); ok && slices.Contains(formats, name) {
				out.set(f.key, f.value)
			}
		case strings.HasPrefix(f.key, "exclusive"):
			// Before draft 6 this was a flag on minimum and maximum.
			if !f.value.isTrue() && !f.value.isFalse() {
				out.set(f.key, f.value)
			}
		case slices.Contains(keep, f.key):
			out.set(f.key, f.value)
		}
	}
	typed()
	if isObject && out.get("properties") == nil || isArray && out.get("items") == nil {
		return nil, false // an object or list of anything
	}
	return out, true
}

// object writes properties, required and additionalProperties of n to out.
func (s *strictizer) object(n, out *tree, level int) bool {
	props, extra := n.get("properties"), n.get("additionalProperties")
	if !props.isObject() || (extra != nil && !extra.isFalse()) {
		return false
	}
	if len(props.fields) == 0 && extra == nil {
		return false // an object of any shape
	}
	if p := n.get("patternProperties"); p != nil && len(p.fields) > 0 {
		return false
	}
	required := map[string]bool{}
	if list := n.get("required"); list.isArray() {
		for _, item := range list.items {
			name, _ := item.text()
			if props.get(name) == nil {
				return false // something of any type
			}
			required[name] = true
		}
	}
	s.props += len(props.fields)
	if s.props > strictProperties {
		return false
	}
	closed, names := object(), array()
	for _, p := range props.fields {
		c, ok := s.convert(p.value, level+1)
		if !ok {
			return false
		}
		if !required[p.key] {
			if s.exact {
				return false
			}
			c = orNull(c)
		}
		closed.set(p.key, c)
		names.items = append(names.items, scalar(p.key))
	}
	out.set("properties", closed)
	out.set("required", names)
	out.set("additionalProperties", scalar(false))
	return true
}
