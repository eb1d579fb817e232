package edit_test

import (
	"encoding/json"
	"testing"

	"github.com/burin-dev/burin/internal/platform/edit"
)

func TestOneSwap(t *testing.T) {
	engines := edit.Engines()
	for _, tt := range []struct {
		engine, args string
		want         edit.Swap
		refused      bool
	}{
		{"replace", `{"path":"a","edits":[{"old":"x\r\ny","new":"z"}]}`, edit.Swap{Old: "x\ny", New: "z"}, false},
		{"replace", `{"path":"a","edits":[{"old":"x","new":"y"},{"old":"v","new":"w"}]}`, edit.Swap{}, true},
		{"replace", `{"path":"a","edits":[{"old":"x","new":"y","all":true}]}`, edit.Swap{}, true},
		{"replace", `{"path":"a","edits":[{"old":"","new":"y"}]}`, edit.Swap{}, true},
		{"replace", `{"path":"a","edits":[{"old":"x","new":"x"}]}`, edit.Swap{}, true},
		{"replace", `{"path":"a","edits":[{"old":"x\n","new":"y\n// ... rest unchanged ...\n"}]}`, edit.Swap{}, true},
		{"patch", `{"patch":"*** Begin Patch\n*** Update File: a\n@@\n x\n-y\n+z\n*** End Patch"}`, edit.Swap{Old: "x\ny\n", New: "x\nz\n", Lines: true}, false},
		{"patch", `{"patch":"*** Begin Patch\n*** Update File: a\n@@ func f\n x\n-y\n+z\n*** End Patch"}`, edit.Swap{}, true},
		{"patch", `{"patch":"*** Begin Patch\n*** Update File: a\n@@\n-y\n+z\n@@\n-v\n+w\n*** End Patch"}`, edit.Swap{}, true},
		{"patch", `{"patch":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`, edit.Swap{}, true},
		{"whole", `{"path":"a","content":"x"}`, edit.Swap{}, true},
		{"hashline", `{"path":"a","edits":[]}`, edit.Swap{}, true},
	} {
		got, err := edit.OneSwap(engines[tt.engine], "a", json.RawMessage(tt.args))
		if (err != nil) != tt.refused || err == nil && got != tt.want {
			t.Errorf("%s %s: %+v, %v", tt.engine, tt.args, got, err)
		}
	}
}
