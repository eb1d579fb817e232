package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/external"
	"github.com/burin-dev/burin/internal/external/agenttest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

// agentVariable makes this program an agent.
const agentVariable = "EXTERNAL_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(agentVariable) != "" {
		agenttest.Main()
		return
	}
	os.Exit(m.Run())
}

// bare is burin around an agent, with nothing in it: files are a map, and all is allowed that
// judge allows.
type bare struct {
	mu    sync.Mutex
	files map[string]string
	judge func(ctx context.Context, c tool.Call) error
}

func (b *bare) Judge(ctx context.Context, _ *tool.Tool, c tool.Call) error {
	if b.judge == nil {
		return nil
	}
	return b.judge(ctx, c)
}
func (b *bare) Refuses(*tool.Tool, tool.Call) error { return nil }
func (b *bare) Name(path string) string             { return path }
func (b *bare) Reach(string) error                  { return nil }

func (b *bare) ReadText(_ context.Context, name string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.files[name], nil
}

func (b *bare) WriteText(_ context.Context, name, text string) (*tool.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[name] = text
	return tool.Text("written"), nil
}

func (b *bare) Start(context.Context, external.Command) (external.Terminal, error) {
	return nil, errors.ErrUnsupported
}
func (b *bare) Plan([]todo.Task) *tool.Result { return tool.Text("plan") }
func (b *bare) Watch(context.Context) func()  { return func() {} }

// rig is an agent, and the loop around it.
type rig struct {
	*external.Agent
	t        *testing.T
	ground   *bare
	log      string
	messages []llm.Message
	warned   []string
	started  int // processes
}

func newRig(t *testing.T, script agenttest.Script) *rig {
	t.Helper()
	r := &rig{t: t, ground: &bare{files: map[string]string{}}, log: filepath.Join(t.TempDir(), "log")}
	file := filepath.Join(t.TempDir(), "script.json")
	data, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.Agent = external.New(external.Options{
		Name: "scripted", Dir: t.TempDir(), Ground: r.ground, Version: "test", Patience: 300 * time.Millisecond,
		Program: func(context.Context) (*exec.Cmd, error) {
			r.started++
			cmd := exec.Command(self, file, r.log)
			cmd.Env = append(os.Environ(), agentVariable+"=1")
			return cmd, nil
		},
		Kill:   func(cmd *exec.Cmd) { _ = cmd.Process.Kill() },
		Warn:   func(line string) { r.warned = append(r.warned, line) },
		Titled: func(string) {},
	})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// ask adds a prompt, unless it is "", and reads one answer. seen is called for each event.
func (r *rig) ask(ctx context.Context, prompt string, seen func(llm.Event)) *llm.Message {
	r.t.Helper()
	if prompt != "" {
		m := llm.UserText(prompt)
		m.Time = time.Now()
		r.messages = append(r.messages, m)
	}
	var last *llm.Message
	for e := range llm.Events(r.Stream(ctx, &llm.Request{Messages: r.messages, Tools: []llm.Tool{{Name: "bash"}}})) {
		if e.Type.Terminal() {
			last = e.Message
		} else if seen != nil {
			seen(e)
		}
	}
	r.messages = append(r.messages, *last)
	return last
}

// call runs a call of an answer, and adds its result.
func (r *rig) call(ctx context.Context, c llm.ToolCall) *tool.Result {
	r.t.Helper()
	for _, t := range r.Tools() {
		if t.Name == c.Name {
			res, err := t.Run(ctx, tool.Call{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments), Update: func(tool.Result) {}})
			if err != nil {
				res = tool.Failure(err.Error())
			}
			m := llm.Message{Role: llm.RoleToolResult, ToolCallID: c.ID, ToolName: c.Name, Content: res.Content, IsError: res.IsError, Time: time.Now()}
			r.messages = append(r.messages, m)
			return res
		}
	}
	r.t.Fatalf("no tool %s", c.Name)
	return nil
}

