package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// The budgets of a turn with a call: what it costs over the model's time, and what
// burin holds in memory when it is over.
const (
	turnBudget   = 5 * time.Millisecond
	memoryBudget = 40 << 20 // bytes
)

// agentServer is a scripted model, which says when each request came and when its
// answer was sent.
type agentServer struct {
	*httptest.Server
	mu       sync.Mutex
	arrived  []time.Time
	answered []time.Time
	onTurn   func(n int) // when request n, counted from 1, has come
}

func serveAgent(t *testing.T, turns ...llmtest.Turn) *agentServer {
	t.Helper()
	script := llmtest.New(llmtest.Script{Turns: turns}, openai.ResponsesServer{})
	t.Cleanup(script.Close)
	s := &agentServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.arrived = append(s.arrived, time.Now())
		n := len(s.arrived)
		s.mu.Unlock()
		if s.onTurn != nil {
			s.onTurn(n)
		}
		script.ServeHTTP(w, r)
		s.mu.Lock()
		s.answered = append(s.answered, time.Now())
		s.mu.Unlock()
	}))
	t.Cleanup(s.Close)
	return s
}

func callTurn(name, args string) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Call: name, Args: args}}}
}

// peak is the most memory that a living process has held, in bytes.
func peak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

func TestBudgetTurn(t *testing.T) {
	bin, machine := release(t), pacetest.New(t)
	var took []time.Duration
	var memory []int64
	for range budgetRuns {
		machine.Look()
		pid := make(chan int, 1)
		srv := serveAgent(t, callTurn("read", `{"path":"a.txt"}`), llmtest.Turn{Parts: []llmtest.Part{{Text: "done"}}})
		srv.onTurn = func(n int) {
			if n == 2 {
				memory = append(memory, peak(<-pid))
			}
		}
		cmd := command(t, "-p", "read a.txt", "--model", "openai/gpt-5.1", "--base-url", srv.URL+"/v1")
		cmd.Path = bin
		cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-x")
		if err := os.WriteFile(filepath.Join(cmd.Dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid <- cmd.Process.Pid
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v %s", err, &errs)
		}
		took = append(took, srv.arrived[1].Sub(srv.answered[0]))
	}
	within(t, "a turn with one call", took, memory, machine.Allow(turnBudget))
	slices.Sort(memory)
	if m := memory[len(memory)/2]; m >= memoryBudget {
		t.Errorf("burin -p holds %.1f MB, want less than %d", float64(m)/(1<<20), memoryBudget>>20)
	}
}

// Whatever a command has started is gone when burin is: killed, without a word.
func TestKillLeavesNothing(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	tag := fmt.Sprintf("TEST_MARK=%s-%d-%d", t.Name(), os.Getpid(), time.Now().UnixNano())
	srv := serveAgent(t, callTurn("bash", `{"command":"sleep 1000 & (setsid sleep 1000 &) ; nohup sleep 1000 >/dev/null 2>&1 & sleep 1000"}`))
	cmd := command(t, "-p", "sleep", "--approval", "full", "--model", "openai/gpt-5.1", "--base-url", srv.URL+"/v1")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-x", tag)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range tagged(tag, "") {
			_ = exec.Command("kill", "-9", strconv.Itoa(pid)).Run()
		}
	})
	until(t, "four commands to sleep", func() bool { return len(tagged(tag, "sleep")) >= 4 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	began := time.Now()
	until(t, "all processes to end", func() bool { return len(tagged(tag, "")) == 0 })
	limit := 2 * time.Second
	if os.Getenv("BURIN_BUDGETS") != "1" { // the machine may be busy; what is left behind stays for long
		limit = time.Minute
	}
	if took := time.Since(began); took > limit {
		t.Errorf("it took %s until the last process had ended", took)
	}
}

// tagged are the living processes with a variable, and of a name if one is given.
func tagged(tag, name string) []int {
	var pids []int
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range found {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environ, []byte(tag)) {
			continue
		}
		comm, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		if name != "" && strings.TrimSpace(string(comm)) != name {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// until waits for a state, at most a minute.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); !done(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
