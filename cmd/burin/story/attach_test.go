package story_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// beside is another burin in a terminal of its own, of the same person in the same folder.
func (s *story) beside(args ...string) *story {
	s.t.Helper()
	return beginWith(s.t, s.model, func(o *setting) { o.home, o.dir, o.args, o.bare = s.home, s.dir, args, true })
}

// Two terminals and a program that reads JSON share one session: both show the same, what is
// asked in one is answered in the other, the second steers, and when the first is killed the
// second goes on without losing what was accepted.
func TestOneSessionManyFaces(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	held := gated("Never said.")
	defer held.open()
	first := begin(t, []llmtest.Turn{say("Hello to both."), call("bash", `{"command":"touch made"}`), say("It is made."), held.Turn, say("Here I am again."), say("That, too.")})
	first.send("hello")
	first.WaitText("Hello to both.")
	first.WaitGone("Working")

	watcher := exec.Command(program(t), "attach", "--mode", "json")
	watcher.Dir, watcher.Env = first.dir, append(os.Environ(), "HOME="+first.home+"/..", "BURIN_HOME="+first.home, "BURIN_NO_KEYRING=1")
	var problems bytes.Buffer
	watcher.Stderr = &problems
	out, err := watcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	heard, listens := make(chan []session.Event, 1), make(chan struct{})
	go func() {
		var all []session.Event
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var e session.Event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Errorf("%s: %v", lines.Text(), err)
			}
			if all = append(all, e); len(all) == 1 { // it is attached
				close(listens)
			}
		}
		heard <- all
	}()
	select {
	case <-listens:
	case <-time.After(waitTime):
		t.Fatalf("nothing is attached: %s", &problems)
	}

	second := first.beside("attach")
	second.WaitText("Hello to both.")
	second.send("make it")
	first.WaitText("make it")
	first.WaitText("touch made")
	second.WaitText("touch made")
	second.answer("y")
	first.WaitText("answered elsewhere")
	for _, s := range []*story{first, second} {
		s.WaitText("It is made.")
		s.WaitGone("Working")
	}
	if _, err := os.Stat(first.dir + "/made"); err != nil {
		t.Error(err)
	}

	first.send("a long task")
	held.wait(t)
	second.WaitText("Working")
	second.Type("and then this")
	second.Press("ctrl+enter")
	first.WaitText("and then this")
	second.WaitFor("the free prompt", func(t *vt.Terminal) bool { return strings.Contains(t.Screen(), "Ask anything") })
	if err := first.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second.WaitText("continues here")
	second.WaitText("Messages were still queued")
	second.WaitText("and then this")
	second.send("are you there?")
	second.WaitText("Here I am again.")
	second.WaitText("That, too.")
	if heard := second.heard(-1); !strings.Contains(heard, "[user] and then this") || !strings.Contains(heard, "are you there?") {
		t.Errorf("the model read:\n%s", heard)
	}

	var all []session.Event
	select {
	case all = <-heard:
	case <-time.After(waitTime):
		t.Fatal("the program that reads goes on")
	}
	if err := watcher.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, &problems)
	}
	last, kinds := uint64(0), map[string]bool{}
	if len(all) == 0 || all[0].Type != "burin" {
		t.Fatalf("the first line does not name the version: %v", all)
	}
	for _, e := range all[1:] {
		if e.Seq <= last {
			t.Errorf("event %d after %d", e.Seq, last)
		}
		last = e.Seq
		kinds[string(e.Type)] = true
		if d, ok := e.Data.(*session.Settled); ok && (d.How != session.Answered || d.By != "terminal") {
			t.Errorf("the question was settled by %+v", d)
		}
	}
	for _, want := range []string{"agent_start", "message_end", "question_asked", "question_settled", "tool_execution_end", "agent_end", "agent_settled", "queue_changed"} {
		if !kinds[want] {
			t.Errorf("it heard no %s, but %v", want, slices.Sorted(maps.Keys(kinds)))
		}
	}
}

