package mcpserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/platform/mcp"
)

// Each program writes the same things in its own way.
func TestFormats(t *testing.T) {
	t.Parallel()
	program := mcp.Server{Name: "one", Type: mcp.Stdio, Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"K": "${V}"}}
	for name, tt := range map[string]struct {
		file, text string
		want       mcp.Server
	}{
		"Claude Code": {".mcp.json", `{"mcpServers": {"one": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"K": "${V}"}}}}`, program},
		"VS Code":     {".vscode/mcp.json", `{"servers": {"one": {"command": "npx", "args": ["-y", "x"], "env": {"K": "${V}"}},} /* inputs */}`, program},
		"opencode":    {"opencode.jsonc", `{"mcp": {"one": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"K": "${V}"}}}}`, program},
		"Codex":       {".codex/config.toml", "[mcp_servers.one]\ncommand = 'npx'\nargs = ['-y', 'x']\nenv = {K = '${V}'}", program},
		"Codex, HTTP": {
			".codex/config.toml", "[mcp_servers.one]\nurl = 'https://x.example/mcp'\nbearer_token_env_var = 'T'\ntool_timeout_sec = 5\nenabled_tools = ['a']",
			mcp.Server{Name: "one", Type: mcp.HTTP, URL: "https://x.example/mcp", Headers: map[string]string{"Authorization": "Bearer ${T}"}, Timeout: 5 * time.Second, Only: []string{"a"}},
		},
		"Gemini": {
			".gemini/settings.json", `{"mcpServers": {"one": {"httpUrl": "https://x.example", "timeout": 2000, "excludeTools": ["b"]}}}`,
			mcp.Server{Name: "one", Type: mcp.HTTP, URL: "https://x.example", Timeout: 2 * time.Second, Without: []string{"b"}},
		},
		"a login": {
			"opencode.json", `{"mcp": {"one": {"type": "remote", "url": "https://x.example", "oauth": {"clientId": "c", "clientSecret": "${S}", "scope": "a b", "callbackPort": 8976}}}}`,
			mcp.Server{Name: "one", Type: mcp.HTTP, URL: "https://x.example", OAuth: &mcp.OAuth{ClientID: "c", ClientSecret: "${S}", Scopes: []string{"a", "b"}, CallbackPort: 8976}},
		},
		"no login": {
			"opencode.json", `{"mcp": {"one": {"type": "remote", "url": "https://x.example", "oauth": false}}}`,
			mcp.Server{Name: "one", Type: mcp.HTTP, URL: "https://x.example", OAuth: &mcp.OAuth{Off: true}},
		},
		"Cursor": {
			".cursor/mcp.json", `{"mcpServers": {"o.ne": {"url": "https://x.example/sse", "type": "sse", "headers": {"A": "b"}}}}`,
			mcp.Server{Name: "o-ne", Type: mcp.SSE, URL: "https://x.example/sse", Headers: map[string]string{"A": "b"}},
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(tt.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		files, warnings := mcpserver.Discover(source.Options{Dir: dir, Root: dir})
		if len(files) != 1 || len(files[0].Servers) != 1 || len(warnings) > 0 {
			t.Errorf("%s: %+v, %q", name, files, warnings)
			continue
		}
		f := files[0]
		if diff := cmp.Diff(tt.want, f.Servers[0].Server); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if f.Own || f.Foreign || f.Item.Name != tt.file+mcpserver.ItemSuffix || !strings.Contains(f.Item.What, tt.want.Where()) || strings.Contains(f.Item.What, "A=b") {
			t.Errorf("%s: %+v", name, f)
		}
		raw, err := mcpserver.Entry(f.Servers[0])
		if err != nil {
			t.Fatal(err)
		}
		again, err := mcpserver.ParseOne(tt.want.Name, raw)
		if diff := cmp.Diff(tt.want, again.Server); diff != "" || err != nil {
			t.Errorf("%s, written and read: %s%v", name, diff, err)
		}
	}
}

// What is wrong with a server costs the server, and says why.
func TestWrongServers(t *testing.T) {
	t.Parallel()
	servers, problems, err := mcpserver.Parse([]byte(`{"mcpServers": {
		"a": {}, "b": {"command": "x", "url": "https://x"}, "c": {"type": "http"}, "d": {"type": "carrier pigeon", "command": "x"},
		"e": [], "f": {"command": 3}, "g.h": {"command": "x"}, "g-h": {"command": "y"}, "i": {"command": "x", "enabled": false}}}`), ".json")
	if err != nil || len(servers) != 2 || servers[0].Command != "y" || !servers[1].Disabled || len(problems) != 7 {
		t.Errorf("%+v, %q, %v", servers, problems, err)
	}
	if _, _, err := mcpserver.Parse([]byte(`{`), ".json"); err == nil {
		t.Error("half a file is read")
	}
	if servers, _, err := mcpserver.Parse([]byte(`{"theme": "dark"}`), ".json"); servers != nil || err != nil {
		t.Errorf("a file without servers: %v, %v", servers, err)
	}
}

// Trust is for what runs: another value of a variable's name is another item.
func TestExpand(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string { return map[string]string{"A": "1", "B": "$A"}[name] }
	s := mcp.Server{
		Name: "x", Command: "${A}", Args: []string{"${B}", "${C:-three}", "$A", "{env:A}", "${env:A}", "${workspaceFolder}/f"},
		Env: map[string]string{"K": "a${A}b"}, Headers: map[string]string{"H": "${A}"}, Dir: "sub",
	}
	got, err := mcpserver.Expand(s, getenv, "/w")
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.Server{
		Name: "x", Command: "1", Args: []string{"$A", "three", "$A", "1", "1", "/w/f"},
		Env: map[string]string{"K": "a1b"}, Headers: map[string]string{"H": "1"}, Dir: filepath.Join("/w", "sub"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Env["K"] != "a${A}b" {
		t.Error("the definition has changed")
	}
	if _, err := mcpserver.Expand(mcp.Server{Name: "x", URL: "https://${GONE}"}, getenv, ""); err == nil || !strings.Contains(err.Error(), "GONE is not set") {
		t.Errorf("a variable that isn't set: %v", err)
	}
}

// Edit keeps what it doesn't know.
func TestEdit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "in", "mcp.json")
	put := func(name string) {
		t.Helper()
		err := mcpserver.Edit(t.Context(), path, func(all mcpserver.Entries) error {
			all[name] = json.RawMessage(`{"command":"` + name + `","theirs":{"x":1}}`)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	put("b")
	err := mcpserver.Edit(t.Context(), path, func(all mcpserver.Entries) (err error) {
		all["a"], err = mcpserver.Switch(all["a"], false)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	servers, _, err := mcpserver.Parse(text, ".json")
	if err != nil || len(servers) != 2 || !servers[0].Disabled || servers[1].Disabled || strings.Count(string(text), `"x": 1`) != 2 {
		t.Errorf("%s, %v", text, err)
	}
}

// A tool is switched in the lists that a file has, and the others stay.
func TestSwitchTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before string
		on     bool
		after  string
	}{
		{`{"command":"x"}`, false, `{"command":"x","excludeTools":["a"]}`},
		{`{"command":"x","excludeTools":["a"]}`, true, `{"command":"x"}`},
		{`{"command":"x","excludeTools":["a","b"],"disabled_tools":["a"]}`, true, `{"command":"x","excludeTools":["b"]}`},
		{`{"command":"x","excludeTools":["b"]}`, false, `{"command":"x","excludeTools":["b","a"]}`},
		{`{"command":"x","includeTools":["b"],"tools":["*"]}`, true, `{"command":"x","includeTools":["b","a"],"tools":["*"]}`},
		{`{"command":"x","includeTools":["a"]}`, false, `{"command":"x","excludeTools":["a"],"includeTools":["a"]}`},
	} {
		got, err := mcpserver.SwitchTool(json.RawMessage(c.before), "a", c.on)
		if err != nil || string(got) != c.after {
			t.Errorf("%s, on %v: %s %v", c.before, c.on, got, err)
		}
	}
}

// Servers of an editor are read in its protocol's form; those that can't be used are told, without what may be secret.
func TestPassed(t *testing.T) {
	var raw []json.RawMessage
	for _, s := range []string{
		`{"name": "my notes", "command": "/bin/notes", "args": ["-v"], "env": [{"name": "KEY", "value": "${HOME}"}]}`,
		`{"type": "http", "name": "web", "url": "https://example.com/mcp", "headers": [{"name": "X-Key", "value": "secret"}]}`,
		`{"type": "sse", "name": "old", "url": "https://example.com/sse", "headers": []}`,
		`{"type": "http", "name": "my-notes", "url": "https://example.com/", "headers": []}`,
		`{"type": "acp", "name": "inside", "id": "1"}`,
		`{"name": "", "command": "x"}`,
		`{"name": "none", "args": [], "env": []}`,
		`{"type": "http", "name": "nowhere"}`,
		`{"name": "odd", "command": "x", "env": {"KEY": "secret"}}`,
	} {
		raw = append(raw, json.RawMessage(s))
	}
	servers, problems := mcpserver.Passed(raw)
	var names []string
	for _, s := range servers {
		names = append(names, s.Type+" "+s.Name)
	}
	if got := strings.Join(names, ", "); got != "stdio my-notes, http web, sse old" {
		t.Errorf("servers: %s", got)
	} else if servers[0].Env["KEY"] != "${HOME}" || servers[1].Headers["X-Key"] != "secret" {
		t.Errorf("values: %v %v", servers[0].Env, servers[1].Headers)
	}
	if got := strings.Join(problems, "\n"); len(problems) != 6 || !strings.Contains(got, `type "acp"`) || strings.Contains(got, "secret") {
		t.Errorf("problems: %s", got)
	}
	for len(raw) < 200 {
		raw = append(raw, json.RawMessage(`{}`))
	}
	if _, problems = mcpserver.Passed(raw); !strings.Contains(problems[len(problems)-1], "only the first 100") {
		t.Errorf("too many: %s", problems[len(problems)-1])
	}
}

// An entry may confine its program; what that can't mean is a problem, and what was written comes back.
func TestSandboxOfEntries(t *testing.T) {
	t.Parallel()
	text := `{"mcpServers": {
		"a": {"command": "x", "sandbox": "read-only"},
		"b": {"command": "x", "sandbox": {"mode": "workspace-write", "network": true, "hosts": ["example.com"], "writable": ["${ROOM}/b"]}},
		"c": {"command": "x", "sandbox": "full"},
		"d": {"command": "x", "sandbox": {"mode": "read-only", "host": "example.com"}},
		"e": {"url": "https://example.com", "sandbox": "read-only"},
		"f": {"command": "x", "sandbox": null}}}`
	servers, problems, err := mcpserver.Parse([]byte(text), ".json")
	if err != nil || len(servers) != 3 || len(problems) != 3 || servers[2].Sandbox != nil {
		t.Fatalf("%+v, %q, %v", servers, problems, err)
	}
	ready, err := mcpserver.Expand(servers[1].Server, func(string) string { return "/room" }, "/work")
	if err != nil || ready.Sandbox.Writable[0] != "/room/b" || servers[1].Sandbox.Writable[0] != "${ROOM}/b" {
		t.Errorf("%+v %v", ready.Sandbox, err)
	}
	for _, d := range servers[:2] {
		raw, err := mcpserver.Entry(d)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := mcpserver.Parse([]byte(`{"mcpServers":{"`+d.Name+`":`+string(raw)+`}}`), ".json")
		if err != nil || !reflect.DeepEqual(again[0].Sandbox, d.Sandbox) {
			t.Errorf("%s became %+v, %v", raw, again, err)
		}
	}
}
