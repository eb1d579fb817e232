package rpc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/session/remote"
)

// section is the part of docs/machine-faces.md that is made of the table.
func section() string {
	var b strings.Builder
	b.WriteString("\n| command | leads to |\n|---|---|\n")
	for _, c := range table() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.name, c.does)
	}
	b.WriteString("| `extension_ui_response` | Questions.Answer |\n\nThe methods of a session, each as `burin/NAME`: ")
	for i, name := range remote.Methods() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("`" + name + "`")
	}
	b.WriteString(".\n\n")
	return b.String()
}

func TestMachineFacesPage(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "machine-faces.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- rpc -->\n", "<!-- /rpc -->\n"
	before, rest, ok := strings.Cut(string(page), from)
	got, after, end := strings.Cut(rest, to)
	if !ok || !end {
		t.Fatalf("%s has no section between %q and %q", path, from, to)
	}
	if os.Getenv("BURIN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(before+from+section()+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(section(), got); diff != "" {
		t.Errorf("%s is not as the table has it; run with BURIN_UPDATE=1 (-want +got):\n%s", path, diff)
	}
}

// testdata/commands.txt has the commands of the family's programs, by program.
func TestTableIsComplete(t *testing.T) {
	text, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, seen := commands(), map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		seen[name] = true
		if known[name] == nil {
			t.Errorf("no command %s", name)
		}
	}
	names := map[string]bool{}
	for _, c := range table() {
		if names[c.name] {
			t.Errorf("%s is twice in the table", c.name)
		}
		names[c.name] = true
		if c.does == "" || c.run == nil {
			t.Errorf("%s does nothing", c.name)
		}
		if !seen[c.name] && !strings.HasPrefix(c.name, ownPrefix) {
			t.Errorf("%s is no command of the family: put %s before its name", c.name, ownPrefix)
		}
	}
	for name := range ownOrder {
		if !slices.Contains(remote.Methods(), name) {
			t.Errorf("there is an order for %s, which is no method", name)
		}
	}
}
