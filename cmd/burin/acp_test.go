package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/acp/acptest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// editorRig is an editor at the real program, with a scripted model. All that goes over the
// line is checked against the published schema.
type editorRig struct {
	t      *testing.T
	conn   *proto.Conn
	check  *acptest.Checker
	server *llmtest.Server
	dir    string // of the project
	home   string
	env    []string
	stderr *watched // for MCP servers that fail
	ended  chan error
	close  func() // ends the editor's side

	wrong atomic.Bool // what the editor says is wrong on purpose

	// What the program asks the editor. Nil: the method is not there.
	asked func(method string, params json.RawMessage) (any, error)

	mu      sync.Mutex
	updates []editorUpdate
	raw     []json.RawMessage // raw events
	frames  []string
	changed chan struct{}
}

// editorUpdate is a session/update.
type editorUpdate struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind     string          `json:"sessionUpdate"`
		Content  json.RawMessage `json:"content"`
		Call     string          `json:"toolCallId"`
		Title    string          `json:"title"`
		ToolKind string          `json:"kind"`
		Status   string          `json:"status"`
		Places   []struct {
			Path string `json:"path"`
			Line int    `json:"line"`
		} `json:"locations"`
		Entries  []struct{ Content, Status string } `json:"entries"`
		Commands []struct{ Name string }            `json:"availableCommands"`
		Mode     string                             `json:"currentModeId"`
		Used     int                                `json:"used"`
		Input    json.RawMessage                    `json:"rawInput"`
	} `json:"update"`
}

// tap passes lines on and checks each.
type tap struct {
	w    io.Writer
	line func([]byte)
	rest []byte
}

func (t *tap) Write(b []byte) (int, error) {
	t.rest = append(t.rest, b...)
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			break
		}
		t.line(t.rest[:i])
		t.rest = t.rest[i+1:]
	}
	return t.w.Write(b)
}

// scriptedHome writes the settings of a home in which the model is a script.
func scriptedHome(t *testing.T, home, url string) {
	t.Helper()
	models := fmt.Sprintf("providers:\n  script:\n    baseUrl: %s\n    api: anthropic-messages\n    auth: none\n    models:\n      - {id: one, name: One, contextWindow: 200000, input: [text, image, document]}\n      - {id: two, name: Two, contextWindow: 100000}\n", url)
	writeFile(t, filepath.Join(home, "burin", "models.yml"), []byte(models), 0o644)
	writeFile(t, filepath.Join(home, "burin", "config.yml"), []byte("modelRoles:\n  default: script/one\n"), 0o644)
}

// openEditor starts the program. Files are those of the project.
func openEditor(t *testing.T, files map[string]string, turns []llmtest.Turn, args ...string) *editorRig {
	t.Helper()
	server, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	cmd := command(t, append([]string{"acp"}, args...)...)
	r := &editorRig{t: t, check: acptest.New(t), server: server, home: cmd.Dir, dir: filepath.Join(cmd.Dir, "project"), env: cmd.Env, changed: make(chan struct{}), ended: make(chan error, 1)}
	scriptedHome(t, r.home, server.URL)
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		writeFile(t, filepath.Join(r.dir, name), []byte(text), 0o644)
	}
	r.serve(cmd)
	return r
}

// serve runs a program of the protocol with this editor.
func (r *editorRig) serve(cmd *exec.Cmd) {
	r.t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	r.stderr = &watched{want: "MCP", seen: make(chan struct{})}
	cmd.Stderr = r.stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.close = sync.OnceFunc(func() { stdin.Close() })
	checked, in := io.Pipe()
	go func() {
		lines := bufio.NewReaderSize(stdout, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 {
				r.check.Line("agent", line)
				r.mu.Lock()
				r.frames = append(r.frames, string(line))
				r.mu.Unlock()
				_, _ = in.Write(line)
			}
			if err != nil {
				in.CloseWithError(io.EOF)
				r.ended <- cmd.Wait()
				return
			}
		}
	}()
	r.conn = proto.New(&tap{w: stdin, line: func(line []byte) {
		if !r.wrong.Load() {
			r.check.Line("client", line)
		}
	}}, r.take)
	go func() { _ = r.conn.Serve(context.Background(), checked, func() {}) }()
	r.t.Cleanup(func() {
		r.close()
		select {
		case <-r.ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			r.t.Errorf("the program does not end: %s", r.stderr)
		}
	})
}

