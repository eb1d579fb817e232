package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/burin-dev/burin/internal/acp/acptest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// clientTurns is what the model says to a client that has a call, a permission request, a
// cancel and a load with the whole conversation.
func clientTurns() []llmtest.Turn {
	return []llmtest.Turn{
		{Parts: []llmtest.Part{{Text: "Making it. "}, {Call: "bash", ID: "c1", Args: `{"command":"echo made >made.txt"}`}}},
		say("Made."),
		{Parts: []llmtest.Part{{Text: "This takes long."}}, Fault: llmtest.Fault{StallAfterEvents: 4}},
		say("Loaded."),
	}
}

// scriptedProject is a project with a scripted model, for programs that start burin themselves.
func scriptedProject(t *testing.T, turns []llmtest.Turn) (cmd *exec.Cmd, dir string, server *llmtest.Server) {
	t.Helper()
	server, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	cmd = command(t, "acp")
	home := cmd.Dir
	scriptedHome(t, home, server.URL)
	dir = filepath.Join(home, "project")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return cmd, dir, server
}

// goClient is a client made with another implementation of the protocol.
type goClient struct {
	acp.Client // what burin never asks
	t          *testing.T

	mu      sync.Mutex
	text    strings.Builder
	calls   []string
	asked   int
	changed chan struct{}
}

func (c *goClient) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch u := n.Update; {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		c.text.WriteString(u.AgentMessageChunk.Content.Text.Text)
	case u.ToolCall != nil:
		c.calls = append(c.calls, string(u.ToolCall.Kind))
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
		c.calls = append(c.calls, string(*u.ToolCallUpdate.Status))
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

func (c *goClient) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	i := slices.IndexFunc(p.Options, func(o acp.PermissionOption) bool { return o.Kind == acp.PermissionOptionKindAllowOnce })
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)}, nil
}

// said waits until the model has said something.
func (c *goClient) said(words string) {
	c.t.Helper()
	late := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		text, changed := c.text.String(), c.changed
		c.mu.Unlock()
		if strings.Contains(text, words) {
			return
		}
		select {
		case <-changed:
		case <-late:
			c.t.Fatalf("in vain for %q in %q", words, text)
		}
	}
}

// A Go implementation of the protocol that is not ours drives burin: a call, a permission
// request, a cancel, and a load with the whole conversation.
func TestEditorGoClient(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd, dir, _ := scriptedProject(t, clientTurns())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	check := acptest.New(t)
	c := &goClient{t: t, changed: make(chan struct{})}
	conn := acp.NewClientSideConnection(c, stdin, io.TeeReader(stdout, &tap{w: io.Discard, line: func(l []byte) { check.Line("agent", l) }}))
	ctx := t.Context()
	is, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	if err != nil || !is.AgentCapabilities.LoadSession {
		t.Fatalf("%+v, %v", is, err)
	}
	s, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	prompt := func(text string) acp.StopReason {
		t.Helper()
		r, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: s.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return r.StopReason
	}
	if stop := prompt("make it"); stop != acp.StopReasonEndTurn {
		t.Errorf("it ended for %s", stop)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "made.txt")); err != nil || string(b) != "made\n" || c.asked != 1 {
		t.Errorf("the file holds %q, %v, after %d questions", b, err, c.asked)
	}
	if got := c.text.String(); got != "Making it. Made." || !slices.Contains(c.calls, "execute") || !slices.Contains(c.calls, "completed") {
		t.Errorf("the model said %q and called %v", got, c.calls)
	}
	stopped := make(chan acp.StopReason, 1)
	go func() {
		r, _ := conn.Prompt(ctx, acp.PromptRequest{SessionId: s.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("take long")}})
		stopped <- r.StopReason
	}()
	c.said("This")
	if err := conn.Cancel(ctx, acp.CancelNotification{SessionId: s.SessionId}); err != nil {
		t.Fatal(err)
	}
	if stop := <-stopped; stop != acp.StopReasonCancelled {
		t.Errorf("it ended for %s", stop)
	}
	if _, err := conn.CloseSession(ctx, acp.CloseSessionRequest{SessionId: s.SessionId}); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.text.Reset()
	c.mu.Unlock()
	if _, err := conn.LoadSession(ctx, acp.LoadSessionRequest{SessionId: s.SessionId, Cwd: dir, McpServers: []acp.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	c.said("Making it. Made.")
	if stop := prompt("and now?"); stop != acp.StopReasonEndTurn {
		t.Errorf("it ended for %s", stop)
	}
	c.said("Loaded.")
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// npmFolder is where the npm packages of the tests are installed; see .ci/run.
func npmFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BURIN_NPM")
	if dir == "" {
		t.Skip("BURIN_NPM is not set: .ci/run installs the npm packages of testdata/npm there")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node")
	}
	return dir
}

// agentScript is a program that starts burin acp, for clients that want a command.
func agentScript(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	path := filepath.Join(cmd.Dir, "agent.sh")
	text := "#!/bin/sh\nexec " + "'" + filepath.Join(cmd.Dir, "bin", "burin") + "' acp \"$@\"\n"
	if err := os.MkdirAll(filepath.Join(cmd.Dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cmd.Path, filepath.Join(cmd.Dir, "bin", "burin")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, []byte(text), 0o755)
	return path
}

// The published SDK for TypeScript drives burin through the same.
func TestEditorTypeScriptSDK(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	npm := npmFolder(t)
	cmd, dir, _ := scriptedProject(t, clientTurns())
	script, err := filepath.Abs(filepath.Join("testdata", "npm", "sdk.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", script, filepath.Join(npm, "node_modules", "@agentclientprotocol", "sdk", "dist", "v1", "unstable", "acp.js"), agentScript(t, cmd), dir)
	node.Env, node.Dir = cmd.Env, dir
	out, err := node.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Stops   []string
		Text    string
		Replay  string
		Asked   int
		Updates []string
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !slices.Equal(got.Stops, []string{"end_turn", "cancelled", "end_turn"}) || got.Asked != 1 || !strings.HasPrefix(got.Text, "Making it. Made.") || !strings.HasPrefix(got.Replay, "Making it. Made.") {
		t.Errorf("it saw %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "made.txt")); err != nil {
		t.Error(err)
	}
}

// A headless client from npm, with an older version of the SDK, has a conversation.
func TestEditorHeadlessClient(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	npm := npmFolder(t)
	cmd, dir, server := scriptedProject(t, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", ID: "c1", Args: `{"command":"echo made >made.txt"}`}}}, say("It is made."),
	})
	acpx := exec.Command("node", filepath.Join(npm, "node_modules", "acpx", "dist", "cli.js"),
		"--agent", agentScript(t, cmd), "--cwd", dir, "--approve-all", "--format", "text", "exec", "make it")
	acpx.Env, acpx.Dir = cmd.Env, dir
	out, err := acpx.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "It is made.") {
		t.Errorf("%v\n%s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "made.txt")); err != nil || string(b) != "made\n" {
		t.Errorf("the file holds %q, %v, after %d requests", b, err, len(server.Raw()))
	}
}
