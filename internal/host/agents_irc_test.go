package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

func irc(id, args string) []llm.Event { return llmtest.Call(id, "irc", args) }

// An agent that is done is asked a further question, and answers with what it knows.
func TestIRCAsksAnAgentThatIsDone(t *testing.T) {
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Say("it is blue")
		case s.who != "":
			return llmtest.Say("as blue as the sky; I was asked: " + s.last)
		case s.turn == 0:
			return tasks("explore", false, "looker: which color?")
		case s.turn == 1:
			return irc("i", `{"op":"send","to":"Looker","message":"how blue?","await":true}`)
		}
		return llmtest.Say(s.last)
	})
	out := o.prompt("go")
	if got := final(out); !strings.Contains(got, "as blue as the sky; I was asked: Message from main:\n\nhow blue?") {
		t.Errorf("%q", got)
	}
}

// Two agents that work at the same time talk to each other; waiting for each other's answers is
// refused, and a wait ends.
func TestIRCBetweenAgents(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	o := opened(t, officeOptions{settings: "irc: {timeoutMs: 50}\n"}, func(s said) []llm.Event {
		switch {
		case s.who == "a" && s.turn == 0:
			both.Done()
			both.Wait()
			return irc("1", `{"op":"wait","timeoutMs":0}`)
		case s.who == "a" && s.turn == 1:
			return irc("2", `{"op":"wait"}`) // by the setting
		case s.who == "b" && s.turn == 0:
			both.Done()
			both.Wait()
			return irc("3", `{"op":"send","to":"a","message":"hello a"}`)
		case s.who == "b" && s.turn == 1:
			return irc("4", `{"op":"send","to":"b","message":"hello me"}`)
		case s.who == "b" && s.turn == 2:
			return irc("5", `{"op":"send","to":"nobody","message":"hello"}`)
		case s.who != "":
			return llmtest.Say("heard: " + fmt.Sprint(s.Messages[len(s.Messages)-3:]))
		case s.turn == 0:
			return tasks("explore", false, "a: wait", "b: send")
		}
		return nil
	})
	out := o.results(o.prompt("go"))
	for want, of := range map[string]int{"Message from b": 0, "No message within 50ms": 0, "that is you": 1, `there is no "nobody"`: 1} {
		text := fmt.Sprint(o.requests(out[of].ID)[len(o.requests(out[of].ID))-1].Messages)
		if !strings.Contains(text, want) {
			t.Errorf("%s does not read %q in %s", out[of].ID, want, text)
		}
	}
}

// An agent cannot wait for the answer of one that waits for its own.
func TestIRCRefusesToWaitInACircle(t *testing.T) {
	begun := make(chan struct{})
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		text := fmt.Sprint(s.Messages)
		switch {
		case s.who == "a" && s.turn == 0:
			<-begun // or it reads the message before it waits for one
			return irc("1", `{"op":"send","to":"b","message":"what do you think?","await":true}`)
		case s.who == "b" && s.turn == 0:
			close(begun)
			return irc("2", `{"op":"wait"}`)
		case s.who == "b" && s.turn == 1:
			return irc("3", `{"op":"send","to":"a","message":"and you?","await":true}`)
		case s.who == "b":
			if !strings.Contains(text, "a waits for an answer of yours") {
				t.Errorf("it may wait: %s", text)
			}
			return llmtest.Say("I think so")
		case s.who != "":
			return llmtest.Say(s.last)
		case s.turn == 0:
			return tasks("explore", false, "b: think", "a: ask")
		}
		return nil
	})
	r := o.results(o.prompt("go"))
	if !strings.Contains(r[1].Output, "I think so") {
		t.Errorf("%+v", r)
	}
}

