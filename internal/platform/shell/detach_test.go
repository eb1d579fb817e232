package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/shell"
)

// waits is a command that writes "begun", waits until go is called, and ends with 3. It moves to a
// folder of its own and exports a variable first.
func waits(t *testing.T, dir string) (line string, proceed func()) {
	t.Helper()
	file := filepath.Join(dir, "go")
	return `export A=changed; mkdir -p own; cd own; echo begun; while ! test -e ../go; do sleep 0.05; done; echo "got $A"; exit 3`, func() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// A slow command goes on as a job, in the shell where it began. The next one has a new shell.
func TestDetach(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dir, ended := tempDir(t), make(chan struct{})
		s := open(t, shell.Options{Shell: kind, Dir: dir})
		says(t, s, "export A=before", "")
		line, proceed := waits(t, dir)
		var live strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		o, err := s.Run(ctx, shell.Command{Line: line, Detach: 300 * time.Millisecond, Ended: func() { close(ended) }}, func(text string) { live.WriteString(text) })
		if err != nil || o.Job == nil || o.Job.ID() != "1" || o.TimedOut || o.Cancelled || o.Dir != dir || !strings.Contains(o.Note, "went to the background with this command") {
			t.Fatalf("%+v, %v", o, err)
		}
		cancel() // which ended the turn, not the job
		if live.String() != o.Output.Text {
			t.Errorf("shown live: %q, in the outcome: %q", live.String(), o.Output.Text)
		}
		if next := says(t, s, `echo $A; basename "$PWD"`, "before\n"+filepath.Base(dir)+"\n"); next.Note != "" {
			t.Errorf("the next command has the note %q", next.Note)
		}
		if len(s.Jobs()) != 1 || o.Job.Outcome() != nil {
			t.Errorf("%d jobs, outcome %+v", len(s.Jobs()), o.Job.Outcome())
		}
		proceed()
		<-o.Job.Done()
		<-ended
		j := o.Job.Outcome()
		if j.ExitCode != 3 || j.Output.Text != "begun\ngot changed\n" || j.TimedOut || j.Cancelled || j.Timeout != 0 {
			t.Errorf("the job has ended with %+v", j)
		}
		if got := o.Output.Text + o.Job.Unread().Text; got != "begun\ngot changed\n" {
			t.Errorf("the outcome and what is new: %q", got)
		}
		if err := o.Job.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "takes no input") {
			t.Errorf("input: %v", err)
		}
		says(t, s, "echo $A", "before\n")
	})
}

func TestDetachedIsKilled(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s := open(t, shell.Options{Dir: dir})
	line, _ := waits(t, dir)
	o := run(t, s, shell.Command{Line: line, Detach: time.Millisecond})
	o.Job.Kill()
	if j := o.Job.Outcome(); !j.Cancelled || j.ExitCode != -1 {
		t.Errorf("killed: %+v", j)
	}
	// Its time limit counts from its beginning.
	o = run(t, s, shell.Command{Line: "sleep 60 & sleep 60", Detach: time.Millisecond, Timeout: 1100 * time.Millisecond})
	if o.Job == nil || o.Timeout != 1100*time.Millisecond {
		t.Fatalf("%+v", o)
	}
	<-o.Job.Done()
	if j := o.Job.Outcome(); !j.TimedOut || j.Elapsed < time.Second {
		t.Errorf("limited: %+v", j)
	}
	eventually(t, "nothing but the shell is left", func() bool { return len(living(t, dir)) <= 1 })
	line, _ = waits(t, dir)
	last := run(t, s, shell.Command{Line: line, Detach: time.Millisecond})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if j := last.Job.Outcome(); j == nil || !j.Cancelled {
		t.Errorf("closed: %+v", j)
	}
	eventually(t, "nothing is left", func() bool { return len(living(t, dir)) == 0 })
}

// A command stays in the foreground where it ends in time, near its time limit, on a terminal, and
// where no more jobs may run.
func TestDetachNot(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := open(t, shell.Options{MaxJobs: 1})
	for range 3 {
		if o := run(t, s, shell.Command{Line: "echo a", Detach: time.Minute}); o.Job != nil || o.Output.Text != "a\n" {
			t.Errorf("a quick command: %+v", o)
		}
	}
	if o := run(t, s, shell.Command{Line: "sleep 60", Detach: time.Second, Timeout: time.Second}); o.Job != nil || !o.TimedOut {
		t.Errorf("near its limit: %+v", o)
	}
	if o := run(t, s, shell.Command{Line: "sleep 0.2; echo a", Detach: time.Millisecond, TTY: true}); o.Job != nil || o.ExitCode != 0 {
		t.Errorf("on a terminal: %+v", o)
	}
	job := startJob(t, s, shell.Command{Line: "cat"})
	if o := run(t, s, shell.Command{Line: "sleep 0.2; echo a", Detach: time.Millisecond}); o.Job != nil || o.Output.Text != "a\n" {
		t.Errorf("without room: %+v", o)
	}
	job.Kill()
	if o := run(t, s, shell.Command{Line: "sleep 60", Detach: time.Millisecond}); o.Job == nil {
		t.Errorf("with room again: %+v", o)
	}
}
