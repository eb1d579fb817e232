package host_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
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
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		text := fmt.Sprint(s.Messages)
		switch {
		case s.who == "a" && s.turn == 0:
			return irc("1", `{"op":"send","to":"b","message":"what do you think?","await":true}`)
		case s.who == "b" && s.turn == 0:
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