// read are all texts of the last request of an agent, or of the session.
func (o *office) read(who string) string {
	o.t.Helper()
	all := o.requests(who)
	if len(all) == 0 {
		o.t.Fatalf("%q has made no request", who)
	}
	var b strings.Builder
	for _, m := range all[len(all)-1].Messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

// A message to an agent that has not begun is kept, and is in its first request. Who would wait for the
// answer of one that needs its place is told so at once.
func TestIRCToAnAgentThatHasNotBegun(t *testing.T) {
	other := map[string]string{"one": "two", "two": "one"}
	var mu sync.Mutex
	first := ""
	o := opened(t, officeOptions{settings: "task: {maxConcurrency: 1}\nirc: {timeoutMs: 0}\n"}, func(s said) []llm.Event {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case s.who == "" && s.turn == 0:
			return tasks("explore", false, "one: ask", "two: answer")
		case s.who == "":
			return nil
		case first == "": // which of them gets the place is not said
			first = s.who
			to := other[s.who]
			return append(irc("1", `{"op":"send","to":"`+to+`","message":"the door is blue"}`), irc("2", `{"op":"send","to":"`+to+`","message":"which color?","await":true}`)...)
		}
		return llmtest.Say("done")
	})
	for _, r := range o.results(o.prompt("go")) {
		if r.State != "done" || r.Requests > 2 {
			t.Errorf("%+v", r)
		}
	}
	text := o.read(first)
	for _, want := range []string{"it has not begun, and reads the message when it begins", other[first] + " can't begin while you wait", "Send without await"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not read %q in %s", first, want, text)
		}
	}
	if all := o.requests(other[first]); len(all) != 1 || !strings.Contains(o.read(other[first]), "Message from "+first+":\n\nthe door is blue") {
		t.Errorf("%d requests, the last reads %s", len(all), o.read(other[first]))
	}
}

// Two agents have both places, and both ask the third: one of them is told at once that it would wait
// for ever, and when it is done the other one gets the answer.
func TestIRCWhereAllPlacesAreTaken(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	var mu sync.Mutex
	var begun []string
	o := opened(t, officeOptions{settings: "task: {maxConcurrency: 2}\nirc: {timeoutMs: 0}\n"}, func(s said) []llm.Event {
		switch {
		case s.who == "" && s.turn == 0:
			return tasks("explore", false, "a: x", "b: x", "c: x")
		case s.who == "":
			return nil
		case s.turn > 0:
			return llmtest.Say("I read: " + s.last)
		}
		mu.Lock()
		begun = append(begun, s.who)
		n := len(begun)
		mu.Unlock()
		if n > 2 {
			return llmtest.Say("the answer of the third")
		}
		both.Done()
		both.Wait()
		for _, id := range []string{"a", "b", "c"} {
			if id != begun[0] && id != begun[1] {
				return irc("1", `{"op":"send","to":"`+id+`","message":"what is it?","await":true}`)
			}
		}
		return nil
	})
	refused, answered := 0, 0
	for _, r := range o.results(o.prompt("go")) {
		switch {
		case strings.Contains(r.Output, "can't begin while you wait"):
			refused++
		case strings.Contains(r.Output, "I read: the answer of the third"):
			answered++
		}
	}
	if refused != 1 || answered != 1 {
		t.Errorf("%d were refused, and %d got the answer", refused, answered)
	}
}

// The time to wait counts from the call, also where the other agent has not begun.
func TestIRCWaitsNoLongerForAnAgentThatHasNotBegun(t *testing.T) {
	late := make(chan struct{})
	o := opened(t, officeOptions{settings: "task: {maxConcurrency: 1}\nirc: {timeoutMs: 50}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			<-late
			return llmtest.Say("done")
		case s.turn == 0:
			return tasks("task", true, "one: x", "two: x")
		case s.turn == 1:
			return append(irc("1", `{"op":"send","to":"one","message":"how far?","await":true}`), irc("2", `{"op":"send","to":"two","message":"how far?","await":true}`)...)
		case s.turn == 2:
			close(late)
		}
		return llmtest.Say("end")
	})
	o.prompt("go")
	all := o.requests("")
	text := fmt.Sprint(all[2].Messages)
	if strings.Count(text, "no answer within 50ms") != 2 || !strings.Contains(text, "it has not begun, and reads the message when it begins") {
		t.Errorf("it reads %s", text)
	}
}

// A call of task that fails leaves no agent behind.
func TestTaskThatFailsStartsNothing(t *testing.T) {
	o := opened(t, officeOptions{settings: "irc: {timeoutMs: 0}\n"}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			t.Errorf("%s works", s.who)
		case s.turn == 0:
			args, _ := json.Marshal(map[string]any{"agent": "explore", "tasks": []map[string]any{{"id": "one", "assignment": "x"}, {"id": "two", "assignment": "y", "isolated": true}}}) // nothing in it can fail
			return llmtest.Call("t", "task", string(args))
		case s.turn == 1:
			return irc("1", `{"op":"send","to":"one","message":"hello","await":true}`)
		}
		return nil
	})
	o.prompt("go")
	all := o.requests("")
	if !strings.Contains(all[1].last, "isolation is off") || !strings.Contains(all[2].last, `there is no "one"`) {
		t.Errorf("%q, %q", all[1].last, all[2].last)
	}
	if agents := o.agents(); len(agents) != 0 {
		t.Errorf("%+v", agents)
	}
}

