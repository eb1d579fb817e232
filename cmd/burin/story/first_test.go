package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Who starts burin for the first time with a usable model is answered without any other
// key, and told once that there is a setup.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning.")}, func(o *setting) { o.first, o.quiet = true, true })
	s.send("hello")
	s.WaitText("Good morning.")
	s.WaitText("/setup chooses the model")
	s.configured("setupVersion: 1")
	s.leave()
	s = begin(t, nil, func(o *setting) { o.first, o.home, o.dir = true, s.home, s.dir })
	s.WaitText("Ask anything")
	if strings.Contains(s.Text(), "/setup") {
		t.Errorf("the setup is offered again:\n%s", s.Text())
	}
}

// The setup goes through its steps and writes what was chosen.
func TestSetup(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning.")}, func(o *setting) { o.first = true })
	s.send("/setup")
	s.WaitText("The variable ANTHROPIC_API_KEY is set")
	for _, step := range []string{"Keys and logins", "Choose a model", "Which row looks right", "Themes", "What may burin do without asking?"} {
		s.Press("tab")
		s.WaitText(step)
	}
	s.Press("down", "enter")
	s.WaitText("Enter starts")
	s.Press("enter")
	s.WaitText("Ask anything")
	s.configured("approval: auto-edit")
}

// keyless is a first start on a machine where no model can be used. A key for Anthropic,
// once it is given, is for the scripted model.
func keyless(t *testing.T, turns []llmtest.Turn, args ...string) *story {
	t.Helper()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	o := setting{Options: robot.Options{Timeout: waitTime}, first: true, noKey: true}
	o.prepare(t, model)
	o.Env = append(o.Env, "ANTHROPIC_BASE_URL="+model.URL)
	s := &story{t: t, model: model, dir: o.dir, home: o.home}
	s.Robot = robot.Start(t, o.Options, program(t), args...)
	return s
}

// Without a usable model one screen leads to one, and what was typed before it was ready
// is answered in the end.
func TestFirstRunWithoutKey(t *testing.T) {
	t.Parallel()
	s := keyless(t, []llmtest.Turn{say("ok"), say("Good morning.")})
	s.send("hello") // before the screen can be there
	s.WaitText("Welcome to burin")
	for _, way := range []string{"→ Anthropic", "OpenAI", "Google", "search all providers", "Demo"} {
		s.WaitText(way)
	}
	s.Press("down", "up", "enter")
	s.WaitText("API key for anthropic")
	s.Paste("sk-ant-0123456789")
	s.Press("enter")
	s.WaitText("Ready. /model changes the model")
	s.WaitText("Good morning.")
	if heard := s.heard(1); !strings.Contains(heard, "hello") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// The prompt of the command line waits for the key, too.
func TestPromptOfCommandLineWithoutKey(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := keyless(t, []llmtest.Turn{say("ok"), say("Good morning.")}, "good", "morning")
	s.WaitText("→ Anthropic")
	s.Press("down", "up", "enter")
	s.WaitText("API key for anthropic")
	s.Paste("sk-ant-0123456789")
	s.Press("enter")
	s.WaitText("Good morning.")
}

// Esc leads to the prompt with what was typed, and every place that needs a session says
// what is missing.
func TestFirstRunLeft(t *testing.T) {
	t.Parallel()
	s := keyless(t, nil)
	s.WaitText("→ Anthropic")
	s.Press("down", "esc")
	s.WaitText("run /login or /setup")
	s.WaitText("Ask anything")
	s.send("hello")
	s.WaitText("› hello")
}

// The demo begins from the same screen, without a key.
func TestFirstRunDemo(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := keyless(t, nil)
	s.WaitText("Demo")
	s.Press("up", "enter")
	s.WaitText("A test fails here")
	s.WaitText("Run this command?")
}

// A model that is named and has no key leads to the screen for its provider at once; the
// prompt is answered in the end, by that model.
func TestModelWithoutKey(t *testing.T) {
	t.Parallel()
	s := keyless(t, []llmtest.Turn{say("ok"), say("Good morning.")}, "--model", "anthropic/claude-opus-4-5", "hello")
	s.WaitText("no API key for anthropic")
	s.WaitText("→ Anthropic")
	s.Press("down", "up", "enter")
	s.WaitText("API key for anthropic")
	s.Paste("sk-ant-0123456789")
	s.Press("enter")
	s.WaitText("Good morning.")
	if heard := s.heard(1); !strings.Contains(heard, "hello") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.WaitText("opus-4-5")
}

// Where the setup is not wanted, a line says what to do. The prompt stays in the editor, and
// the key that /login stores is enough.
func TestModelOfSettingsWithoutKey(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, resumed := range []bool{false, true} {
		with := func(o *setting) {
			o.noKey, o.quiet, o.bare = true, true, true
			o.config = "modelRoles: {default: anthropic/claude-opus-4-5}\n"
		}
		if resumed { // it is shown all the same
			// Not over a socket: who owned the session there would still have a key.
			s := begin(t, []llmtest.Turn{say("An old answer.")}, func(o *setting) { o.quiet = true })
			s.WaitText("% context")
			s.send("an old question")
			s.WaitText("An old answer.")
			s.leave()
			plain := with
			with = func(o *setting) {
				plain(o)
				o.home, o.dir, o.args = s.home, s.dir, []string{"--continue"}
				write(t, s.home+"/models.yml", "{}\n")
			}
		}
		s := begin(t, nil, with)
		s.WaitText("No API key for anthropic: /login anthropic stores one")
		if resumed {
			s.WaitText("An old answer.")
			continue
		}
		s.send("hello")
		s.WaitText("› hello")
	}
}
