package subagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Bounds of what stands below one key of a head.
const (
	maxBlock = 32 << 10 // bytes
	maxNest  = 32       // levels of a schema
)

// aliased finds the anchors and aliases of a document, with which a small one can become endless.
type aliased struct{ found bool }

// Visit implements [ast.Visitor].
func (a *aliased) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AliasType, ast.AnchorType, ast.MergeKeyType:
		a.found = true
	default:
	}
	return a
}

// decode reads the value of a block, "key: value" in YAML, into v.
func decode(block string, v any) error {
	if len(block) > maxBlock {
		return fmt.Errorf("it has more than %d KB", maxBlock>>10)
	}
	if err := smallfile.CheckNesting([]byte(block)); err != nil {
		return errors.New("it nests too deep")
	}
	file, err := parser.ParseBytes([]byte(block), 0)
	if err != nil {
		return errors.New("it is not valid YAML")
	}
	a := &aliased{}
	for _, doc := range file.Docs {
		ast.Walk(a, doc)
	}
	if a.found {
		return errors.New("anchors and aliases are not read")
	}
	var whole map[string]any
	if err := yaml.Unmarshal([]byte(block), &whole); err != nil || len(whole) != 1 {
		return errors.New("it is not valid YAML")
	}
	for _, value := range whole {
		text, err := json.Marshal(value)
		if err != nil {
			return errors.New("it is not a mapping of names to values")
		}
		if err := json.Unmarshal(text, v); err != nil {
			return errors.New("it is not a mapping of names to values")
		}
	}
	return nil
}

// schemaOf gives the JSON schema, of an object, of what a file has as output: a JSON schema, or a
// JSON Type Definition (RFC 8927), as the pi family has them. What is no object becomes one with
// the property "result".
func schemaOf(given map[string]any) (json.RawMessage, error) {
	if len(given) == 0 {
		return nil, errors.New("it is empty")
	}
	schema := given
	if isTypeDefinition(given) {
		definitions, _ := given["definitions"].(map[string]any)
		c := converter{definitions}
		var err error
		if schema, err = c.schema(given, 0); err != nil {
			return nil, err
		}
	}
	if schema["type"] == nil && schema["properties"] != nil {
		schema["type"] = "object"
	}
	if schema["type"] != "object" {
		schema = map[string]any{"type": "object", "properties": map[string]any{"result": schema}, "required": []any{"result"}, "additionalProperties": false}
	}
	return json.Marshal(schema)
}

// isTypeDefinition tells a JSON Type Definition from a JSON schema.
func isTypeDefinition(m map[string]any) bool {
	for _, k := range []string{"$schema", "$ref", "required", "items", "additionalProperties", "oneOf", "anyOf", "allOf", "$defs", "const"} {
		if _, ok := m[k]; ok {
			return false
		}
	}
	for _, k := range []string{"optionalProperties", "elements", "values", "discriminator", "ref"} {
		if _, ok := m[k]; ok {
			return true
		}
	}
	_, properties := m["properties"]
	switch m["type"] {
	case nil:
		_, enum := m["enum"]
		return properties || enum
	case "timestamp", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32":
		return true
	}
	return false
}

// converter makes JSON schemas of JSON Type Definitions.
type converter struct {
	definitions map[string]any
}

func (c converter) schema(m map[string]any, depth int) (map[string]any, error) {
	if depth > maxNest {
		return nil, fmt.Errorf("it is nested more than %d levels, or refers to itself", maxNest)
	}
	out, err := c.form(m, depth)
	if err != nil {
		return nil, err
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		if text, ok := meta["description"].(string); ok {
			out["description"] = text
		}
	}
	if text, ok := m["description"].(string); ok {
		out["description"] = text
	}
	if m["nullable"] == true && len(out) > 0 {
		out = map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	}
	return out, nil
}

// form converts one of the forms of the RFC.
func (c converter) form(m map[string]any, depth int) (map[string]any, error) {
	if name, ok := m["ref"].(string); ok {
		to, ok := c.definitions[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("ref %q is not among its definitions", name)
		}
		return c.schema(to, depth+1)
	}
	if word, ok := m["type"].(string); ok {
		return scalar(word)
	}
	if all, ok := m["enum"].([]any); ok {
		return map[string]any{"type": "string", "enum": all}, nil
	}
	for _, k := range []struct{ word, kind, place string }{{"elements", "array", "items"}, {"values", "object", "additionalProperties"}} {
		if of, ok := m[k.word].(map[string]any); ok {
			inner, err := c.schema(of, depth+1)
			return map[string]any{"type": k.kind, k.place: inner}, err
		}
	}
	if tag, ok := m["discriminator"].(string); ok {
		return c.union(tag, m, depth)
	}
	_, required := m["properties"]
	_, optional := m["optionalProperties"]
	if required || optional {
		return c.object(m, depth)
	}
	return map[string]any{}, nil // the empty form: anything
}

func (c converter) object(m map[string]any, depth int) (map[string]any, error) {
	properties, must := map[string]any{}, []any{}
	for _, part := range []string{"properties", "optionalProperties"} {
		some, _ := m[part].(map[string]any)
		for _, name := range sortedKeys(some) {
			of, ok := some[name].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s of %s is not a mapping", name, part)
			}
			inner, err := c.schema(of, depth+1)
			if err != nil {
				return nil, err
			}
			if properties[name] = inner; part == "properties" {
				must = append(must, name)
			}
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": m["additionalProperties"] == true}
	if len(must) > 0 {
		out["required"] = must
	}
	return out, nil
}

// union is a choice of objects by the value of one property.
func (c converter) union(tag string, m map[string]any, depth int) (map[string]any, error) {
	mapping, _ := m["mapping"].(map[string]any)
	var all []any
	for _, value := range sortedKeys(mapping) {
		of, ok := mapping[value].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s of mapping is not a mapping", value)
		}
		inner, err := c.object(of, depth+1)
		if err != nil {
			return nil, err
		}
		inner["properties"].(map[string]any)[tag] = map[string]any{"const": value}
		must, _ := inner["required"].([]any)
		inner["required"] = append([]any{tag}, must...)
		all = append(all, inner)
	}
	if len(all) == 0 {
		return nil, errors.New("its discriminator has no mapping")
	}
	return map[string]any{"oneOf": all}, nil
}

func scalar(word string) (map[string]any, error) {
	switch word {
	case "string", "boolean":
		return map[string]any{"type": word}, nil
	case "timestamp":
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case "float32", "float64", "number":
		return map[string]any{"type": "number"}, nil
	case "int8", "uint8", "int16", "uint16", "int32", "uint32", "integer":
		return map[string]any{"type": "integer"}, nil
	}
	return nil, fmt.Errorf("unknown type %q", word)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