// The session, or an agent, that waits for an agent by a call of task can't answer it, and neither can one
// that asks two agents which ask it.
func TestIRCRefusesToWaitForOneThatWaits(t *testing.T) {
	const refusal = "%s waits for an answer of yours: give it in your result, or send without await"
	t.Run("for the session", func(t *testing.T) {
		o := opened(t, officeOptions{settings: "irc: {timeoutMs: 0}\n"}, func(s said) []llm.Event {
			switch {
			case s.who != "" && s.turn == 0:
				return irc("1", `{"op":"send","to":"main","message":"which color?","await":true}`)
			case s.who != "":
				return llmtest.Say(s.last)
			case s.turn == 0:
				return tasks("explore", false, "one: ask")
			}
			return nil
		})
		if r := o.results(o.prompt("go"))[0]; !strings.Contains(r.Output, fmt.Sprintf(refusal, "main")) {
			t.Errorf("%+v", r)
		}
	})
	t.Run("for its parent", func(t *testing.T) {
		o := opened(t, officeOptions{settings: "task: {maxRecursionDepth: 3}\nirc: {timeoutMs: 0}\n"}, func(s said) []llm.Event {
			switch {
			case s.who == "top" && s.turn == 0:
				return tasks("explore", false, "deep: ask")
			case s.who == "top.deep" && s.turn == 0:
				return irc("1", `{"op":"send","to":"TOP","message":"which color?","await":true}`)
			case s.who == "top.deep" && s.turn == 1:
				return append(llmtest.Say(s.last), irc("2", `{"op":"send","to":"main","message":"which color?","await":true}`)...)
			case s.who != "":
				return llmtest.Say(s.last)
			case s.turn == 0:
				return tasks("task", false, "top: start one")
			}
			return nil
		})
		o.prompt("go")
		text := o.read("top.deep")
		for _, who := range []string{"top", "main"} {
			if !strings.Contains(text, fmt.Sprintf(refusal, who)) {
				t.Errorf("not refused for %s: %s", who, text)
			}
		}
	})
	t.Run("for a session that polls", func(t *testing.T) {
		for _, before := range []bool{false, true} { // it asks before the session waits, or then
			go1, go2 := make(chan struct{}), make(chan struct{})
			o := opened(t, officeOptions{settings: "irc: {timeoutMs: 0}\n", change: func(s *host.Session) { s.Wakes = true }}, func(s said) []llm.Event {
				switch {
				case s.who != "" && s.turn == 0:
					if !before {
						<-go1
					}
					return irc("1", `{"op":"send","to":"main","message":"which color?","await":true}`)
				case s.who != "":
					return llmtest.Say("I read: " + s.last)
				case s.turn == 0:
					return tasks("task", true, "one: ask")
				case s.turn == 1:
					if before {
						<-go2
					}
					return llmtest.Call("p", "job_poll", `{"job":"one","wait":600}`)
				}
				return llmtest.Say("end")
			})
			feed := o.handle.Events(session.Cursor{})
			go func() {
				if before {
					o.until("the question waits", func() bool {
						q, err := o.handle.Queue().Waiting(t.Context())
						return err == nil && len(q.FollowUps) == 1
					})
					close(go2)
					return
				}
				defer close(go1)
				for {
					if e, err := feed.Next(t.Context()); err != nil || e.Type == agent.ToolStart && e.Call.Name == "job_poll" {
						return
					}
				}
			}()
			o.prompt("go")
			if text := o.requests("")[2].last; !strings.Contains(text, "# one (task): done") || !strings.Contains(text, fmt.Sprintf(refusal, "main")) {
				t.Errorf("asked before: %v: %s", before, text)
			}
		}
	})
	t.Run("for a session that waits to end", func(t *testing.T) {
		o := opened(t, officeOptions{settings: "irc: {timeoutMs: 0}\n"}, func(s said) []llm.Event {
			switch {
			case s.who != "" && s.turn == 0:
				return irc("1", `{"op":"send","to":"main","message":"which color?","await":true}`)
			case s.who != "":
				return llmtest.Say("I read: " + s.last)
			case s.turn == 0:
				return tasks("task", true, "one: ask")
			}
			return llmtest.Say("end")
		})
		o.prompt("go")
		if text := o.read(""); !strings.Contains(text, "I read: ") || !strings.Contains(text, fmt.Sprintf(refusal, "main")) {
			t.Errorf("it reads %s", text)
		}
	})
	t.Run("in a circle of two", func(t *testing.T) {
		o := opened(t, officeOptions{settings: "irc: {timeoutMs: 0}\n"}, func(s said) []llm.Event {
			switch {
			case s.who == "a" && s.turn == 0:
				return append(irc("1", `{"op":"send","to":"b","message":"what?","await":true}`), irc("2", `{"op":"send","to":"c","message":"what?","await":true}`)...)
			case s.who == "a":
				return llmtest.Say("heard")
			case s.who != "" && !strings.Contains(fmt.Sprint(s.Messages), "Message from a"):
				return irc("3", `{"op":"wait"}`)
			case s.who != "" && !strings.Contains(fmt.Sprint(s.Messages), "of yours"):
				return irc("4", `{"op":"send","to":"a","message":"and you?","await":true}`)
			case s.who != "":
				return llmtest.Say("my answer")
			case s.turn == 0:
				return tasks("explore", false, "a: ask", "b: think", "c: think")
			}
			return nil
		})
		o.prompt("go")
		for _, who := range []string{"b", "c"} {
			if text := o.read(who); !strings.Contains(text, fmt.Sprintf(refusal, "a")) {
				t.Errorf("%s reads %s", who, text)
			}
		}
		if text := o.read("a"); strings.Count(text, "my answer") != 2 {
			t.Errorf("a reads %s", text)
		}
	})
}

