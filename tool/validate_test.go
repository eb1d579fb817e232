package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// raw is a tool as a server describes it.
func raw(name, schema string) *tool.Tool {
	return &tool.Tool{Name: name, Parameters: json.RawMessage(schema)}
}

func call(args string) llm.ToolCall { return llm.ToolCall{ID: "c1", Name: "edit", Arguments: args} }

const editSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1},
		"mode": {"enum": ["replace", "insert", "remove"]},
		"edits": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/edit"}},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100},
		"ratio": {"type": "number"},
		"all": {"type": "boolean"},
		"tags": {"type": "array", "items": {"type": "string"}},
		"note": {"type": ["string", "null"]},
		"where": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"], "additionalProperties": false}]}
	},
	"required": ["path", "edits"],
	"additionalProperties": false,
	"$defs": {"edit": {
		"type": "object",
		"properties": {"old": {"type": "string"}, "new": {"type": "string"}},
		"required": ["old", "new"], "additionalProperties": false
	}}
}`

func TestValidateTakes(t *testing.T) {
	edit := raw("edit", editSchema)
	const rest = `"edits":[{"old":"a","new":"b"}]`
	for _, tt := range []struct{ name, in, want string }{
		{"as it is", `{ "path": "a", ` + rest + `, "note": null}`, ""},
		{"repaired text", "{\"path\":\"a\tb\"," + rest + `}`, `{"path":"a\tb",` + rest + `}`},
		{"null for what is optional", `{"path":"a","limit":null,` + rest + `}`, `{"path":"a",` + rest + `}`},
		{"quoted integer", `{"path":"a","limit":"12",` + rest + `}`, `{` + rest + `,"limit":12,"path":"a"}`},
		{"quoted number", `{"path":"a","ratio":"1.50",` + rest + `}`, `{` + rest + `,"path":"a","ratio":1.50}`},
		{"quoted boolean", `{"path":"a","all":"true",` + rest + `}`, `{"all":true,` + rest + `,"path":"a"}`},
		{"one string of a list", `{"path":"a","tags":"x<y",` + rest + `}`, `{` + rest + `,"path":"a","tags":["x<y"]}`},
		{"quoted list", `{"path":"a","edits":"[{\"old\":\"a\",\"new\":\"b\"}]"}`, `{"edits":[{"new":"b","old":"a"}],"path":"a"}`},
		{"one object of a list", `{"path":"a","edits":{"old":"a","new":"b"}}`, `{"edits":[{"new":"b","old":"a"}],"path":"a"}`},
		{"a string where one may be", `{"path":"12",` + rest + `,"where":"7"}`, ""},
		{"deep", `{"path":"a",` + rest + `,"where":{"line":"7"}}`, `{` + rest + `,"path":"a","where":{"line":7}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edit.Validate(call(tt.in))
			if tt.want == "" {
				tt.want = tt.in
			}
			if err != nil || canonical(t, got) != canonical(t, []byte(tt.want)) {
				t.Errorf("%s\nbecame %s, %v\nwant   %s", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestValidateRefuses(t *testing.T) {
	edit := raw("edit", editSchema)
	const head = "edit did not run"
	for _, tt := range []struct {
		name, in string
		want     []string
		example  string
	}{
		{"nothing", ``, []string{"2 problems", "- path: is missing; expected a string", "- edits: is missing; expected an array of objects"}, `{"path":"<string>","edits":[{"old":"<string>","new":"<string>"}]}`},
		{"no object", `[1]`, []string{"not a JSON object"}, `{"path":"<string>","edits":[{"old":"<string>","new":"<string>"}]}`},
		{"cut", `{"path":"a","edits":[{"ol`, []string{"end before"}, `{"path":"<string>","edits":[{"old":"<string>","new":"<string>"}]}`},
		{
			"wrong names", `{"file_path":"src/a.go","edits":[{"old":"a","nwe":"b"}]}`,
			[]string{`file_path: is not a property. Did you mean "path"?`, `edits[0].nwe: is not a property. Did you mean "new"?`, "path: is missing", "edits[0].new: is missing"},
			`{"path":"src/a.go","edits":[{"old":"a","new":"b"}]}`,
		},
		{
			"unknown name", `{"path":"a","edits":[{"old":"a","new":"b"}],"zzzz":1}`,
			[]string{`zzzz: is not a property. The properties are path, edits, all, limit, mode, note, ratio, tags, where.`},
			`{"path":"a","edits":[{"old":"a","new":"b"}]}`,
		},
		{
			"wrong types", `{"path":7,"edits":[{"old":"a","new":"b"},{"old":true,"new":"c"}],"limit":"many","all":"yes","tags":[1]}`,
			[]string{"path: expected a string, got 7", "edits[1].old: expected a string, got true", `limit: expected an integer, got "many"`, `all: expected true or false, got "yes"`, "tags[0]: expected a string, got 1"},
			`{"path":"<string>","edits":[{"old":"a","new":"b"},{"old":"<string>","new":"c"}],"all":false,"limit":1,"tags":["<string>"]}`,
		},
		{
			"out of range", `{"path":"","edits":[],"limit":1.5,"mode":"Replace all"}`,
			[]string{"path: must not be empty", "edits: must have at least 1 item, has 0", "limit: expected an integer, got 1.5", `mode: expected one of "replace", "insert", "remove", got "Replace all". Did you mean "replace"?`},
			`{"path":"<string>","edits":[{"old":"<string>","new":"<string>"}],"limit":1,"mode":"replace"}`,
		},
		{"almost a number", `{"path":"a","edits":[{"old":"a","new":"b"}],"limit":" 12"}`, []string{`limit: expected an integer, got " 12"`}, ""},
		{"too large", `{"path":"a","edits":[{"old":"a","new":"b"}],"limit":1e3}`, []string{"limit: must be at most 100, got 1e3"}, ""},
		{"no branch", `{"path":"a","edits":[{"old":"a","new":"b"}],"where":4}`, []string{"where: expected a string or an object, got 4"}, ""},
		{"nearest branch", `{"path":"a","edits":[{"old":"a","new":"b"}],"where":{"lin":4}}`, []string{"where.line: is missing"}, `{"path":"a","edits":[{"old":"a","new":"b"}],"where":{"line":4}}`},
		{"null where it must be", `{"path":null,"edits":[{"old":"a","new":"b"}]}`, []string{"path: expected a string, got null"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edit.Validate(call(tt.in))
			var bad *tool.ArgumentsError
			if !errors.As(err, &bad) {
				t.Fatalf("gave %s, %v", got, err)
			}
			for _, want := range append(tt.want, head) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in:\n%s", want, err)
				}
			}
			if tt.example != "" && string(bad.Example) != tt.example {
				t.Errorf("example\n%s, want\n%s", bad.Example, tt.example)
			}
			if _, err := edit.Validate(call(string(bad.Example))); err != nil {
				t.Errorf("the example is not valid itself: %v", err)
			}
		})
	}
}

func TestValidateDefects(t *testing.T) {
	edit := raw("edit", editSchema)
	for _, d := range []llm.Defect{llm.DefectCut, llm.DefectCorrupt} {
		c := call(`{"path":"a","edits":[{"old":"a","new":"b"}]}`)
		c.Defect = d
		_, err := edit.Validate(c)
		var bad *tool.ArgumentsError
		if !errors.As(err, &bad) || bad.Defect != d {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func TestValidateRange(t *testing.T) {
	_, err := raw("x", `{"type":"object","properties":{"n":{"type":"number"}},"required":["path"]}`).Validate(call(`{"n":1e999,"path":"a"}`))
	if err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("1e999: %v", err)
	}
}

// A model that writes much wrong is not answered with as much.
func TestValidateIsBrief(t *testing.T) {
	edit := raw("edit", editSchema)
	item := `{"old":` + strings.Repeat("1", 5000) + `,"` + strings.Repeat("n", 5000) + `":2},`
	_, err := edit.Validate(call(`{"path":"` + strings.Repeat("p", 9000) + `","edits":[` + strings.Repeat(item, 50) + `{}]}`))
	if err == nil || len(err.Error()) > 5000 || !strings.Contains(err.Error(), "more") {
		t.Errorf("%d bytes:\n%s", len(err.Error()), err)
	}
}

// Schemas come from anywhere. None may stop the program, or a call that could
// have run.
func TestValidateOddSchemas(t *testing.T) {
	circle := strings.Repeat(`{"anyOf":[`, 3000) + `{}` + strings.Repeat(`]}`, 3000)
	wide := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 40 {
		wide += `"a` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":{"anyOf":[{"$ref":"#/$defs/a` + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + `"},{"$ref":"#/$defs/a` + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + `"}]},`
	}
	wide = strings.Replace(wide, "a0\"", "a00\"", 1) + `"a40":{"type":"string"}}}`
	for name, schema := range map[string]string{
		"none": ``, "no JSON": `{`, "null": `null`, "true": `true`, "list": `[]`,
		"type of its own":     `{"type":"file"}`,
		"reference to itself": `{"$ref":"#"}`,
		"circle":              `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`,
		"elsewhere":           `{"$ref":"https://example.com/schema.json"}`,
		"nowhere":             `{"$ref":"#/$defs/none"}`,
		"dynamic":             `{"$dynamicRef":"#node","$defs":{"n":{"$dynamicAnchor":"node"}}}`,
		"deep":                circle,
		"doubling":            wide,
		"wrong pattern":       `{"properties":{"a":{"pattern":"(?<=x)y"}}}`,
		"other draft":         `{"$schema":"http://json-schema.org/draft-03/schema#","required":["b"]}`,
		"draft of its own":    `{"$schema":"https://example.com/meta","required":["b"]}`,
		"null property":       `{"type":"object","properties":{"a":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := raw("x", schema).Validate(call(`{"a":1}`))
			if name == "type of its own" { // it resolves, and takes nothing
				if err == nil {
					t.Error("ran")
				}
				return
			}
			if err != nil || string(got) != `{"a":1}` {
				t.Errorf("gave %s, %v", got, err)
			}
		})
	}
	// Each level of the arguments would be looked at twice as often as the one above.
	const twice = `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["b"]}`
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	if _, err := raw("x", `{"anyOf":[`+twice+`,`+twice+`]}`).Validate(call(deep)); err != nil {
		t.Errorf("too much work: %v", err)
	}
	old := raw("x", `{"$schema":"http://json-schema.org/draft-07/schema","type":"object","definitions":{"n":{"type":"object","properties":{"next":{"$ref":"#/definitions/n"},"v":{"type":"integer"}}}},"properties":{"list":{"$ref":"#/definitions/n"}}}`)
	if _, err := old.Validate(call(`{"list":{"next":{"next":{"v":"x"}}}}`)); err == nil || !strings.Contains(err.Error(), "list.next.next.v: expected an integer") {
		t.Errorf("a recursive schema of draft 7: %v", err)
	}
}

// Schemas of every draft, with the ways they have to name a schema.
func TestValidateDrafts(t *testing.T) {
	const tree = `"type":"object","properties":{"data":true,"children":{"type":"array","items":{%s}}}`
	for name, tt := range map[string]struct{ schema, valid, invalid, said string }{
		"identifier": {
			`{"$id":"https://example.com/root","type":"object","properties":{"a":{"$ref":"item"}},"$defs":{"i":{"$id":"item","type":"string"}}}`,
			`{"a":"x"}`, `{"a":[]}`, "a: expected a string",
		},
		"anchor": {
			`{"type":"object","properties":{"a":{"$ref":"#name"}},"$defs":{"i":{"$anchor":"name","type":"object","required":["b"]}}}`,
			`{"a":{"b":1}}`, `{"a":{}}`, "a.b: is missing",
		},
		"pointer with escapes": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/per%25cent~1x"}},"$defs":{"per%cent/x":{"type":"boolean"}}}`,
			`{"a":true}`, `{"a":1}`, "a: expected true or false",
		},
		"dynamic reference": {
			`{"$id":"https://example.com/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,"$defs":{"t":{"$id":"tree","$dynamicAnchor":"node",` +
				strings.Replace(tree, "%s", `"$dynamicRef":"#node"`, 1) + `}}}`,
			`{"children":[{"data":1}]}`, `{"children":[{"daat":1}]}`, "x did not run",
		},
		"recursive reference": {
			`{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://example.com/strict","$recursiveAnchor":true,"$ref":"tree","unevaluatedProperties":false,"$defs":{"t":{"$id":"tree","$recursiveAnchor":true,` +
				strings.Replace(tree, "%s", `"$recursiveRef":"#"`, 1) + `}}}`,
			`{"children":[{"data":1}]}`, `{"children":[{"daat":1}]}`, "x did not run",
		},
		"draft 4": {
			`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://example.com/r","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true},"m":{"$ref":"#m"}},"definitions":{"m":{"id":"#m","type":"string"}}}`,
			`{"n":0.5,"m":"x"}`, `{"n":0,"m":[]}`, "n: must be more than 0",
		},
		"draft 4 without saying so": {
			`{"type":"object","properties":{"n":{"type":"integer","maximum":9,"exclusiveMaximum":true}}}`,
			`{"n":8}`, `{"n":9}`, "n: must be less than 9",
		},
		"list of items": {
			`{"type":"object","properties":{"p":{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`,
			`{"p":["a",1]}`, `{"p":["a","b"]}`, "p[1]: expected an integer",
		},
		"dependencies": {
			`{"type":"object","dependencies":{"a":["b"]}}`,
			`{"a":1,"b":2}`, `{"a":1}`, "dependentRequired",
		},
		"both names of definitions": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/definitions/b"}},"$defs":{"a":{"type":"string"}},"definitions":{"b":{"type":"string"}}}`,
			`{"a":"x","b":"y"}`, `{"a":"x","b":{}}`, "b: expected a string",
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := raw("x", tt.schema)
			if got, err := x.Validate(call(tt.valid)); err != nil || string(got) != tt.valid {
				t.Errorf("%s gave %s, %v", tt.valid, got, err)
			}
			if _, err := x.Validate(call(tt.invalid)); err == nil || !strings.Contains(err.Error(), tt.said) {
				t.Errorf("%s gave %v, want %q", tt.invalid, err, tt.said)
			}
			set, err := tool.NewSet(x)
			if err != nil {
				t.Fatal(err)
			}
			sent := string(set.Definitions()[0].Schema)
			for _, word := range []string{"$id", `"id"`, "$schema", "nchor", "$dynamic", "$recursive", `mum":true`, "dependencies", "additionalItems"} {
				if strings.Contains(sent, word) {
					t.Errorf("%s is sent: %s", word, sent)
				}
			}
			if !strings.HasPrefix(sent, `{"type":"object"`) && !strings.Contains(sent, `"$ref"`) {
				t.Errorf("no object is sent: %s", sent)
			}
		})
	}
}

