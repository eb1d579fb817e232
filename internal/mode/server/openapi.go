package server

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

func (s *Server) describe(w http.ResponseWriter, _ *http.Request) {
	data, err := s.OpenAPI()
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // who has gone reads nothing
}

// OpenAPI describes all operations as an OpenAPI 3.1 document.
func (s *Server) OpenAPI() ([]byte, error) {
	types := schemas{names: map[reflect.Type]string{}, all: map[string]any{}}
	types.custom = map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[llm.USD]():       {Type: "number", Description: "dollars"},
		reflect.TypeFor[session.Event](): {Type: "object", Description: "an event of docs/events.md"},
	}
	problem, err := types.of(reflect.TypeFor[Problem]())
	if err != nil {
		return nil, err
	}
	paths := map[string]map[string]any{}
	for _, r := range s.routes() {
		op, err := types.operation(r)
		if err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", r.verb, r.path, err)
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.verb)] = op
	}
	for path, about := range map[string]string{"/healthz": "Says ok while the server runs.", "/readyz": "Says ok while the server can work."} {
		paths[path] = map[string]any{"get": map[string]any{
			"operationId": path[1:], "summary": about, "security": []any{},
			"responses": map[string]any{"200": map[string]any{"description": "it does", "content": map[string]any{"text/plain": map[string]any{}}}},
		}}
	}
	return json.MarshalIndent(map[string]any{
		"openapi":  "3.1.0",
		"info":     map[string]any{"title": "burin serve", "version": "1", "description": "The sessions of this machine, and the people who use it. docs/serve.md explains the API, docs/events.md the events."},
		"security": []any{map[string]any{"token": []string{}}, map[string]any{"cookie": []string{}}},
		"paths":    paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{
				"token":  map[string]any{"type": "http", "scheme": "bearer", "description": "The right that an operation needs is watch, steer, answer or own; each includes those before it."},
				"cookie": map[string]any{"type": "apiKey", "in": "cookie", "name": "__Host-burin", "description": "Of a browser that is signed in; burin on this machine without https. x-role is the least role for an operation: viewer, member or admin."},
			},
			"responses": map[string]any{"problem": map[string]any{"description": "what is wrong", "content": map[string]any{"application/problem+json": map[string]any{"schema": problem}}}},
			"schemas":   types.all,
		},
	}, "", " ")
}

// schemas are those of the types that operations use.
type schemas struct {
	names  map[reflect.Type]string
	all    map[string]any
	custom map[reflect.Type]*jsonschema.Schema
}

