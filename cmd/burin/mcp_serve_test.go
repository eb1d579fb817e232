package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
)

// mcpClient is the official SDK's client of burin mcp serve.
type mcpClient struct {
	*mcp.ClientSession
	t *testing.T

	mu   sync.Mutex
	told []string
}

func serveTo(t *testing.T, transport mcp.Transport, version ...string) *mcpClient {
	t.Helper()
	s := &mcpClient{t: t}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, r.Params.Message)
		},
	})
	var err error
	want := mcptest.Newest
	var o *mcp.ClientSessionOptions
	if len(version) > 0 {
		want, o = version[0], &mcp.ClientSessionOptions{ProtocolVersion: version[0]}
	}
	if s.ClientSession, err = client.Connect(t.Context(), transport, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != want {
		t.Errorf("version %s of the protocol is spoken, want %s", got, want)
	}
	return s
}

func (s *mcpClient) call(ctx context.Context, tool string, args map[string]any) (string, *mcp.CallToolResult, error) {
	s.t.Helper()
	p := &mcp.CallToolParams{Name: tool, Arguments: args}
	p.SetProgressToken("a token")
	r, err := s.CallTool(ctx, p)
	if err != nil {
		return "", nil, err
	}
	return r.Content[0].(*mcp.TextContent).Text, r, nil
}

// serving is the command of a configured burin.
func (c *configured) serving(args ...string) *mcp.CommandTransport {
	c.t.Helper()
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	cmd := command(c.t, append([]string{"mcp", "serve"}, args...)...)
	cmd.Dir = filepath.Join(c.dir, "work")
	cmd.Env = append(cmd.Env, "HOME="+c.dir, "BURIN_HOME="+filepath.Join(c.dir, "burin"))
	return &mcp.CommandTransport{Command: cmd, TerminateDuration: 10 * time.Second}
}

// Programs have burin do tasks, and read what came of them; what needs an answer is refused.
func TestMCPServe(t *testing.T) {
	t.Parallel()
	write := calls("write", `{"path":"notes.txt","content":"herons\n"}`, 100)
	c := configure(t, "approval: ask\n", calls("read", `{"path":"a.txt"}`, 100), write, says("It says herons.", 100), says("Herons, again.", 100), write, says("Written.", 100))
	c.put("work/a.txt", "herons\n")
	s := serveTo(t, c.serving())
	if got := s.InitializeResult(); got.ServerInfo.Name != "burin" || !strings.Contains(got.Instructions, "work") {
		t.Errorf("%+v", got)
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 3 {
		t.Fatalf("%+v, %v", tools, err)
	}
	text, r, err := s.call(t.Context(), "run_task", map[string]any{"prompt": "what does a.txt say?"})
	if err != nil || r.IsError || !strings.HasPrefix(text, "It says herons.") || !strings.Contains(text, "[refused: ") {
		t.Fatalf("%s, %+v, %v", text, r, err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "work", "notes.txt")); err == nil {
		t.Error("a file was written that nobody allowed")
	}
	id, _ := r.StructuredContent.(map[string]any)["session"].(string)
	if !strings.Contains(text, "[session "+id+"]") || id == "" {
		t.Errorf("the session: %q in %s", id, text)
	}
	s.mu.Lock()
	if len(s.told) < 2 || !strings.Contains(s.told[0], "a.txt") {
		t.Errorf("progress: %q", s.told)
	}
	s.mu.Unlock()
	if text, _, err := s.call(t.Context(), "run_task", map[string]any{"prompt": "again", "session": id[:8]}); err != nil || !strings.HasPrefix(text, "Herons, again.") {
		t.Errorf("continued: %s, %v", text, err)
	}
	if got := c.body(3); !strings.Contains(got, "what does a.txt say?") {
		t.Errorf("the session was not continued: %.2000s", got)
	}
	if text, _, err := s.call(t.Context(), "list_sessions", nil); err != nil || !strings.Contains(text, id) || strings.Contains(text, "\n") {
		t.Errorf("list_sessions: %s, %v", text, err)
	}
	if text, _, err := s.call(t.Context(), "read_session", map[string]any{"session": id}); err != nil || !strings.Contains(text, "what does a.txt say?") || !strings.Contains(text, "Herons, again.") {
		t.Errorf("read_session: %s, %v", text, err)
	}
	for _, wrong := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"run_task", map[string]any{}, "the prompt is empty"},
		{"run_task", map[string]any{"prompt": "x", "session": "../../etc"}, "no session"},
		{"run_task", map[string]any{"prompt": "x", "approval": "full"}, "unknown field"},
		{"read_session", map[string]any{"session": id, "offset": 1 << 20}, "offset"},
	} {
		if text, r, err := s.call(t.Context(), wrong.tool, wrong.args); err != nil || !r.IsError || !strings.Contains(text, wrong.want) {
			t.Errorf("%s %v: %q, %v", wrong.tool, wrong.args, text, err)
		}
	}
	if _, _, err := s.call(t.Context(), "nothing", nil); err == nil {
		t.Error("a tool that isn't there answers")
	}
	s.Close()
	s = serveTo(t, c.serving("--approval", "full"), "2025-06-18")
	if text, _, err := s.call(t.Context(), "run_task", map[string]any{"prompt": "write it"}); err != nil || strings.Contains(text, "refused") {
		t.Errorf("with --approval full: %s, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "work", "notes.txt")); err != nil {
		t.Error(err)
	}
}

