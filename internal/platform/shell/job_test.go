package shell_test

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/tool"
)

func startJob(t testing.TB, s *shell.Shells, c shell.Command) *shell.Job {
	t.Helper()
	j, err := s.Start(c)
	if err != nil {
		t.Fatalf("start %q: %v", c.Line, err)
	}
	return j
}

// unread waits until a job has written something that ends like want, and checks
// that it is nothing else.
func unread(t testing.TB, j *shell.Job, want string) {
	t.Helper()
	var got strings.Builder
	eventually(t, fmt.Sprintf("job %s writes %q", j.ID(), want), func() bool {
		got.WriteString(j.Unread().Text)
		return strings.HasSuffix(got.String(), want)
	})
	if got.String() != want {
		t.Errorf("job %s has written %q, want %q", j.ID(), got.String(), want)
	}
}

func TestJob(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		s := open(t, shell.Options{Shell: kind})
		says(t, s, `mkdir d; cd d; export A=1`, "")
		j := startJob(t, s, shell.Command{
			Line: `basename "$PWD"; while read line && test $line != end; do echo "$A$B $line"; done; sleep 0; exit 4`,
			Env:  map[string]string{"B": "2"}, Label: "an echo",
		})
		unread(t, j, "d\n")
		if err := j.Write([]byte("one\ntw")); err != nil {
			t.Fatal(err)
		}
		unread(t, j, "12 one\n")
		if err := j.Write([]byte("o\n")); err != nil {
			t.Fatal(err)
		}
		unread(t, j, "12 two\n")
		if o := j.Output(); o.Text != "d\n12 one\n12 two\n" || j.Outcome() != nil {
			t.Errorf("output %q, outcome %+v", o.Text, j.Outcome())
		}
		if err := j.Write([]byte("end\n")); err != nil {
			t.Fatal(err)
		}
		<-j.Done()
		o := j.Outcome()
		if o.ExitCode != 4 || o.Output.Text != "d\n12 one\n12 two\n" || o.TimedOut || o.Cancelled || o.Timeout != 0 {
			t.Errorf("outcome %+v", o)
		}
		if j.Unread().Text != "" {
			t.Errorf("unread at the end: %q", j.Unread().Text)
		}
		if err := j.Write([]byte("x")); err == nil {
			t.Error("input of a job that has ended")
		}
		if got, ok := s.Job("1"); !ok || got != j || j.ID() != "1" || j.Command().Label != "an echo" {
			t.Errorf("Job(1) is %v", got)
		}
		if _, ok := s.Job("2"); ok {
			t.Error("there is a job 2")
		}
	})
}

func TestJobIsKilled(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		s := open(t, shell.Options{Shell: kind, Dir: dir})
		j := startJob(t, s, shell.Command{Line: `sh -c 'sleep 60 & setsid sleep 60 & echo begin; wait'; echo on`})
		unread(t, j, "begin\n")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(j.Kill)
		}
		wg.Wait()
		if o := j.Outcome(); !o.Cancelled || o.ExitCode != -1 || strings.Contains(o.Output.Text, "on\n") {
			t.Errorf("outcome %+v", o)
		}
		if left := living(t, dir); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		j = startJob(t, s, shell.Command{Line: `sleep 60`, Timeout: time.Second})
		<-j.Done()
		if o := j.Outcome(); !o.TimedOut || o.Timeout != time.Second || o.Elapsed < time.Second || o.Elapsed > 40*time.Second {
			t.Errorf("outcome with a time-out: %+v", o)
		}
	})
}

func TestJobsAreLimited(t *testing.T) {
	s := open(t, shell.Options{MaxJobs: 2})
	a := startJob(t, s, shell.Command{Line: "cat", Label: "first"})
	startJob(t, s, shell.Command{Line: "cat -\ncat a-very-long-line-that-nobody-wants-to-see"})
	_, err := s.Start(shell.Command{Line: "cat"})
	if err == nil || !strings.Contains(err.Error(), "2 background jobs at a time is the maximum: kill 1 (first) or 2 (cat - …) first") {
		t.Errorf("a third job: %v", err)
	}
	a.Kill()
	if j := startJob(t, s, shell.Command{Line: "cat"}); j.ID() != "3" {
		t.Errorf("the next has the id %s", j.ID())
	}
	if jobs := s.Jobs(); len(jobs) != 3 || jobs[0] != a {
		t.Errorf("%d jobs", len(jobs))
	}
}

func TestEndedJobsAreForgotten(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := open(t, shell.Options{Shell: "sh"})
	running := startJob(t, s, shell.Command{Line: "read x"})
	for range 105 {
		<-startJob(t, s, shell.Command{Line: "true"}).Done()
	}
	jobs := s.Jobs()
	if len(jobs) != 102 || jobs[0] != running || jobs[1].ID() != "6" {
		t.Errorf("%d jobs, the second is %s", len(jobs), jobs[1].ID())
	}
}

