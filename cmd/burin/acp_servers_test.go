package main

import (
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// The MCP servers that an editor passes work in its session, each over its own transport, and win
// over one of a file with the same name. What they get of secrets is written nowhere.
func TestEditorServers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its servers are lines of sh, which Windows lacks")
	}
	t.Parallel()
	const key, token = "canary-of-a-variable", "canary-of-a-header"
	web := httptest.NewServer(mcptest.HTTP(0, token))
	t.Cleanup(web.Close)
	r := openEditor(t, nil, []llmtest.Turn{
		calls("read", `{"path":"mcp://local"}`, 100), calls("read", `{"path":"mcp://web-one"}`, 100), calls("read", `{"path":"mcp://old"}`, 100),
		calls("mcp__local__echo", `{"text":"herons"}`, 100), calls("mcp__web-one__echo", `{"text":"storks"}`, 100), calls("mcp__old__echo", `{"text":"cranes"}`, 100),
		says("done", 100), says("without", 100), calls("mcp__local__echo", `{"text":"again"}`, 100), says("done", 100),
	}, "--approval", "full")
	writeFile(t, filepath.Join(r.home, "burin", "mcp.json"), []byte(`{"mcpServers": {"local": {"command": "no-such-program"}}}`), 0o600)
	headers := []any{object{"name": "Authorization", "value": "Bearer " + token}}
	local := object{
		"name": "local", "command": "/bin/sh", "args": []any{"-c", `[ ${#NOTES_KEY} = 20 ] && exec "$0" "$@"`, os.Args[0], mcptest.Marker},
		"env": []any{object{"name": "NOTES_KEY", "value": key}},
	}
	servers := []any{
		local,
		object{"type": "http", "name": "web one", "url": web.URL + "/mcp", "headers": headers},
		object{"type": "sse", "name": "old", "url": web.URL + "/sse", "headers": headers},
		object{"type": "http", "name": "web-one", "url": web.URL + "/other", "headers": headers},
	}
	if can := r.hello(object{}).AgentCapabilities.MCPCapabilities; !can.HTTP || !can.SSE {
		t.Errorf("announced: %+v", can)
	}
	var is proto.SessionResponse
	r.call(proto.MethodSessionNew, object{"cwd": r.dir, "mcpServers": servers}, &is)
	r.say(is.SessionID, "work")
	raw := r.server.Raw()
	for i, want := range map[int]string{1: "test://one", 2: "test://one", 3: "test://one", 4: "echo: herons", 5: "echo: storks", 6: "echo: cranes"} {
		if i >= len(raw) || !strings.Contains(string(raw[i].Body), want) {
			t.Errorf("%q is not in request %d of %d", want, i, len(raw))
		}
	}
	offers := func(request int) bool {
		return slices.ContainsFunc(r.server.Requests()[request].Tools, func(d llm.Tool) bool { return strings.HasPrefix(d.Name, "mcp__web-one") })
	}
	if !offers(6) {
		t.Error("the tools are not offered")
	}
	other := r.begin()
	r.say(other, "work")
	if offers(7) {
		t.Error("a session has the servers of another one")
	}
	r.call(proto.MethodSessionClose, object{"sessionId": is.SessionID}, nil)
	r.call(proto.MethodSessionLoad, object{"sessionId": is.SessionID, "cwd": r.dir, "mcpServers": []any{local}}, nil)
	r.say(is.SessionID, "work")
	if !strings.Contains(r.last(), "echo: again") || offers(9) {
		t.Error("the loaded session does not have the one server that it was loaded with")
	}
	r.close()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.ended <- nil
	for _, want := range []string{"local: this session uses the editor's", "web-one: the editor passes another one with this name"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("%q is not said: %s", want, r.stderr)
		}
	}
	secret := func(where string, text []byte) {
		if s := string(text); strings.Contains(s, key) || strings.Contains(s, token) {
			t.Errorf("a secret is in %s", where)
		}
	}
	secret("standard error", []byte(r.stderr.String()))
	secret("what the editor got", []byte(strings.Join(r.frames, "\n")))
	for _, one := range r.server.Raw() {
		secret("a request to the model", one.Body)
	}
	err := filepath.WalkDir(r.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		secret(path, text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