// The definition in docs/mcp.md works, in burin itself too.
func TestMCPServePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## burin as a server")
	_, text, _ := strings.Cut(section, "```json\n")
	text, _, _ = strings.Cut(text, "```")
	c := configure(t, "")
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(c.dir, "burin", "burin")); err != nil {
		t.Fatal(err)
	}
	c.put("burin/mcp.json", strings.Replace(text, `"command": "burin"`, `"command": "`+filepath.Join(c.dir, "burin", "burin")+`"`, 1))
	if out := c.burin("mcp", "test", "burin"); !strings.Contains(out, "burin: 3 tools") || !strings.Contains(out, "run_task") {
		t.Errorf("%s", out)
	}
}

// A burin among its own servers, whose model has it begin tasks in tasks, ends.
func TestMCPServeInItself(t *testing.T) {
	t.Parallel()
	deeper := calls("mcp__self__run_task", `{"prompt":"deeper"}`, 100)
	c := configure(t, "approval: full\n", deeper, deeper, deeper, says("Not in me.", 100), says("Nor in me.", 100), says("That was all.", 100))
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(c.dir, "burin", "burin")); err != nil {
		t.Fatal(err)
	}
	c.put("burin/mcp.json", fmt.Sprintf(`{"mcpServers":{"self":{"command":%q,"args":["mcp","serve"],"env":{"BURIN_HOME":%q}}}}`, filepath.Join(c.dir, "burin", "burin"), filepath.Join(c.dir, "burin")))
	c.burin("mcp", "test") // which keeps the list of its tools
	if out := c.burin("-p", "go"); out != "That was all.\n" {
		t.Errorf("it said %q", out)
	}
	if n := len(c.model.Requests()); n != 6 || !strings.Contains(c.result(3), "3 burins wait for each other already") {
		t.Errorf("%d requests; the deepest call gave %s", n, c.result(3))
	}
}

// A canceled task ends, and so does one whose client is gone.
func TestMCPServeCancel(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	cmd.Args = []string{"burin", "mcp", "serve"}
	s := serveTo(t, &mcp.CommandTransport{Command: cmd, TerminateDuration: 10 * time.Second})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.call(ctx, "run_task", map[string]any{"prompt": "gate say on"})
		ended <- err
	}()
	gate := <-b.gates // the model works on it
	stop()
	if err := <-ended; err == nil {
		t.Error("a canceled task answers")
	}
	close(gate)
	if text, _, err := s.call(t.Context(), "run_task", map[string]any{"prompt": "say herons"}); err != nil || !strings.HasPrefix(text, "herons") {
		t.Errorf("after it: %s, %v", text, err)
	}
	gone := machine(t, b, rpcConfig)
	gone.Args = []string{"burin", "mcp", "serve"}
	in, err := gone.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_task","arguments":{"prompt":"gate say on"}}}`)
	gate = <-b.gates
	defer close(gate)
	in.Close()
	if err := gone.Wait(); err != nil {
		t.Errorf("burin did not end with its client: %v", err)
	}
}

// bearer sends a token.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// overHTTP starts burin mcp serve --http, and gives its address and token.
func (c *configured) overHTTP() (address, token string) {
	c.t.Helper()
	cmd := c.serving("--http", "127.0.0.1:0").Command
	out, err := cmd.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && address == "" {
		if t, ok := strings.CutPrefix(lines.Text(), "token: "); ok {
			token = t
		}
		if a, ok := strings.CutPrefix(lines.Text(), "serving at "); ok {
			address = a
			break
		}
	}
	if address == "" || token == "" {
		c.t.Fatal("burin mcp serve --http did not say where it is")
	}
	return address, token
}

