package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// The budgets of a program that is started for every question, on an idle machine.
const (
	versionBudget = 8 * time.Millisecond
	requestBudget = 35 * time.Millisecond
	editorBudget  = 30 * time.Millisecond
	answerBudget  = 30 * time.Millisecond // of the first answer in RPC mode
	// completionBudget is of a key that a person waits for.
	completionBudget = 50 * time.Millisecond

	sizeBudget = 45_000_000 // bytes of the linux/amd64 binary
	budgetRuns = 20         // the median of as many counts
)

// release builds burin as it is released. Budgets are checked on request only:
// they need a machine that does nothing else.
func release(t *testing.T) string {
	t.Helper()
	if os.Getenv("BURIN_BUDGETS") != "1" {
		t.Skip("builds the real binary and wants a quiet machine: set BURIN_BUDGETS=1")
	}
	bin := filepath.Join(t.TempDir(), "burin")
	args := []string{"build", "-trimpath", "-o", bin}
	var described struct {
		Builds []struct{ Gcflags, Ldflags []string }
	}
	if text, err := os.ReadFile("../../.goreleaser.yaml"); err != nil {
		t.Fatal(err)
	} else if err := yaml.Unmarshal(text, &described); err != nil || len(described.Builds) != 1 {
		t.Fatalf("%d builds, %v", len(described.Builds), err)
	}
	for _, f := range described.Builds[0].Gcflags {
		args = append(args, "-gcflags="+f)
	}
	args = append(args, "-ldflags="+strings.Join(described.Builds[0].Ldflags, " "))
	build := exec.Command("go", append(args, ".")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func TestBudgetSize(t *testing.T) {
	info, err := os.Stat(release(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("binary: %.1f MB of %d", float64(info.Size())/(1<<20), sizeBudget>>20)
	if info.Size() >= sizeBudget {
		t.Errorf("the binary has %d bytes, want less than %d", info.Size(), sizeBudget)
	}
}

func TestBudgetVersion(t *testing.T) {
	bin, machine := release(t), pacetest.New(t)
	var took []time.Duration
	var memory []int64
	for range budgetRuns {
		machine.Look()
		cmd := command(t, "--version")
		cmd.Path = bin
		began := time.Now()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
		memory = append(memory, peakMemory(cmd.ProcessState))
	}
	within(t, "burin --version", took, memory, machine.Allow(versionBudget))
}

// An editor: from the start of the process to the answer to initialize.
func TestBudgetEditor(t *testing.T) {
	bin := release(t)
	firstAnswer(t, "burin acp, initialize", editorBudget, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`, `"protocolVersion":1`, func() *exec.Cmd {
		cmd := command(t, "acp")
		cmd.Path = bin
		return cmd
	})
}

// firstAnswer measures programs that answer lines, from their start to the first answer.
func firstAnswer(t *testing.T, what string, budget time.Duration, line, answer string, start func() *exec.Cmd) {
	t.Helper()
	machine := pacetest.New(t)
	var took []time.Duration
	var memory []int64
	for range budgetRuns {
		machine.Look()
		cmd := start()
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		got, err := bufio.NewReader(out).ReadString('\n')
		took = append(took, time.Since(began))
		if err != nil || !strings.Contains(got, answer) {
			t.Fatalf("%v: %s", err, got)
		}
		in.Close() //nolint:errcheck // the program may have ended
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		memory = append(memory, peakMemory(cmd.ProcessState))
	}
	within(t, what, took, memory, machine.Allow(budget))
}

// The first request of a prompt: from the start of the process to the arrival
// of the request at the server.
func TestBudgetRequest(t *testing.T) {
	bin, machine := release(t), pacetest.New(t)
	arrived := make(chan time.Time, budgetRuns)
	script := llmtest.New(llmtest.Script{Turns: slices.Repeat([]llmtest.Turn{{Parts: []llmtest.Part{{Text: "yes"}}}}, 10*budgetRuns)}, openai.ResponsesServer{})
	t.Cleanup(script.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- time.Now()
		script.ServeHTTP(w, r)
	})}
	t.Cleanup(func() { _ = srv.Close() })
	go func() { _ = srv.Serve(l) }()
	url := "http://" + l.Addr().String() + "/v1"
	files := map[string]string{"config.yml": settings, "models.yml": fmt.Sprintf(models, url)}
	skills := map[string]string{}
	for i := range 200 {
		name := fmt.Sprintf("skill-%d", i)
		skills["skills/"+name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: Does one thing, when a task is about it.\n---\n" + strings.Repeat("Do it.\n", 500)
	}

	everything := maps.Clone(skills)
	for i := range 100 {
		everything[fmt.Sprintf("commands/command-%d.md", i)] = "---\ndescription: Does one thing.\n---\nDo it with $ARGUMENTS.\n"
	}
	for i := range 50 {
		head := []string{"globs: \"**/*.go\"", "description: How it is done here", "alwaysApply: true", "condition: todo" + fmt.Sprint(i)}[i%4]
		everything[fmt.Sprintf("rules/rule-%d.md", i)] = "---\n" + head + "\n---\n" + strings.Repeat("Follow it.\n", 50)
	}
	hook := `{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}`
	everything["hooks.json"] = `{"hooks": {"PreToolUse": [` + strings.Repeat(hook+", ", 19) + hook + `]}}`
	// Of some servers burin knows the tools, others never say what they have.
	servers := func(command string, args ...string) map[string]string {
		all := map[string]any{}
		for i := range 10 {
			all[fmt.Sprintf("server-%d", i)] = map[string]any{"command": command, "args": args}
		}
		text, err := json.Marshal(map[string]any{"mcpServers": all})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"mcp.json": string(text)}
	}
	for _, tt := range []struct {
		name  string
		args  []string
		env   string
		files map[string]string
		key   string // to be stored
		known bool   // what MCP servers have
	}{
		{name: "key in a variable", args: []string{"--model", "openai/gpt-5.1", "--base-url", url}, env: "OPENAI_API_KEY=sk-x"},
		{name: "stored key", args: []string{"--model", "openai/gpt-5.1", "--base-url", url}, key: "sk-stored"},
		{name: "config.yml and models.yml", args: []string{"--model", "box/m"}, env: "BOX_KEY=sk-x", files: files},
		{name: "the default model", env: "OPENAI_API_KEY=sk-x", files: files},
		{name: "two hundred skills", args: []string{"--model", "openai/gpt-5.1", "--base-url", url}, env: "OPENAI_API_KEY=sk-x", files: skills},
		{name: "200 skills, 100 commands, 50 rules and 20 hooks", args: []string{"--model", "openai/gpt-5.1", "--base-url", url}, env: "OPENAI_API_KEY=sk-x", files: everything},
		{name: "10 MCP servers with 500 tools", args: []string{"--model", "openai/gpt-5.1", "--base-url", url}, env: "OPENAI_API_KEY=sk-x", files: servers(os.Args[0], mcptest.Marker, "43"), known: true},
		{name: "10 MCP servers that are silent", args: []string{"--model", "openai/gpt-5.1", "--base-url", url}, env: "OPENAI_API_KEY=sk-x", files: servers("sleep", "60")},
		{name: "part of a name, and a stored key", args: []string{"--model", "gpt-5.1"}, key: "sk-stored", files: files},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := command(t) // its home is that of all runs
			home := filepath.Join(first.Dir, "burin")
			if err := os.MkdirAll(home, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range tt.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.key != "" {
				add := exec.Command(bin, "keys", "add", "openai")
				add.Env, add.Dir, add.Stdin = first.Env, first.Dir, strings.NewReader(tt.key)
				if out, err := add.CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			}
			if tt.known {
				ask := exec.Command(bin, "mcp", "test")
				ask.Env, ask.Dir = first.Env, first.Dir
				if out, err := ask.CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			}
			var took []time.Duration
			var memory []int64
			for range budgetRuns {
				machine.Look()
				cmd := exec.Command(bin, append([]string{"-p", "hello"}, tt.args...)...)
				cmd.Env, cmd.Dir = append(first.Env, tt.env), first.Dir
				var errs bytes.Buffer
				cmd.Stderr = &errs
				began := time.Now()
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v %s", err, &errs)
				}
				took = append(took, (<-arrived).Sub(began))
				memory = append(memory, peakMemory(cmd.ProcessState))
			}
			within(t, "first request, "+tt.name, took, memory, machine.Allow(requestBudget))
		})
	}
}

// What a shell asks at each Tab, with 500 sessions and 200 skills. Nothing is written.
func TestBudgetCompletion(t *testing.T) {
	bin, machine, first := release(t), pacetest.New(t), command(t)
	dir, err := filepath.EvalSymlinks(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(first.Dir, "burin")
	sessions := filepath.Join(home, "sessions", "--"+strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-")+"--")
	if err := os.MkdirAll(sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"s%d","timestamp":"2026-01-02T03:04:05.678Z","cwd":%q,"title":"Session %d"}`, i, dir, i) + "\n" +
			strings.Repeat(`{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:06Z","message":{"role":"user","content":"hello","timestamp":1}}`+"\n", 100)
		if err := os.WriteFile(filepath.Join(sessions, fmt.Sprintf("2026-01-02T03-04-05-678Z_s%d.jsonl", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		skill := filepath.Join(home, "skills", fmt.Sprintf("skill-%d", i))
		if err := os.MkdirAll(skill, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), fmt.Appendf(nil, "---\nname: skill-%d\ndescription: Does one thing.\n---\nDo it.\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"resume", ""}, {"config", "get", ""}, {"config", "set", "theme.dark", ""}, {"-p", "/"}, {"-p", "--model", "a"}, {"-p", "x", "@"},
	} {
		var took []time.Duration
		var memory []int64
		for range budgetRuns {
			machine.Look()
			cmd := exec.Command(bin, append([]string{"__complete"}, args...)...)
			cmd.Env, cmd.Dir = first.Env, first.Dir
			began := time.Now()
			out, err := cmd.Output()
			took = append(took, time.Since(began))
			if err != nil || bytes.Count(out, []byte("\n")) < 2 {
				t.Fatalf("%v %s", err, out)
			}
			memory = append(memory, peakMemory(cmd.ProcessState))
		}
		within(t, "completion of "+strings.Join(args, " "), took, memory, machine.Allow(completionBudget))
	}
}

// The first answered command of a program: from the start of the process.
func TestBudgetRPC(t *testing.T) {
	bin, first := release(t), command(t)
	firstAnswer(t, "first answer of --mode rpc", answerBudget, `{"id":"1","type":"get_state"}`, `"sessionId":`, func() *exec.Cmd {
		cmd := exec.Command(bin, "--mode", "rpc", "--model", "openai/gpt-5.1")
		cmd.Env, cmd.Dir = append(first.Env, "OPENAI_API_KEY=sk-x"), first.Dir
		return cmd
	})
}

const (
	settings = `modelRoles: {smol: openai/gpt-5-mini}
modelProviderOrder: [anthropic, openai, google]
enabledModels: ["*gpt*", "*claude*"]
defaultThinkingLevel: medium
stream: {idleTimeoutMs: 60000}
`
	models = `providers:
  openai: {baseUrl: %[1]q}
  box:
    baseUrl: %[1]q
    api: openai-responses
    apiKeyEnv: BOX_KEY
    models: [{id: m, name: A model, contextWindow: 128000, maxTokens: 8192, cost: {input: 1, output: 2}}]
`
)

// within prints the figures and compares the median of the faster half with its budget.
func within(t *testing.T, what string, took []time.Duration, memory []int64, budget time.Duration) {
	t.Helper()
	slices.Sort(took)
	slices.Sort(memory)
	t.Logf("%s: %.1f ms (from %.1f to %.1f) of %.1f; %.1f MB of memory at most", what, ms(took[len(took)/2]), ms(took[0]), ms(took[len(took)-1]),
		ms(budget), float64(memory[len(memory)/2])/(1<<20))
	// What the machine does besides only adds: the faster half speaks for the program.
	if at := took[len(took)/4]; at >= budget {
		t.Errorf("%s takes %.1f ms, want less than %.1f", what, ms(at), ms(budget))
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
