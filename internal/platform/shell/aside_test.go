package shell_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/shell"
)

func TestAside(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		s := open(t, shell.Options{Dir: dir, Shell: kind})
		run := func(a shell.Aside) shell.AsideOutcome {
			t.Helper()
			if a.Timeout == 0 {
				a.Timeout = time.Minute
			}
			o, err := s.Aside(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		o := run(shell.Aside{Line: `read -r line; echo "got $line in $WHERE"; echo no >&2; exit 2`, Input: []byte("{\"a\": 1}\n"), Env: []string{"WHERE=here"}})
		if o.Stdout != "got {\"a\": 1} in here\n" || o.Stderr != "no\n" || o.ExitCode != 2 || o.TimedOut {
			t.Errorf("%+v", o)
		}
		if o := run(shell.Aside{Line: "echo early", Input: []byte(strings.Repeat("x", 1<<20))}); o.Stdout != "early\n" || o.ExitCode != 0 {
			t.Errorf("input that nobody reads: %+v", o)
		}
		if o := run(shell.Aside{Line: "while :; do echo 0123456789012345678901234567890123456789; done", Timeout: 500 * time.Millisecond}); !o.TimedOut || len(o.Stdout) > 1<<20 {
			t.Errorf("endless: timed out %v, %d bytes", o.TimedOut, len(o.Stdout))
		}
		ended := make(chan error)
		go func() {
			_, err := s.Aside(context.Background(), shell.Aside{Line: "sleep 60 & sleep 60", Timeout: time.Minute})
			ended <- err
		}()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil && !errors.Is(err, shell.ErrClosed) {
			t.Error(err)
		}
		if left := living(t, dir); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		if _, err := s.Aside(context.Background(), shell.Aside{Line: "true", Timeout: time.Second}); !errors.Is(err, shell.ErrClosed) {
			t.Errorf("closed shells run a program: %v", err)
		}
	})
}
