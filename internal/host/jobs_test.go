package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// until waits until something is so.
func (o *office) until(what string, so func() bool) {
	o.t.Helper()
	feed := o.handle.Events(session.Cursor{})
	for !so() {
		if _, err := feed.Next(o.t.Context()); err != nil {
			o.t.Fatalf("%s: %v", what, err)
		}
	}
}

// readTimes is how often the session's model reads a text in its last request.
func (o *office) readTimes(text string) int {
	o.t.Helper()
	all := o.requests("")
	n := 0
	for _, m := range all[len(all)-1].Messages {
		if m.Role != llm.RoleAssistant {
			n += strings.Count(m.Text(), text)
		}
	}
	return n
}

// The model reads the result of an agent in the background once: by a call that waits for it, by one
// that comes when its message waits already, or by the message.
func TestAgentsAreJobs(t *testing.T) {
	for _, wakes := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("wakes %v, polled late %v", wakes, late), func(t *testing.T) {
				begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
				o := opened(t, officeOptions{change: func(s *host.Session) { s.Wakes = wakes }}, func(s said) []llm.Event {
					switch {
					case s.who != "":
						close(begun)
						<-release
						return llmtest.Say("the late result")
					case s.turn == 0:
						return tasks("task", true, "slow: take long")
					case s.turn == 1:
						<-begun
						return llmtest.Call("l", "job_list", `{}`)
					case s.turn == 2:
						close(release)
						if late {
							<-ended
						}
						return llmtest.Call("p", "job_poll", `{"job":"SLOW","wait":600}`)
					case s.turn == 3:
						return llmtest.Call("p2", "job_poll", `{"job":"slow"}`)
					}
					return llmtest.Say("all read")
				})
				if late {
					go func() {
						o.until("the agent is done", func() bool {
							all := o.agents()
							q, err := o.handle.Queue().Waiting(t.Context())
							return len(all) == 1 && all[0].State == session.AgentIdle && err == nil && (!wakes || len(q.FollowUps) == 1)
						})
						close(ended)
					}()
				}
				out := o.prompt("go")
				if final(out) != "all read" {
					t.Fatalf("%q, %v", final(out), out.Err)
				}
				all := o.requests("")
				if list := all[2].last; !strings.Contains(list, "slow  running for ") || !strings.Contains(list, "0 requests") || !strings.Contains(list, "task: take long") {
					t.Errorf("job_list gave %q", list)
				}
				if got := all[3].last; !strings.Contains(got, "# slow (task): done") || !strings.Contains(got, "the late result") {
					t.Errorf("job_poll gave %q", got)
				}
				if got := all[4].last; !strings.Contains(got, "[Job slow: done, 1 request, $0.0011. Its result is in this conversation already; agent://slow is all of it.]") {
					t.Errorf("the second job_poll gave %q", got)
				}
				if len(all) != 5 || o.readTimes("the late result") != 1 {
					t.Errorf("the result was read %d times in %d requests", o.readTimes("the late result"), len(all))
				}
				if q, err := o.handle.Queue().Waiting(t.Context()); err != nil || len(q.FollowUps) != 0 {
					t.Errorf("%+v, %v", q, err)
				}
			})
		}
	}
}

// A call that waits for several jobs, commands and agents, ends with the first of them; what it did not
// give arrives as a message.
func TestPollOfSeveralJobs(t *testing.T) {
	begun, fast, slow := make(chan struct{}), make(chan struct{}), make(chan struct{})
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		switch {
		case s.who == "fast":
			<-fast
			return llmtest.Say("fast is done")
		case s.who == "slow":
			close(begun)
			<-slow
			return llmtest.Say("slow is done")
		case s.turn == 0:
			return append(tasks("task", true, "fast: hurry", "slow: take long"), llmtest.Call("b", "bash", `{"command":"sleep 600","background":true}`)...)
		case s.turn == 1:
			<-begun
			close(fast)
			return llmtest.Call("p", "job_poll", `{"job":"slow, fast,1","wait":600}`)
		case s.turn == 2:
			return llmtest.Call("w", "job_write", `{"job":"slow","input":"x"}`)
		case s.turn == 3:
			return llmtest.Call("n", "job_poll", `{"job":"nobody"}`)
		case s.turn == 4:
			return llmtest.Call("k", "job_kill", `{"job":"1"}`)
		case s.turn == 5:
			close(slow)
			return llmtest.Say("that was it")
		}
		return llmtest.Say("end")
	})
	out := o.prompt("go")
	if final(out) != "end" {
		t.Fatalf("%q, %v", final(out), out.Err)
	}
	all := o.requests("")
	for i, want := range map[int][]string{
		2: {"fast is done", "[Job slow: running for ", "[Job 1: running for "},
		3: {"job slow is an agent, which reads no input: send it a message with irc"},
		4: {`no job "nobody"; jobs: 1, fast, slow`},
		5: {"[Job 1: killed.]"},
		6: {"slow is done"},
	} {
		for _, w := range want {
			if !strings.Contains(all[i].last, w) {
				t.Errorf("request %d ends with %q, which has no %q", i, all[i].last, w)
			}
		}
	}
	if o.readTimes("fast is done") != 1 || o.readTimes("slow is done") != 1 {
		t.Error("a result was read twice")
	}
}

