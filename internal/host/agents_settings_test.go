package host_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

func offers(r said, name string) bool {
	return slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == name })
}

func TestTaskBatchSetting(t *testing.T) {
	for setting, want := range map[string]string{"": `"tasks"`, "task: {batch: false}\n": `"assignment"`} {
		o := opened(t, officeOptions{settings: setting}, func(said) []llm.Event { return nil })
		o.prompt("go")
		for _, tool := range o.requests("")[0].Tools {
			if tool.Name == "task" && (!strings.Contains(string(tool.Schema), want) || strings.Contains(string(tool.Schema), `"tasks"`) != (setting == "")) {
				t.Errorf("%q: %s", setting, tool.Schema)
			}
		}
	}
}

func TestTaskMaxConcurrencySetting(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 0: 4} {
		var mu sync.Mutex
		flying, most := 0, 0
		full := make(chan struct{})
		o := opened(t, officeOptions{settings: fmt.Sprintf("task: {maxConcurrency: %d}\n", n)}, func(s said) []llm.Event {
			if s.who == "" && s.turn == 0 {
				return tasks("task", false, "a: x", "b: x", "c: x", "d: x")
			}
			if s.who == "" {
				return nil
			}
			mu.Lock()
			flying++
			if most = max(most, flying); flying == want {
				select {
				case <-full:
				default:
					close(full)
				}
			}
			mu.Unlock()
			<-full
			mu.Lock()
			flying--
			mu.Unlock()
			return nil
		})
		o.prompt("go")
		if most != want {
			t.Errorf("%d at a time, want %d", most, want)
		}
	}
}

func TestTaskMaxRecursionDepthSetting(t *testing.T) {
	for depth, want := range map[int][]bool{0: {false}, 1: {true, false}, 2: {true, true, false}} {
		o := opened(t, officeOptions{settings: fmt.Sprintf("task: {maxRecursionDepth: %d}\n", depth)}, func(s said) []llm.Event {
			if s.turn == 0 && offers(s, "task") {
				return tasks("task", false, "deep: start one, too")
			}
			return nil
		})
		o.prompt("go")
		for i, who := range []string{"", "deep", "deep.deep"}[:len(want)] {
			asked := o.requests(who)
			if len(asked) == 0 || offers(asked[0], "task") != want[i] {
				t.Errorf("depth %d: %q was asked %d times; has it the tool task? want %v", depth, who, len(asked), want[i])
			}
		}
	}
}

func TestTaskMaxRuntimeSetting(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	o := opened(t, officeOptions{settings: "task: {maxRuntimeMs: 100}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			<-never
		case s.turn == 0:
			return tasks("task", false, "slow: take long")
		}
		return nil
	})
	r := o.results(o.prompt("go"))[0]
	if r.State != "stopped" || !strings.Contains(r.Error, "time limit of 100ms (task.maxRuntimeMs)") {
		t.Errorf("%+v", r)
	}
}

func TestTaskSoftRequestBudgetSetting(t *testing.T) {
	o := opened(t, officeOptions{settings: "task: {softRequestBudget: 8}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			return append(llmtest.Say(fmt.Sprint("step ", s.turn)), llmtest.Call(fmt.Sprint("c", s.turn), "ls", `{}`)...)
		case s.turn == 0:
			return tasks("task", false, "eager: look at all")
		}
		return nil
	})
	r := o.results(o.prompt("go"))[0]
	if r.State != "stopped" || !strings.Contains(r.Error, "where 8 were expected (task.softRequestBudget)") || !strings.Contains(r.Output, "step ") {
		t.Errorf("%+v", r)
	}
	asked := o.requests("eager")
	if text := fmt.Sprint(asked[len(asked)-1].Messages); !strings.Contains(text, "You have made 8 requests") {
		t.Error("it was not told to finish")
	}
}

func TestTaskAgentIdleSetting(t *testing.T) {
	o := opened(t, officeOptions{settings: "task: {agentIdleTtlMs: 50}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			return llmtest.Say(fmt.Sprintf("answer %d", s.turn))
		case s.turn == 0:
			return tasks("task", false, "one: do it")
		}
		return nil
	})
	feed := o.handle.Events(session.Cursor{})
	o.prompt("go")
	for parked := false; !parked; {
		e, err := feed.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, ok := e.Data.(*session.Agent)
		parked = ok && a.State == session.AgentParked
	}
	// It goes on with what it knows.
	h, err := o.handle.Agents().Open(t.Context(), "ONE", "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := h.Conversation().Submit(t.Context(), session.Input{Message: llm.UserText("and now?")})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.Conversation().Wait(t.Context(), r.ID); err != nil || final(out) != "answer 1" {
		t.Errorf("%q, %v", final(out), err)
	}
}
