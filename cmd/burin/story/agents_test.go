package story_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

var whoseRequest = regexp.MustCompile(`You are (\S+), a sub-agent`)

// team is a model that speaks for a session and for its agents.
type team struct {
	answer func(who string, turn int, r *llm.Request) []llm.Event

	mu    sync.Mutex
	gates map[string]chan struct{}
	heard map[string][]string // the last message of each request, by who made it
}

// teamOf answers by who asks, "" being the session itself, and how many answers it had.
func teamOf(answer func(who string, turn int, r *llm.Request) []llm.Event) *team {
	return &team{answer: answer, gates: map[string]chan struct{}{}, heard: map[string][]string{}}
}

func (m *team) turns() []llmtest.Turn {
	all := make([]llmtest.Turn, 100)
	for i := range all {
		all[i].Reply = m.reply
	}
	return all
}

func (m *team) reply(r *llm.Request) []llm.Event {
	who, turn := "", 0
	if found := whoseRequest.FindStringSubmatch(r.System); found != nil {
		who = found[1]
	}
	for _, msg := range r.Messages {
		if msg.Role == llm.RoleAssistant {
			turn++
		}
	}
	m.mu.Lock()
	m.heard[who] = append(m.heard[who], r.Messages[len(r.Messages)-1].Text())
	m.mu.Unlock()
	return append(m.answer(who, turn, r), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1000, Output: 100})...)
}

// gate is what an agent waits at until it is let go.
func (m *team) gate(name string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gates[name] == nil {
		m.gates[name] = make(chan struct{})
	}
	return m.gates[name]
}

func (m *team) free(names ...string) {
	for _, name := range names {
		close(m.gate(name))
	}
}

// told are the last messages of an agent's requests.
func (m *team) told(who string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.heard[who], "\n")
}

// taskCall calls the tool task; each task is "id: description".
func taskCall(kind string, background bool, tasks ...string) []llm.Event {
	var list []map[string]string
	for _, t := range tasks {
		id, description, _ := strings.Cut(t, ": ")
		list = append(list, map[string]string{"id": id, "description": description, "assignment": "The assignment of " + id + "."})
	}
	args, _ := json.Marshal(map[string]any{"agent": kind, "tasks": list, "background": background}) // nothing in it can fail
	return llmtest.Call("call-task", "task", string(args))
}

// seesInOrder waits until texts stand on the screen or above it, one below the other.
func (s *story) seesInOrder(texts ...string) {
	s.t.Helper()
	s.becomes(func() string {
		rest := s.all()
		for _, text := range texts {
			_, after, found := strings.Cut(rest, text)
			if !found {
				return "not there, or not in this place: " + text
			}
			rest = after
		}
		return ""
	})
}

// Agents that work are listed above the prompt and in their call, in the order of its tasks
// whoever is done first; what they work on lights up in the list of todos. When all are done,
// only the call is left.
func TestAgentsAreWatched(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var m *team
	m = teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
		switch {
		case who != "":
			<-m.gate(who)
			if who == "two" {
				return llmtest.Say("")
			}
			return llmtest.Say("Result of " + who + ".")
		case turn == 0:
			return llmtest.Call("call-todo", "todo", `{"ops":[{"op":"init","list":[{"phase":"Work","items":["Think about it","Read the tests","Write the docs"]}]}]}`)
		case turn == 1:
			return taskCall("explore", false, "one: read the tests", "two: write the docs", "three: look for more")
		}
		return llmtest.Say("All of them are done.")
	})
	s := begin(t, m.turns(), func(o *setting) { o.Width, o.Height = 100, 40; o.config = "statusLine: {preset: full}\n" })
	s.send("go")
	s.WaitText("Agents · 3 running")
	s.WaitText("3 agents")
	s.seesInOrder("Task", "○ one: read the tests", "○ two: write the docs", "○ three: look for more", "Todos", "◧ Read the tests", "◧ Write the docs", "Agents · 3 running", "○ one: read the tests", "○ two: write the docs", "○ three: look for more")
	m.free("two", "three")
	s.WaitText("Agents · 1 running")
	s.seesInOrder("Task", "○ one: read the tests", "✗ two: write the docs", "● three: look for more", "Agents · 1 running", "○ one: read the tests")
	s.WaitText("1 agent ")
	m.free("one")
	s.WaitText("All of them are done.")
	s.WaitGone("Working")
	s.sees("3 agents · 1 failed", "● one: read the tests", "the model gave 3 empty answers", "1 of 3 done")
	if all := s.all(); strings.Contains(all, "running") || strings.Contains(all, "Agents ·") {
		t.Errorf("the panel is left:\n%s", all)
	}
}