// A call that is stopped while it waits takes nothing: the result arrives as a message.
func TestStoppedPollTakesNothing(t *testing.T) {
	release, polls := make(chan struct{}), make(chan struct{})
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Wakes = true }}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			<-release
			return llmtest.Say("the late result")
		case s.turn == 0:
			return tasks("task", true, "slow: take long")
		case s.turn == 1:
			return llmtest.Call("p", "job_poll", `{"job":"slow","wait":600}`)
		}
		return llmtest.Say("I read: " + s.last)
	})
	feed := o.handle.Events(session.Cursor{})
	go func() {
		for {
			e, err := feed.Next(t.Context())
			if err != nil || e.Type == agent.ToolStart && e.Call.Name == "job_poll" {
				close(polls)
				return
			}
		}
	}()
	done := make(chan struct{})
	go func() { o.prompt("go"); close(done) }()
	<-polls
	o.Abort()
	<-done
	close(release)
	o.until("the message", func() bool { return len(o.requests("")) == 3 || waits(o) })
	if err := o.handle.Queue().Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.until("the answer", func() bool { return len(o.requests("")) == 3 })
	if o.readTimes("the late result") != 1 {
		t.Errorf("the result was read %d times", o.readTimes("the late result"))
	}
}

func waits(o *office) bool {
	q, err := o.handle.Queue().Waiting(o.t.Context())
	return err == nil && len(q.FollowUps) > 0
}

// Killing a job that is an agent stops it with its own agents, and no message comes of it. The jobs
// of the handle are the same ones.
func TestKilledAgent(t *testing.T) {
	stall, deep := make(chan struct{}), make(chan struct{})
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Wakes = true }}, func(s said) []llm.Event {
		switch {
		case s.who == "task-7":
			return tasks("task", false, "child: dig")
		case s.who == "task-7.child":
			close(deep)
			<-stall
		case s.turn == 0:
			return tasks("task", true, "7: take long") // a number is the id of a command
		case s.turn == 1:
			<-deep
			return llmtest.Call("k", "job_kill", `{"job":"task-7"}`)
		}
		return llmtest.Say("end")
	})
	t.Cleanup(func() { close(stall) })
	out := o.prompt("go")
	if final(out) != "end" {
		t.Fatalf("%q, %v", final(out), out.Err)
	}
	all := o.requests("")
	if got := all[2].last; !strings.Contains(got, "# task-7 (task): stopped after") {
		t.Errorf("job_kill gave %q", got)
	}
	for _, a := range o.agents() {
		if a.State != session.AgentStopped {
			t.Errorf("%s is %s", a.ID, a.State)
		}
	}
	jobs, err := o.handle.Jobs().List(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].ID != "task-7" || jobs[0].Agent != "task" || jobs[0].Command != "take long" || jobs[0].Running || jobs[0].ExitCode != -1 {
		raw, _ := json.Marshal(jobs)
		t.Errorf("%s, %v", raw, err)
	}
	if text, err := o.handle.Jobs().Output(t.Context(), "TASK-7"); err != nil || !strings.Contains(text, "take long") {
		t.Errorf("%q, %v", text, err)
	}
	if waits(o) || len(all) != 3 {
		t.Error("a message came of the killed agent")
	}
}
