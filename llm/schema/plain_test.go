package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/schema"
)

func TestPlain(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain already": {`{ "type": "object", "properties": {"id": {"type":"string"}, "n": {"$ref":"#/$defs/n"}}, "$defs":{"n":{}} }`, ""},
		"draft 4": {
			`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.org/a","type":"object","properties":{"id":{"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"id":{"exclusiveMinimum":1,"maximum":3}}}`,
		},
		"words of a later draft mean nothing": {
			`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"const":1,"type":"integer"}}}`,
			`{"properties":{"a":{"type":"integer"}}}`,
		},
		"only annotations stay beside a reference": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/n","description":"x","minimum":1}},"definitions":{"n":{"type":"integer"}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/n","description":"x"}},"$defs":{"n":{"type":"integer"}}}`,
		},
		"a root that is a reference": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/n","definitions":{"n":{"type":"object","properties":{"n":{"$ref":"#/definitions/n"}}},"unused":{}}}`,
			`{"type":"object","properties":{"n":{"$ref":"#"}}}`,
		},
		"a reference to a place": {
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a b":{"items":{"type":"string"}},"c":{"$ref":"#/properties/a%20b/items"}}}`,
			`{"properties":{"a b":{"items":{"type":"string"}},"c":{"$ref":"#/properties/a%20b/items"}}}`,
		},
		"values are no schemas": {
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"$id":{"const":{"$ref":"#x"}}},"default":{"$anchor":"y"}}`,
			`{"properties":{"$id":{"const":{"$ref":"#x"}}},"default":{"$anchor":"y"}}`,
		},
		"a dynamic reference from two sides": {
			`{"properties":{"s":{"$ref":"list-s"},"n":{"$ref":"list-n"}},"$defs":{
				"l":{"$id":"list","type":"array","items":{"$dynamicRef":"#item"},"$defs":{"d":{"$dynamicAnchor":"item"}}},
				"s":{"$id":"list-s","$ref":"list","$defs":{"d":{"$dynamicAnchor":"item","type":"string"}}},
				"n":{"$id":"list-n","$ref":"list","$defs":{"d":{"$dynamicAnchor":"item","type":"number"}}}}}`,
			`{"properties":{"s":{"$ref":"#/$defs/list-s"},"n":{"$ref":"#/$defs/list-n"}},"$defs":{` +
				`"list-s":{"$ref":"#/$defs/list"},"list-n":{"$ref":"#/$defs/list_2"},` +
				`"list":{"type":"array","items":{"$ref":"#/$defs/item"}},"list_2":{"type":"array","items":{"$ref":"#/$defs/item_2"}},` +
				`"item":{"type":"string"},"item_2":{"type":"number"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.in
			}
			got, err := schema.Plain(json.RawMessage(tt.in))
			if err != nil || string(got) != tt.want {
				t.Fatalf("gave %v\n%s, want\n%s", err, got, tt.want)
			}
			if again, err := schema.Plain(got); err != nil || string(again) != string(got) {
				t.Errorf("its plain form is another: %s, %v", again, err)
			}
		})
	}
}

func TestPlainRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{"$id":"a","$ref":"https://example.com/schema.json"}`:     "leads out of the schema",
		`{"$id":"http://a.org/a","$ref":"#none"}`:                  "leads nowhere",
		`{"$schema":"https://example.com/meta"}`:                   "unknown $schema",
		`{"$schema":`:                                              "EOF",
		`{"$dynamicRef":"#a","$defs":{"a":{"$anchor":"b"}}}`:       "leads nowhere",
		`{"$id":"http://a.org/a","properties":{"a":{"$ref":":"}}}`: "missing protocol scheme",
	} {
		if got, err := schema.Plain(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %s, %v, want %q", in, got, err, want)
		}
	}
}

// What vendors take has no older spelling, no name and no dynamic reference in it.
func TestVendorsTakeOldDrafts(t *testing.T) {
	const old = `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.org/a","type":"object","additionalProperties":false,"required":["n","m"],
		"properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true},"m":{"$ref":"#m"}},"definitions":{"m":{"id":"#m","type":"string","description":"a name"}}}`
	strict, ok := schema.Strict(json.RawMessage(old))
	want := `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0},"m":{"type":"string","description":"a name"}},"required":["n","m"],"additionalProperties":false}`
	if !ok || string(strict) != want {
		t.Errorf("strict %s, want %s", strict, want)
	}
	google, err := schema.Google(json.RawMessage(old))
	if err != nil || !strings.Contains(string(google), `"a name"`) || strings.Contains(string(google), "ref") {
		t.Errorf("google %s, %v", google, err)
	}
	const dynamic = `{"$dynamicAnchor":"node","type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"anyOf":[{"$dynamicRef":"#node"},{"type":"null"}]}}}`
	if strict, ok := schema.Strict(json.RawMessage(dynamic)); !ok || strings.Contains(string(strict), "ynamic") {
		t.Errorf("strict %s", strict)
	}
}

func FuzzPlain(f *testing.F) {
	f.Add(`{"$id":"a","$ref":"#/x","x":{"$dynamicRef":"#y","$dynamicAnchor":"y"}}`)
	f.Add(`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"items":[{"$recursiveRef":"#"}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		out, err := schema.Plain(json.RawMessage(in))
		if err == nil && json.Valid([]byte(in)) && !json.Valid(out) {
			t.Errorf("%s became %s", in, out)
		}
	})
}

func BenchmarkPlain(b *testing.B) {
	const plain = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"items":{"type":"array","items":{"type":"string"}},"limit":{"type":"integer","exclusiveMinimum":1}},"required":["path"]}`
	for name, in := range map[string]string{"already": plain, "rewritten": `{"$schema":"http://json-schema.org/draft-07/schema#",` + plain[1:]} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := schema.Plain(json.RawMessage(in)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
