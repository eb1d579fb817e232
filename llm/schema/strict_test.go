package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm/schema"
)

// raw removes the white space that makes the tables readable.
func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	var out strings.Builder
	inString := false
	for _, c := range s {
		if c == '"' {
			inString = !inString
		}
		if inString || !strings.ContainsRune(" \t\n", c) {
			out.WriteRune(c)
		}
	}
	return json.RawMessage(out.String())
}

func TestStrict(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no schema", ``, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`},
		{"null", `null`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`},
		{"no arguments", `{"type":"object"}`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`},
		{
			"all required, order of properties kept",
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["a","z"]}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z","a"],"additionalProperties":false}`,
		},
		{
			"optional scalar becomes nullable",
			`{"type":"object","properties":{"n":{"type":"integer","description":"how many","default":3}}}`,
			`{"type":"object","properties":{"n":{"type":["integer","null"],"description":"how many"}},"required":["n"],"additionalProperties":false}`,
		},
		{
			"optional enum takes null among its values",
			`{"type":"object","properties":{"m":{"enum":["a","b"]}}}`,
			`{"type":"object","properties":{"m":{"type":["string","null"],"enum":["a","b",null]}},"required":["m"],"additionalProperties":false}`,
		},
		{
			"optional list becomes a union, described on the outside",
			`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"description":"d"}}}`,
			`{"type":"object","properties":{"l":{"description":"d","anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}},"required":["l"],"additionalProperties":false}`,
		},
		{
			"already nullable stays",
			`{"type":"object","properties":{"l":{"anyOf":[{"type":"string","description":"d"},{"type":"null"}]}}}`,
			`{"type":"object","properties":{"l":{"description":"d","anyOf":[{"type":"string"},{"type":"null"}]}},"required":["l"],"additionalProperties":false}`,
		},
		{
			"openapi nullable",
			`{"type":"object","properties":{"s":{"type":"string","nullable":true}},"required":["s"]}`,
			`{"type":"object","properties":{"s":{"type":["string","null"]}},"required":["s"],"additionalProperties":false}`,
		},
		{
			"const and enum give the type",
			`{"type":"object","properties":{"c":{"const":7},"e":{"enum":[1,2.5]},"b":{"enum":[true]}},"required":["c","e","b"]}`,
			`{"type":"object","properties":{"c":{"type":"integer","enum":[7]},"e":{"type":"number","enum":[1,2.5]},"b":{"type":"boolean","enum":[true]}},"required":["c","e","b"],"additionalProperties":false}`,
		},
		{
			"reference inlined, its neighbours win",
			`{"type":"object","properties":{"p":{"$ref":"#/$defs/P","description":"mine"}},"required":["p"],
			  "$defs":{"P":{"type":"object","description":"theirs","properties":{"x":{"type":"number"}},"required":["x"]}}}`,
			`{"type":"object","properties":{"p":{"type":"object","description":"mine","properties":{"x":{"type":"number"}},"required":["x"],"additionalProperties":false}},"required":["p"],"additionalProperties":false}`,
		},
		{
			"recursion stays a reference",
			`{"type":"object","properties":{"root":{"$ref":"#/definitions/Node"}},"required":["root"],
			  "definitions":{"Node":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/definitions/Node"}}},"required":["kids"]}}}`,
			`{"type":"object","properties":{"root":{"$ref":"#/$defs/Node"}},"required":["root"],"additionalProperties":false,
			  "$defs":{"Node":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["kids"],"additionalProperties":false}}}`,
		},
		{
			"recursion to the root, optional",
			`{"type":"object","properties":{"next":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["next"],"additionalProperties":false}`,
		},
		{
			"allOf of one collapses",
			`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/A"}],"description":"d"}},"required":["a"],"$defs":{"A":{"type":"string","enum":["x"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":["x"],"description":"d"}},"required":["a"],"additionalProperties":false}`,
		},
		{
			"oneOf becomes anyOf",
			`{"type":"object","properties":{"v":{"oneOf":[{"type":"string"},{"type":"number"}]}},"required":["v"]}`,
			`{"type":"object","properties":{"v":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["v"],"additionalProperties":false}`,
		},
		{
			"restrictions and unknown keywords go",
			`{"$schema":"x","title":"T","type":"object","properties":{"s":{"type":"string","minLength":1,"pattern":"^a(?=b)","format":"uri","title":"S"},
			  "d":{"type":"string","format":"date","pattern":"^\\d+$"},"l":{"type":"array","items":{"type":"number"},"minItems":1,"uniqueItems":true}},
			  "required":["s","d","l"],"anyOf":[{"required":["s"]},{"required":["d"]}],"if":{"properties":{}},"then":{}}`,
			``, // a root union is refused, even one of restrictions
		},
		{
			"keywords inside",
			`{"type":"object","properties":{"s":{"type":"string","minLength":1,"pattern":"^a(?=b)","format":"uri","title":"S"},
			  "d":{"type":"string","format":"date","pattern":"^\\d+$"},"l":{"type":"array","items":{"type":"number"},"minItems":1,"uniqueItems":true}},
			  "required":["s","d","l"],"not":{"required":["x"]}}`,
			`{"type":"object","properties":{"s":{"type":"string"},"d":{"type":"string","format":"date","pattern":"^\\d+$"},
			  "l":{"type":"array","items":{"type":"number"},"minItems":1}},"required":["s","d","l"],"additionalProperties":false}`,
		},
		{
			"a union that only restricts",
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"anyOf":[{"required":["a"]}]}},"required":["o"]}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}},"required":["o"],"additionalProperties":false}`,
		},
		{"map", `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}},"required":["m"]}`, ``},
		{"open object", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, ``},
		{"object of any shape", `{"type":"object","properties":{"m":{"type":"object"}}}`, ``},
		{"patternProperties", `{"type":"object","properties":{},"patternProperties":{"^x":{"type":"string"}}}`, ``},
		{"any value", `{"type":"object","properties":{"v":{}}}`, ``},
		{"true", `{"type":"object","properties":{"v":true}}`, ``},
		{"tuple", `{"type":"object","properties":{"t":{"type":"array","items":[{"type":"string"}]}}}`, ``},
		{"list of anything", `{"type":"object","properties":{"t":{"type":"array"}}}`, ``},
		{"allOf of two", `{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"minLength":1}]}}}`, ``},
		{"union at the root", `{"anyOf":[{"type":"object","properties":{}}]}`, ``},
		{"not an object", `{"type":"string"}`, ``},
		{"required but unknown", `{"type":"object","properties":{},"required":["x"]}`, ``},
		{"remote reference", `{"type":"object","properties":{"x":{"$ref":"https://example.com/s.json"}}}`, ``},
		{"reference to itself", `{"$ref":"#"}`, ``},
		{"broken", `{"type":`, ``},
		{"enum of objects", `{"type":"object","properties":{"x":{"enum":[{"a":1}]}}}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := schema.Strict(json.RawMessage(tt.in))
			if ok != (tt.want != "") {
				t.Fatalf("ok = %v, got %s", ok, got)
			}
			if diff := cmp.Diff(string(raw(tt.want)), string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestExact(t *testing.T) {
	if got, ok := schema.Exact(raw(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)); !ok {
		t.Errorf("refused a schema without optional properties: %s", got)
	}
	if got, ok := schema.Exact(raw(`{"type":"object","properties":{"a":{"type":"string"}}}`)); ok {
		t.Errorf("accepted an optional property: %s", got)
	}
}

func TestStrictDeepNesting(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 12) + `{"type":"string"}` + strings.Repeat(`},"required":["a"]}`, 12)
	if _, ok := schema.Strict(json.RawMessage(deep)); ok {
		t.Error("accepted twelve nested objects")
	}
	// References that double at each step must not be inlined into 2^40 schemas.
	var defs strings.Builder
	for i := range 40 {
		if i > 0 {
			defs.WriteByte(',')
		}
		next := `{"type":"string"}`
		if i < 39 {
			next = `{"$ref":"#/$defs/d` + string(rune('A'+i+1)) + `"}`
		}
		defs.WriteString(`"d` + string(rune('A'+i)) + `":{"anyOf":[` + next + `,` + next + `]}`)
	}
	if _, ok := schema.Strict(json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/dA"}},"$defs":{` + defs.String() + `}}`)); ok {
		t.Error("accepted a schema that doubles forty times")
	}
}

func TestDropNulls(t *testing.T) {
	const s = `{"type":"object","required":["must"],"properties":{
		"must":{"type":"string"},
		"may":{"type":"string"},
		"maybe":{"type":["string","null"]},
		"any":{},
		"inner":{"$ref":"#/$defs/I"},
		"list":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/I"},{"type":"string"}]}},
		"two":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"y":{"type":"string"}}}]},
		"loop":{"anyOf":[{"$ref":"#/properties/loop"}]}
	},"$defs":{"I":{"allOf":[{"type":"object","properties":{"x":{"type":"number"}}}]}}}`
	tests := []struct{ name, in, want string }{
		{"optional", `{"must":"a","may":null}`, `{"must":"a"}`},
		{"required stays", `{"must":null}`, `{"must":null}`},
		{"nullable stays", `{"maybe":null,"any":null}`, `{"maybe":null,"any":null}`},
		{"unknown stays", `{"other":null}`, `{"other":null}`},
		{"inside", `{"inner":{"x":null},"list":[{"x":null},"null",{"x":1.50}]}`, `{"inner":{},"list":[{},"null",{"x":1.50}]}`},
		{"unclear which branch", `{"two":{"x":null}}`, `{"two":{"x":null}}`},
		{"endless reference", `{"loop":{"x":null},"may":null}`, `{"loop":{"x":null}}`},
		{"untouched text", `{ "must" : "null" }`, `{ "must" : "null" }`},
		{"cut", `{"may":null`, `{"may":null`},
		{"no object", `null`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := schema.DropNulls(json.RawMessage(tt.in), json.RawMessage(s)); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// FuzzStrict checks that what Strict accepts is what the vendor wants, that the
// result is its own strict form, and that DropNulls stands any schema.
func FuzzStrict(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"anyOf":[{"type":"string"},{"$ref":"#"}]}},"$defs":{"A":{"type":"array","items":{"$ref":"#/$defs/A"}}}}`))
	f.Add([]byte(`{"properties":{"a":{"const":null},"b":{"oneOf":[{"enum":[1,"x"]}],"nullable":true},"":{"allOf":[{"type":["object","null"],"properties":{},"additionalProperties":false}]}}}`))
	f.Add([]byte(`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"y":{"$ref":"#/$defs/x/properties/z"},"z":{"type":"string","pattern":"a"}}}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, ok := schema.Strict(in)
		schema.DropNulls(json.RawMessage(`{"a":null,"b":{"a":null},"":[{"y":null}]}`), in)
		if !ok {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		checkStrict(t, v, true)
		again, ok := schema.Strict(out)
		if !ok || string(again) != string(out) {
			t.Fatalf("not its own strict form:\n%s\n%s", out, again)
		}
	})
}

func checkStrict(t *testing.T, s map[string]any, root bool) {
	t.Helper()
	if _, ref := s["$ref"]; ref && (len(s) > 1 || root) {
		t.Fatalf("a reference with company: %v", s)
	}
	for _, k := range []string{"allOf", "oneOf", "const", "not", "if", "default", "patternProperties", "nullable"} {
		if _, bad := s[k]; bad {
			t.Fatalf("%s is left", k)
		}
	}
	for _, k := range []string{"properties", "$defs"} {
		members, _ := s[k].(map[string]any)
		for _, m := range members {
			checkStrict(t, m.(map[string]any), false)
		}
	}
	if props, ok := s["properties"].(map[string]any); ok {
		if req, _ := s["required"].([]any); len(req) != len(props) || s["additionalProperties"] != false {
			t.Fatalf("an open object: %v", s)
		}
	} else if root {
		t.Fatal("no properties")
	}
	if items, ok := s["items"].(map[string]any); ok {
		checkStrict(t, items, false)
	}
	if union, ok := s["anyOf"].([]any); ok {
		for _, b := range union {
			checkStrict(t, b.(map[string]any), false)
		}
	}
}
