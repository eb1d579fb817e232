package host_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

func taskList(args string) []llm.Event { return llmtest.Call("list", "task_list", args) }

const fiveTasks = `{"op":"add","tasks":[{"title":"one"},{"title":"two"},{"title":"three","after":["1","2"]},{"title":"four"},{"title":"five","after":["3"]}]}`

var claimedTask = regexp.MustCompile(`You have claimed task (\d+)`)

// worker claims tasks until none is left.
func worker(s said) []llm.Event {
	switch {
	case s.turn == 0, strings.Contains(s.last, " is done. "):
		return taskList(`{"op":"claim","wait":600}`)
	case strings.HasPrefix(s.last, "You have claimed"):
		return taskList(`{"op":"complete","note":"shown by ` + s.who + `"}`)
	}
	return llmtest.Say(s.last)
}

// Two agents claim five tasks: each is claimed once, after those it depends on, with their notes. Who
// waits for one is woken, and both end when all are done.
func TestAgentsShareTasks(t *testing.T) {
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			return worker(s)
		case s.turn == 0:
			return taskList(fiveTasks)
		case s.turn == 1:
			return tasks("task", true, "a: work", "b: work")
		}
		return llmtest.Say("end")
	})
	changes := o.handle.Events(session.Cursor{})
	if out := o.prompt("go"); final(out) != "end" {
		t.Fatalf("%q, %v", final(out), out.Err)
	}
	if first := o.requests("")[1].last; first != "Added:\n1  one\n2  two\n3  three\n4  four\n5  five\n0 of 5 done, 0 claimed." {
		t.Errorf("add gave %q", first)
	}
	var claims []string
	for _, who := range []string{"a", "b"} {
		for _, s := range o.requests(who) {
			if found := claimedTask.FindStringSubmatch(s.last); found != nil {
				claims = append(claims, found[1])
			}
			if strings.HasPrefix(s.last, "You have claimed task 3") && (!strings.Contains(s.last, "Task 1 (one), done by ") || !strings.Contains(s.last, ": shown by ")) {
				t.Errorf("what came before is not said: %q", s.last)
			}
		}
		for _, r := range o.agents() {
			if r.Said != "Nothing to claim: all 5 tasks are done." {
				t.Errorf("%s said %q", r.ID, r.Said)
			}
		}
	}
	if slices.Sort(claims); !slices.Equal(claims, []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("claimed were %v", claims)
	}
	all, err := o.handle.Agents().Tasks(t.Context())
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, task := range all {
		if task.State != session.SharedTaskDone || task.Owner == "" || task.Note != "shown by "+task.Owner {
			t.Errorf("%+v", task)
		}
	}
	for told := 0; told < 11; { // add, and each claimed and completed
		if e, err := changes.Next(t.Context()); err != nil {
			t.Fatal(err)
		} else if e.Type == session.TasksChanged {
			told++
		}
	}
}

// What an agent has claimed is free again when it ends without it, when it is stopped, and when burin
// was killed. A resumed session has the list, and secrets are not on it.
func TestTasksAreFreedAndKept(t *testing.T) {
	home := t.TempDir()
	stall := make(chan struct{})
	var claimed sync.WaitGroup
	claimed.Add(2)
	const token = "hunter2-and-more-of-it-4711"
	o := opened(t, officeOptions{home: home, change: func(s *host.Session) {
		s.Wakes = true
		s.Ground.Environ = []string{"MY_API_KEY=" + token}
	}}, func(s said) []llm.Event {
		switch {
		case s.who == "lazy" && s.turn == 1:
			return llmtest.Say("I give up.")
		case s.who != "" && s.turn == 0:
			return taskList(`{"op":"claim"}`)
		case s.who != "":
			claimed.Done()
			<-stall
		case s.turn == 0:
			return taskList(strings.Replace(fiveTasks, `"title":"one"`, `"title":"one","details":"the token is `+token+`"`, 1))
		case s.turn == 1:
			return tasks("task", false, "lazy: work")
		case s.turn == 2:
			return tasks("task", true, "killed: work", "crashed: work")
		case s.turn == 3:
			claimed.Wait()
			return llmtest.Call("k", "job_kill", `{"job":"killed"}`)
		case s.turn == 4:
			return taskList(`{"op":"list"}`)
		}
		return llmtest.Say("end")
	})
	t.Cleanup(sync.OnceFunc(func() { close(stall) }))
	out := o.prompt("go")
	all := o.requests("")
	if final(out) != "end" || len(all) != 6 {
		t.Fatalf("%q, %v, %d requests", final(out), out.Err, len(all))
	}
	if !strings.Contains(all[2].last, "[It had claimed task 1 and not completed it: the task is free again.]") {
		t.Errorf("of the lazy one the model reads %q", all[2].last)
	}
	list := all[5].last
	if !strings.Contains(list, "[claimed by crashed]") || strings.Contains(list, "killed") || !strings.HasSuffix(list, "0 of 5 done, 1 claimed.") {
		t.Errorf("list gave %q", list)
	}
	path := o.Facts().Path
	crashed := home + "/crashed.jsonl" // as it is while the agent works
	raw, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(raw), token) || !strings.Contains(string(raw), `"agent_tasks"`) {
		t.Errorf("the file has the secret, or no tasks; %v", err)
	}
	if err := os.WriteFile(crashed, raw, 0o600); err != nil {
		t.Fatal(err)
	}

	second := opened(t, officeOptions{home: home, change: func(s *host.Session) { s.Resume = crashed }}, func(s said) []llm.Event {
		switch s.turn {
		case 6:
			return taskList(`{"op":"list"}`)
		case 7:
			return taskList(`{"op":"claim","id":"2"}`)
		}
		return llmtest.Say("end")
	})
	second.prompt("what is left?")
	later := second.requests("")
	if got := later[1].last; !strings.HasSuffix(got, "0 of 5 done, 0 claimed.") || !strings.Contains(got, "5  [open] five (after 3)") {
		t.Errorf("after the resume the list is %q", got)
	}
	if got := later[2].last; !strings.HasPrefix(got, "You have claimed task 2: two") {
		t.Errorf("claim gave %q", got)
	}
}

// The list is there where agents are, for agents that start none, too, and nowhere else.
func TestTaskListIsOffered(t *testing.T) {
	for _, with := range []bool{true, false} {
		t.Run(fmt.Sprint("agents ", with), func(t *testing.T) {
			settings := ""
			if !with {
				settings = "task: {maxRecursionDepth: 0}\n"
			}
			o := opened(t, officeOptions{settings: settings}, func(s said) []llm.Event {
				if s.who == "" && s.turn == 0 && with {
					return tasks("explore", false, "x: look")
				}
				return llmtest.Say("end")
			})
			o.prompt("go")
			if got := offers(o.requests("")[0], "task_list"); got != with {
				t.Errorf("the session has it: %v", got)
			}
			if with && !offers(o.requests("x")[0], "task_list") {
				t.Error("the agent doesn't have it")
			}
		})
	}
}
