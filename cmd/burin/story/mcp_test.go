package story_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// servers is a home with MCP servers: one that works, one that fails, one that is off, and a project
// with one of its own.
func servers(t *testing.T) func(*setting) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(o *setting) {
		o.home = filepath.Join(t.TempDir(), "home")
		write(t, filepath.Join(o.home, "mcp.json"), fmt.Sprintf(`{"mcpServers": {
			"notes": {"command": %q, "args": [%q, "0", "asking"], "env": {"NOTES_KEY": "hidden-key"}},
			"broken": {"command": "sh", "args": ["-c", "printf 'no \\033[31mkey is set\\n' >&2; exit 1"]},
			"spare": {"command": %q, "args": [%q, "0"], "disabled": true}}}`, self, mcptest.Marker, self, mcptest.Marker))
		o.files = map[string]string{".mcp.json": `{"mcpServers": {"theirs": {"command": "./theirs"}}}`}
	}
}

// listed is what burin mcp list says of a server.
func (s *story) listed(name string) string {
	s.t.Helper()
	cmd := exec.Command(program(s.t), "mcp", "list", "--json")
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "BURIN_HOME="+s.home)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var all []struct{ Name, State string }
	if err := json.Unmarshal(out, &all); err != nil {
		s.t.Fatal(err)
	}
	for _, one := range all {
		if one.Name == name {
			return one.State
		}
	}
	return ""
}

// offered reports whether the last request of the conversation offers a tool to the model.
func (s *story) offered(name string) bool {
	s.t.Helper()
	for _, r := range slices.Backward(s.model.Requests()) {
		if len(r.Tools) > 0 { // others are for titles
			return slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == name })
		}
	}
	return false
}

// told reports whether the model was sent a text.
func (s *story) told(text string) bool {
	return slices.ContainsFunc(s.model.Raw(), func(r llmtest.Raw) bool { return strings.Contains(string(r.Body), text) })
}

// MCP servers are a command away: how they are, their tools and logs, and switches that hold in this
// session and in later ones.
func TestMCPServers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	turns := []llmtest.Turn{call("mcp__notes__echo", `{}`), say("One."), call("mcp__notes__fail", `{}`), say("Two."), say("Three.")}
	s := begin(t, turns, servers(t), func(o *setting) { o.quiet = true })
	s.WaitText("waits for your trust")
	s.answer("2", "enter")
	s.WaitGone("waits for your trust")
	if s.away {
		t.Skip("the connections are those of another process")
	}
	s.send("/mcp")
	s.WaitText("no ␛[31mkey is set; burin tries again with the next call") // the colors of the program are words here
	for _, text := range []string{"notes    connected, 14 tools", "spare    off", "theirs   not trusted", "☐ spare", "☑ notes"} {
		s.WaitText(text)
	}
	if strings.Contains(s.Text(), "hidden-key") {
		t.Error("the panel shows the variables of a server")
	}

	// One server: its tools, and what it said.
	s.Press("ctrl+r")
	s.WaitText("MCP server broken: the server ended the connection")
	s.WaitGone("connected to broken")
	s.Press("down")
	s.Press("enter")
	s.WaitText("Says a text again.")
	s.Type("echo")
	s.Press("space")
	s.WaitText("echo of notes is off in this session and in later ones")
	s.WaitText("☐ echo")
	s.Press("tab")
	s.WaitText("[Log 0]")
	s.Press("tab")
	s.WaitText("a word of the server")
	s.Press("esc")
	s.WaitText("notes    connected, 13 of 14 tools")

	// Off is off at once, and in what other commands say.
	s.Type("spare")
	s.Press("space")
	s.WaitText("spare is on in this session and in later ones")
	s.WaitText("connected, 7 tools")
	s.Press("esc")
	s.Press("esc")
	s.WaitGone("MCP servers")
	s.send("first")
	s.WaitText("One.")
	if !s.offered("mcp__notes__fail") || !s.offered("mcp__spare__echo") || !s.told("mcp__notes__echo is not available any more") {
		t.Error("the model has other tools than the panel says")
	}
	if got := s.listed("spare"); got != "on" {
		t.Errorf("burin mcp list calls spare %q", got)
	}
	s.send("/mcp notes")
	s.WaitText("notes [Tools 14]")
	s.Press("esc")
	s.WaitText("Enter view")
	s.Press("space")
	s.WaitText("notes is off in this session and in later ones")
	s.WaitText("☐ notes    off")
	s.Press("ctrl+r")
	s.WaitText("notes is off: nothing connects to it.")
	s.Press("ctrl+c")
	s.WaitGone("Enter view")
	s.send("second")
	s.WaitText("Two.")
	if !s.told("mcp__notes__fail is not available any more") {
		t.Error("the model has tools of a server that is off")
	}
	if got := s.listed("notes"); got != "off" {
		t.Errorf("burin mcp list calls notes %q", got)
	}

	// What is not burin's to switch says why.
	s.send("/mcp")
	s.WaitText("Enter view")
	s.Type("theirs")
	s.Press("space")
	s.WaitText("theirs is not trusted: it starts once you trust its file: burin trust")
	s.WaitText("☐ theirs")
	s.Press("ctrl+c")

	// The next session has what was switched.
	s.send("/new")
	s.WaitText("waits for your trust") // asked again, as the answer was to wait
	s.answer("2", "enter")
	s.WaitGone("waits for your trust")
	s.send("third")
	s.WaitText("Three.")
	if s.offered("mcp__notes__fail") || !s.offered("mcp__spare__echo") {
		t.Error("the next session has other servers than the panel said")
	}
}

// The panel fits narrow screens, and goes without colors.
func TestMCPServersNarrow(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, servers(t), func(o *setting) {
		o.quiet, o.files = true, nil
		o.Options = robot.Options{Timeout: waitTime, Width: 60, Height: 20, Env: []string{"NO_COLOR=1"}}
	})
	s.WaitText("opus-4-5")
	if s.away {
		t.Skip("the connections are those of another process")
	}
	s.send("/mcp")
	s.WaitText("notes    connected, 14 tools")
	s.WaitText("Enter view, Space on/off, Ctrl+R reconnect, Ctrl+L log in")
	s.Press("down")
	s.Press("enter")
	s.WaitText("notes [Tools 14]  Log 0   Stderr 1")
	s.WaitText("Space on/off, Tab other views, Ctrl+R reconnect, Esc back")
}
