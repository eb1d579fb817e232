package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/schema"
)

func TestGoogle(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"plain", `{"type":"object","properties":{"a":{"type":"string","description":"d","minLength":1,"maxLength":5,"pattern":"^a"},"b":{"type":"integer","minimum":0,"maximum":9}},"required":["b","a"]}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"d","pattern":"^a","minLength":1,"maxLength":5},"b":{"type":"INTEGER","minimum":0,"maximum":9}},"required":["b","a"]}`,
		},
		{"no parameters", `{"type":"object","properties":{}}`, ``},
		{"nothing", `{}`, ``},
		{
			"unknown keywords", `{"$schema":"s","$id":"i","type":"object","additionalProperties":false,"properties":{"a":{"type":"string","contentEncoding":"base64","not":{"const":"x"}}},"if":{},"then":{}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`,
		},
		{
			"nullable", `{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"d"},"c":{"enum":["x",null]},"d":{"type":"string","nullable":true}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true},"b":{"type":"INTEGER","description":"d","nullable":true},"c":{"type":"STRING","nullable":true,"enum":["x"]},"d":{"type":"STRING","nullable":true}}}`,
		},
		{
			"several types", `{"properties":{"a":{"type":["string","integer","null"],"minLength":2,"minimum":3,"description":"d"}}}`,
			`{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"STRING","description":"d","nullable":true,"minLength":2},{"type":"INTEGER","description":"d","minimum":3}]}}}`,
		},
		{
			"union", `{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"object","properties":{"x":{"type":"boolean"}}}]}}}`,
			`{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"STRING"},{"type":"OBJECT","properties":{"x":{"type":"BOOLEAN"}}}]}}}`,
		},
		{
			"what stands beside a union", `{"properties":{"a":{"type":"object","properties":{"k":{"type":"string"}},"required":["k"],"anyOf":[{"properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"string"}}}]}}}`,
			`{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"OBJECT","properties":{"k":{"type":"STRING"},"x":{"type":"STRING"}},"required":["x","k"]},{"type":"OBJECT","properties":{"k":{"type":"STRING"},"y":{"type":"STRING"}},"required":["k"]}]}}}`,
		},
		{
			"constants", `{"properties":{"a":{"const":"x"},"b":{"oneOf":[{"const":"x"},{"const":"y"},{"enum":["y","z"]}]},"c":{"const":5},"d":{"type":"integer","enum":[1,2]},"e":{"type":"string","enum":["a",""]},"f":{"const":true}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","enum":["x"]},"b":{"type":"STRING","enum":["x","y","z"]},"c":{"type":"INTEGER","description":"One of 5."},"d":{"type":"INTEGER","description":"One of 1, 2."},"e":{"type":"STRING","description":"One of \"a\", \"\"."},"f":{"type":"BOOLEAN","description":"One of true."}}}`,
		},
		{
			"formats", `{"properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"uri","description":"Where."},"c":{"type":"integer","format":"int64"},"d":{"type":"integer","format":"uint8"},"e":{"type":"number","format":"float"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","format":"date-time"},"b":{"type":"STRING","description":"Where. Format: uri."},"c":{"type":"INTEGER","format":"int64"},"d":{"type":"INTEGER"},"e":{"type":"NUMBER","format":"float"}}}`,
		},
		{
			"bounds", `{"properties":{"a":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10},"b":{"type":"number","exclusiveMinimum":0.5},"c":{"type":"integer","minimum":3,"exclusiveMinimum":true},"d":{"type":"number","multipleOf":0.1,"default":0.2}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"INTEGER","minimum":1,"maximum":9},"b":{"type":"NUMBER","description":"More than 0.5.","minimum":0.5},"c":{"type":"INTEGER","minimum":4},"d":{"type":"NUMBER","description":"A multiple of 0.1. Default: 0.2."}}}`,
		},
		{
			"a pattern that is not RE2", `{"properties":{"a":{"type":"string","pattern":"(?=x)"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"Pattern: (?=x)"}}}`,
		},
		{
			"lists", `{"properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"number"},"minItems":1.0,"maxItems":-1},"c":{"prefixItems":[{"type":"string"},{"type":"integer"}]},"d":{"items":[{"type":"string"}]}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"ARRAY","items":{"type":"STRING"}},"b":{"type":"ARRAY","items":{"type":"NUMBER"},"minItems":1},"c":{"type":"ARRAY","items":{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}]}},"d":{"type":"ARRAY","items":{"type":"STRING"}}}}`,
		},
		{
			"anything", `{"properties":{"a":{"description":"Any."},"b":true,"c":false},"required":["a","c"]}`,
			`{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"STRING","description":"Any."},{"type":"NUMBER"},{"type":"BOOLEAN"},{"type":"OBJECT"},{"type":"ARRAY","items":{"type":"STRING"}}]},"b":{"anyOf":[{"type":"STRING"},{"type":"NUMBER"},{"type":"BOOLEAN"},{"type":"OBJECT"},{"type":"ARRAY","items":{"type":"STRING"}}]}},"required":["a"]}`,
		},
		{
			"references", `{"properties":{"a":{"$ref":"#/$defs/A","description":"mine"},"a2":{"$ref":"#/$defs/A"},"b":{"$ref":"#/definitions/x~1y%20z"},"c":{"$ref":"#/$defs/none"},"d":{"$ref":"other.json"}},"$defs":{"A":{"type":"string","description":"theirs","maxLength":3}},"definitions":{"x/y z":{"type":"boolean"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"mine","maxLength":3},"a2":{"type":"STRING","description":"theirs","maxLength":3},"b":{"type":"BOOLEAN"},"c":{"anyOf":[{"type":"STRING"},{"type":"NUMBER"},{"type":"BOOLEAN"},{"type":"OBJECT"},{"type":"ARRAY","items":{"type":"STRING"}}]},"d":{"anyOf":[{"type":"STRING"},{"type":"NUMBER"},{"type":"BOOLEAN"},{"type":"OBJECT"},{"type":"ARRAY","items":{"type":"STRING"}}]}}}`,
		},
		{
			"a type within itself", `{"$ref":"#/$defs/Node","$defs":{"Node":{"type":"object","properties":{"value":{"type":"string"},"next":{"$ref":"#/$defs/Node"},"all":{"type":"array","items":{"$ref":"#"}}}}}}`,
			`{"type":"OBJECT","properties":{"all":{"type":"ARRAY","items":{"type":"OBJECT"}},"next":{"type":"OBJECT"},"value":{"type":"STRING"}}}`,
		},
		{
			"all of", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"maxLength":3},"b":{"type":"integer"}},"required":["b"]}]}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","maxLength":3},"b":{"type":"INTEGER"}},"required":["a","b"]}`,
		},
		{
			"alternatives of the arguments", `{"oneOf":[{"properties":{"a":{"type":"string"},"k":{"type":"string"}},"required":["a","k"]},{"properties":{"b":{"type":"string"},"k":{"type":"string"}},"required":["b","k"]}]}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"STRING"},"k":{"type":"STRING"}},"required":["k"]}`,
		},
		{
			"no escapes", `{"properties":{"a":{"type":"string","description":"<a> & b"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"<a> & b"}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := schema.Google(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestGoogleRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{`:                 "not valid JSON",
		`[]`:                "not a JSON object",
		`{"type":"string"}`: "type string",
	} {
		if _, err := schema.Google(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", in, err, want)
		}
	}
}