// Who leaves a session that it has only joined disturbs nothing: the work goes on, and what
// waits goes on waiting.
func TestLeaveAJoinedSession(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	held := gated("The long task is done.")
	defer held.open()
	first := begin(t, []llmtest.Turn{say("Hello."), held.Turn, say("That too.")})
	first.send("hello")
	first.WaitText("Hello.")
	first.WaitGone("Working")
	second := first.beside("attach")
	second.WaitText("Hello.")
	first.send("a long task")
	held.wait(t)
	first.Type("and then this")
	first.Press("ctrl+enter")
	second.WaitText("and then this")
	second.Press("ctrl+d")
	if code := second.WaitEnd(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	held.open()
	first.WaitText("The long task is done.")
	first.WaitText("That too.")
}

// A script asks, and waits until a terminal joins and answers; without that setting, or when
// its time is over, the question is refused.
func TestAnswerAScript(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		config string
		made   bool
	}{
		"waits":     {"ask: {unattended: wait}", true},
		"times out": {"ask: {unattended: wait, timeout: 1}", false},
		"refused":   {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, []llmtest.Turn{say("Hello."), call("bash", `{"command":"touch made"}`), say("It is over.")}, func(o *setting) { o.config = tt.config })
			s.send("hello")
			s.WaitText("Hello.")
			s.WaitGone("Working")
			s.Press("ctrl+d")
			s.WaitEnd()
			script := exec.Command(program(t), "-p", "make it", "--continue", "--model", "anthropic/claude-opus-4-5")
			script.Dir, script.Env = s.dir, append(os.Environ(), "BURIN_HOME="+s.home, "BURIN_NO_KEYRING=1")
			var out, problems bytes.Buffer
			script.Stdout, script.Stderr = &out, &problems
			if err := script.Start(); err != nil {
				t.Fatal(err)
			}
			if tt.made {
				for late := time.After(waitTime); len(s.model.Requests()) < 2; { // then the script has the session
					select {
					case <-time.After(10 * time.Millisecond):
					case <-late:
						t.Fatal("the script asks nothing")
					}
				}
				person := s.beside("--continue")
				person.WaitText("touch made")
				person.answer("y")
			}
			err := script.Wait()
			_, missing := os.Stat(s.dir + "/made")
			if made := missing == nil; made != tt.made || tt.made != (err == nil) || !strings.Contains(out.String(), "It is over.") {
				t.Errorf("made %v; it ended with %v: %s%s", made, err, &out, &problems)
			}
		})
	}
}

// Nobody to join: what to do is said.
func TestAttachToNobody(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Hello.")})
	s.send("hello")
	s.WaitText("Hello.")
	s.WaitGone("Working")
	s.Press("ctrl+d")
	s.WaitEnd()
	out, err := s.run("attach", "--mode", "json")
	if err == nil || !strings.Contains(out, "nobody has this session open: burin --resume continues it") {
		t.Errorf("%v: %s", err, out)
	}
}

// run runs another command of burin's.
func (s *story) run(args ...string) (string, error) {
	cmd := exec.Command(program(s.t), args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "BURIN_HOME="+s.home, "BURIN_NO_KEYRING=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A command that burin runs can't join the session that runs it, and answer its own
// question.
func TestCommandCannotAttach(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Hello."), call("bash", `{"command":"`+program(t)+` attach --mode json; echo over"}`), say("Done.")},
		func(o *setting) { o.args = []string{"--approval", "full", "--sandbox", "full"} })
	s.send("hello")
	s.WaitText("Hello.")
	s.WaitGone("Working")
	s.send("!" + program(t) + " attach --mode json; echo over")
	s.WaitText("over")
	s.send("try it")
	s.WaitText("Done.")
	heard := s.heard(-1)
	if strings.Contains(heard, `{"type":`) || !strings.Contains(heard, "over") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// Who joins a session that works sees its calls under way, with what their agents do. They end in
// place, and stand there once.
func TestAttachDuringCalls(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		s := without(t, []llmtest.Turn{call("bash", `{"command":"until [ -e go ]; do sleep 0.02; done; echo it goes"}`), say("It went.")})
		id := s.background("--approval", "full", "wait")
		s.becomes(func() string { return s.transcriptHas(`"until [ -e go ]`) })
		terminal := s.beside("attach", id)
		terminal.WaitText("until [ -e go ]")
		terminal.WaitText("Working")
		write(t, filepath.Join(s.dir, "go"), "")
		terminal.WaitText("It went.")
		terminal.seesInOrder("until [ -e go ]", "it goes", "It went.")
		if all := terminal.all(); strings.Contains(all, "did not end") || strings.Count(all, "until [ -e go ]") != 1 {
			t.Errorf("the terminal shows:\n%s", all)
		}
	})
	t.Run("agents", func(t *testing.T) {
		t.Parallel()
		var m *team
		m = teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
			switch {
			case who != "":
				<-m.gate(who)
				return llmtest.Say("Result of " + who + ".")
			case turn == 0:
				return taskCall("explore", false, "one: read the tests", "two: write the docs")
			}
			return llmtest.Say("Both are done.")
		})
		s := without(t, m.turns())
		id := s.background("go")
		s.becomes(func() string { return s.transcriptHas(`"call-task"`) })
		terminal := s.beside("attach", id)
		terminal.seesInOrder("Task", "○ one: read the tests", "○ two: write the docs", "Agents · 2 running")
		m.free("one", "two")
		terminal.WaitText("Both are done.")
		terminal.seesInOrder("Task", "● one: read the tests", "● two: write the docs", "Both are done.")
		if all := terminal.all(); strings.Contains(all, "did not end") || strings.Count(all, "one: read the tests") != 1 {
			t.Errorf("the terminal shows:\n%s", all)
		}
	})
}

// transcriptHas says whether words are missing in the session's file.
func (s *story) transcriptHas(words string) string {
	for _, file := range s.sessions() {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), words) {
			return ""
		}
	}
	return "the session has no " + words
}
