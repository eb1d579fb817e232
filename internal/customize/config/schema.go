package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// draft is the one that editors of YAML know.
const draft = "http://json-schema.org/draft-07/schema#"

// Schema is the JSON schema of config.yml, for editors that complete and check it.
func Schema() ([]byte, error) {
	root := object()
	root.Schema, root.Title = draft, "burin settings"
	for i := range table {
		s := &table[i]
		at := root
		path := strings.Split(s.Key, ".")
		for _, part := range path[:len(path)-1] {
			if at.Properties[part] == nil {
				property(at, part, object())
			}
			at = at.Properties[part]
		}
		schema, err := s.schema()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Key, err)
		}
		property(at, path[len(path)-1], schema)
	}
	flat := &jsonschema.Schema{Type: "string", Description: "The theme for all terminals."}
	root.Properties["theme"] = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{root.Properties["theme"], flat}}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

func object() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: no()}
}

// no is the schema of nothing.
func no() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func property(of *jsonschema.Schema, name string, s *jsonschema.Schema) {
	of.Properties[name] = s
	of.PropertyOrder = append(of.PropertyOrder, name)
}

// schema is that of the values of a setting.
func (s *Setting) schema() (*jsonschema.Schema, error) {
	out := &jsonschema.Schema{Title: s.Label, Description: s.Help, Minimum: s.Min, Maximum: s.Max}
	if s.Default == nil {
		out.Description += " Default: " + s.Else + "."
	} else {
		text, err := json.Marshal(s.Default)
		if err != nil {
			return nil, err
		}
		out.Default = text
	}
	t := (&Config{}).field(s.Key).Type()
	switch s.Type {
	case Bool:
		out.Type = "boolean"
	case Number:
		out.Type = "integer"
		if s.Fraction {
			out.Type = "number"
		}
	case String, Enum:
		out.Type, out.Enum = "string", words(s.Choices)
		if t == reflect.TypeFor[Notify]() {
			out.Enum = append(out.Enum, "on")
		}
	case List:
		out.Type, out.Items = "array", &jsonschema.Schema{Type: "string", Enum: words(s.Choices)}
		if t == reflect.TypeFor[catalog.ScopedList]() {
			out.Items = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{out.Items, scoped()}}
		}
	case Record:
		out.Type, out.AdditionalProperties = "object", structure(t.Elem())
	}
	return out, nil
}

func words(choices []string) []any {
	var out []any
	for _, c := range choices {
		out = append(out, c)
	}
	return out
}

// scoped is the schema of entries that apply in some folders only.
func scoped() *jsonschema.Schema {
	out := object()
	texts := func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}}}}
	}
	for _, name := range []string{"path", "paths", "pathPrefix", "pathPrefixes", "models", "providers", "values"} {
		property(out, name, texts())
	}
	return out
}

// structure is the schema of entries of a mapping.
func structure(t reflect.Type) *jsonschema.Schema {
	switch t.Kind() {
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: structure(t.Elem())}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: structure(t.Elem())}
	case reflect.Struct:
		out := object()
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
				property(out, name, structure(t.Field(i).Type))
			}
		}
		return out
	}
	return &jsonschema.Schema{Type: "string"}
}
