package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/shell"
)

// own runs a person's command.
func own(t *testing.T, s *shell.Shells, line string) *shell.Outcome {
	t.Helper()
	o, err := s.Own(t.Context(), line, nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return o
}

// A person's command begins where the shell is, and leaves its folder and nothing else.
func TestOwn(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		for _, sub := range []string{"a", "b"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, shell.Options{Shell: kind, Dir: dir})
		if o := own(t, s, `cd a; echo first`); o.Output.Text != "first\n" || o.Dir != filepath.Join(dir, "a") { // no other shell is there yet
			t.Errorf("%+v", o)
		}
		says(t, s, `pwd; export A=1`, filepath.Join(dir, "a")+"\n")
		o := own(t, s, `echo $A; export A=2; cd ../b; (exit 7)`)
		if o.Output.Text != "1\n" || o.ExitCode != 7 || o.Dir != filepath.Join(dir, "b") {
			t.Errorf("%+v", o)
		}
		says(t, s, `echo $A; pwd`, "1\n"+filepath.Join(dir, "b")+"\n")
		says(t, s, `pwd; cd ../a`, filepath.Join(dir, "b")+"\n")
		if o := own(t, s, `cd ..; exit 3`); o.ExitCode != 3 || o.Dir != filepath.Join(dir, "a") {
			t.Errorf("exit: %+v", o)
		}
		says(t, s, `pwd`, filepath.Join(dir, "a")+"\n")
	})
}

func TestOwnEnds(t *testing.T) {
	s := open(t, shell.Options{})
	ctx, stop := context.WithCancel(t.Context())
	o, err := s.Own(ctx, `cd /; echo begun; cat /dev/zero > /dev/null`, func(text string) {
		if strings.Contains(text, "begun") {
			stop()
		}
	})
	if err != nil || !o.Cancelled || o.ExitCode != -1 || o.Dir == "/" || o.Timeout != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := s.Own(t.Context(), strings.Repeat("x", shell.MaxLine+1), nil); err == nil {
		t.Error("an endless line ran")
	}
	s.Close()
	if _, err := s.Own(t.Context(), "true", nil); err != shell.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}

// The sandbox is put to work and taken away between commands; a person's command is
// never in it, and what runs stays in the one it began in.
func TestSetSandbox(t *testing.T) {
	support := sandbox.Available()
	if !support.Files {
		t.Skip(support.Missing)
	}
	dir := tempDir(t)
	box, err := sandbox.Start(sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	s := open(t, shell.Options{Dir: dir})
	says(t, s, `export A=kept; touch one`, "")
	j := startJob(t, s, shell.Command{Line: `read x; touch job`})
	s.SetSandbox(box)
	o := run(t, s, shell.Command{Line: `echo $A; touch two`})
	if !strings.HasPrefix(o.Output.Text, "kept\n") || o.ExitCode == 0 || o.Denied == "" || !strings.Contains(o.Note, "sandbox has changed") {
		t.Errorf("%+v", o)
	}
	if o := own(t, s, `touch mine`); o.ExitCode != 0 || o.Denied != "" {
		t.Errorf("a person's command: %+v", o)
	}
	if err := j.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if <-j.Done(); j.Outcome().ExitCode != 0 {
		t.Errorf("a job that began outside: %+v", j.Outcome())
	}
	s.SetSandbox(nil)
	if o := run(t, s, shell.Command{Line: `touch two`}); o.ExitCode != 0 {
		t.Errorf("after it was taken away: %+v", o)
	}
}
