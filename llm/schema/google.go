package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Google turns a JSON schema into the Schema object that Google's APIs take for
// the parameters of a function: a part of OpenAPI 3.0 in which an unknown
// keyword makes the whole request fail. The result is nil for a function without
// parameters, which is to be left out. The bytes depend on nothing but raw.
//
// What the dialect lacks is expressed where that keeps the meaning, said in the
// description where only words can, and dropped otherwise:
//
//   - $ref is replaced by what it names; where a type holds itself, the inner one
//     becomes an object without further description.
//   - A list of types, oneOf, const and a null among the types become anyOf, enum
//     and nullable. Vertex allows no other keyword next to anyOf, so the others
//     move into its members. allOf is merged.
//   - An enum may hold only non-empty strings. Other values move into the description,
//     as do formats other than the documented ones, multipleOf, exclusive bounds of
//     numbers, patterns that are not RE2, and defaults.
//   - A list needs items and a value needs a type: a missing one is inferred, or
//     becomes any of the simple types.
//   - additionalProperties, patternProperties, not, if and the like are dropped.
//
// An error says why raw is no schema of an object.
func Google(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(plainOf(raw)))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	c := googleConverter{root: root, open: map[string]bool{}}
	flat, opened := c.flatten(root)
	defer c.close(opened)
	flat = c.flattenRoot(flat)
	if _, ok := flat["properties"].(map[string]any); !ok {
		if types, _ := googleTypes(flat["type"]); len(types) > 0 && !slices.Contains(types, "object") {
			return nil, fmt.Errorf("it describes a value of type %s, but arguments are an object", types[0])
		}
		return nil, nil
	}
	flat["type"] = "object"
	s := c.typed(flat, "object")
	if len(s.Properties) == 0 {
		return nil, nil
	}
	s.Title = ""
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// googleSchema is the dialect.
type googleSchema struct {
	Type          string                   `json:"type,omitempty"`
	Format        string                   `json:"format,omitempty"`
	Title         string                   `json:"title,omitempty"`
	Description   string                   `json:"description,omitempty"`
	Nullable      bool                     `json:"nullable,omitempty"`
	Enum          []string                 `json:"enum,omitempty"`
	Pattern       string                   `json:"pattern,omitempty"`
	MinLength     *int64                   `json:"minLength,omitempty"`
	MaxLength     *int64                   `json:"maxLength,omitempty"`
	Minimum       json.Number              `json:"minimum,omitempty"`
	Maximum       json.Number              `json:"maximum,omitempty"`
	Items         *googleSchema            `json:"items,omitempty"`
	MinItems      *int64                   `json:"minItems,omitempty"`
	MaxItems      *int64                   `json:"maxItems,omitempty"`
	Properties    map[string]*googleSchema `json:"properties,omitempty"`
	Required      []string                 `json:"required,omitempty"`
	MinProperties *int64                   `json:"minProperties,omitempty"`
	MaxProperties *int64                   `json:"maxProperties,omitempty"`
	AnyOf         []*googleSchema          `json:"anyOf,omitempty"`
}

// note adds a sentence to the description.
func (s *googleSchema) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.Description != "" {
		text = s.Description + " " + text
	}
	s.Description = text
}

// googleMaxNodes bounds the work and the result: references that are replaced
// by what they name can multiply. Real schemas stay far below.
const googleMaxNodes = 4096

type googleConverter struct {
	root  map[string]any
	open  map[string]bool // references being replaced
	nodes int
}

func (c *googleConverter) close(refs []string) {
	for _, ref := range refs {
		delete(c.open, ref)
	}
}

