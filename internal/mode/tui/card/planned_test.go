package card

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
)

// Of what is to be written nothing is left out, cut or hidden, whatever the way in which
// the model says it.
func TestPlanned(t *testing.T) {
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	wide := strings.Repeat("wide ", 60) + "end."
	object := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	type m = map[string]any
	for _, tt := range []struct {
		name, tool string
		args       json.RawMessage
		want       []string
	}{
		{"a long file", "write", object(m{"path": "a.txt", "content": long.String()}), []string{"1  line 0", "1500  line 1499", "3000  line 2999"}},
		{"a long line", "write", object(m{"path": "a.txt", "content": wide}), []string{"end."}},
		{"what a terminal hides", "write", object(m{"path": "a.txt", "content": "evil\rgood\x1b[2K"}), []string{"evil", "good␛[2K"}},
		{"nothing", "write", object(m{"path": "a.txt", "content": ""}), []string{"an empty file"}},
		{"more than is shown", "write", object(m{"path": "a.txt", "content": strings.Repeat("x", maxPlanned+7)}), []string{"and 7 more bytes"}},
		{"a replacement", "edit", object(m{"path": "a.go", "edits": []m{{"old": "one\n" + wide, "new": "two", "all": true}, {"old": "three", "new": ""}}}), []string{"all: true", "- one", "end.", "+ two", "- three"}},
		{"by lines", "edit", object(m{"path": "a.go", "tag": "f", "edits": []m{{"op": "replace", "at": "12ab", "to": "15cd", "text": "new"}}}), []string{"op: replace", "at: 12ab", "to: 15cd", "+ new"}},
		{"a whole file", "edit", object(m{"path": "a.go", "content": "package a"}), []string{"1  package a"}},
		{"a patch", "edit", object(m{"patch": "*** Begin Patch\n*** Update File: a.go\n@@ func\n-one\n+two " + wide + "\n*** Delete File: b.go\n*** End Patch"}), []string{"*** Update File: a.go", "-one", "+two", "end.", "*** Delete File: b.go"}},
		{"an unknown tool", "tickets", object(m{"id": 7, "text": wide}), []string{"id: 7", "end."}},
	} {
		rows := Planned(Call{Name: tt.tool, Args: tt.args}, View{Width: 60, Styles: themetest.Styles()})
		for _, row := range rows {
			if ansi.StringWidth(row) > 60 {
				t.Errorf("%s: a row is too wide: %q", tt.name, row)
			}
		}
		shown := ansi.Strip(strings.Join(rows, "\n"))
		for _, want := range tt.want {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: %q is not shown:\n%.2000s", tt.name, want, shown)
			}
		}
	}
	if rows := Planned(Call{Name: "bash", Args: object(m{"command": "ls"})}, View{Width: 60, Styles: themetest.Styles()}); len(rows) > 0 {
		t.Errorf("a command, which the question shows by itself: %q", rows)
	}
}
