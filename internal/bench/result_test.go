package bench

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
)

func TestResultSchema(t *testing.T) {
	const old = `{"$schema":"http://json-schema.org/draft-04/schema#","$ref":"#/definitions/r",
		"definitions":{"r":{"type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}}}}}`
	x, err := newResult([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Validate(llm.ToolCall{Arguments: `{"n":0}`}); err == nil || !strings.Contains(err.Error(), "more than 0") {
		t.Errorf("0 gave %v", err)
	}
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/b"}}}`: "leads out of the schema",
		`{"type":"object","$schema":"https://example.com/meta"}`:                "unknown $schema",
		`{"type":"object","properties":{"a":{"pattern":"(?<=x)y"}}}`:            "error parsing regexp",
		`{"type":"object`:  "unexpected",
		`{"type":"array"}`: `must be "object"`,
	} {
		if _, err := newResult([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v, want %q", in, err, want)
		}
	}
}
