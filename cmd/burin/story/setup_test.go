package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Without any key burin says what to do, in the terminal, and keeps the prompt.
func TestNoKey(t *testing.T) {
	t.Parallel()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	o := setting{Options: robot.Options{Timeout: waitTime}}
	o.prepare(t, model)
	write(t, o.home+"/models.yml", "")
	o.Env = append(o.Env, "ANTHROPIC_API_KEY=")
	s := &story{t: t, model: model, dir: o.dir, home: o.home}
	s.Robot = robot.Start(t, o.Options, program(t))
	s.WaitText("/login")
	s.send("hello")
	s.WaitFor("why not, once more", twiceSaid("/login"))
	s.WaitText("› hello")
	s.Press("ctrl+u")
	s.send("/context")
	s.WaitText("No session yet")
	s.Golden("no-key", s.same())
}

// A setting that cannot be read is named with its place, and nothing is begun.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, quiet, func(o *setting) { o.config = "approval: sometimes\n" })
	if code := s.WaitEnd(); code == 0 {
		t.Error("burin ended as if nothing was wrong")
	}
	if said := strings.ReplaceAll(s.all(), "\n", ""); !strings.Contains(said, `config.yml:3:11: "sometimes" must be plan, ask, auto-edit or full`) {
		t.Errorf("it said %q", said)
	}
}
