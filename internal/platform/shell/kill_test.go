package shell_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/shell"
)

// Variables that make this test's executable a burin to be killed.
const (
	victimDir  = "SHELL_TEST_VICTIM_DIR"
	victimKind = "SHELL_TEST_VICTIM_SHELL"
)

// trees start processes in all the ways that escape from a shell.
var trees = []string{
	`sleep 300 & sh -c 'sleep 300 & sleep 300' & echo started; sleep 300`,
	`setsid sleep 300 & nohup sleep 300 >/dev/null 2>&1 & (setsid sh -c '(sleep 300 &) ; (trap "" TERM HUP; sleep 300 & wait) &' &) ; echo started; wait; sleep 300`,
}

// victim starts trees in every way that shells can, says so, and waits to be
// killed.
func victim() {
	s, err := shell.Open(shell.Options{Dir: os.Getenv(victimDir), Shell: os.Getenv(victimKind)})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	started := make(chan string, 100)
	for range 2 { // one in the shell, one apart
		for _, line := range trees {
			go func() {
				_, err := s.Run(context.Background(), shell.Command{Line: line}, func(string) { started <- "run" })
				fmt.Println("a command ended", err)
			}()
		}
	}
	for range 2 * len(trees) {
		<-started
	}
	for _, tty := range []bool{false, true} {
		for _, line := range trees {
			j, err := s.Start(shell.Command{Line: line, TTY: tty})
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			for !strings.Contains(j.Output().Text, "started") {
				<-time.After(time.Millisecond)
			}
		}
	}
	fmt.Println("ready")
	select {}
}

// What runs when burin is killed does not outlive it.
func TestNothingOutlivesBurin(t *testing.T) {
	pacetest.Costly(t)
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), victimDir+"="+dir, victimKind+"="+kind)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Skip(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if line != "ready\n" {
			t.Errorf("the victim says %q", line)
		}
		eventually(t, "the trees have grown", func() bool { return len(living(t, dir)) >= 10 })
		below := process.Descendants(cmd.Process.Pid) // guards too
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		killed := time.Now()
		_ = cmd.Wait()
		eventually(t, "all processes of the victim have ended", func() bool {
			alive := func(pid int) bool { return status(strconv.Itoa(pid)) != "" }
			return len(living(t, dir)) == 0 && !slices.ContainsFunc(below, alive)
		})
		limit := 2 * time.Second
		if os.Getenv("BURIN_BUDGETS") != "1" { // the machine may be busy; what is left behind stays for long
			limit = 40 * time.Second
		}
		if took := time.Since(killed); took > limit {
			t.Errorf("after %s", took)
		}
	})
}

// Close ends everything within a second, also what does not want to end. A busy
// machine gets many tries.
func TestClose(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(filepath.Base(kind), func(t *testing.T) {
			var took []time.Duration
			for range 12 {
				took = append(took, closing(t, kind))
				if slices.Min(took) < time.Second {
					return
				}
			}
			t.Errorf("Close took %s", took)
		})
	}
}

// closing closes shells in which much runs, checks that nothing is left, and says
// how long Close took.
func closing(t *testing.T, kind string) time.Duration {
	dir := tempDir(t)
	s, err := shell.Open(shell.Options{Dir: dir, Shell: kind})
	if err != nil {
		t.Fatal(err)
	}
	stubborn := `sh -c 'trap "" TERM HUP; echo started; while :; do sleep 1; done'`
	outcome := make(chan *shell.Outcome, 2)
	started := make(chan struct{}, 2)
	for range 2 {
		go func() {
			o, err := s.Run(context.Background(), shell.Command{Line: stubborn}, func(string) { started <- struct{}{} })
			if err != nil {
				t.Error(err)
			}
			outcome <- o
		}()
	}
	<-started
	<-started
	j, err := s.Start(shell.Command{Line: stubborn, TTY: true})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	took := time.Since(begun)
	if left := living(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	for range 2 {
		if o := <-outcome; !o.Cancelled || o.Output.Text != "started\n" {
			t.Errorf("a command that was running: %+v", o)
		}
	}
	if o := j.Outcome(); o == nil || !o.Cancelled {
		t.Errorf("the job: %+v", o)
	}
	s.Warm()
	if _, err := s.Run(context.Background(), shell.Command{Line: "true"}, nil); err != shell.ErrClosed {
		t.Errorf("Run after Close: %v", err)
	}
	if _, err := s.Start(shell.Command{Line: "true"}); err != shell.ErrClosed {
		t.Errorf("Start after Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return took
}
