package host_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// idleBudget is what an agent may hold that is done and can be asked further questions.
const idleBudget = 1 << 20

// What agents hold that are done and stay awake: their sessions, with all that belongs to them.
func TestIdleAgentsAreSmall(t *testing.T) {
	pacetest.Costly(t)
	const agents = 32
	o := opened(t, officeOptions{forgets: true}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn < 5:
			return append(llmtest.Say(strings.Repeat("I look at it. ", 100)), llmtest.Call(fmt.Sprint("c", s.turn), "ls", `{}`)...)
		case s.who != "":
			return llmtest.Say(strings.Repeat("What I found. ", 100))
		case strings.HasPrefix(s.last, "start"):
			var list []string
			for i := range agents {
				list = append(list, fmt.Sprintf("%sa%d: look", s.last, i))
			}
			return tasks("task", false, list...)
		}
		return llmtest.Say("end")
	})
	o.prompt("start1") // what the first ones load stays
	before := held()
	o.prompt("start2")
	each := (held() - before) / agents
	t.Logf("each of %d idle agents holds %d KB", agents, each>>10)
	if each > idleBudget {
		t.Errorf("an idle agent holds %d bytes, want at most %d", each, idleBudget)
	}
	for _, a := range o.agents() {
		if a.State != session.AgentIdle {
			t.Errorf("%s is %s: it does not count", a.ID, a.State)
		}
	}
}

// held is the memory that is in use: heap and stacks.
func held() int64 {
	var m runtime.MemStats
	for range 3 { // what finalizers and pools hold goes with the next ones
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkAgentStart is a call of task with one agent that answers at once. start-ns is the time
// from the model's call to the arrival of the agent's first request, with the call's way from the
// model and the request's way to it.
func BenchmarkAgentStart(b *testing.B) {
	var called time.Time
	var start time.Duration
	n := 0
	o := opened(b, officeOptions{forgets: true}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			start += time.Since(called)
			return llmtest.Say("done")
		case s.last == "go":
			n++
			called = time.Now()
			return tasks("task", false, fmt.Sprintf("a%d: look", n))
		}
		return llmtest.Say("end")
	})
	for b.Loop() {
		o.prompt("go")
	}
	b.ReportMetric(float64(start)/float64(n), "start-ns/op")
}