func TestUnreadIsBounded(t *testing.T) {
	s := open(t, shell.Options{})
	j := startJob(t, s, shell.Command{Line: `seq 100000`})
	<-j.Done()
	o := j.Unread()
	if !o.Truncated || o.Lines != 100000 || len(o.Text) > 51<<10 || !strings.HasSuffix(o.Text, "\n99999\n100000\n") {
		t.Errorf("truncated %v, %d lines, %d bytes", o.Truncated, o.Lines, len(o.Text))
	}
	if o := j.Unread(); o.Text != "" || o.Lines != 0 {
		t.Errorf("the second time: %+v", o)
	}
}

func TestInputIsNotRead(t *testing.T) {
	s := open(t, shell.Options{})
	for _, tty := range []bool{false, true} {
		j := startJob(t, s, shell.Command{Line: `stty raw -echo 2>/dev/null; echo begin; sleep 60`, TTY: tty})
		unread(t, j, "begin\n")
		j.SetPatience(50 * time.Millisecond)
		err := j.Write(make([]byte, 1<<20))
		if err == nil || !strings.Contains(err.Error(), "does not read its input") {
			t.Errorf("a megabyte that nobody reads, terminal %v: %v", tty, err)
		}
		j.Kill()
	}
}

func TestTerminal(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		s := open(t, shell.Options{Shell: kind, Env: map[string]string{"A": "1"}})
		o := run(t, s, shell.Command{Line: `test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty; echo $A; printf '\033[1mx\033[0m\n'; exit 3`, TTY: true})
		if o.Output.Text != "40 120\n1\nx\n" || o.ExitCode != 3 {
			t.Errorf("outcome: %+v", o)
		}
		j := startJob(t, s, shell.Command{Line: `stty -echo; printf 'name? '; read name; stty size; echo "hello $name"; cat; echo end`, TTY: true})
		unread(t, j, "name? ")
		if err := j.Write([]byte("burin\r")); err != nil {
			t.Fatal(err)
		}
		unread(t, j, "40 120\nhello burin\n")
		if err := j.Write([]byte{4}); err != nil { // Ctrl-D
			t.Fatal(err)
		}
		<-j.Done()
		if o := j.Outcome(); o.ExitCode != 0 || !strings.HasSuffix(o.Output.Text, "hello burin\nend\n") {
			t.Errorf("outcome: %+v", o)
		}
		j = startJob(t, s, shell.Command{Line: `sh -c 'echo begin; exec sleep 60'; echo more`, TTY: true})
		unread(t, j, "begin\n")                    // of the program itself: it is there, and gets the signal
		if err := j.Write([]byte{3}); err != nil { // Ctrl-C
			t.Fatal(err)
		}
		<-j.Done()
		if o := j.Outcome(); o.ExitCode != 130 || o.Cancelled {
			t.Errorf("after Ctrl-C: %+v", o)
		}
	})
}

// The terminal sends Ctrl-C to the whole group, and a busy machine may let the program
// die of it well before the shell in burin sees its own: nothing more is run then.
func TestTerminalSignalIsLate(t *testing.T) {
	s := open(t, shell.Options{Shell: "builtin"})
	line := `sh -c '{ kill -INT $$; sleep 0.05; kill -INT $PPID; } & wait'; echo more`
	if o := run(t, s, shell.Command{Line: line, TTY: true}); o.ExitCode != 130 || strings.Contains(o.Output.Text, "more") {
		t.Errorf("outcome: %+v", o)
	}
}

// artifacts keeps artifacts in memory.
type artifacts struct{ all []*artifact }

type artifact struct {
	bytes.Buffer
	id string
}

func (a *artifact) ID() string   { return a.id }
func (a *artifact) Close() error { return nil }

func (a *artifacts) Create(string) (tool.Artifact, error) {
	a.all = append(a.all, &artifact{id: strconv.Itoa(len(a.all))})
	return a.all[len(a.all)-1], nil
}

func (a *artifacts) Open(string) (tool.ArtifactReader, error) { return nil, io.EOF }

func TestLongOutput(t *testing.T) {
	kept := &artifacts{}
	s := open(t, shell.Options{Artifacts: kept})
	o := run(t, s, shell.Command{Line: `seq 200000; printf 'no newline' >&2; exit 1`})
	if o.ExitCode != 1 || !o.Output.Truncated || o.Output.Artifact != "0" || len(o.Output.Text) > 51<<10 {
		t.Errorf("outcome: code %d, truncated %v, %d bytes", o.ExitCode, o.Output.Truncated, len(o.Output.Text))
	}
	if !strings.HasPrefix(o.Output.Text, "1\n2\n") || !strings.HasSuffix(o.Output.Text, "\n200000\nno newline") {
		t.Errorf("not the beginning and the end: %.20q", o.Output.Text)
	}
	var want strings.Builder
	for i := range 200000 {
		fmt.Fprintln(&want, i+1)
	}
	if got := kept.all[0].String(); got != want.String()+"no newline" {
		t.Errorf("the artifact has %d bytes, want %d", len(got), want.Len()+10)
	}
}
