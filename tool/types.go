package tool

import (
	"encoding/json"
	"math/big"
	"strings"
)

// typeSet is a set of JSON types. An integer is also a number.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeNumber
	typeString
	typeArray
	typeObject

	typeAny = typeObject<<1 - 1
)

// typeNames are in the order in which messages name them.
var typeNames = []struct {
	set  typeSet
	name string
	a    string // with an article
}{
	{typeString, "string", "a string"},
	{typeInteger, "integer", "an integer"},
	{typeNumber, "number", "a number"},
	{typeBoolean, "boolean", "true or false"},
	{typeArray, "array", "an array"},
	{typeObject, "object", "an object"},
	{typeNull, "null", "null"},
}

func (s typeSet) String() string {
	if s == typeAny {
		return "any value"
	}
	var names []string
	for _, t := range typeNames {
		if s&t.set == t.set && !(t.set == typeInteger && s&typeNumber != 0) {
			names = append(names, t.a)
		}
	}
	return strings.Join(names, " or ")
}

// typeOf returns the type of a decoded value.
func typeOf(v any) typeSet {
	switch v := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case string:
		return typeString
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	case json.Number:
		if isInteger(string(v)) {
			return typeInteger | typeNumber
		}
	case float64:
		if v == float64(int64(v)) {
			return typeInteger | typeNumber
		}
	}
	return typeNumber
}

// isInteger reports whether a JSON number is whole, as 3, 3.0 and 3e2 are.
func isInteger(n string) bool {
	if !strings.ContainsAny(n, ".eE") {
		return true
	}
	_, whole := integral(n)
	return whole
}

// integral rewrites a whole JSON number without point and exponent. Numbers of more than 40
// digits stay as they are.
func integral(n string) (string, bool) {
	f, _, err := big.ParseFloat(n, 10, 200, big.ToNearestEven)
	if err != nil || !f.IsInt() || f.MantExp(nil) > 133 {
		return n, false
	}
	return f.Text('f', 0), true
}

// walker checks a value against a schema that survey accepted. Its steps are limited; when
// they run out, it accepts the rest.
type walker struct {
	root  *Schema
	steps int
}

func (v *validator) walker() *walker { return &walker{root: v.root, steps: 20_000} }

func (w *walker) step() bool {
	w.steps--
	return w.steps > 0
}

// types returns the types that s accepts.
func (w *walker) types(s *Schema) typeSet {
	if s == nil || !w.step() {
		return typeAny
	}
	set := typeAny
	if names := append([]string{s.Type}, s.Types...); s.Type != "" || len(s.Types) > 0 {
		set = 0
		for _, t := range typeNames {
			for _, name := range names {
				if name == t.name {
					set |= t.set
				}
			}
		}
		if set&typeNumber != 0 {
			set |= typeInteger
		}
	}
	if s.Ref != "" {
		set &= w.types(lookup(w.root, s.Ref))
	}
	for _, union := range [][]*Schema{s.AnyOf, s.OneOf} {
		if union == nil {
			continue
		}
		var any typeSet
		for _, c := range union {
			any |= w.types(c)
		}
		set &= any
	}
	for _, c := range s.AllOf {
		set &= w.types(c)
	}
	if s.Const != nil {
		set &= typeOf(*s.Const)
	}
	if s.Enum != nil {
		var any typeSet
		for _, e := range s.Enum {
			any |= typeOf(e)
		}
		set &= any
	}
	return set
}

// settle follows references and the one branch of a union that accepts values of v's type. It
// returns nil if there is not exactly one.
func (w *walker) settle(s *Schema, v any) *Schema {
	for s != nil && w.step() {
		union := s.AnyOf
		switch {
		case s.Properties != nil || s.Items != nil:
			return s
		case s.Ref != "":
			s = lookup(w.root, s.Ref)
			continue
		case len(s.AllOf) == 1:
			s = s.AllOf[0]
			continue
		case union == nil:
			union = s.OneOf
		}
		if union == nil {
			return s
		}
		var fit *Schema
		for _, c := range union {
			if w.types(c)&typeOf(v) == 0 {
				continue
			}
			if fit != nil {
				return nil
			}
			fit = c
		}
		s = fit
	}
	return nil
}