// A question of an agent says who asks, shows what it would write, and is answered as any other.
func TestAgentAsks(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	m := teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
		switch {
		case who == "writer" && turn == 0:
			return llmtest.Call("w", "write", `{"path":"made.txt","content":"what it would write\n"}`)
		case who == "writer":
			return llmtest.Say("It is written.")
		case turn == 0:
			return taskCall("task", false, "writer: write the file")
		}
		return llmtest.Say("The end.")
	})
	s := begin(t, m.turns())
	s.send("go")
	s.WaitText("agent writer")
	s.WaitText("what it would write")
	s.WaitText("writer: write the file · asks you")
	s.answer("y")
	s.WaitText("The end.")
	if made := s.read("made.txt"); made != "what it would write\n" {
		t.Errorf("the file has %q", made)
	}
}

// An agent is opened in the hub while it works: what it does is seen as it goes on, and it hears
// what the person says. One is interrupted and talked to again, another is stopped for good.
func TestAgentHub(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var m *team
	m = teamOf(func(who string, turn int, r *llm.Request) []llm.Event {
		switch {
		case who == "one" && turn == 0:
			return append(llmtest.Say("I look around."), llmtest.Call("b", "bash", `{"command":"echo seen; until [ -e over ]; do sleep 0.1; done"}`)...)
		case who == "one" && strings.Contains(r.Messages[len(r.Messages)-1].Text(), "are you there?"):
			return llmtest.Say("I am back.")
		case who == "one":
			<-m.gate("one")
			return llmtest.Say("never said")
		case who == "two":
			<-m.gate("two")
			return llmtest.Say("done")
		case turn == 0:
			return taskCall("task", true, "one: look around", "two: wait for it")
		}
		return llmtest.Say("They work.")
	})
	s := begin(t, m.turns(), func(o *setting) { o.Width, o.Height = 100, 30; o.config = "approval: full\n" })
	t.Cleanup(func() { m.free("one", "two") })
	s.send("go")
	s.WaitText("They work.")
	s.WaitText("Agents · 2 running")
	s.Press("alt+a")
	s.WaitText("x stops it")
	s.WaitText("bash echo seen")
	s.Press("enter")
	s.WaitText("I look around.")
	s.WaitText("seen")
	s.WaitText("enter steers")
	s.send("mind the cellar")
	write(t, s.dir+"/over", "")
	s.WaitText("mind the cellar")
	s.waitFor("it heard that", func() bool { return strings.Contains(m.told("one"), "mind the cellar") })
	s.Press("esc")
	s.WaitText("enter sends")
	s.send("are you there?")
	s.WaitText("I am back.")
	s.Press("esc")
	s.WaitText("x stops it")
	s.Press("j", "x")
	s.WaitText("Stop agent two?")
	s.answer("y")
	s.WaitText("stopped")
	s.Press("esc")
	s.WaitGone("x stops it")
	s.WaitGone("Agents ·")
	s.WaitText("Agent result")
}

// An agent in the background is one of the jobs: it is listed with commands, and stopped there, as the
// hub says too.
func TestAgentsAmongJobs(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var m *team
	m = teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
		switch {
		case who != "":
			<-m.gate(who)
			return llmtest.Say("done")
		case turn == 0:
			return append(taskCall("task", true, "one: look around"), llmtest.Call("b", "bash", `{"command":"sleep 600","background":true}`)...)
		}
		return llmtest.Say("They work.")
	})
	s := begin(t, m.turns(), func(o *setting) { o.Width, o.Height = 100, 30; o.config = "approval: full\n" })
	t.Cleanup(func() { m.free("one") })
	s.send("go")
	s.WaitText("They work.")
	s.sees("Agents · 1 running", "Jobs", "sleep 600")
	s.send("/jobs")
	s.WaitText("Enter stops a job")
	s.WaitText("task: look around")
	s.Type("look around")
	s.WaitText("The assignment of one.")
	s.Press("enter")
	s.WaitText("Stop this job?")
	s.answer("y")
	s.WaitGone("Agents · 1 running")
	s.WaitText("sleep 600")
	s.send("/jobs")
	s.WaitText("stopped  task: look around")
	s.Press("esc", "alt+a")
	s.WaitText("x stops it")
	s.WaitText("stopped")
}

