package tool_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/tool"
)

// Tools of the same arguments share a schema only where it is adjusted in the same way.
func TestSchemasAreShared(t *testing.T) {
	type args struct {
		Kind string `json:"kind"`
	}
	of := func(adjust func(*tool.Schema)) string {
		return string(tool.New(tool.Definition[args]{Name: "t", Adjust: adjust}).Parameters)
	}
	one := func(s *tool.Schema) { tool.Property(s, "kind").Enum = []any{"one"} }
	two := func(s *tool.Schema) { tool.Property(s, "kind").Enum = []any{"two"} }
	for want, adjust := range map[string]func(*tool.Schema){`"one"`: one, `"two"`: two, `{"kind":{"type":"string"}}`: nil} {
		for range 2 {
			if got := of(adjust); !strings.Contains(got, want) {
				t.Errorf("%s does not hold %s", got, want)
			}
		}
	}
}
