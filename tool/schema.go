package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON schema, draft 2020-12.
type Schema = jsonschema.Schema

// Artifact is an artifact to write to.
type Artifact interface {
	io.WriteCloser
	ID() string
}

// ArtifactReader is an artifact to read from.
type ArtifactReader interface {
	io.ReadSeekCloser
	Size() int64
}

// New makes a tool. It panics if A has no schema: that is a bug, and shows at start.
func New[A any](d Definition[A]) *Tool {
	params := parameters[A](d.Name, d.Adjust)
	t := &Tool{
		Name: d.Name, Label: d.Label, Description: d.Description, Parameters: params,
		Strict: d.Strict, Effects: d.Effects,
	}
	t.Run = func(ctx context.Context, call Call) (*Result, error) {
		args, err := decode[A](call.Arguments)
		if err != nil {
			return nil, err
		}
		return d.Run(ctx, call, args)
	}
	if d.Access != nil {
		t.Access = func(raw json.RawMessage) ([]Access, error) {
			args, err := decode[A](raw)
			if err != nil {
				return nil, err
			}
			return d.Access(args), nil
		}
	}
	if d.Together != nil {
		t.Together = func(raw json.RawMessage) bool {
			args, err := decode[A](raw)
			return err == nil && d.Together(args)
		}
	}
	return t
}

// schemas caches the parameters of tools by [schemaKey]. Each is computed once, because a
// session has some twenty tools and a server many sessions.
var schemas sync.Map

// schemaKey determines a schema.
type schemaKey struct {
	arguments reflect.Type
	adjust    uintptr // address of its code
}

// parameters returns the schema of the arguments A.
func parameters[A any](name string, adjust func(*Schema)) json.RawMessage {
	key := schemaKey{reflect.TypeFor[A](), reflect.ValueOf(adjust).Pointer()}
	if known, ok := schemas.Load(key); ok {
		return known.(json.RawMessage)
	}
	s, err := jsonschema.For[A](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	dropNull(s)
	if adjust != nil {
		adjust(s)
	}
	params, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	known, _ := schemas.LoadOrStore(key, json.RawMessage(params))
	return known.(json.RawMessage)
}

// decode reads valid arguments. The schema accepts 3.0 as an integer; Go does not, so decode
// reads it as 3.
func decode[A any](raw json.RawMessage) (A, error) {
	var args A
	if len(raw) == 0 {
		return args, nil
	}
	err := json.Unmarshal(raw, &args)
	if err == nil {
		return args, nil
	}
	if plain, ok := integers(raw); ok {
		var again A
		if json.Unmarshal(plain, &again) == nil {
			return again, nil
		}
	}
	return args, fmt.Errorf("arguments: %w", err)
}

// dropNull removes null from the types that inference gives to slices and pointers: a property
// is omitted, not null, and strict providers refuse the union.
func dropNull(s *Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		dropNull(p)
	}
	dropNull(s.Items)
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		dropNull(s.AdditionalProperties)
	}
}

// Property returns the schema of a property of s, or of a nested one: "edits.op" is op in the
// items of edits. It panics if there is none.
func Property(s *Schema, path ...string) *Schema {
	for _, name := range path {
		for s.Items != nil {
			s = s.Items
		}
		p := s.Properties[name]
		if p == nil {
			panic(fmt.Sprintf("schema has no property %q", name))
		}
		s = p
	}
	return s
}
