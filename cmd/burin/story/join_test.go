package story_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// A script asks in a session that a terminal has open: its prompt waits for its turn, and
// it prints the answer to that and nothing else.
func TestScriptJoins(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	held := gated("The long task is done.")
	defer held.open()
	s := begin(t, []llmtest.Turn{
		say("Hello."), held.Turn, {Parts: []llmtest.Part{{Text: "Looking."}, {Call: "read", Args: `{"path":"README.md"}`}}}, say("For the script."), say("As events."),
	})
	s.send("hello")
	s.WaitText("Hello.")
	s.WaitGone("Working")
	s.send("a long task")
	held.wait(t)

	script := s.command("-p", "--continue", "--model", "anthropic/claude-opus-4-5", "what about this?")
	var out, said bytes.Buffer
	script.Stdout, script.Stderr = &out, &said
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	s.WaitText("what about this?")
	held.open()
	if err := script.Wait(); err != nil || out.String() != "For the script.\n" {
		t.Errorf("%v: %q %s", err, &out, &said)
	}
	s.WaitText("The long task is done.")
	s.WaitText("For the script.")
	s.WaitGone("Working")
	if heard := s.heard(-1); strings.Index(heard, "what about this?") < strings.Index(heard, "The long task is done.") {
		t.Errorf("the model read:\n%s", heard)
	}

	events, err := s.command("-p", "--continue", "--mode", "json", "once more").Output()
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for line := range bytes.Lines(events) {
		var e session.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if typ := string(e.Type); typ != "message_update" && (len(types) == 0 || types[len(types)-1] != typ) {
			types = append(types, typ)
		}
	}
	if got := strings.Join(types, " "); !strings.HasPrefix(got, "burin agent_start turn_start message_start message_end") || !strings.HasSuffix(got, "agent_settled") || !bytes.Contains(events, []byte("As events.")) {
		t.Errorf("events: %s\n%s", got, events)
	}
}

// Flags that can't hold in a session of another process are refused, and so is another
// model.
func TestScriptCannotChangeTheOwner(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := without(t, []llmtest.Turn{say("Hello."), say("To the script.")})
	id := s.background("say hello")
	s.beside("attach", id).WaitText("Hello.")
	for flag, says := range map[string]string{
		"--approval=plan":                     "which --approval can't change: leave it out",
		"--max-cost=1":                        "which --max-cost can't change",
		"--model=anthropic/claude-sonnet-4-5": "uses anthropic/claude-opus-4-5: leave out the model",
		"--json-schema={\"type\":\"object\"}": "which --json-schema can't change",
	} {
		out, err := s.run("-p", "--resume", id, flag, "change it")
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(out, says) {
			t.Errorf("%s: %v: %s", flag, err, out)
		}
	}
	if out, err := s.run("-p", "--resume", id, "and me?"); err != nil || out != "To the script.\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// A script that is interrupted stops what it asked for; what waits for others goes on.
func TestScriptJoinsAndIsInterrupted(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	held := gated("Never said.")
	defer held.open()
	s := without(t, []llmtest.Turn{held.Turn, say("Here I am.")})
	id := s.background()
	script := s.command("-p", "--resume", id, "a long task")
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	held.wait(t)
	if err := script.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := script.Wait(); script.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v", err)
	}
	if out, err := s.run("-p", "--resume", id, "are you there?"); err != nil || out != "Here I am.\n" {
		t.Errorf("%v: %s", err, out)
	}
}
