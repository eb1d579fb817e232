package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// withServer is a home with the MCP server "test", which has so many further tools.
func withServer(t *testing.T, config string, more int, turns ...llmtest.Turn) *configured {
	t.Helper()
	c := configure(t, config, turns...)
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	if out := c.burin("mcp", "add", "test", "--", os.Args[0], mcptest.Marker, fmt.Sprint(more)); !strings.Contains(out, "test: "+fmt.Sprint(7+more)+" tools") {
		t.Fatalf("mcp add: %s", out)
	}
	return c
}

// offered are the names of the tools of a request.
func (c *configured) offered(request int) (names []string) {
	c.t.Helper()
	all := c.model.Requests()
	if request >= len(all) {
		c.t.Fatalf("%d requests", len(all))
	}
	for _, t := range all[request].Tools {
		names = append(names, t.Name)
	}
	return names
}

// body is what a request has sent.
func (c *configured) body(request int) string {
	c.t.Helper()
	all := c.model.Raw()
	if request >= len(all) {
		c.t.Fatalf("%d requests", len(all))
	}
	return string(all[request].Body)
}

// A server that was added gives its tools from the first request on, and its results come back.
func TestMCPTools(t *testing.T) {
	t.Parallel()
	c := withServer(t, "approval: full\n", 0,
		calls("mcp__test__echo", `{"text":"herons"}`, 100), calls("mcp__test__picture", `{}`, 100), calls("mcp__test__fail", `{}`, 100), says("Done.", 100))
	out := c.burin("-p", "call it")
	if names := c.offered(0); !slices.Contains(names, "mcp__test__echo") || slices.Contains(names, "search_tool_bm25") {
		t.Errorf("offered: %q\n%s", names, out)
	}
	for i, want := range []string{"echo: herons", "inside", "it failed as it should"} {
		if got := c.body(i + 1); !strings.Contains(got, want) {
			t.Errorf("%q is not in request %d\n%s", want, i+1, out)
		}
	}
	if got := c.body(2); !strings.Contains(got, "inside") || !strings.Contains(got, "test://two") {
		t.Error("resources are missing")
	}
	before, after := c.model.Requests()[0].Tools, c.model.Requests()[3].Tools
	if a, b := fmt.Sprint(before), fmt.Sprint(after); a != b {
		t.Error("definitions have changed within a session")
	}
}

// The model reads resources of servers by address, with the permission that calls of the server need.
func TestMCPResources(t *testing.T) {
	t.Parallel()
	addresses := []string{"mcp://", "mcp://test", "mcp://test/test://one", "mcp://test/test://of/herons", "mcp://nobody/x"}
	wants := []string{"mcp://test lists the resources of", "mcp://test/test://of/{name}", "about test://one", "about test://of/herons", "no MCP server"}
	var turns []llmtest.Turn
	for _, a := range addresses {
		turns = append(turns, calls("read", `{"path":"`+a+`"}`, 100))
	}
	one := calls("read", `{"path":"mcp://test/test://one"}`, 100)
	c := withServer(t, "approval: full\n", 0, append(turns, says("Done.", 100), one, says("Done.", 100), one, says("Done.", 100))...)
	out := c.burin("-p", "read them")
	for i, want := range wants {
		if got := c.body(i + 1); !strings.Contains(got, want) {
			t.Errorf("%s: %q is missing\n%s", addresses[i], want, out)
		}
	}
	for i, rule := range []string{"deny: ['mcp(test.*)']", "deny: ['mcp(test.resources:uri=test://o*)']"} {
		c.put("burin/config.yml", "modelRoles: {default: box/m}\napproval: full\npermissions: {"+rule+"}\n")
		out := c.burin("-p", "read one")
		if got := c.body(len(wants) + 2 + 2*i); strings.Contains(got, "about test://one") {
			t.Errorf("%s does not hold\n%s", rule, out)
		}
	}
}

