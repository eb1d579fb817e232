package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxExample      = 2 << 10 // bytes
	maxExampleText  = 60      // bytes of a string in an example
	maxExampleItems = 3
	maxExampleDepth = 6
)

// example returns the shape that args should have had: it keeps what is valid, cuts long
// texts, and fills in what is missing with placeholders of the right type. It is nil if that
// takes too much text, or if it would not be valid: a placeholder doesn't follow patterns.
func (v *validator) example(args json.RawMessage) json.RawMessage {
	if v.root == nil {
		return nil
	}
	var value any = map[string]any{}
	if args != nil {
		given, err := decodeNumbers(args)
		if err != nil {
			return nil
		}
		value = given
	}
	e := exampler{w: v.walker()}
	e.write(v.root, value, true, 0)
	if e.out.Len() > maxExample || !v.valid(e.out.Bytes()) {
		return nil
	}
	return e.out.Bytes()
}

type exampler struct {
	w   *walker
	out bytes.Buffer
}

// write adds v if s accepts it, or something else that s accepts.
func (e *exampler) write(s *Schema, v any, given bool, level int) {
	if s == nil || level > maxExampleDepth || e.out.Len() > maxExample || !e.w.step() {
		e.keep(v)
		return
	}
	switch {
	case s.Const != nil:
		e.keep(*s.Const)
		return
	case len(s.Enum) > 0:
		e.keep(e.choose(s.Enum, v))
		return
	case s.Ref != "" && s.Properties == nil:
		e.write(lookup(e.w.root, s.Ref), v, given, level)
		return
	case len(s.AllOf) == 1 && s.Properties == nil:
		e.write(s.AllOf[0], v, given, level)
		return
	case len(s.AnyOf) > 0 && s.Properties == nil:
		e.write(e.w.nearest(s.AnyOf, v), v, given, level)
		return
	case len(s.OneOf) > 0 && s.Properties == nil:
		e.write(e.w.nearest(s.OneOf, v), v, given, level)
		return
	}
	types := e.w.types(s)
	switch {
	case types == typeAny && given:
		e.keep(v)
	case types&typeObject != 0 && (types&typeOf(v) == 0 || typeOf(v) == typeObject):
		e.object(s, v, level)
	case types&typeArray != 0 && (types&typeOf(v) == 0 || typeOf(v) == typeArray):
		e.array(s, v, given, level)
	case given && len(e.w.problems(s, v, "")) == 0:
		e.keep(v)
	default:
		e.placeholder(s, types)
	}
}

// choose returns the value in a list that v is or probably means, or the first.
func (e *exampler) choose(list []any, v any) any {
	var names []string
	for _, o := range list {
		if same(o, v) {
			return o
		}
		if name, ok := o.(string); ok {
			names = append(names, name)
		}
	}
	if got, ok := v.(string); ok {
		if name, ok := Nearest(got, names); ok {
			return name
		}
	}
	return list[0]
}

func (e *exampler) object(s *Schema, v any, level int) {
	given := correct(s, v)
	names := order(s, given)
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(s, a) - rank(s, b) })
	e.out.WriteByte('{')
	first := true
	for _, name := range names {
		p, known := s.Properties[name]
		value, has := given[name]
		if !known {
			if p = s.AdditionalProperties; p != nil && never(p) && len(patterned(s, name)) == 0 {
				continue
			}
		}
		if !first {
			e.out.WriteByte(',')
		}
		first = false
		e.keep(name)
		e.out.WriteByte(':')
		e.write(p, value, has, level+1)
	}
	e.out.WriteByte('}')
}

// correct returns v with unknown names corrected if another name was probably meant and is
// missing.
func correct(s *Schema, v any) map[string]any {
	given, _ := v.(map[string]any)
	if s.AdditionalProperties == nil || !never(s.AdditionalProperties) {
		return given
	}
	out := map[string]any{}
	for name, value := range given {
		if _, known := s.Properties[name]; !known {
			meant, ok := Nearest(name, slices.Sorted(maps.Keys(s.Properties)))
			if _, taken := given[meant]; !ok || taken {
				continue
			}
			name = meant
		}
		out[name] = value
	}
	return out
}

func (e *exampler) array(s *Schema, v any, given bool, level int) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	} else {
		given = true
	}
	if len(list) == 0 && s.MinItems != nil && *s.MinItems > 0 {
		list, given = []any{nil}, false
	}
	e.out.WriteByte('[')
	for i, item := range list[:min(len(list), maxExampleItems)] {
		if i > 0 {
			e.out.WriteByte(',')
		}
		p := s.Items
		if i < len(s.PrefixItems) {
			p = s.PrefixItems[i]
		}
		e.write(p, item, given, level+1)
	}
	e.out.WriteByte(']')
}

func (e *exampler) placeholder(s *Schema, types typeSet) {
	switch {
	case s.Default != nil:
		e.out.Write(s.Default)
	case types&typeString != 0:
		e.out.WriteString(`"<string>"`)
	case types&(typeInteger|typeNumber) != 0:
		n := 0.0
		if s.Minimum != nil {
			n = max(n, *s.Minimum)
		}
		e.keep(n)
	case types&typeBoolean != 0:
		e.out.WriteString("false")
	default:
		e.out.WriteString("null")
	}
}

// keep adds v unchanged, except that long texts are cut.
func (e *exampler) keep(v any) {
	p, err := encode(clip(v, 0))
	if err != nil {
		p = []byte("null")
	}
	e.out.Write(p)
}

func clip(v any, level int) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxExampleText {
			return prose.Clip(v, maxExampleText)
		}
	case []any:
		if level > maxExampleDepth {
			return []any{}
		}
		out := make([]any, 0, maxExampleItems)
		for _, item := range v[:min(len(v), maxExampleItems)] {
			out = append(out, clip(item, level+1))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if level <= maxExampleDepth {
				out[k] = clip(item, level+1)
			}
		}
		return out
	}
	return v
}