// operation describes a route.
func (t *schemas) operation(r route) (map[string]any, error) {
	name := strings.Trim(strings.NewReplacer("/v1/", "", "/metrics", "metrics", "{id}/", "", "{id}", "one", "{file}", "one", "/", "_", ".", "_").Replace(r.path), "_")
	op := map[string]any{
		"operationId": strings.ToLower(r.verb) + "_" + name, "summary": r.about,
	}
	cookie := map[string]any{"cookie": []string{}}
	switch {
	case r.open:
		op["security"] = []any{}
	case r.device:
		op["security"] = []any{cookie}
	default:
		op["security"] = []any{map[string]any{"token": []remote.Rights{r.needs}}, cookie}
	}
	if !r.open {
		op["x-role"] = r.role
	}
	var parameters []any
	for _, name := range []string{"id", "file"} {
		if strings.Contains(r.path, "{"+name+"}") {
			parameters = append(parameters, map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
		}
	}
	for _, q := range r.query {
		schema := map[string]any{"type": "string"}
		if q.name == "session" {
			schema = map[string]any{"type": "array", "items": schema}
		}
		parameters = append(parameters, map[string]any{"name": q.name, "in": "query", "description": q.about, "schema": schema})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	body := func(of reflect.Type) (map[string]any, error) {
		schema, err := t.of(of)
		return map[string]any{"application/json": map[string]any{"schema": schema}}, err
	}
	if r.takes != "" {
		op["requestBody"] = map[string]any{"required": true, "description": fmt.Sprintf("at most %d MB", r.most>>20), "content": map[string]any{r.takes: map[string]any{}}}
	}
	if r.in != nil {
		content, err := body(r.in)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = map[string]any{"required": true, "content": content}
	}
	status, success := "200", map[string]any{"description": "done"}
	switch {
	case r.stream:
		success["content"] = map[string]any{"text/event-stream": map[string]any{}}
	case r.gives != "":
		success["content"] = map[string]any{r.gives: map[string]any{}}
	case r.out != nil:
		content, err := body(r.out)
		if err != nil {
			return nil, err
		}
		success["content"] = content
	}
	if r.created {
		status = "201"
	}
	answers := map[string]any{status: success, "default": map[string]any{"$ref": "#/components/responses/problem"}}
	if r.verb == http.MethodPut { // of what was there
		answers["200"] = success
	}
	op["responses"] = answers
	return op, nil
}

// of gives the schema of a type, in which named structs are references.
func (t *schemas) of(of reflect.Type) (*jsonschema.Schema, error) {
	if err := t.add(of); err != nil {
		return nil, err
	}
	return t.infer(of, false)
}

// add describes the named structs that a type consists of.
func (t *schemas) add(of reflect.Type) error {
	if of.Name() != "" && (t.custom[of] != nil || t.writesItself(of)) {
		return nil
	}
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return t.add(of.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	if t.names[of] != "" {
		return nil
	}
	name := strings.TrimSuffix(cmp.Or(of.Name(), "value"), "JSON")
	name = strings.ToUpper(name[:1]) + name[1:]
	for slices.Contains(slices.Collect(maps.Values(t.names)), name) { // of another package
		name = of.String()[:strings.LastIndexByte(of.String(), '.')] + "_" + name
	}
	t.names[of] = name
	if err := t.addFields(of); err != nil {
		return err
	}
	schema, err := t.infer(of, true)
	if err != nil {
		return err
	}
	t.all[name] = schema
	return nil
}

// addFields describes the types of the fields of a struct, those of embedded ones among them.
func (t *schemas) addFields(of reflect.Type) error {
	for f := range of.Fields() {
		var err error
		switch {
		case embedded(f):
			err = t.addFields(f.Type)
		case f.IsExported() && f.Tag.Get("json") != "-":
			err = t.add(f.Type)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// embedded reports whether the fields of a field's struct are those of the struct around it.
func embedded(f reflect.StructField) bool {
	return f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("json") == ""
}

// writesItself reports whether a type has a JSON of its own, and notes what it is.
func (t *schemas) writesItself(of reflect.Type) bool {
	p := reflect.PointerTo(of)
	switch {
	case of == reflect.TypeFor[time.Time]():
		return true // the library knows it
	case p.Implements(reflect.TypeFor[json.Marshaler]()):
		t.custom[of] = &jsonschema.Schema{Description: "a " + of.Name()}
	case p.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		t.custom[of] = &jsonschema.Schema{Type: "string"}
	default:
		return false
	}
	return true
}

// infer gives the schema of a type; whole: of a named struct itself, not a reference to it.
func (t *schemas) infer(of reflect.Type, whole bool) (*jsonschema.Schema, error) {
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Type: "string", Description: "base64"},
	}
	for typ, schema := range t.custom {
		known[typ] = schema
	}
	for typ, name := range t.names {
		if (!whole || typ != of) && !embeds(of, typ) {
			known[typ] = &jsonschema.Schema{Ref: "#/components/schemas/" + name}
		}
	}
	schema, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: known, IgnoreInvalidTypes: true})
	if err != nil {
		return nil, err
	}
	tidy(schema)
	return schema, nil
}

// embeds reports whether a struct embeds another one.
func embeds(of, other reflect.Type) bool {
	if of.Kind() != reflect.Struct {
		return false
	}
	for f := range of.Fields() {
		if embedded(f) && (f.Type == other || embeds(f.Type, other)) {
			return true
		}
	}
	return false
}

// tidy lets objects have properties of newer versions, and references be only that.
func tidy(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Type == "object" || slices.Contains(s.Types, "object") {
		if s.Properties != nil {
			s.AdditionalProperties = nil
		}
	}
	if s.Ref != "" || slices.Equal(s.Types, []string{"null"}) { // of a pointer to what has no type
		s.Types = nil
	}
	for _, p := range s.Properties {
		tidy(p)
	}
	tidy(s.Items)
	tidy(s.AdditionalProperties)
}