// "@server:uri" in a prompt attaches what the server's resource says. Only what the person writes counts,
// and only servers that the session has.
func TestMCPMentions(t *testing.T) {
	t.Parallel()
	c := withServer(t, "", 0, says("Done.", 100), says("Done.", 100))
	models, err := os.ReadFile(filepath.Join(c.dir, "burin", "models.yml"))
	if err != nil {
		t.Fatal(err)
	}
	c.put("burin/models.yml", strings.Replace(string(models), "id: m,", "id: m, input: [text, image],", 1))
	c.put("work/notes.txt", "see @test:test://of/secrets")
	out := c.burin("-p", "what are (@test:test://of/herons), @test:test://one and @nobody:x?", "@test:test://of/picture", "@test:test://of/lost", "@notes.txt")
	body := c.body(0)
	for _, want := range []string{`<file path=\"mcp://test/test://of/herons\"`, "about test://of/herons\\n", "about test://one\\n", "image/png", "@nobody:x?", "see @test:test://of/secrets"} {
		if !strings.Contains(strings.ReplaceAll(body, `\u003c`, "<"), want) {
			t.Errorf("%q is missing: %.3000s", want, body)
		}
	}
	if strings.Contains(body, "about test://of/secrets") {
		t.Error("what a file names is attached")
	}
	if want := "@test:test://of/lost is not attached: MCP server test: "; !strings.Contains(out, want) {
		t.Errorf("%q is missing: %s", want, out)
	}
	if out := c.burin("-p", "read it", "@nobody:x"); !strings.Contains(out, "attach @nobody:x") {
		t.Errorf("a file that is not there, of no server: %s", out)
	}
	c.burin("-p", "@@test:test://one")
	if body := c.body(1); strings.Contains(body, "about test://one") || !strings.Contains(body, "@test:test://one") {
		t.Errorf("@@ stands for itself: %.3000s", body)
	}
}