func (r *editorRig) take(method string, params json.RawMessage, isRequest bool) (proto.Work, error) {
	r.mu.Lock()
	switch method {
	case proto.MethodSessionUpdate:
		var u editorUpdate
		if err := json.Unmarshal(params, &u); err != nil {
			r.t.Errorf("%v: %s", err, params)
		}
		r.updates = append(r.updates, u)
	case "_burin/event":
		r.raw = append(r.raw, params)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	asked := r.asked
	r.mu.Unlock()
	if !isRequest {
		return nil, nil
	}
	if asked == nil {
		return nil, proto.Errorf(proto.CodeMethodNotFound, "no method %s", method)
	}
	return func(ctx context.Context) (any, error) {
		result, err := asked(method, params)
		if err == nil && result == nil { // it waits for the end
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return result, err
	}, nil
}

// call calls a method of the program.
func (r *editorRig) call(method string, params, result any) {
	r.t.Helper()
	if err := r.try(method, params, result); err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
}

func (r *editorRig) try(method string, params, result any) error {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	return r.conn.Call(ctx, method, params, result)
}

type object = map[string]any

// hello says initialize.
func (r *editorRig) hello(capabilities object) (is proto.InitializeResponse) {
	r.t.Helper()
	r.call(proto.MethodInitialize, object{"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": object{"name": "test", "version": "1"}}, &is)
	return is
}

// begin begins a session in the project.
func (r *editorRig) begin() (id string) {
	r.t.Helper()
	var is proto.SessionResponse
	r.call(proto.MethodSessionNew, object{"cwd": r.dir, "mcpServers": []any{}}, &is)
	return is.SessionID
}

// say sends a prompt and gives why it ended.
func (r *editorRig) say(id, text string) string {
	r.t.Helper()
	var is proto.PromptResponse
	r.call(proto.MethodSessionPrompt, object{"sessionId": id, "prompt": []any{proto.Text(text)}}, &is)
	return is.StopReason
}

// until waits until all that was told so far fulfills something.
func (r *editorRig) until(what string, ok func() bool) {
	r.t.Helper()
	late := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		done, changed := ok(), r.changed
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			r.t.Fatalf("in vain for %s; updates: %s", what, r.told())
		}
	}
}

// told are the updates on lines.
func (r *editorRig) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, u := range r.updates {
		fmt.Fprintf(&b, "%s %s %s %s %s %s\n", u.Update.Kind, u.Update.Call, u.Update.ToolKind, u.Update.Status, u.Update.Title, u.Update.Content)
	}
	return b.String()
}

