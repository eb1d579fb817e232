package acp

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/acp/acptest"
)

var update = flag.Bool("update", false, "rewrite the table of docs/acp.md")

// The table of docs/acp.md is that of the methods.
func TestMethodsDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("<!-- methods -->\n| method | what it does | advertised as |\n|---|---|---|\n")
	for _, m := range methods() {
		about, as := m.about, "every agent has it"
		if m.since != "" {
			about += " (" + m.since + ")"
		}
		if m.capability != "" {
			as = "`" + m.capability + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.name, about, as)
	}
	b.WriteString("<!-- end -->")
	path := filepath.Join("..", "..", "..", "docs", "acp.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)<!-- methods -->.*<!-- end -->`)
	if *update {
		if err := os.WriteFile(path, table.ReplaceAllLiteral(page, []byte(b.String())), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), table.FindString(string(page))); diff != "" {
		t.Errorf("docs/acp.md is not as the methods are; run with -update (-want +got):\n%s", diff)
	}
	// What the schema has and burin has not is named there.
	for name, notification := range acptest.Methods(t, "agent") {
		m := byName()[name]
		group, _, _ := strings.Cut(name, "/")
		if m == nil && !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "`"+group+"/*`") {
			t.Errorf("%s is neither there nor named as left out", name)
		}
		if m != nil && m.notice != notification {
			t.Errorf("%s: a notification: %v, in the schema %v", name, m.notice, notification)
		}
	}
}

// What initialize advertises has a method, and what has to be advertised is.
func TestAdvertisedMeansImplemented(t *testing.T) {
	raw, err := json.Marshal(capabilities())
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		LoadSession         bool
		SessionCapabilities map[string]json.RawMessage
		MCPCapabilities     map[string]bool
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		t.Fatal(err)
	}
	offered := map[string]bool{}
	for _, m := range methods() {
		if (m.capability == "") != (m.offered == nil) {
			t.Errorf("%s: advertised as %q, and by code: %v", m.name, m.capability, m.offered != nil)
		}
		if m.capability != "" {
			offered[strings.TrimPrefix(m.capability, "sessionCapabilities.")] = true
		}
	}
	delete(said.SessionCapabilities, "additionalDirectories") // a parameter, not a method
	for name := range said.SessionCapabilities {
		if !offered[name] {
			t.Errorf("%s is advertised, and no method offers it", name)
		}
		delete(offered, name)
	}
	if !said.LoadSession {
		t.Error("loadSession is not advertised")
	}
	if delete(offered, "loadSession"); len(offered) > 0 {
		t.Errorf("not advertised: %v", offered)
	}
	for _, transport := range []string{"http", "sse"} {
		if !said.MCPCapabilities[transport] {
			t.Errorf("MCP over %s is not advertised", transport)
		}
	}
}

// Each type of event is told, or decided not to be.
func TestAllEventsConsidered(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := tellings()
	var types []string
	for _, m := range regexp.MustCompile(`(?m)^## ([a-z_]+)$`).FindAllStringSubmatch(string(page), -1) {
		types = append(types, m[1])
		if _, ok := table[agent.EventType(m[1])]; !ok {
			t.Errorf("nobody has decided how %s is told", m[1])
		}
	}
	for typ := range table {
		if !slices.Contains(types, string(typ)) {
			t.Errorf("%s is no event", typ)
		}
	}
}

// A diff of several files, new, changed, removed and in a folder that was added, is its
// places.
func TestDiffs(t *testing.T) {
	unified := "--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -10,2 +10,3 @@\n ten\n+--- a/not a header\n eleven\n" +
		"--- a/b.go\n+++ b/b.go\n@@ -5 +5 @@\n-x\n+y\n\\ No newline at end of file\n" +
		"diff --git a/new.go b/new.go\nnew file mode 100644\n--- /dev/null\n+++ b/new.go\n@@ -0,0 +1,2 @@\n+n1\n+n2\n" +
		"diff --git a/old.go b/old.go\ndeleted file mode 100644\n--- a/old.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n" +
		"--- a/other/c.go\n+++ b/other/c.go\n@@ -7 +7 @@\n-c\n+C\n[The diff is cut: 1 of 2 KB are shown.]\n"
	tell := &teller{places: places{"/p"}}
	got := tell.diffs(&changed{Paths: []string{"a.go", "b.go", "new.go", "old.go", "/other/c.go"}, Diff: unified})
	type shown struct {
		Path, Old, New string
		Line           int
		Fresh          bool
	}
	var all []shown
	for _, p := range got {
		s := shown{Path: p.Path, New: p.NewText, Line: p.line, Fresh: p.OldText == nil}
		if p.OldText != nil {
			s.Old = *p.OldText
		}
		all = append(all, s)
	}
	want := []shown{
		{"/p/a.go", "one\ntwo\nthree\n", "one\n2\nthree\n", 1, false},
		{"/p/a.go", "ten\neleven\n", "ten\n--- a/not a header\neleven\n", 10, false},
		{"/p/b.go", "x\n", "y\n", 5, false},
		{"/p/new.go", "", "n1\nn2\n", 1, true},
		{"/p/old.go", "gone\n", "", 0, false},
		{"/other/c.go", "c\n", "C\n", 7, false},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Whatever a call is, its title is one short line.
func TestTitles(t *testing.T) {
	for want, args := range map[string]map[string]any{
		"go test ./...":        {"command": "go test ./..."},
		"Read a.go:3":          {"path": "a.go:3"},
		"Grep x in sub":        {"pattern": "x", "path": "sub"},
		"Web search the query": {"query": "the query"},
	} {
		name := map[string]string{"R": "read", "G": "grep", "W": "web_search"}[want[:1]]
		if got := titleOf(name, args); got != want {
			t.Errorf("%v is titled %q, want %q", args, got, want)
		}
	}
	if got := titleOf("bash", map[string]any{"command": strings.Repeat("x\n", 1000)}); len([]rune(got)) > maxTitle || strings.Contains(got, "\n") {
		t.Errorf("a long command is titled %q", got)
	}
}