// A prompt of a server is a command.
func TestMCPPrompts(t *testing.T) {
	t.Parallel()
	c := withServer(t, "", 0, says("Done.", 100), says("Done.", 100))
	c.burin("-p", "/test:greet herons very kindly")
	c.burin("-p", "/test:greet how=shortly herons")
	for i, want := range []string{"Greet herons (very kindly).", "Greet herons (shortly)."} {
		if got := c.body(i); !strings.Contains(got, want) {
			t.Errorf("%q is missing: %.3000s", want, got)
		}
	}
	for text, want := range map[string]string{"/test:greet": "the prompt greet needs who", "/test:nothing": `no prompt \"nothing\"; it has /test:greet`} {
		if out := strings.ReplaceAll(c.burin("-p", text), `"`, `\"`); !strings.Contains(out, want) {
			t.Errorf("%s: %s", text, out)
		}
	}
	if n := len(c.model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// prompt has the model work over RPC, where somebody answers each question with what is proposed first.
func (c *configured) prompt() string {
	c.t.Helper()
	cmd := command(c.t, "--mode", "rpc")
	cmd.Dir = filepath.Join(c.dir, "work")
	cmd.Env = append(cmd.Env, "HOME="+c.dir, "BURIN_HOME="+filepath.Join(c.dir, "burin"))
	out, err := suitePrompt(cmd)
	if err != nil {
		c.t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// What a server asks during a call is a question of the session: a form, whose answers the server
// gets, and leave to ask the model, which is off unless mcp.sampling is set. Progress is told.
func TestMCPServerAsks(t *testing.T) {
	t.Parallel()
	asks := func(config string, turns ...llmtest.Turn) *configured {
		t.Helper()
		c := configure(t, "approval: full\n"+config, turns...)
		c.put("work/.git/HEAD", "ref: refs/heads/main\n")
		if out := c.burin("mcp", "add", "test", "--", os.Args[0], mcptest.Marker, "0", "asking"); !strings.Contains(out, "test: 14 tools") {
			t.Fatalf("mcp add: %s", out)
		}
		return c
	}
	fill, sample := calls("mcp__test__fill", `{}`, 100), calls("mcp__test__sample", `{"text":"What is a heron?"}`, 100)
	page := calls("mcp__test__open", `{}`, 100)

	c := asks("", fill, sample, says("Done.", 100), fill, says("Done.", 100))
	out := c.prompt()
	for _, want := range []string{"MCP server test: Who are you?", `"Green","Red"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing: %s", want, out)
		}
	}
	if got := c.body(1); !strings.Contains(got, `accept {\"age\":30,\"color\":\"#0f0\"`) || !strings.Contains(got, `\"days\":[\"mon\"],\"name\":\"Kim\",\"sure\":true`) {
		t.Errorf("the answers: %.3000s\n%s", got, out)
	}
	if got := c.body(2); !strings.Contains(got, "does not support sampling") || strings.Contains(out, "What is a heron? ") {
		t.Errorf("a server samples though mcp.sampling is off: %.3000s", got)
	}
	c.burin("-p", "fill it")
	if got := c.body(4); !strings.Contains(got, "decline null") {
		t.Errorf("where nobody can answer: %.3000s", got)
	}

	c = asks("", page, says("Done.", 100), page, says("Done.", 100))
	out = c.prompt()
	if !strings.Contains(out, "MCP server test: Connect your calendar.") || !strings.Contains(out, mcptest.Page) || !strings.Contains(out, "Its host is pages.example.com.") || !strings.Contains(c.body(1), "page: accept") {
		t.Errorf("a page: %s\n%.3000s", out, c.body(1))
	}
	c.burin("-p", "open it")
	if got := c.body(3); !strings.Contains(got, "page: decline") {
		t.Errorf("a page where nobody is: %.3000s", got)
	}

	c = asks("mcp: {sampling: true}\n", sample, says("A bird.", 100), says("Done.", 100), sample, says("Done.", 100))
	out = c.prompt()
	if got := c.body(1); !strings.Contains(got, "What is a heron?") || !strings.Contains(got, "Be brief.") || strings.Contains(got, `"tools"`) {
		t.Errorf("what the server asked: %.3000s", got)
	}
	if got := c.body(2); !strings.Contains(got, "m says A bird.") {
		t.Errorf("what the server got: %.3000s\n%s", got, out)
	}
	if !strings.Contains(out, "[user] What is a heron?") || !strings.Contains(out, `"Allow once","Refuse"`) {
		t.Errorf("the question: %s", out)
	}
	c.burin("-p", "sample it")
	if got := c.body(4); !strings.Contains(got, "did not allow it") {
		t.Errorf("where nobody can answer: %.3000s", got)
	}
	if out := c.burin("usage", "--json"); !strings.Contains(out, `"requests":5`) {
		t.Errorf("sampling is not counted: %s", out)
	}
}

// The progress of a call is an event, and what servers log is shown by burin mcp test.
func TestMCPProgressAndLog(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := configure(t, "approval: full\n", calls("mcp__test__steps", `{}`, 100), says("Done.", 100))
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	c.burin("mcp", "add", "test", "--", os.Args[0], mcptest.Marker, "0", "asking")
	if out := c.burin("-p", "call it", "--mode", "json"); !strings.Contains(out, "step (1 of 10)") || !strings.Contains(c.body(1), "done") {
		t.Errorf("progress: %s", out)
	}
	if out := c.burin("mcp", "test", "--log"); !strings.Contains(out, "stderr: a word of the server") || !strings.Contains(out, "speaks version 2026-07-28 of the protocol") {
		t.Errorf("the log: %s", out)
	}
	c.burin("mcp", "add", "past", "--", os.Args[0], mcptest.Marker, "0", "older")
	if out := c.burin("mcp", "test", "past", "--log"); !strings.Contains(out, "speaks version 2025-11-25 of the protocol") {
		t.Errorf("an older server: %s", out)
	}
}

// The doctor says which servers are used.
func TestMCPDoctor(t *testing.T) {
	t.Parallel()
	c := configure(t, "")
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	c.put("burin/mcp.json", `{"mcpServers": {"mine": {"command": "true"}, "off": {"command": "true", "disabled": true}, "wrong": {}}}`)
	c.put("work/.mcp.json", `{"mcpServers": {"theirs": {"command": "true"}}}`)
	c.put(".cursor/mcp.json", `{"mcpServers": {"other": {"command": "true"}}}`)
	out := strings.Join(strings.Fields(c.burin("doctor")), " ") // lines are wrapped
	for _, want := range []string{"user: MCP servers: mine note", "MCP servers: off: switched off", "MCP servers: theirs: not trusted", "other: not used: burin mcp import imports them", "MCP server wrong: left out"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// A server gets no placeholders filled in, and not the keys in burin's environment.
func TestMCPSecrets(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := withServer(t, "approval: full\n", 0, calls("mcp__test__environment", `{}`, 100), says("Done.", 100))
	c.burin("mcp", "remove", "test")
	c.burin("mcp", "add", "test", "--env", "GIVEN=${HOME}", "--", os.Args[0], mcptest.Marker)
	out := c.burin("-p", "call it")
	if got := c.body(1); !strings.Contains(got, "GIVEN="+c.dir) || strings.Contains(got, "BURIN_HOME") {
		t.Errorf("the variables of the server: %.2000s\n%s", got, out)
	}
	if file, err := os.ReadFile(filepath.Join(c.dir, "burin", "mcp.json")); err != nil || !strings.Contains(string(file), "${HOME}") {
		t.Errorf("the file has the value: %s, %v", file, err)
	}
}

// Rules name servers, tools and arguments; what nobody allows is refused where nobody can be asked.
func TestMCPRules(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	rules := []struct {
		rule string
		runs bool
	}{
		{"", false},
		{"allow: ['mcp(test.echo)']", true},
		{"allow: ['mcp__test__echo']", true},
		{"allow: ['mcp(test.echo:text=docs/*)']", true},
		{"allow: ['mcp(test.echo:text=other/*)']", false},
		{"allow: [mcp], deny: ['mcp(test.echo:docs*)']", false},
	}
	var turns []llmtest.Turn
	for range rules {
		turns = append(turns, calls("mcp__test__echo", `{"text":"docs/a"}`, 100), says("Done.", 100))
	}
	c := withServer(t, "", 0, turns...)
	for i, tt := range rules {
		c.put("burin/config.yml", "modelRoles: {default: box/m}\npermissions: {"+tt.rule+"}\n")
		out := c.burin("-p", "call it")
		if got := strings.Contains(c.body(2*i+1), "echo: docs/a"); got != tt.runs {
			t.Errorf("%s: runs is %v\n%s", tt.rule, got, out)
		}
	}
}

// With more tools than 40 the model searches them. What it finds comes at the end of its tools, in
// later runs of the session too.
func TestMCPSearch(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := withServer(t, "approval: full\n", 60,
		calls("search_tool_bm25", `{"query":"thing number 17","limit":2}`, 100), calls("mcp__test__other_017", `{"text":"found"}`, 100), says("Done.", 100), says("Again.", 100))
	out := c.burin("-p", "call it")
	first, second := c.offered(0), c.offered(1)
	if !slices.Contains(first, "search_tool_bm25") || slices.ContainsFunc(first, func(n string) bool { return strings.HasPrefix(n, "mcp__") }) {
		t.Errorf("offered at first: %q\n%s", first, out)
	}
	if len(second) != len(first)+2 || !slices.Equal(second[:len(first)], first) || second[len(first)] != "mcp__test__other_017" {
		t.Errorf("offered then: %q\n%s", second, out)
	}
	if got := c.body(2); !strings.Contains(got, "thing 17: found") {
		t.Error("the tool that was found does not answer")
	}
	c.burin("-c", "-p", "go on")
	if again := c.offered(3); !slices.Equal(again, second) {
		t.Errorf("offered when the session goes on: %q, want %q", again, second)
	}
}

// mcp.enabled, tools.discoveryMode and mcp.discoveryDefaultServers decide what the model is sent.
func TestMCPSettings(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, tt := range []struct {
		settings         string
		more             int
		searches, direct bool
	}{
		{"", 0, false, true},
		{"mcp: {enabled: false}", 0, false, false},
		{"tools: {discoveryMode: mcp-only}", 0, true, false},
		{"", 60, true, false},
		{"tools: {discoveryMode: 'off'}", 60, false, true},
		{"mcp: {discoveryDefaultServers: [test]}", 60, true, true},
	} {
		c := withServer(t, tt.settings+"\n", tt.more, says("Done.", 100))
		out := c.burin("-p", "hello")
		names := c.offered(0)
		if searches, direct := slices.Contains(names, "search_tool_bm25"), slices.Contains(names, "mcp__test__echo"); searches != tt.searches || direct != tt.direct {
			t.Errorf("%q with %d more: searches is %v, sent is %v\n%s", tt.settings, tt.more, searches, direct, out)
		}
	}
}

// Servers of a project start when they are trusted, by what they run; mcp.enableProjectConfig
// leaves them out.
func TestMCPOfAProject(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for settings, wanted := range map[string]bool{"": true, "mcp: {enableProjectConfig: false}\n": false} {
		c := configure(t, settings+"approval: full\n", says("One.", 100), says("Two.", 100), says("Three.", 100))
		c.put("work/.git/HEAD", "ref: refs/heads/main\n")
		definition := func(mark string) string {
			d, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"test": map[string]any{"command": os.Args[0], "args": []string{mcptest.Marker, "0"}, "env": map[string]string{"MARK": mark}}}})
			return string(d)
		}
		c.put("work/.mcp.json", definition("one"))
		offered := func(request int) bool { return slices.Contains(c.offered(request), "mcp__test__echo") }
		out := c.burin("-p", "hello")
		if offered(0) || strings.Contains(out, "before you trust them") != wanted {
			t.Errorf("%qbefore trust: %s", settings, out)
		}
		c.burin("trust", "--allow")
		out = c.burin("mcp", "test")
		c.burin("-p", "hello")
		if offered(1) != wanted {
			t.Errorf("%qtrusted: offered is %v\n%s", settings, offered(1), out)
		}
		c.put("work/.mcp.json", definition("two"))
		c.burin("-p", "hello")
		if offered(2) {
			t.Errorf("%soffered after the file has changed", settings)
		}
	}
}

// A server that is down costs a line, and no time.
func TestMCPServerIsDown(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	srv := httptest.NewServer(nil)
	url := srv.URL
	srv.Close()
	c := configure(t, "", says("Done.", 100))
	if out := c.burin("mcp", "add", "away", url); !strings.Contains(out, "could not be reached yet") {
		t.Errorf("add: %s", out)
	}
	if out := c.burin("-p", "hello"); !strings.Contains(out, "Done.") || strings.Count(out, "away") > 1 {
		t.Errorf("a prompt: %s", out)
	}
	if out := c.burin("mcp", "test"); !strings.Contains(out, "MCP server away: ") {
		t.Errorf("test: %s", out)
	}
}

// The commands change burin's own file, and take over those of other programs.
func TestMCPCommands(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := configure(t, "")
	c.put(".cursor/mcp.json", `{"mcpServers": {"theirs": {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "${KEY_OF_THEIRS}"}}}}`)
	c.put(".codex/config.toml", "[mcp_servers.coded]\ncommand = \"coded-mcp\"\nargs = [\"--now\"]\nstartup_timeout_sec = 5\n")
	has := func(want string, args ...string) {
		t.Helper()
		if out := c.burin(args...); !strings.Contains(out, want) {
			t.Errorf("%q: %q is missing\n%s", args, want, out)
		}
	}
	has("not imported", "mcp", "list")
	has("imported", "mcp", "import", "cursor")
	has("theirs  on ", "mcp")
	has("coded   not imported", "mcp")
	has(`"headers": [`, "mcp", "get", "theirs")
	has("KEY_OF_THEIRS is not set", "mcp", "test", "theirs")
	has("", "mcp", "disable", "theirs")
	has("theirs  off ", "mcp")
	has("", "mcp", "enable", "theirs")
	has("imported coded", "mcp", "import")
	has("could not be reached yet", "mcp", "add-json", "third", `{"type": "stdio", "command": "no-such-program"}`)
	has("is in ", "mcp", "add", "third", "--", "x")
	has("a name has letters", "mcp", "add", "a b", "--", "x")
	has("a command is missing", "mcp", "add-json", "empty", "{}")
	has("", "mcp", "remove", "third")
	has(`no MCP server "third"`, "mcp", "remove", "third")
	var list []struct{ Name, State string }
	if err := json.Unmarshal([]byte(c.burin("mcp", "list", "--json")), &list); err != nil || len(list) != 4 {
		t.Errorf("%v, %v", list, err)
	}
}

// Who switches a project's server off and on by command keeps the trust in its file, and whoever changes more doesn't.
func TestMCPSwitchKeepsTrust(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := configure(t, "")
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	c.put("work/.burin/mcp.json", `{"mcpServers": {"theirs": {"command": "no-such-program"}}}`)
	is := func(want string) {
		t.Helper()
		if out := c.burin("mcp", "list"); !strings.Contains(out, "theirs  "+want+" ") {
			t.Errorf("want %s: %s", want, out)
		}
	}
	is("needs trust")
	c.burin("mcp", "disable", "--project", "theirs")
	c.burin("mcp", "enable", "--project", "theirs")
	is("needs trust")
	c.burin("trust", "--allow")
	is("on")
	c.burin("mcp", "disable", "--project", "theirs")
	is("off")
	c.burin("mcp", "enable", "--project", "theirs")
	is("on")
	c.burin("mcp", "add", "--project", "more", "--", "no-such-program")
	is("needs trust")
	if out := c.burin("mcp", "disable", "--project", "none"); !strings.Contains(out, `no MCP server "none" in `) {
		t.Errorf("of a server that isn't there: %s", out)
	}
}

// The tool of a server counts as one that may change something, unless the server says otherwise.
func TestMCPPlanMode(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := withServer(t, "permissions: {allow: [mcp]}\n", 0, calls("mcp__test__echo", `{"text":"a"}`, 100), calls("mcp__test__environment", `{}`, 100), says("Done.", 100))
	out := c.burin("-p", "--approval", "plan", "call it")
	if got := c.body(2); !strings.Contains(got, "echo: a") || strings.Contains(got, "GIVEN") || !strings.Contains(got, "plan mode changes nothing") {
		t.Errorf("%.3000s\n%s", got, out)
	}
}

// Without a terminal /mcp answers with text, and asks neither a server nor the model.
func TestMCPInWords(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := withServer(t, "", 0)
	if out := c.burin("-p", "/mcp"); !strings.Contains(out, "test: from the cache, 7 tools, ") {
		t.Errorf("/mcp: %s", out)
	}
	if out := c.burin("-p", "/mcp test"); !strings.Contains(out, "Tool     echo  Says a text again.\n") {
		t.Errorf("/mcp test: %s", out)
	}
	if n := len(c.model.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
