package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// maxProblems is how many problems a model is told about at once.
const maxProblems = 8

// problems says why args are not valid.
func (v *validator) problems(args json.RawMessage) []string {
	value, err := decodeNumbers(args)
	if err != nil {
		return []string{err.Error()}
	}
	list := v.walker().problems(v.root, value, "")
	if len(list) == 0 {
		list = []string{v.complaint(value)}
	}
	if more := len(list) - maxProblems; more > 0 {
		list = append(list[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return list
}

// complaint returns the validator's own message, for rules without a message here.
func (v *validator) complaint(value any) string {
	args, err := encode(value)
	if err != nil {
		return err.Error()
	}
	var plain any
	if err := json.Unmarshal(args, &plain); err != nil {
		return "a number in the arguments is out of range"
	}
	err = v.resolved.Validate(plain)
	if err == nil {
		return "the arguments do not fit the schema"
	}
	text := err.Error()
	for {
		_, rest, found := strings.Cut(text, ": ")
		if !found || !strings.HasPrefix(text, "validating ") {
			return prose.Short(text, 300)
		}
		text = rest
	}
}

// problems says why v does not match s. path is where v is, as the model sees it.
func (w *walker) problems(s *Schema, v any, path string) []string {
	if s == nil || !w.step() {
		return nil
	}
	var list []string
	if s.Ref != "" {
		list = w.problems(lookup(w.root, s.Ref), v, path)
	}
	if want := w.own(s); want&typeOf(v) == 0 {
		return append(list, at(path, "expected %s, got %s", w.describe(s), show(v)))
	}
	list = append(list, w.values(s, v, path)...)
	for _, c := range s.AllOf {
		list = append(list, w.problems(c, v, path)...)
	}
	for _, union := range [][]*Schema{s.AnyOf, s.OneOf} {
		list = append(list, w.union(union, v, path)...)
	}
	if s.OneOf != nil {
		fits := 0
		for _, c := range s.OneOf {
			if len(w.problems(c, v, path)) == 0 {
				fits++
			}
		}
		if fits > 1 {
			list = append(list, at(path, "fits %d of the forms of which it must have exactly one", fits))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		list = append(list, w.object(s, v, path)...)
	case []any:
		list = append(list, w.array(s, v, path)...)
	case string:
		list = append(list, text(s, v, path)...)
	case json.Number:
		list = append(list, number(s, v, path)...)
	}
	return list
}

// own returns the types that s itself names.
func (w *walker) own(s *Schema) typeSet {
	return w.types(&Schema{Type: s.Type, Types: s.Types})
}

// union says what is wrong with the nearest form if none matches.
func (w *walker) union(forms []*Schema, v any, path string) []string {
	if len(forms) == 0 {
		return nil
	}
	best := w.nearest(forms, v)
	list := w.problems(best, v, path)
	if len(list) == 0 {
		return nil
	}
	var all typeSet
	for _, c := range forms {
		all |= w.types(c)
	}
	if all&typeOf(v) == 0 {
		return []string{at(path, "expected %s, got %s", all, show(v))}
	}
	return list
}

// nearest returns the form with the fewest problems.
func (w *walker) nearest(forms []*Schema, v any) *Schema {
	best, least := forms[0], 1<<30
	for _, c := range forms {
		n := len(w.problems(c, v, ""))
		if w.types(c)&typeOf(v) == 0 {
			n += 1 << 20
		}
		if n < least {
			best, least = c, n
		}
	}
	return best
}

// values compares v with a list of values.
func (w *walker) values(s *Schema, v any, path string) []string {
	list := s.Enum
	if s.Const != nil {
		list = []any{*s.Const}
	}
	if list == nil || slices.ContainsFunc(list, func(e any) bool { return same(e, v) }) {
		return nil
	}
	var names []string
	for _, e := range list {
		if name, ok := e.(string); ok {
			names = append(names, name)
		}
	}
	said := at(path, "expected %s, got %s", options(list), show(v))
	if got, ok := v.(string); ok {
		if hint := suggest(got, names); hint != "" {
			said += "." + hint
		}
	}
	return []string{said}
}

// same compares a value in a schema with one in arguments.
func same(e, v any) bool {
	a, errA := encode(e)
	b, errB := encode(v)
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return err == nil && e == f
	}
	return errA == nil && errB == nil && string(a) == string(b)
}

func (w *walker) object(s *Schema, v map[string]any, path string) []string {
	var list []string
	for _, name := range s.Required {
		if _, given := v[name]; !given {
			list = append(list, at(join(path, name), "is missing; expected %s", w.describe(s.Properties[name])))
		}
	}
	for _, name := range order(s, v) {
		inner := join(path, name)
		p, known := s.Properties[name]
		switch {
		case known:
			list = append(list, w.problems(p, v[name], inner)...)
		case len(patterned(s, name)) > 0:
			for _, p := range patterned(s, name) {
				list = append(list, w.problems(p, v[name], inner)...)
			}
		case s.AdditionalProperties == nil:
		case never(s.AdditionalProperties):
			hint := suggest(name, slices.Sorted(maps.Keys(s.Properties)))
			if hint == "" {
				hint = " The properties are " + commas(order(s, nil)) + "."
			}
			list = append(list, at(inner, "is not a property.%s", hint))
		default:
			list = append(list, w.problems(s.AdditionalProperties, v[name], inner)...)
		}
	}
	if m := s.MinProperties; m != nil && len(v) < *m {
		list = append(list, at(path, "must have at least %d properties, has %d", *m, len(v)))
	}
	if m := s.MaxProperties; m != nil && len(v) > *m {
		list = append(list, at(path, "may have %d properties at most, has %d", *m, len(v)))
	}
	return list
}

// never reports whether s accepts nothing.
func never(s *Schema) bool {
	return s.Not != nil && s.Not.Type == "" && s.Not.Types == nil && s.Not.Ref == "" && len(beside(s.Not))+len(below(s.Not)) == 0 && s.Not.Enum == nil
}

// patterned returns the schemas in s for properties with that name.
func patterned(s *Schema, name string) []*Schema {
	var list []*Schema
	for p, c := range s.PatternProperties {
		if re, err := regexp.Compile(p); err == nil && re.MatchString(name) {
			list = append(list, c)
		}
	}
	return list
}

func (w *walker) array(s *Schema, v []any, path string) []string {
	var list []string
	for i, item := range v {
		inner := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i < len(s.PrefixItems):
			list = append(list, w.problems(s.PrefixItems[i], item, inner)...)
		case s.Items != nil:
			list = append(list, w.problems(s.Items, item, inner)...)
		}
		if s.UniqueItems && slices.ContainsFunc(v[:i], func(o any) bool { return same(o, item) }) {
			list = append(list, at(inner, "is there twice: %s", show(item)))
		}
		if len(list) > 2*maxProblems {
			break
		}
	}
	if m := s.MinItems; m != nil && len(v) < *m {
		list = append(list, at(path, "must have at least %s, has %d", prose.Count(*m, "item"), len(v)))
	}
	if m := s.MaxItems; m != nil && len(v) > *m {
		list = append(list, at(path, "may have %s at most, has %d", prose.Count(*m, "item"), len(v)))
	}
	return list
}

func text(s *Schema, v, path string) []string {
	var list []string
	n := utf8.RuneCountInString(v)
	switch {
	case s.MinLength != nil && n < *s.MinLength && n == 0:
		list = append(list, at(path, "must not be empty"))
	case s.MinLength != nil && n < *s.MinLength:
		list = append(list, at(path, "must have at least %s, has %d", prose.Count(*s.MinLength, "character"), n))
	case s.MaxLength != nil && n > *s.MaxLength:
		list = append(list, at(path, "may have %s at most, has %d", prose.Count(*s.MaxLength, "character"), n))
	}
	if s.Pattern != "" {
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(v) {
			list = append(list, at(path, "must match the pattern %s, got %s", s.Pattern, show(v)))
		}
	}
	return list
}

func number(s *Schema, v json.Number, path string) []string {
	n, err := v.Float64()
	if err != nil {
		return nil
	}
	say := func(format string, limit float64) []string {
		return []string{at(path, format+", got %s", strconv.FormatFloat(limit, 'f', -1, 64), v)}
	}
	switch {
	case s.Minimum != nil && n < *s.Minimum:
		return say("must be at least %s", *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		return say("must be at most %s", *s.Maximum)
	case s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum:
		return say("must be more than %s", *s.ExclusiveMinimum)
	case s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum:
		return say("must be less than %s", *s.ExclusiveMaximum)
	}
	return nil
}

// describe says what s wants, for a sentence that starts with "expected".
func (w *walker) describe(s *Schema) string {
	if s == nil {
		return "a value"
	}
	if s.Const != nil {
		return options([]any{*s.Const})
	}
	if s.Enum != nil {
		return options(s.Enum)
	}
	set := w.types(s)
	if set != typeArray {
		return set.String()
	}
	if at := w.settle(s, []any(nil)); at != nil && at.Items != nil {
		items := w.types(at.Items)
		for _, t := range typeNames {
			if items == t.set || items&typeNumber != 0 && items == t.set|typeInteger {
				return "an array of " + t.name + "s"
			}
		}
	}
	return "an array"
}

// options lists values to choose from.
func options(list []any) string {
	var out []string
	for i, e := range list {
		if i == 20 {
			out = append(out, "…")
			break
		}
		out = append(out, show(e))
	}
	if len(out) == 1 {
		return out[0]
	}
	return "one of " + strings.Join(out, ", ")
}

// order returns the names of the properties of v, required ones first, or of all properties of
// s if v is nil.
func order(s *Schema, v map[string]any) []string {
	names := slices.Sorted(maps.Keys(v))
	if v == nil {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(s, a) - rank(s, b) })
	return names
}

// rank returns the position of a name among the required ones; other names come after them.
func rank(s *Schema, name string) int {
	if i := slices.Index(s.Required, name); i >= 0 {
		return i
	}
	return len(s.Required)
}

func commas(names []string) string {
	if len(names) > 20 {
		names = append(names[:20:20], "…")
	}
	return strings.Join(names, ", ")
}

// at formats a problem at a path.
func at(path, format string, args ...any) string {
	said := fmt.Sprintf(format, args...)
	if path == "" {
		return "the arguments: " + said
	}
	return path + ": " + said
}

func join(path, name string) string {
	name = prose.Short(name, 60)
	if path == "" {
		return name
	}
	return path + "." + name
}

// show returns a short form of a value.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return quote(v)
	}
	p, err := encode(v)
	if err != nil {
		return "?"
	}
	return prose.Short(string(p), 60)
}

func quote(s string) string {
	if len(s) > 60 {
		s = prose.Short(s, 60)
	}
	return strconv.Quote(s)
}