// flatten returns s without $ref and allOf: the fields of what they name merged
// with its own, which win. The references that were opened must be closed when
// the result has been converted.
func (c *googleConverter) flatten(s map[string]any) (flat map[string]any, opened []string) {
	flat = make(map[string]any, len(s))
	for key, value := range s {
		if key != "$ref" && key != "allOf" {
			flat[key] = value
		}
	}
	c.nodes++
	if c.nodes > googleMaxNodes {
		return flat, nil
	}
	merge := func(v any) {
		if m, ok := v.(map[string]any); ok {
			part, more := c.flatten(m)
			opened = append(opened, more...)
			googleMerge(flat, part)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		if c.open[ref] {
			googleMerge(flat, map[string]any{"type": "object"})
		} else if target, ok := c.resolve(ref); ok {
			c.open[ref] = true
			opened = append(opened, ref)
			merge(target)
		}
	}
	if all, ok := s["allOf"].([]any); ok {
		for _, part := range all {
			merge(part)
		}
	}
	return flat, opened
}

// googleMerge adds to s what it lacks of other. Properties that both describe
// must satisfy both.
func googleMerge(s, other map[string]any) {
	for key, value := range other {
		have, ok := s[key]
		if !ok {
			s[key] = value
			continue
		}
		switch key {
		case "properties":
			a, okA := have.(map[string]any)
			b, okB := value.(map[string]any)
			if !okA || !okB {
				continue
			}
			both := make(map[string]any, len(a)+len(b))
			for name, p := range a {
				both[name] = p
			}
			for name, p := range b {
				if mine, ok := both[name]; ok {
					both[name] = map[string]any{"allOf": []any{mine, p}}
				} else {
					both[name] = p
				}
			}
			s[key] = both
		case "required":
			a, okA := have.([]any)
			b, okB := value.([]any)
			if okA && okB {
				s[key] = slices.Concat(a, b)
			}
		}
	}
}

// resolve finds what a reference within the document names: "#" or a JSON pointer.
func (c *googleConverter) resolve(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	var at any = c.root
	if pointer == "" {
		return at, true
	}
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// flattenRoot merges the alternatives of the outermost object into one object
// that allows all of them, because arguments must be plainly an object.
func (c *googleConverter) flattenRoot(s map[string]any) map[string]any {
	for _, key := range []string{"anyOf", "oneOf"} {
		variants, ok := s[key].([]any)
		if !ok {
			continue
		}
		delete(s, key)
		var required []any // by all variants
		for i, v := range variants {
			m, ok := v.(map[string]any)
			if !ok {
				continue
			}
			flat, opened := c.flatten(m)
			defer c.close(opened)
			names, _ := flat["required"].([]any)
			if i == 0 {
				required = names
			} else {
				required = slices.DeleteFunc(slices.Clone(required), func(n any) bool {
					name, ok := n.(string)
					return !ok || !slices.ContainsFunc(names, func(o any) bool { return o == name })
				})
			}
			delete(flat, "required")
			googleMerge(s, flat)
		}
		if len(required) > 0 {
			googleMerge(s, map[string]any{"required": required})
		}
	}
	return s
}

// convert returns the dialect of any schema; nil for one that allows nothing.
func (c *googleConverter) convert(v any) *googleSchema {
	if v == false {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return googleAny()
	}
	c.nodes++
	if c.nodes > googleMaxNodes {
		return &googleSchema{Type: "OBJECT"}
	}
	flat, opened := c.flatten(m)
	defer c.close(opened)
	for _, key := range []string{"anyOf", "oneOf"} {
		if variants, ok := flat[key].([]any); ok && len(variants) > 0 {
			delete(flat, key)
			return c.alternatives(flat, variants)
		}
	}
	types, nullable := googleTypes(flat["type"])
	if flat["nullable"] == true {
		nullable = true
	}
	if len(types) > 1 {
		variants := make([]any, len(types))
		for i, t := range types {
			variants[i] = map[string]any{"type": t}
		}
		delete(flat, "type")
		s := c.alternatives(flat, variants)
		googleNull(s, nullable)
		return s
	}
	t := ""
	if len(types) == 1 {
		t = types[0]
	} else {
		t = googleInfer(flat)
	}
	s := c.typed(flat, t)
	googleNull(s, nullable)
	return s
}

// alternatives returns anyOf with the keywords next to it merged into each variant.
func (c *googleConverter) alternatives(beside map[string]any, variants []any) *googleSchema {
	description, _ := beside["description"].(string)
	nullable := beside["nullable"] == true
	rest := map[string]any{}
	for key, value := range beside {
		switch key {
		case "description", "title", "default", "nullable", "$defs", "definitions", "$schema", "$id":
		default:
			rest[key] = value
		}
	}
	var out []*googleSchema
	for _, v := range variants {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if types, null := googleTypes(m["type"]); null && len(types) == 0 || m["const"] == nil && googleHas(m, "const") {
			nullable = true
			continue
		}
		merged := map[string]any{"allOf": []any{m, rest}}
		if len(rest) == 0 {
			merged = m
		}
		if s := c.convert(merged); s != nil {
			out = append(out, s)
		}
	}
	var s *googleSchema
	switch {
	case len(out) == 0:
		s = c.typed(rest, googleInfer(rest))
	case len(out) == 1:
		s = out[0]
	default:
		s = googleUnion(out)
	}
	if len(s.AnyOf) == 0 {
		if s.Description == "" {
			s.Description = description
		} else if description != "" {
			s.Description = description + " " + s.Description
		}
	} else if description != "" {
		for _, v := range s.AnyOf {
			if v.Description == "" {
				v.Description = description
			}
		}
	}
	googleNull(s, nullable)
	return s
}

// googleUnion joins variants: enums of strings become one enum, unions within
// the union are taken apart.
func googleUnion(variants []*googleSchema) *googleSchema {
	enum := &googleSchema{Type: "STRING"}
	var flat []*googleSchema
	for _, v := range variants {
		if len(v.AnyOf) > 0 {
			flat = append(flat, v.AnyOf...)
		} else {
			flat = append(flat, v)
		}
		if enum == nil || v.Type != "STRING" || len(v.Enum) == 0 || v.Description != "" {
			enum = nil
			continue
		}
		enum.Nullable = enum.Nullable || v.Nullable
		for _, e := range v.Enum {
			if !slices.Contains(enum.Enum, e) {
				enum.Enum = append(enum.Enum, e)
			}
		}
	}
	if enum != nil {
		return enum
	}
	return &googleSchema{AnyOf: flat}
}

// googleNull allows null; in a union its first member does, because nothing may
// stand beside anyOf.
func googleNull(s *googleSchema, nullable bool) {
	if !nullable {
		return
	}
	if len(s.AnyOf) > 0 {
		s = s.AnyOf[0]
	}
	s.Nullable = true
}

func googleHas(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}

// googleAny allows every value.
func googleAny() *googleSchema {
	return &googleSchema{AnyOf: []*googleSchema{
		{Type: "STRING"},
		{Type: "NUMBER"},
		{Type: "BOOLEAN"},
		{Type: "OBJECT"},
		{Type: "ARRAY", Items: &googleSchema{Type: "STRING"}},
	}}
}

// googleTypes lists the types in lower case, null apart.
func googleTypes(v any) (types []string, null bool) {
	add := func(v any) {
		s, _ := v.(string)
		switch s = strings.ToLower(s); s {
		case "null":
			null = true
		case "string", "number", "integer", "boolean", "object", "array":
			if !slices.Contains(types, s) {
				types = append(types, s)
			}
		}
	}
	if list, ok := v.([]any); ok {
		for _, t := range list {
			add(t)
		}
	} else {
		add(v)
	}
	return types, null
}

// googleInfer guesses the type of a schema without one; "" if nothing tells.
func googleInfer(s map[string]any) string {
	for _, hint := range []struct{ key, kind string }{
		{"properties", "object"},
		{"required", "object"},
		{"additionalProperties", "object"},
		{"patternProperties", "object"},
		{"items", "array"},
		{"prefixItems", "array"},
		{"minItems", "array"},
		{"maxItems", "array"},
		{"minimum", "number"},
		{"maximum", "number"},
		{"exclusiveMinimum", "number"},
		{"exclusiveMaximum", "number"},
		{"multipleOf", "number"},
		{"pattern", "string"},
		{"format", "string"},
		{"minLength", "string"},
		{"maxLength", "string"},
	} {
		if googleHas(s, hint.key) {
			return hint.kind
		}
	}
	kind := ""
	for _, v := range googleValues(s) {
		k := ""
		switch v := v.(type) {
		case nil:
			continue
		case string:
			k = "string"
		case bool:
			k = "boolean"
		case json.Number:
			if k = "number"; googleInteger(v) != nil {
				k = "integer"
			}
		case map[string]any:
			k = "object"
		case []any:
			k = "array"
		}
		switch {
		case kind == "" || kind == k:
			kind = k
		case kind == "integer" && k == "number" || kind == "number" && k == "integer":
			kind = "number"
		default:
			return ""
		}
	}
	return kind
}

// googleValues are the values a schema is limited to by enum or const.
func googleValues(s map[string]any) []any {
	if list, ok := s["enum"].([]any); ok {
		return list
	}
	if v, ok := s["const"]; ok {
		return []any{v}
	}
	return nil
}

// typed returns a schema of one type, "" for any.
func (c *googleConverter) typed(m map[string]any, t string) *googleSchema {
	s := &googleSchema{Type: strings.ToUpper(t)}
	if t == "" {
		s = googleAny()
		if d, ok := m["description"].(string); ok {
			s.AnyOf[0].Description = d
		}
		if values := googleValues(m); len(values) > 0 {
			s.AnyOf[0].note("One of %s.", googleList(values))
		}
		return s
	}
	s.Description, _ = m["description"].(string)
	if s.Description == "" {
		s.Title, _ = m["title"].(string)
	}
	c.values(s, m, t)
	switch t {
	case "object":
		c.object(s, m)
	case "array":
		c.array(s, m)
	case "string":
		googleString(s, m)
	case "integer", "number":
		googleNumber(s, m, t)
	}
	if v, ok := m["default"]; ok && v != nil {
		s.note("Default: %s.", googleText(v))
	}
	return s
}

// values limits s to the values of enum or const.
func (c *googleConverter) values(s *googleSchema, m map[string]any, t string) {
	values := googleValues(m)
	var words []string
	plain := t == "string"
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			s.Nullable = true
		case string:
			if v == "" {
				plain = false // the API wants every value to have characters
			} else if !slices.Contains(words, v) {
				words = append(words, v)
			}
		default:
			plain = false
		}
	}
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == nil:
	case plain:
		s.Enum = words
	default:
		s.note("One of %s.", googleList(values))
	}
}

