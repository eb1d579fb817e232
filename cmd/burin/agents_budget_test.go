package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// The budgets of a session with many agents.
const (
	crewSize         = 32
	crewMemoryBudget = 150 << 20 // bytes of the process that holds all of them, at most
	agentStartBudget = 5 * time.Millisecond
)

// Thirty-two agents work under one ceiling, and some of their requests fail and are repeated, some
// are summaries of their conversations. When the ceiling is reached at most those under way are
// spent beyond it, and no request follows.
func TestAgentsShareACeiling(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	const ceiling, large = 0.5, 6_000
	size := func(r request) int { // after two answers there is something to summarize
		if r.turn < 2 {
			return 1000
		}
		return large
	}
	var mu sync.Mutex
	var spent llm.USD
	failed, summaries, late := 0, 0, 0
	tries := map[string]int{}
	var here sync.WaitGroup // so many agents ask at a time
	here.Add(crewSize / 2)
	arrive := make(chan struct{}, crewSize/2)
	m := serveCrew(t, func(r request) llmtest.Turn {
		if r.who != "" {
			select {
			case arrive <- struct{}{}:
				here.Done()
			default:
			}
			here.Wait()
		}
		mu.Lock()
		defer mu.Unlock()
		if spent >= llm.Dollars(ceiling) && r.who != "" {
			late++
		}
		tries[r.who]++
		switch {
		case r.summary():
			summaries++
			return answers("What was done so far.")
		case r.who == "":
			return calling("", startAgents(crewSize, ""))
		case tries[r.who]%3 == 0:
			failed++
			return llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Status: 503, Message: "try again"}}}
		}
		return used(size(r), calling(strings.Repeat("word-", 600), "ls {}"))
	}, func(_ request, said llmtest.Turn, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		spent += cost(said)
	})
	first, work := crewHome(t, m.URL, "retry: {baseDelayMs: 1}\ncompaction: {thresholdTokens: 5000, keepRecentTokens: 100}\n")
	out, err := in(first, first.Path, work, "-p", "go", "--max-cost", strconv.FormatFloat(ceiling, 'f', -1, 64)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cost limit") {
		t.Errorf("%v: %s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	// One that has reserved its money may not have arrived here, so each agent has one under way.
	over, most := spent-llm.Dollars(ceiling), crewSize*llm.Dollars((large+100)/1e6)
	t.Logf("%v spent of $%v with at most %d requests at a time; %d failed, %d were summaries, %d arrived late", spent, ceiling, m.most, failed, summaries, late)
	if over < 0 || over > most || late > crewSize {
		t.Errorf("%v were spent beyond the limit, want at most %v; %d requests arrived after it was reached", over, most, late)
	}
	if failed == 0 || summaries == 0 || m.most < crewSize/2 {
		t.Errorf("%d failed, %d summaries, %d at a time: the test lacks something", failed, summaries, m.most)
	}
}

// Thirty-two agents read, search and run commands, and are all in the middle of an answer.
func TestBudgetAgentMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is read from /proc")
	}
	bin := release(t)
	var all sync.WaitGroup
	all.Add(crewSize)
	m := serveCrew(t, func(r request) llmtest.Turn {
		switch {
		case r.who == "" && r.turn == 0:
			return calling("", startAgents(crewSize, ""))
		case r.who == "":
			return answers("All done.")
		case r.turn < 6:
			return calling(strings.Repeat("I look at it. ", 100), `read {"path":"big.txt"}`, `grep {"pattern":"line 7"}`, `bash {"command":"ls -l; wc -l *"}`)
		}
		all.Done()
		all.Wait() // none ends before all have got here
		return answers(strings.Repeat("What I found. ", 500))
	}, nil)
	first, work := crewHome(t, m.URL, "")
	for i := range 50 {
		var b strings.Builder
		for n := range 2000 {
			b.WriteString("line " + strconv.Itoa(n*i) + "\n")
		}
		writeFile(t, filepath.Join(work, "src", strconv.Itoa(i)+".txt"), []byte(b.String()), 0o644)
		writeFile(t, filepath.Join(work, "big.txt"), []byte(b.String()), 0o644)
	}
	cmd := in(first, bin, work, "-p", "go")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := make(chan int64, 1)
	go func() {
		most := int64(0)
		for {
			now, ok := procMemory(cmd.Process.Pid, "VmHWM:")
			if !ok {
				peak <- most
				return
			}
			most = now
			<-time.After(5 * time.Millisecond)
		}
	}()
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "All done.") {
		t.Fatalf("%v: %s", err, &out)
	}
	most := <-peak
	t.Logf("%d agents: %.1f MB at most of %d", crewSize, float64(most)/(1<<20), crewMemoryBudget>>20)
	if most == 0 || most >= crewMemoryBudget {
		t.Errorf("%d agents take %d bytes, want less than %d", crewSize, most, crewMemoryBudget)
	}
}

// procMemory is a figure of /proc/PID/status in bytes; false if the process has ended.
func procMemory(pid int, name string) (bytes int64, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}

// What an agent costs: from the end of the answer that calls task to the arrival of the agent's
// first request. The answer is read, kept and checked in that time, and the agent's session is made.
func TestBudgetAgentStart(t *testing.T) {
	bin, machine := release(t), pacetest.New(t)
	for _, n := range []int{1, crewSize} {
		var mu sync.Mutex
		var called time.Time
		var took []time.Duration
		arrived := 0
		m := serveCrew(t, func(r request) llmtest.Turn {
			switch {
			case r.who == "" && r.turn < budgetRuns:
				machine.Look()
				return calling("", strings.ReplaceAll(startAgents(n, ""), `"id":"a`, `"id":"r`+strconv.Itoa(r.turn)+`a`))
			case r.who == "":
				return answers("All done.")
			}
			mu.Lock()
			defer mu.Unlock()
			if arrived++; arrived%n == 0 {
				took = append(took, r.arrived.Sub(called)/time.Duration(n))
			}
			return answers("Done.")
		}, func(r request, _ llmtest.Turn, _ bool) {
			if r.who == "" {
				mu.Lock()
				called = time.Now()
				mu.Unlock()
			}
		})
		first, work := crewHome(t, m.URL, "")
		if out, err := in(first, bin, work, "-p", "go").CombinedOutput(); err != nil || len(took) != budgetRuns {
			t.Fatalf("%v, %d calls: %s", err, len(took), out)
		}
		slices.Sort(took)
		t.Logf("each of %d agents: %.2f ms (from %.2f to %.2f) of %.1f", n, ms(took[len(took)/2]), ms(took[0]), ms(took[len(took)-1]), ms(machine.Allow(agentStartBudget)))
		if at := took[len(took)/4]; at >= machine.Allow(agentStartBudget) {
			t.Errorf("an agent starts in %.1f ms, want less than %.1f", ms(at), ms(machine.Allow(agentStartBudget)))
		}
	}
}
