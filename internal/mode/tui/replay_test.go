package tui

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

// saidSoFar is what the conversation shows, and forgets.
func (d *desk) saidSoFar() string {
	d.t.Helper()
	out := &scrollback{}
	if err := d.talk.settle(out); err != nil {
		d.t.Fatal(err)
	}
	if left := d.talk.rows(nil); len(left) > 0 {
		d.t.Errorf("not final: %q", left)
	}
	return strings.TrimSpace(strings.Join(out.lines, "\n"))
}

// What a person saw is shown again when the session is gone on with: pieces of answers
// that were tried again, of which the conversation goes on without, reminders, and the
// person's own commands.
func TestResumeShowsWhatWasSeen(t *testing.T) {
	broken := llmtest.Turn{Events: []llm.Event{
		{Type: llm.EventTextStart},
		{Type: llm.EventTextDelta, Delta: "A piece that came first."},
		{Type: llm.EventError, Message: &llm.Message{Error: &llm.Error{Kind: llm.ErrOverload, Message: "Overloaded"}}},
	}}
	refused := llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Message: "Overloaded"}}}
	todos := []todo.Phase{{Name: "Work", Tasks: []todo.Task{{Content: "one", Status: "pending"}, {Content: "two", Status: "pending"}}}}
	reminders := 2
	path := filepath.Join(t.TempDir(), "s.jsonl")
	set := func(w Wish, o *session.Options) {
		if w.Resume == path {
			log, _, err := transcript.OpenSession(path, transcript.Options{})
			if errors.Is(err, fs.ErrNotExist) {
				log, err = transcript.Create(transcript.CreateFile(path), transcript.Header{CWD: "/"}, transcript.Options{})
			}
			if err != nil {
				t.Error(err)
				return
			}
			o.Log = log
		}
		o.Retry.Base, o.Reminders = time.Millisecond, 2
		o.Tasks = handletest.Tasks{Phases: &todos, OnReminder: func() string {
			if reminders == 0 {
				return ""
			}
			reminders--
			return "There are open tasks."
		}}
		handletest.On(o).OnRun = func(_ context.Context, line string, _ bool, _ func(string)) (session.CommandResult, error) {
			return session.CommandResult{Output: "the output of " + line, ExitCode: len(line) - 4}, nil
		}
	}
	d := atDesk(t, set, broken, refused, sayTurn("The whole answer."), sayTurn("Reminded once."), sayTurn("Reminded twice."))
	d.switcher.open(Wish{Resume: path})
	d.until("the session that is kept", func() bool { return !d.opening && d.session != nil })
	d.saidSoFar()

	if err := d.session.SetTodos(todos); err != nil {
		t.Fatal(err)
	}
	d.outbox.send("hello", steerNow)
	d.until("the answer", func() bool { return !d.work.on && len(d.outbox.outgoing) == 0 })
	for _, line := range []string{"!good", "!!failing"} {
		d.outbox.send(line, steerNow)
		d.until("the command", func() bool { return d.work.busy == "" && len(d.shell.own) == 0 })
	}
	live := d.saidSoFar()
	for _, want := range []string{
		"broke off: anthropic: Overloaded; tried again", "The whole answer.",
		"reminded of 2 open tasks\n", "reminded of 2 open tasks (reminder 2)", "the output of good", "the output of failing",
	} {
		if !strings.Contains(live, want) {
			t.Errorf("live there is no %q:\n%s", want, live)
		}
	}

	d.switcher.open(Wish{Resume: path})
	d.until("the session to be left", func() bool { return d.session == nil })
	d.until("the session again", func() bool { return !d.opening && d.session != nil })
	_, again, _ := strings.Cut(d.saidSoFar(), "\n\n")
	if diff := cmp.Diff(live, again); diff != "" {
		t.Errorf("what is shown again differs (-live +again):\n%s", diff)
	}
}

func sayTurn(text string) llmtest.Turn { return llmtest.Turn{Events: llmtest.Say(text)} }