// TestGoogleIsBounded feeds references that multiply when they are replaced.
func TestGoogleIsBounded(t *testing.T) {
	for _, form := range []string{
		`{"properties":{"a":{"$ref":"#/$defs/%[1]d"},"b":{"$ref":"#/$defs/%[1]d"}}}`,
		`{"allOf":[{"$ref":"#/$defs/%[1]d"},{"allOf":[{"$ref":"#/$defs/%[1]d"}]}]}`,
		`{"anyOf":[{"$ref":"#/$defs/%[1]d"},{"items":{"$ref":"#/$defs/%[1]d"}}]}`,
	} {
		var defs []string
		for i := range 60 {
			defs = append(defs, fmt.Sprintf(`"%d":`, i)+fmt.Sprintf(form, i+1))
		}
		in := `{"type":"object","properties":{"x":{"$ref":"#/$defs/0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
		got, err := schema.Google(json.RawMessage(in))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 1<<20 {
			t.Errorf("%s grew to %d bytes", form, len(got))
		}
	}
}

// allowed are the fields of the Schema object.
var allowed = map[string]bool{
	"type": true, "format": true, "title": true, "description": true, "nullable": true, "enum": true, "pattern": true,
	"minLength": true, "maxLength": true, "minimum": true, "maximum": true, "items": true, "minItems": true, "maxItems": true,
	"properties": true, "required": true, "minProperties": true, "maxProperties": true, "anyOf": true,
}

func checkGoogle(t *testing.T, v any) {
	s, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("a schema is %v", v)
	}
	for key := range s {
		if !allowed[key] {
			t.Errorf("unknown field %q", key)
		}
	}
	if any, ok := s["anyOf"].([]any); ok {
		if len(s) != 1 || len(any) == 0 {
			t.Errorf("beside anyOf: %v", s)
		}
		for _, v := range any {
			checkGoogle(t, v)
		}
		return
	}
	switch s["type"] {
	case "STRING", "NUMBER", "INTEGER", "BOOLEAN", "OBJECT":
	case "ARRAY":
		checkGoogle(t, s["items"])
	default:
		t.Errorf("type %v", s["type"])
	}
	if values, ok := s["enum"].([]any); ok {
		for _, v := range values {
			if word, ok := v.(string); !ok || word == "" || s["type"] != "STRING" {
				t.Errorf("enum value %v of %v", v, s["type"])
			}
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for _, p := range properties {
		checkGoogle(t, p)
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := properties[name.(string)]; !ok {
			t.Errorf("required %v is no property", name)
		}
	}
}

func FuzzGoogle(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"$ref":"#"},{"const":1}]}},"required":["a"]}`,
		`{"allOf":[{"$ref":"#/properties/a"}],"properties":{"a":{"enum":["x",1,null,""],"oneOf":[{"type":"null"}]}}}`,
		`{"properties":{"a":{"items":[true,false],"exclusiveMinimum":9223372036854775807,"type":"integer"},"b":{"prefixItems":[false]}}}`,
		`{"properties":{"a":{"type":[],"minLength":1e400},"b":{"anyOf":[]},"c":{"anyOf":[false]},"d":7}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := schema.Google(raw)
		if err != nil || got == nil {
			return
		}
		again, err := schema.Google(raw)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%s\nis also %s", got, again)
		}
		var v any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		checkGoogle(t, v)
		if t.Failed() {
			t.Logf("%s", got)
		}
	})
}