// told is what the agent was told.
func (r *rig) told() string {
	r.t.Helper()
	b, err := os.ReadFile(r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// An agent that does not end a prompt that was canceled is stopped, and started again for the
// next one. Nobody waits for it before.
func TestDeafAgent(t *testing.T) {
	r := newRig(t, agenttest.Script{Stays: true, Turns: [][]agenttest.Step{{{Say: "Begun."}, {Hang: true, Deaf: true}}}})
	ctx, stop := context.WithCancel(t.Context())
	var began time.Time
	m := r.ask(ctx, "go", func(e llm.Event) {
		if e.Type == llm.EventTextDelta {
			began = time.Now()
			stop()
		}
	})
	if took := time.Since(began); m.StopReason != llm.StopAborted || took > pacetest.Within(100*time.Millisecond) {
		t.Errorf("%s after %v", m.StopReason, took)
	}
	m = r.ask(t.Context(), "again", func(e llm.Event) {
		if e.Type == llm.EventTextDelta {
			r.Interrupt()
		}
	})
	if m.StopReason != llm.StopAborted || r.started != 2 || !strings.Contains(r.told(), `prompt ["This conversation began elsewhere`) {
		t.Errorf("%s, %d processes, told\n%s", m.StopReason, r.started, r.told())
	}
}

// What the user says while the agent works ends its prompt, and is the next one.
func TestSteering(t *testing.T) {
	r := newRig(t, agenttest.Script{Turns: [][]agenttest.Step{
		{{Update: map[string]any{"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "think", "status": "in_progress"}}, {Hang: true}},
		{{Say: "As you like."}},
	}})
	m := r.ask(t.Context(), "go", nil)
	calls := m.ToolCalls()
	if len(calls) != 1 {
		t.Fatalf("%+v", m)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop() // the loop interrupts the call
	r.call(ctx, calls[0])
	if m = r.ask(t.Context(), "rather this", nil); m.Text() != "As you like." || r.started != 1 {
		t.Errorf("%q of %d processes", m.Text(), r.started)
	}
	if told := r.told(); !strings.Contains(told, "cancel\nprompt [\"rather this\"]") {
		t.Errorf("told\n%s", told)
	}
}

// A call that a person looks at while another one ends is not lost, and neither ends before.
func TestJudgedBeside(t *testing.T) {
	done := map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed"}
	r := newRig(t, agenttest.Script{Turns: [][]agenttest.Step{{
		{Update: map[string]any{"sessionUpdate": "tool_call", "toolCallId": "a", "kind": "think", "status": "in_progress"}},
		{Read: "wait"}, // until the loop waits for the call
		{Beside: []agenttest.Step{{Ask: map[string]any{"toolCallId": "b", "kind": "execute", "rawInput": map[string]any{"command": "make"}}, Then: []agenttest.Step{
			{Update: map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "b", "status": "completed"}},
		}}}},
		{Read: "asked"},
		{Update: done},
	}}})
	running, asked, answer := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.ground.judge = func(_ context.Context, c tool.Call) error {
		switch {
		case strings.Contains(string(c.Arguments), "wait"):
			<-running
		case strings.Contains(string(c.Arguments), "asked"):
			<-asked
		default:
			close(asked)
			<-answer
		}
		return nil
	}
	m := r.ask(t.Context(), "go", nil)
	time.AfterFunc(200*time.Millisecond, func() { close(answer) })
	close(running)
	r.call(t.Context(), m.ToolCalls()[0])
	select {
	case <-answer:
	default:
		t.Error("the call has ended while a person looks at another one")
	}
	m = r.ask(t.Context(), "", nil)
	if calls := m.ToolCalls(); len(calls) != 1 || !strings.Contains(calls[0].Arguments, "make") {
		t.Fatalf("%+v", m)
	}
	if res := r.call(t.Context(), m.ToolCalls()[0]); res.IsError {
		t.Errorf("%+v", res)
	}
	r.ask(t.Context(), "", nil)
	if !strings.Contains(r.told(), "answer b: selected yes") {
		t.Errorf("told\n%s", r.told())
	}
}

// Requests beside the conversation, as for a title, are not the agent's.
func TestOnlyPrompts(t *testing.T) {
	r := newRig(t, agenttest.Script{Turns: [][]agenttest.Step{{{Say: "Hi."}}}})
	m, err := llm.Collect(r.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("a title")}}))
	if err == nil || !strings.Contains(err.Error(), "answers prompts only") || r.started != 0 {
		t.Errorf("%+v, %v, %d processes", m, err, r.started)
	}
}

// Its own commands are reached where burin has one of the same name.
func TestOwnCommands(t *testing.T) {
	r := newRig(t, agenttest.Script{Turns: [][]agenttest.Step{{
		{Update: map[string]any{"sessionUpdate": "available_commands_update", "availableCommands": []any{map[string]any{"name": "review", "description": "reviews"}}}}, {Say: "Hi."},
	}}})
	r.ask(t.Context(), "//compact now", nil)
	r.ask(t.Context(), "// a comment", nil)
	if told := r.told(); !strings.Contains(told, `prompt ["/compact now"]`) || !strings.Contains(told, `prompt ["// a comment"]`) {
		t.Errorf("told\n%s", told)
	}
	if all := r.Commands(); len(all) != 1 || all[0].Name != "review" {
		t.Errorf("%+v", all)
	}
}

// An agent that says more than anybody reads is stopped.
func TestFlood(t *testing.T) {
	r := newRig(t, agenttest.Script{Turns: [][]agenttest.Step{{
		{Update: map[string]any{"sessionUpdate": "tool_call", "toolCallId": "a", "kind": "think", "status": "in_progress"}}, {Read: "wait"}, {Flood: 40}, {Hang: true},
	}}})
	running := make(chan struct{})
	r.ground.judge = func(context.Context, tool.Call) error {
		<-running
		return nil
	}
	m := r.ask(t.Context(), "go", nil)
	close(running)
	if res := r.call(t.Context(), m.ToolCalls()[0]); !res.IsError {
		t.Errorf("%+v", res)
	}
	if m = r.ask(t.Context(), "", nil); m.Error == nil || !strings.Contains(m.Error.Message, "more than burin can take") {
		t.Errorf("%+v", m)
	}
}

// A call that was judged as another one than the agent's, as a hook may have it, is refused.
func TestChangedCall(t *testing.T) {
	ask := map[string]any{"toolCallId": "c", "kind": "execute", "rawInput": map[string]any{"command": "rm -r all"}}
	r := newRig(t, agenttest.Script{Turns: [][]agenttest.Step{{{Ask: ask, Else: []agenttest.Step{{Say: "Not then."}}}}}})
	m := r.ask(t.Context(), "go", nil)
	c := m.ToolCalls()[0]
	c.Arguments = strings.Replace(c.Arguments, "rm -r all", "true", 1)
	if res := r.call(t.Context(), c); !res.IsError {
		t.Errorf("%+v", res)
	}
	if m = r.ask(t.Context(), "", nil); m.Text() != "Not then." || !strings.Contains(r.told(), "answer c: selected no") {
		t.Errorf("%q, told\n%s", m.Text(), r.told())
	}
}

// A call that was announced as running, and asked about after that, is judged: that the loop
// has let it pass means nothing.
func TestAskedLate(t *testing.T) {
	ask := map[string]any{"toolCallId": "c", "kind": "execute", "rawInput": map[string]any{"command": "make"}}
	r := newRig(t, agenttest.Script{Turns: [][]agenttest.Step{{
		{Update: map[string]any{"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "status": "in_progress", "rawInput": ask["rawInput"]}},
		{Read: "shown"},
		{Beside: []agenttest.Step{{Ask: ask, Else: []agenttest.Step{{Update: map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"}}}}}},
		{Read: "asked"},
	}}})
	shown, asked := make(chan struct{}), make(chan struct{})
	r.ground.judge = func(_ context.Context, c tool.Call) error {
		switch {
		case strings.Contains(string(c.Arguments), "shown"):
			<-shown
		case strings.Contains(string(c.Arguments), "asked"):
			close(asked)
		default:
			return errors.New("a rule refuses it")
		}
		return nil
	}
	m := r.ask(t.Context(), "go", nil)
	c := m.ToolCalls()[0]
	if !external.Watched(json.RawMessage(c.Arguments)) {
		t.Fatalf("%+v", c)
	}
	close(shown)
	<-asked
	if res := r.call(t.Context(), c); !res.IsError {
		t.Errorf("%+v", res)
	}
	r.ask(t.Context(), "", nil)
	if !strings.Contains(r.told(), "answer c: selected no") {
		t.Errorf("told\n%s", r.told())
	}
}