// The same over HTTP, for who has the token, on this machine.
func TestMCPServeHTTP(t *testing.T) {
	t.Parallel()
	c := configure(t, "", calls("ls", `{}`, 100), says("Done.", 100), calls("ls", `{}`, 100), says("Done.", 100))
	address, token := c.overHTTP()
	for _, version := range []string{mcptest.Newest, "2025-11-25"} {
		s := serveTo(t, &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearer{token}}}, version)
		text, _, err := s.call(t.Context(), "run_task", map[string]any{"prompt": "look"})
		if err != nil || !strings.HasPrefix(text, "Done.") {
			t.Errorf("%s: %s, %v", version, text, err)
		}
		s.mu.Lock()
		if len(s.told) == 0 {
			t.Errorf("%s: no progress", version)
		}
		s.mu.Unlock()
		if _, _, err := s.call(t.Context(), "nothing", nil); err == nil || !strings.Contains(err.Error(), "no tool nothing") {
			t.Errorf("%s: a tool that isn't there: %v", version, err)
		}
	}
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	for _, tt := range []struct {
		method, body, name, value string
		status                    int
	}{
		{"POST", hello, "", "", 200},
		{"POST", hello, "Authorization", "Bearer wrong", 401},
		{"POST", hello, "Authorization", "", 401},
		{"POST", hello, "Host", "evil.example", 403},
		{"POST", hello, "Origin", "https://evil.example", 403},
		{"POST", hello, "Origin", "http://localhost:3000", 200},
		{"GET", "", "", "", 405},
		{"POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "", "", 400},
		{"POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", "other", 404},
		{"POST", `no`, "", "", 400},
		{"POST", `[` + hello + `]`, "", "", 400},
		{"POST", strings.Repeat("x", 5<<20), "", "", 413},
		{"DELETE", "", "Mcp-Session-Id", "other", 404},
		{"POST", hello, "Mcp-Protocol-Version", "1999-01-01", 400},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, address, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if tt.name == "Host" {
			r.Host = tt.value
		} else if tt.name != "" {
			r.Header.Set(tt.name, tt.value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%+.100v: %v", tt, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s %.80s, %s: %s: %d, want %d", tt.method, tt.body, tt.name, tt.value, resp.StatusCode, tt.status)
		}
	}
}

// The official suite's scenarios pass that ask for nothing but what burin mcp serve has. The others
// call tools, prompts and resources with certain names, which are there to test SDKs.
func TestMCPConformanceServer(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := configure(t, "")
	address, token := c.overHTTP()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	// The suite has no tokens: this adds one, and leaves the rest as it is.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path, r.Out.Host = to.Path, r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(proxy.Close)
	passed := regexp.MustCompile(`(?m)^Passed: (\d+)/(\d+), 0 failed`)
	// Some checks need tools, prompts and resources that burin mcp serve doesn't have: those can't be made.
	missing := regexp.MustCompile(`Error: (Not testable: server does not list the diagnostic tool|(prompts|resources)/\S+ returned JSON-RPC error -32601)`)
	for _, scenario := range []string{
		"server-initialize 2025-11-25", "ping 2025-11-25", "tools-list 2025-11-25", "dns-rebinding-protection 2025-11-25",
		"server-stateless 2026-07-28", "tools-list 2026-07-28", "dns-rebinding-protection 2026-07-28", "caching 2026-07-28", "http-header-validation 2026-07-28",
		"input-required-result-unsupported-methods 2026-07-28",
	} {
		name, version, _ := strings.Cut(scenario, " ")
		out, err := suite(t, "server", "--url", proxy.URL+"/mcp", "--scenario", name, "--spec-version", version).CombinedOutput()
		lacks := len(missing.FindAll(out, -1))
		if lacks > 0 && lacks == bytes.Count(out, []byte("Error: ")) && bytes.Count(out, []byte("SUCCESS")) > lacks {
			continue
		}
		if m := passed.FindSubmatch(out); err != nil || m == nil || string(m[1]) != string(m[2]) || slices.Contains([]string{"", "0"}, string(m[1])) {
			t.Errorf("%s: %v\n%s", scenario, err, out)
		}
	}
}