// Messages that come in while the receiver works are read together, by a session and by an agent; there
// is a limit of those that wait, and the sender is told.
func TestIRCReadsMessagesTogether(t *testing.T) {
	const sent = 60
	for _, to := range []string{"main", "reader"} {
		t.Run(to, func(t *testing.T) {
			begun := make(chan struct{})
			var refused int
			o := opened(t, officeOptions{}, func(s said) []llm.Event {
				switch {
				case s.who == "writer" && s.turn == 0:
					if to == "reader" {
						<-begun
					}
					var all []llm.Event
					for i := range sent {
						all = append(all, irc(fmt.Sprint("i", i), fmt.Sprintf(`{"op":"send","to":%q,"message":"number %d."}`, to, i))...)
					}
					return all
				case s.who == "writer":
					refused = strings.Count(fmt.Sprint(s.Messages), "unread messages, and takes no more")
					if to == "reader" {
						begun <- struct{}{}
					}
				case s.who == "reader" && s.turn == 0:
					begun <- struct{}{}
					<-begun
				case s.who == "" && s.turn == 0 && to == "main":
					return tasks("explore", false, "writer: write")
				case s.who == "" && s.turn == 0:
					return tasks("explore", false, "reader: read", "writer: write")
				}
				return llmtest.Say("done")
			})
			o.prompt("go")
			who := strings.TrimPrefix(to, "main")
			if refused != sent-task.MaxUnread {
				t.Errorf("%d messages were refused, want %d", refused, sent-task.MaxUnread)
			}
			if got := strings.Count(o.read(who), "number "); got != task.MaxUnread {
				t.Errorf("%d messages are read, want %d", got, task.MaxUnread)
			}
			if n := len(o.requests(who)); n > 3 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Long messages have a limit of their own.
func TestIRCLimitsUnreadBytes(t *testing.T) {
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			var all []llm.Event
			for i := range 5 {
				all = append(all, irc(fmt.Sprint("i", i), fmt.Sprintf(`{"op":"send","to":"main","message":%q}`, strings.Repeat("x", task.MaxMessage)))...)
			}
			return all
		case s.who != "":
			return llmtest.Say(fmt.Sprint(strings.Count(fmt.Sprint(s.Messages), "the unread messages of main would have 163840 bytes")))
		case s.turn == 0:
			return tasks("explore", false, "writer: write")
		}
		return nil
	})
	if r := o.results(o.prompt("go"))[0]; r.Output != "1" {
		t.Errorf("%+v", r)
	}
}

// No agent has the name of all.
func TestAgentsHaveNoReservedNames(t *testing.T) {
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		if s.who == "" && s.turn == 0 {
			return tasks("explore", false, "All: x", "Main: x")
		}
		return llmtest.Say("done")
	})
	r := o.results(o.prompt("go"))
	if r[0].ID != "All-2" || r[1].ID != "Main-2" {
		t.Errorf("%s, %s", r[0].ID, r[1].ID)
	}
}