func (c *googleConverter) object(s *googleSchema, m map[string]any) {
	s.MinProperties, s.MaxProperties = googleCount(m["minProperties"]), googleCount(m["maxProperties"])
	properties, _ := m["properties"].(map[string]any)
	if len(properties) == 0 {
		return
	}
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names) // what a bound on the work cuts must not depend on chance
	s.Properties = make(map[string]*googleSchema, len(names))
	for _, name := range names {
		if p := c.convert(properties[name]); p != nil {
			s.Properties[name] = p
		}
	}
	required, _ := m["required"].([]any)
	for _, r := range required {
		name, ok := r.(string)
		if ok && s.Properties[name] != nil && !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}

// array returns one schema for the items; those of a tuple become alternatives.
func (c *googleConverter) array(s *googleSchema, m map[string]any) {
	s.MinItems, s.MaxItems = googleCount(m["minItems"]), googleCount(m["maxItems"])
	tuple, _ := m["prefixItems"].([]any)
	if list, ok := m["items"].([]any); ok { // as tuples were written before 2020
		tuple = list
	}
	switch {
	case len(tuple) > 0:
		s.Items = c.alternatives(map[string]any{}, tuple)
	case googleHas(m, "items"):
		s.Items = c.convert(m["items"])
	}
	if s.Items == nil {
		s.Items = &googleSchema{Type: "STRING"}
	}
}