// Agents that share a list of tasks show which one each has claimed, and how many are done: above the
// prompt and in the hub.
func TestAgentsShareTasks(t *testing.T) {
	t.Parallel()
	var m *team
	m = teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
		switch {
		case who != "" && turn == 0:
			return llmtest.Call("c", "task_list", `{"op":"claim"}`)
		case who == "one" && turn == 1:
			<-m.gate("one")
			return llmtest.Call("d", "task_list", `{"op":"complete"}`)
		case who != "":
			<-m.gate(who + " ends")
			return llmtest.Say("Done.")
		case turn == 0:
			return llmtest.Call("a", "task_list", `{"op":"add","tasks":[{"title":"Write the parser"},{"title":"Write the printer"},{"title":"Try both"}]}`)
		case turn == 1:
			return taskCall("task", true, "one: work", "two: work")
		}
		return llmtest.Say("They work.")
	})
	s := begin(t, m.turns(), func(o *setting) { o.Width, o.Height = 100, 30; o.config = "approval: full\n" })
	t.Cleanup(func() { m.free("one ends", "two ends") })
	s.send("go")
	s.WaitText("They work.")
	s.sees("Task list  add")
	s.WaitText("Agents · 2 running · 0 of 3 tasks done")
	s.WaitText("Write the parser")
	s.WaitText("Write the printer")
	m.free("one")
	s.WaitText("Agents · 2 running · 1 of 3 tasks done")
	s.Press("alt+a")
	s.WaitText("Agents · 1 of 3 tasks done")
	s.WaitText("work · ")
	s.Press("j") // to the one who still has a task
	s.WaitText("Has claimed: ")
}

// An agent that has ended long ago is parked: it is woken in the hub, and asked further questions.
func TestParkedAgentIsAsked(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	m := teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
		switch {
		case who == "one" && turn == 0:
			return llmtest.Say("It is in main.go.")
		case who == "one":
			return llmtest.Say("In line 12.")
		case turn == 0:
			return taskCall("explore", false, "one: find it")
		}
		return llmtest.Say("Found.")
	})
	s := begin(t, m.turns(), func(o *setting) { o.Width, o.Height = 100, 30; o.config = "task: {agentIdleTtlMs: 1000}\n" })
	s.send("go")
	s.WaitText("Found.")
	s.send("/hub")
	s.WaitText("parked")
	s.Press("r")
	s.WaitText("idle")
	s.WaitText("parked")
	s.Press("enter")
	s.WaitText("It is in main.go.")
	s.send("which line?")
	s.WaitText("In line 12.")
	if told := m.told("one"); !strings.Contains(told, "which line?") {
		t.Errorf("the agent read %q", told)
	}
}

// The hub has what works on the whole machine: the session's own commands, and other sessions with
// their agents and commands. Enter joins one of them.
func TestHubShowsOtherSessions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var m *team
	m = teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
		switch {
		case who != "":
			<-m.gate(who)
			return llmtest.Say("done")
		case turn == 0:
			return append(taskCall("task", true, "one: look around"), llmtest.Call("b", "bash", `{"command":"sleep 600","background":true}`)...)
		}
		return llmtest.Say("They work.")
	})
	first := begin(t, m.turns(), func(o *setting) { o.Width, o.Height = 100, 30; o.config = "approval: full\n" })
	t.Cleanup(func() { m.free("one") })
	first.send("go on with the cellar")
	first.WaitText("They work.")
	first.WaitText("Agents · 1 running")
	first.Press("alt+a")
	first.WaitText("Commands in the background")
	first.WaitText("· sleep 600")
	first.Press("esc")
	first.WaitGone("Commands in the background")

	second := first.beside("--model", "anthropic/claude-opus-4-5")
	second.send("/hub")
	second.WaitText("Other sessions")
	second.WaitText("go on with the cellar")
	second.WaitText("look around")
	second.WaitText("· sleep 600")
	list, err := first.command("sessions", "--running", "--json").Output()
	if err != nil || !strings.Contains(string(list), `"description": "look around"`) || !strings.Contains(string(list), `"command": "sleep 600"`) {
		t.Errorf("%v: %s", err, list)
	}
	second.Press("enter")
	second.WaitText("They work.")
	second.WaitText("Agents · 1 running")
}
