package story_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// hour is somebody's first hour: burin has never run here, and what they have of their own
// is in their home.
type hour struct {
	t     *testing.T
	model *llmtest.Server
	home  setting
}

// greeting is the program that these people work on.
const greeting = "// Package greet says hello.\npackage greet\n\n// Hello greets name.\nfunc Hello(name string) string {\n\treturn \"Helo, \" + name\n}\n"

// aHour prepares files in the home of a person, whose project is ~/project, and a model that
// answers by what was said last: with calls of a tool, or in words.
func aHour(t *testing.T, answers map[string]llmtest.Turn, files map[string]string, env ...string) *hour {
	t.Helper()
	turn := llmtest.Turn{Reply: func(r *llm.Request) []llm.Event { return replyTo(answers, r) }}
	var script llmtest.Script
	for range 100 {
		script.Turns = append(script.Turns, turn)
	}
	model, err := llmtest.Serve(anthropic.Server{}, script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	h := &hour{t: t, model: model}
	h.home = setting{Options: robot.Options{Timeout: waitTime, Reflow: true}, first: true, noKey: true, home: filepath.Join(t.TempDir(), ".burin")}
	h.home.files = map[string]string{"greet.go": greeting}
	user := filepath.Dir(h.home.home)
	fill := strings.NewReplacer("{model}", model.URL, "{home}", user)
	for name, text := range files {
		write(t, filepath.Join(user, name), fill.Replace(text))
	}
	h.home.prepare(t, model)
	h.home.Env = append(h.home.Env, "ANTHROPIC_BASE_URL="+model.URL)
	for _, v := range env {
		h.home.Env = append(h.home.Env, fill.Replace(v))
	}
	return h
}

// replyTo is what the model answers: to a result that it is done, to words what stands in
// answers for what comes last in them. Words that were not answered come once more.
func replyTo(answers map[string]llmtest.Turn, r *llm.Request) []llm.Event {
	last := r.Messages[len(r.Messages)-1]
	if last.Role != llm.RoleUser {
		return llmtest.Say("It is done.")
	}
	var said strings.Builder
	for _, b := range last.Content {
		if text, ok := b.(llm.Text); ok {
			said.WriteString(text.Text)
		}
	}
	found, at := "", -1
	for part := range answers {
		if i := strings.LastIndex(said.String(), part); i > at {
			found, at = part, i
		}
	}
	if found == "" {
		return llmtest.Say("Understood.")
	}
	turn := answers[found]
	if turn.Reply != nil {
		return turn.Reply(r)
	}
	var events []llm.Event
	for _, p := range turn.Parts {
		if p.Call != "" {
			events = append(events, llmtest.Call("call", p.Call, p.Args)...)
		} else {
			events = append(events, llmtest.Say(p.Text)...)
		}
	}
	return events
}

// burin starts it in a terminal.
func (h *hour) burin(args ...string) *story {
	h.t.Helper()
	s := &story{t: h.t, model: h.model, dir: h.home.dir, home: h.home.home}
	s.Robot = robot.Start(h.t, h.home.Options, program(h.t), args...)
	h.t.Cleanup(func() {
		if h.t.Failed() {
			h.t.Logf("burin %s:\n%s", strings.Join(args, " "), s.Text())
		}
	})
	return s
}

// says runs it where there is no terminal, and wants words of what is written.
func (h *hour) says(code int, words string, args ...string) {
	h.t.Helper()
	cmd := exec.Command(program(h.t), args...)
	cmd.Dir, cmd.Env = h.home.dir, append(os.Environ(), h.home.Env...)
	out, err := cmd.CombinedOutput()
	if end, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		h.t.Fatal(err)
	} else if got := cmd.ProcessState.ExitCode(); got != code {
		h.t.Errorf("burin %s: exit code %d, want %d (%v)\n%s", strings.Join(args, " "), got, code, end, out)
	}
	if !strings.Contains(string(out), words) {
		h.t.Errorf("burin %s says, without %q:\n%s", strings.Join(args, " "), words, out)
	}
}

// asks sends a prompt and waits for the end of the answer.
func (s *story) asks(prompt, answer string) {
	s.t.Helper()
	s.send(prompt)
	s.WaitText(answer)
	s.WaitGone("Working")
}

// looks calls a command that shows something, and closes it.
func (s *story) looks(command, shows string) {
	s.t.Helper()
	s.send(command)
	s.WaitText(shows)
	s.Press("esc")
	s.WaitGone(shows)
	s.WaitText("Ask anything")
}

// hinted calls a command that is answered with a hint, and empties the prompt.
func (s *story) hinted(command, hint string) {
	s.t.Helper()
	s.send(command)
	s.WaitText(hint)
	s.Press("ctrl+c")
	s.WaitText("Ask anything")
}

// wants checks that the model read words with a request, or that it did not.
func (s *story) wants(n int, read bool, words ...string) {
	s.t.Helper()
	heard := s.heard(n) + s.request(n).System
	for _, w := range words {
		if strings.Contains(heard, w) != read {
			s.t.Errorf("the model read %q: %v, want %v. It read:\n%s", w, !read, read, s.heard(n))
		}
	}
}

// fixed checks that the typo in greet.go is corrected.
func (s *story) fixed() {
	s.t.Helper()
	if got := s.read("greet.go"); !strings.Contains(got, `"Hello, "`) {
		s.t.Errorf("greet.go is\n%s", got)
	}
}

// undoes undoes the correction of greet.go, which the command offers.
func (s *story) undoes(command string) {
	s.t.Helper()
	s.send(command)
	s.WaitText("restore greet.go")
	s.Press("enter")
	s.WaitText("Restored: 1 path.")
	if got := s.read("greet.go"); got != greeting {
		s.t.Errorf("greet.go is\n%s", got)
	}
}

// imports lets /setup import what it offers.
func (s *story) imports(offers ...string) {
	s.t.Helper()
	s.send("/setup")
	for _, offer := range offers {
		s.WaitText(offer)
	}
	s.Press("enter")
	s.WaitText("Choose what to import")
	s.Press("enter")
	s.WaitText("Ready to use; Enter continues") // the setup counts as done only with a key
	s.Press("ctrl+c")
	s.WaitText("Enter starts")
	s.Press("enter")
	s.WaitText("Ask anything")
}

// finds resumes a session in the list that is shown, by words of its title.
func (s *story) finds(words, title, shows string) {
	s.t.Helper()
	s.Type(words)
	s.WaitText("→ " + title)
	s.Press("enter")
	s.WaitText(shows)
}