func googleString(s *googleSchema, m map[string]any) {
	s.MinLength, s.MaxLength = googleCount(m["minLength"]), googleCount(m["maxLength"])
	if p, ok := m["pattern"].(string); ok && p != "" {
		if _, err := regexp.Compile(p); err == nil {
			s.Pattern = p
		} else {
			s.note("Pattern: %s", p)
		}
	}
	switch f, _ := m["format"].(string); f {
	case "", "enum":
	case "date-time":
		s.Format = f
	default:
		s.note("Format: %s.", f)
	}
}

func googleNumber(s *googleSchema, m map[string]any, t string) {
	f, _ := m["format"].(string)
	if t == "integer" && (f == "int32" || f == "int64") || t == "number" && (f == "float" || f == "double") {
		s.Format = f
	}
	s.Minimum = s.bound(m["minimum"], m["exclusiveMinimum"], t, 1, "More than")
	s.Maximum = s.bound(m["maximum"], m["exclusiveMaximum"], t, -1, "Less than")
	if n, ok := m["multipleOf"].(json.Number); ok {
		s.note("A multiple of %s.", n)
	}
}

// bound returns an inclusive bound. An exclusive one (a number, or in old drafts a
// flag) is the next integer, or said in words.
func (s *googleSchema) bound(inclusive, exclusive any, t string, step int64, words string) json.Number {
	n, _ := inclusive.(json.Number)
	x, strict := exclusive.(json.Number)
	if exclusive == true && n != "" {
		x, strict = n, true
	}
	if !strict {
		return n
	}
	if i := googleInteger(x); i != nil && t == "integer" && *i > math.MinInt64 && *i < math.MaxInt64 {
		return json.Number(strconv.FormatInt(*i+step, 10))
	}
	s.note("%s %s.", words, x)
	return x
}

// googleInteger is n if it is a whole number, however it is written.
func googleInteger(n json.Number) *int64 {
	if i, err := n.Int64(); err == nil {
		return &i
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return nil
	}
	i := int64(f)
	return &i
}

// googleCount is a limit: a whole number, not negative.
func googleCount(v any) *int64 {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	i := googleInteger(n)
	if i == nil || *i < 0 {
		return nil
	}
	return i
}

func googleList(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = googleText(v)
	}
	return strings.Join(words, ", ")
}

func googleText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil { // what was decoded encodes
		return "?"
	}
	return string(raw)
}
