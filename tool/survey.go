package tool

import (
	"net/url"
	"strconv"
	"strings"
)

// survey checks a schema before it is used. Every reference must point to a place in the same
// schema, and none may form a cycle without a step into the value, which would never end.
// branch is the largest number of schemas that look at one value.
func survey(root *Schema) (branch int, ok bool) {
	sv := surveyor{root: root, cost: map[*Schema]int{}, seen: map[*Schema]bool{}}
	ok = sv.visit(root)
	return sv.branch, ok
}

const (
	maxBranch  = 10_000
	surveying  = -1 // the cost of a schema that survey is visiting
	maxSchemas = 10_000
)

type surveyor struct {
	root   *Schema
	cost   map[*Schema]int
	seen   map[*Schema]bool
	branch int
}

// visit checks s and all schemas below it.
func (sv *surveyor) visit(s *Schema) bool {
	if s == nil || sv.seen[s] {
		return true
	}
	sv.seen[s] = true
	if len(sv.seen) > maxSchemas || s.DynamicRef != "" || s.ID != "" && s != sv.root {
		return false
	}
	cost, ok := sv.measure(s)
	if !ok {
		return false
	}
	sv.branch = max(sv.branch, cost)
	for _, c := range append(beside(s), below(s)...) {
		if !sv.visit(c) {
			return false
		}
	}
	return true
}

// measure counts the schemas that look at the same value as s.
func (sv *surveyor) measure(s *Schema) (int, bool) {
	if c, known := sv.cost[s]; known {
		return c, c != surveying
	}
	sv.cost[s] = surveying
	next := beside(s)
	if s.Ref != "" {
		to := lookup(sv.root, s.Ref)
		if to == nil {
			return 0, false
		}
		next = append(next, to)
	}
	sum := 1
	for _, c := range next {
		n, ok := sv.measure(c)
		if sum += n; !ok || sum > maxBranch {
			return 0, false
		}
	}
	sv.cost[s] = sum
	return sum, true
}

// beside returns the schemas in s that look at the same value as s.
func beside(s *Schema) []*Schema {
	var out []*Schema
	for _, list := range [][]*Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Not, s.If, s.Then, s.Else}} {
		out = append(out, list...)
	}
	for _, set := range []map[string]*Schema{s.DependentSchemas, s.DependencySchemas} {
		for _, c := range set {
			out = append(out, c)
		}
	}
	return present(out)
}

// below returns the schemas in s that look at parts of the value, or that are only referenced.
func below(s *Schema) []*Schema {
	out := []*Schema{
		s.Items, s.AdditionalItems, s.UnevaluatedItems, s.Contains,
		s.AdditionalProperties, s.UnevaluatedProperties, s.PropertyNames, s.ContentSchema,
	}
	out = append(append(out, s.PrefixItems...), s.ItemsArray...)
	for _, set := range []map[string]*Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions} {
		for _, c := range set {
			out = append(out, c)
		}
	}
	return present(out)
}

func present(list []*Schema) []*Schema {
	out := list[:0]
	for _, s := range list {
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}

// lookup follows a reference within root: "#", or "#/" and a path. It returns nil for one that
// points elsewhere.
func lookup(root *Schema, ref string) *Schema {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if path == "" {
		return root
	}
	if decoded, err := url.PathUnescape(path); err == nil {
		path = decoded
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	s := root
	for len(parts) > 0 && s != nil {
		s, parts = member(s, parts)
	}
	return s
}

// member takes the first step of a path, which has one or two parts.
func member(s *Schema, parts []string) (*Schema, []string) {
	var set map[string]*Schema
	var list []*Schema
	rest := parts[1:]
	switch parts[0] {
	case "items":
		if s.ItemsArray == nil {
			return s.Items, rest
		}
		list = s.ItemsArray
	case "additionalProperties":
		return s.AdditionalProperties, rest
	case "not":
		return s.Not, rest
	case "if":
		return s.If, rest
	case "then":
		return s.Then, rest
	case "else":
		return s.Else, rest
	case "contains":
		return s.Contains, rest
	case "propertyNames":
		return s.PropertyNames, rest
	case "unevaluatedItems":
		return s.UnevaluatedItems, rest
	case "unevaluatedProperties":
		return s.UnevaluatedProperties, rest
	case "$defs":
		set = s.Defs
	case "definitions":
		set = s.Definitions
	case "properties":
		set = s.Properties
	case "patternProperties":
		set = s.PatternProperties
	case "dependentSchemas":
		set = s.DependentSchemas
	case "prefixItems":
		list = s.PrefixItems
	case "allOf":
		list = s.AllOf
	case "anyOf":
		list = s.AnyOf
	case "oneOf":
		list = s.OneOf
	}
	if len(rest) == 0 {
		return nil, nil
	}
	if set != nil {
		return set[rest[0]], rest[1:]
	}
	if i, err := strconv.Atoi(rest[0]); err == nil && i >= 0 && i < len(list) {
		return list[i], rest[1:]
	}
	return nil, nil
}