// Strict vendors write null for what is left out, also of tools whose schema
// validates nothing.
func TestValidateStrict(t *testing.T) {
	x := raw("x", `{"$dynamicRef":"#n","properties":{"a":{"type":"string"},"b":{"type":["string","null"]}}}`)
	x.Strict = true
	if got, err := x.Validate(call(`{"a":null,"b":null}`)); err != nil || string(got) != `{"b":null}` {
		t.Errorf("gave %s, %v", got, err)
	}
}

// An example that would not be valid is not given.
func TestValidateWithoutExample(t *testing.T) {
	x := raw("x", `{"type":"object","properties":{"id":{"type":"string","pattern":"^[0-9]+$"}},"required":["id"]}`)
	_, err := x.Validate(call(`{"id":"x"}`))
	if err == nil || err.Error() != `x did not run: id: must match the pattern ^[0-9]+$, got "x"` {
		t.Errorf("%v", err)
	}
}

// Rules that have no words of their own are told in the validator's.
func TestValidateOtherRules(t *testing.T) {
	for schema, want := range map[string]string{
		`{"not":{"required":["a"]}}`:                                                "not: validated against",
		`{"dependentRequired":{"a":["b"]}}`:                                         "dependentRequired",
		`{"properties":{"a":{"multipleOf":2}}}`:                                     "multipleOf: 1/1 is not a multiple",
		`{"patternProperties":{"^a":{"type":"string"}}}`:                            "a: expected a string, got 1",
		`{"oneOf":[{"required":["a"]},{"properties":{"a":{"type":"integer"}}}]}`:    "fits 2 of the forms",
		`{"properties":{"a":{"const":"x"}},"required":["b"]}`:                       `a: expected "x", got 1`,
		`{"minProperties":2}`:                                                       "at least 2 properties",
		`{"propertyNames":{"pattern":"^b"}}`:                                        "does not match",
		`{"properties":{"a":{"exclusiveMinimum":1}}}`:                               "a: must be more than 1, got 1",
		`{"additionalProperties":{"type":"string"},"properties":{"b":{}}}`:          "a: expected a string, got 1",
		`{"allOf":[{"required":["c"]},{"required":["b"]}]}`:                         "b: is missing",
		`{"properties":{"a":{"type":"array","items":{"enum":[1,2]},"minItems":1}}}`: "a: expected an array",
	} {
		_, err := raw("x", schema).Validate(call(`{"a":1}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

// What is coerced is valid, and what was valid is not touched.
func TestValidateProperties(t *testing.T) {
	edit := raw("edit", editSchema)
	value := rapid.Custom(func(t *rapid.T) any {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Just[any]("x"), rapid.Just[any]("12"), rapid.Just[any](`["a"]`), rapid.Just[any](3),
			rapid.Just[any](true), rapid.Just[any]([]any{"a", 1}), rapid.Just[any](map[string]any{"old": "a", "new": 2, "line": "1"}),
			rapid.Just[any]([]any{map[string]any{"old": "a", "new": "b"}}),
		).Draw(t, "value")
	})
	names := rapid.SampledFrom([]string{"path", "edits", "limit", "all", "tags", "note", "where", "mode", "ratio", "extra"})
	rapid.Check(t, func(t *rapid.T) {
		args, _ := json.Marshal(rapid.MapOf(names, value).Draw(t, "args"))
		got, err := edit.Validate(call(string(args)))
		if err != nil {
			var bad *tool.ArgumentsError
			if !errors.As(err, &bad) || len(bad.Problems) == 0 {
				t.Fatalf("%s: %v", args, err)
			}
			if _, err := edit.Validate(call(string(bad.Example))); err != nil {
				t.Fatalf("%s: the example %s is not valid: %v", args, bad.Example, err)
			}
			return
		}
		if again, err := edit.Validate(call(string(got))); err != nil || string(again) != string(got) {
			t.Fatalf("%s became %s, which became %s, %v", args, got, again, err)
		}
	})
}

func FuzzValidate(f *testing.F) {
	f.Add(editSchema, `{"path":"a","edits":[{"old":"a"}]}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"type":["object","null"],"properties":{"a":{"$ref":"#"}}}}}`, `{"a":{"a":{"a":1}}}`)
	f.Add(`{"items":[{"type":"string"}],"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		got, err := raw("x", schema).Validate(call(args))
		if err == nil && !json.Valid(got) {
			t.Errorf("gave %q", got)
		}
		if err != nil && len(err.Error()) > 20_000 {
			t.Errorf("%d bytes of error", len(err.Error()))
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	edit := raw("edit", editSchema)
	for name, args := range map[string]string{
		"valid":   `{"path":"src/main.go","edits":[{"old":"one","new":"two"}],"limit":3}`,
		"coerced": `{"path":"src/main.go","edits":[{"old":"one","new":"two"}],"limit":"3"}`,
		"refused": `{"file":"src/main.go","edits":[{"old":"one"}],"limit":"many"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				edit.Validate(call(args))
			}
		})
	}
}

type nested struct {
	Old string   `json:"old" jsonschema:"the text to replace"`
	All bool     `json:"all,omitempty"`
	Ref *int     `json:"ref,omitempty"`
	Sub []string `json:"sub,omitzero"`
}

type arguments struct {
	Zeta  string            `json:"zeta" jsonschema:"comes first"`
	Alpha []nested          `json:"alpha"`
	Map   map[string]nested `json:"map,omitempty"`
	Count int               `json:"count,omitempty"`
}

func TestNew(t *testing.T) {
	var ran arguments
	x := tool.New(tool.Definition[arguments]{
		Name: "x", Effects: tool.Reads,
		Adjust: func(s *tool.Schema) {
			tool.Property(s, "alpha", "old").MinLength = jsonschema.Ptr(1)
			tool.Property(s, "count").Maximum = jsonschema.Ptr(9.0)
		},
		Access: func(a arguments) []tool.Access { return []tool.Access{{Kind: tool.AccessRead, Target: a.Zeta}} },
		Run: func(_ context.Context, _ tool.Call, a arguments) (*tool.Result, error) {
			ran = a
			return tool.Text("done"), nil
		},
	})
	item := `{"type":"object","properties":{"old":{"type":"string","description":"the text to replace"%s},"all":{"type":"boolean"},` +
		`"ref":{"type":"integer"},"sub":{"type":"array","items":{"type":"string"}}},"required":["old"],"additionalProperties":false}`
	want := `{"type":"object","properties":{"zeta":{"type":"string","description":"comes first"},` +
		`"alpha":{"type":"array","items":` + strings.Replace(item, "%s", `,"minLength":1`, 1) + `},` +
		`"map":{"type":"object","additionalProperties":` + strings.Replace(item, "%s", "", 1) + `},` +
		`"count":{"type":"integer","maximum":9}},"required":["zeta","alpha"],"additionalProperties":false}`
	if got := canonical(t, x.Parameters); got != canonical(t, []byte(want)) {
		t.Errorf("schema\n%s, want\n%s", got, canonical(t, []byte(want)))
	}
	if got := string(x.Parameters); strings.Index(got, "zeta") > strings.Index(got, "alpha") || strings.Index(got, "alpha") > strings.Index(got, "count") {
		t.Errorf("properties out of order: %s", got)
	}
	args, err := x.Validate(llm.ToolCall{Arguments: `{"zeta":"a","alpha":{"old":"b"},"count":3.0}`})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), tool.Call{Arguments: args}); err != nil || ran.Count != 3 || ran.Alpha[0].Old != "b" {
		t.Errorf("ran with %+v, %v", ran, err)
	}
	if got, err := x.Accesses(args); err != nil || len(got) != 1 || got[0].Target != "a" {
		t.Errorf("touches %v, %v", got, err)
	}
	if _, err := x.Run(t.Context(), tool.Call{Arguments: json.RawMessage(`{"zeta":1.5}`)}); err == nil {
		t.Error("ran with a wrong type")
	}
}

// canonical is JSON with its keys in order.
func canonical(t *testing.T, p []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(p, &v); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func TestPropertyThatIsMissing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	tool.Property(&tool.Schema{}, "no")
}

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		effects  tool.Effects
		together bool
		kinds    int
	}{{0, true, 0}, {tool.Reads, true, 1}, {tool.Reads | tool.Network, true, 2}, {tool.Writes, false, 1}, {tool.Reads | tool.Executes, false, 2}, {tool.Asks, false, 0}} {
		x := &tool.Tool{Effects: tt.effects}
		all, err := x.Accesses(nil)
		if err != nil || len(all) != tt.kinds || x.RunsTogether(nil) != tt.together {
			t.Errorf("effects %b: accesses %v, together %v", tt.effects, all, x.RunsTogether(nil))
		}
	}
}

func TestSet(t *testing.T) {
	read, write, upper := raw("read", `{}`), raw("write_file", `{}`), raw("Write_File", `{}`)
	s, err := tool.NewSet(read, write)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]*tool.Tool{"read": read, "Read": read, "functions.read": read, "functions.WRITE_FILE": write} {
		if got, err := s.Find(name); got != want {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	if _, err := s.Find("raed"); err == nil || err.Error() != `no tool "raed". Did you mean "read"? The tools are read, write_file` {
		t.Errorf("unknown: %v", err)
	}
	defs := s.Definitions()
	if len(defs) != 2 || defs[0].Name != "read" || defs[1].Name != "write_file" {
		t.Errorf("definitions %v", defs)
	}
	two, err := tool.NewSet(write, upper)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Find("WRITE_FILE"); err == nil {
		t.Error("an ambiguous name was found")
	}
	for _, bad := range []*tool.Tool{raw("read", `{}`), raw("", `{}`), raw("a.b", `{}`), raw(strings.Repeat("a", 65), `{}`)} {
		if _, err := tool.NewSet(read, bad); err == nil {
			t.Errorf("%q was taken", bad.Name)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"path", "pattern", "file_type", "limit", "old_string", "new_string"}
	for name, want := range map[string]string{
		"Path": "path", "filePath": "path", "fileType": "file_type", "limt": "limit", "pattren": "pattern",
		"string": "", "zebra": "", "": "", "oldString": "old_string", strings.Repeat("path", 30): "",
	} {
		if got, ok := tool.Nearest(name, names); got != want && ok || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", name, got, ok, want)
		}
	}
}