// text is what chunks of a kind say together.
func (r *editorRig) text(kind string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, u := range r.updates {
		var c struct{ Text string }
		if u.Update.Kind == kind && json.Unmarshal(u.Update.Content, &c) == nil {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// calls are the updates of tool calls.
func (r *editorRig) calls() (all []editorUpdate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.updates {
		if strings.HasPrefix(u.Update.Kind, "tool_call") {
			all = append(all, u)
		}
	}
	return all
}

// last is the last request that the model got, as text.
func (r *editorRig) last() string {
	raw := r.server.Raw()
	if len(raw) == 0 {
		return ""
	}
	return string(raw[len(raw)-1].Body)
}

// choose answers a permission request with the first option of a kind.
func choose(t *testing.T, params json.RawMessage, kind string) any {
	t.Helper()
	var q proto.PermissionRequest
	if err := json.Unmarshal(params, &q); err != nil {
		t.Error(err)
	}
	i := slices.IndexFunc(q.Options, func(o proto.PermissionOption) bool { return o.Kind == kind })
	if i < 0 {
		t.Errorf("no option %s in %s", kind, params)
		return object{"outcome": object{"outcome": "cancelled"}}
	}
	return object{"outcome": object{"outcome": "selected", "optionId": q.Options[i].OptionID}}
}

// An editor has a whole conversation: words, a file that is written after a question, a
// command, and what it comes to.
func TestEditorTurn(t *testing.T) {
	t.Parallel()
	r := openEditor(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "AGENTS.md": "Speak like a pirate.\n"}, []llmtest.Turn{
		{Parts: []llmtest.Part{{Thinking: "let me look", Signature: "s"}, {Text: "I look first."}, {Call: "read", ID: "c1", Args: `{"path":"a.txt"}`}}},
		{Parts: []llmtest.Part{{Call: "write", ID: "c2", Args: `{"path":"a.txt","content":"one\n2\nthree\n"}`}}},
		{Parts: []llmtest.Part{{Call: "bash", ID: "c3", Args: `{"command":"wc -l a.txt; touch b.txt"}`}}},
		{Parts: []llmtest.Part{{Call: "todo", ID: "c4", Args: `{"ops":[{"op":"init","list":[{"phase":"All","items":["write","test"]}]}]}`}}},
		{Parts: []llmtest.Part{{Text: "All done."}}},
		{Parts: []llmtest.Part{{Text: " Truly."}}}, // it is reminded of the list
	})
	var questions []string
	r.asked = func(method string, params json.RawMessage) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		questions = append(questions, method)
		return choose(t, params, proto.AllowOnce), nil
	}
	is := r.hello(object{})
	if is.ProtocolVersion != 1 || !is.AgentCapabilities.LoadSession || !is.AgentCapabilities.PromptCapabilities.Image || !is.AgentCapabilities.PromptCapabilities.Audio {
		t.Errorf("burin says of itself %+v", is)
	}
	id := r.begin()
	if stop := r.say(id, "change two to 2"); stop != proto.StopEndTurn {
		t.Errorf("it ended for %s; %s", stop, r.told())
	}
	if got := r.text("agent_message_chunk"); got != "I look first.All done. Truly." {
		t.Errorf("the model said %q", got)
	}
	if got := r.text("agent_thought_chunk"); got != "let me look" {
		t.Errorf("the model thought %q", got)
	}
	if got := r.text("user_message_chunk"); got != "" {
		t.Errorf("the editor's own words came back: %q", got)
	}
	if want := []string{proto.MethodRequestPermission, proto.MethodRequestPermission}; !slices.Equal(questions, want) {
		t.Errorf("questions %v, want two for permission", questions)
	}
	if b, err := os.ReadFile(filepath.Join(r.dir, "a.txt")); err != nil || string(b) != "one\n2\nthree\n" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if !strings.Contains(string(r.server.Raw()[0].Body), "Speak like a pirate") {
		t.Error("the instructions of the folder did not reach the model")
	}
	var states []string
	for _, u := range r.calls() {
		states = append(states, u.Update.Call+" "+u.Update.Status)
		switch {
		case u.Update.Call == "c1" && u.Update.Kind == "tool_call" && u.Update.ToolKind != "read":
			t.Errorf("reading is of the kind %s", u.Update.ToolKind)
		case u.Update.Call == "c2" && u.Update.Status == "completed":
			var diffs []struct{ Type, Path, OldText, NewText string }
			if err := json.Unmarshal(u.Update.Content, &diffs); err != nil || len(diffs) != 1 || diffs[0].Path != filepath.Join(r.dir, "a.txt") ||
				diffs[0].OldText != "one\ntwo\nthree\n" || diffs[0].NewText != "one\n2\nthree\n" {
				t.Errorf("the change is told as %s, %v", u.Update.Content, err)
			}
			if len(u.Update.Places) != 1 || u.Update.Places[0].Path != filepath.Join(r.dir, "a.txt") || u.Update.Places[0].Line != 1 {
				t.Errorf("the change is at %v", u.Update.Places)
			}
		case u.Update.Call == "c3" && u.Update.Status == "completed" && !strings.Contains(string(u.Update.Content), "3 a.txt"):
			t.Errorf("the command's output is told as %s", u.Update.Content)
		}
	}
	for _, want := range []string{"c1 pending", "c1 in_progress", "c1 completed", "c2 completed", "c3 completed", "c4 completed"} {
		if !slices.Contains(states, want) {
			t.Errorf("%s is missing in %v", want, states)
		}
	}
	for _, want := range []string{"plan", "usage_update", "available_commands_update", "config_option_update"} {
		if !strings.Contains(r.told(), want+" ") {
			t.Errorf("no %s in\n%s", want, r.told())
		}
	}
	r.close()
	if err := <-r.ended; err != nil {
		t.Errorf("the program ended with %v: %s", err, r.stderr)
	}
	r.ended <- nil
}

// A cancel stops a command at once, takes back the question that is open, and the next
// prompt is answered.
func TestEditorCancel(t *testing.T) {
	t.Parallel()
	r := openEditor(t, nil, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", ID: "c1", Args: `{"command":"sleep 60"}`}}},
		{Parts: []llmtest.Part{{Call: "bash", ID: "c2", Args: `{"command":"touch x"}`}}},
		{Parts: []llmtest.Part{{Text: "Still here."}}},
	}, "--allow", "bash(sleep:*)")
	asked := make(chan bool, 1)
	r.asked = func(string, json.RawMessage) (any, error) {
		asked <- true
		return nil, nil
	}
	r.hello(object{})
	id := r.begin()
	machine := pacetest.New(t)
	cancelled := func(ready func()) time.Duration {
		t.Helper()
		done := make(chan string, 1)
		go func() {
			var is proto.PromptResponse
			if err := r.try(proto.MethodSessionPrompt, object{"sessionId": id, "prompt": []any{proto.Text("go")}}, &is); err != nil {
				t.Error(err)
			}
			done <- is.StopReason
		}()
		ready()
		machine.Look()
		began := time.Now()
		if err := r.conn.Notify(t.Context(), proto.MethodSessionCancel, object{"sessionId": id}); err != nil {
			t.Fatal(err)
		}
		if stop := <-done; stop != proto.StopCancelled {
			t.Errorf("it ended for %s", stop)
		}
		took := time.Since(began)
		machine.Look()
		return took
	}
	budget := 10 * time.Second
	if os.Getenv("BURIN_BUDGETS") == "1" { // the machine does nothing else
		budget = 100 * time.Millisecond
	}
	took := cancelled(func() {
		r.until("the command", func() bool {
			return slices.ContainsFunc(r.updates, func(u editorUpdate) bool { return u.Update.Call == "c1" && u.Update.Status == "in_progress" })
		})
	})
	if most := machine.Allow(budget); took > most {
		t.Errorf("a running command was canceled after %v, want %v", took, most)
	}
	took = cancelled(func() { <-asked })
	if most := machine.Allow(budget); took > most {
		t.Errorf("an open question was canceled after %v, want %v", took, most)
	}
	r.until("the end of the question", func() bool {
		return slices.ContainsFunc(r.frames, func(f string) bool { return strings.Contains(f, proto.MethodCancelRequest) })
	})
	if stop := r.say(id, "and now?"); stop != proto.StopEndTurn || r.text("agent_message_chunk") != "Still here." {
		t.Errorf("after the cancel: %s, %q", stop, r.text("agent_message_chunk"))
	}
	if _, err := os.Stat(filepath.Join(r.dir, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a canceled command ran")
	}
}
