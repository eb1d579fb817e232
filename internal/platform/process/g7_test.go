//go:build linux

package process_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process"
)

// tag marks processes by a variable that they pass on.
func tag(t *testing.T) string {
	return fmt.Sprintf("BURIN_TEST_TAG=%s-%d-%d", t.Name(), os.Getpid(), time.Now().UnixNano())
}

// tagged are the living processes that have the variable.
func tagged(tag string) []int {
	var pids []int
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		environ, err := os.ReadFile(name) // empty for a zombie
		if err == nil && bytes.Contains(environ, []byte(tag)) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// startMiddle starts a process that plays burin, in a process group of its own.
func startMiddle(t *testing.T, tag, script string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	burin := exec.Command(self)
	burin.Env = append(os.Environ(), tag, middle+"="+script)
	burin.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	burin.Stderr = os.Stderr
	out, err := burin.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := burin.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = burin.Process.Kill()
		_ = burin.Wait() // a second time if the test has waited
		for _, pid := range tagged(tag) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	line := make([]byte, 100)
	if n, err := out.Read(line); err != nil || string(line[:n]) != "on\n" {
		t.Fatalf("the middle process says %q, %v", line[:n], err)
	}
	return burin
}

// forking is a set of processes that replace themselves by others all the time. It
// does not grow, and ends by itself.
const forking = `f() { if [ $1 -gt 0 ]; then (f $(($1 - 1)) &); fi; }; f 3000 & f 3000 & f 3000 & f 3000 & sleep 300`

// Guarantee: burin is killed with all kinds of trees below it, and two seconds
// later none of their processes is left.
func TestNothingSurvivesKillMinusNine(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		processes    int // at least, of three scripts, with guards and burin
	}{
		{"plain", "sleep 300", 7},
		{"left behind", "setsid sleep 300 & nohup sleep 300 >/dev/null 2>&1 & (sleep 300 &) ; (setsid setsid sleep 300 &); sleep 300", 16},
		{"deaf", `trap "" TERM INT HUP QUIT; (trap "" TERM; setsid sleep 300 &); while :; do sleep 300; done`, 13},
		{"stopped", "sleep 300 & kill -STOP $!; kill -STOP $$", 10},
		{"forking", forking, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tag := tag(t)
			burin := startMiddle(t, tag, tt.script)
			eventually(t, "the trees stand", patience, func() bool { return len(tagged(tag)) >= tt.processes })
			if err := burin.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "nothing is left", soon(), func() bool { return len(tagged(tag)) == 0 })
		})
	}
}

// Signals that meet a whole group, and guards that were stopped, change nothing.
func TestNothingSurvivesUnfriendlyEnds(t *testing.T) {
	const script = "setsid sleep 300 & sleep 300"
	stop := func(t *testing.T, burin int) {
		guards := signalGuards(burin, syscall.SIGSTOP)
		eventually(t, "the guards stand still", patience, func() bool {
			for _, pid := range guards {
				threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
				for _, thread := range threads {
					if state, _ := os.ReadFile(thread); !strings.Contains(string(state), ") T ") {
						return false
					}
				}
			}
			return len(guards) == 3
		})
	}
	for name, end := range map[string]func(t *testing.T, burin int){
		"group killed":  func(_ *testing.T, burin int) { _ = syscall.Kill(-burin, syscall.SIGKILL) },
		"group hung up": func(_ *testing.T, burin int) { _ = syscall.Kill(-burin, syscall.SIGHUP) },
		"guards get signals": func(_ *testing.T, burin int) {
			_ = signalGuards(burin, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR2)
		},
		"guards stopped": stop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tag := tag(t)
			burin := startMiddle(t, tag, script)
			eventually(t, "the trees stand", patience, func() bool { return len(tagged(tag)) >= 13 })
			end(t, burin.Process.Pid)
			_ = burin.Process.Kill()
			eventually(t, "nothing is left", soon(), func() bool { return len(tagged(tag)) == 0 })
		})
	}
}

func signalGuards(burin int, signals ...syscall.Signal) (guards []int) {
	for _, pid := range process.Descendants(burin) {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if string(name) == "(guard)\n" {
			guards = append(guards, pid)
			for _, s := range signals {
				_ = syscall.Kill(pid, s)
			}
		}
	}
	return guards
}

// A guard that is killed takes its program with it.
func TestProgramDiesWithGuard(t *testing.T) {
	cmd, line := start(t, process.Options{}, "echo $$; exec sleep 300")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "the program is gone", patience, func() bool {
		state, err := os.ReadFile("/proc/" + line + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ") // reaped by whoever adopted it
	})
}

func TestKillStopsForkLoops(t *testing.T) {
	for range 5 {
		tag := tag(t)
		cmd, _ := start(t, process.Options{Env: append(os.Environ(), tag)}, "echo on; "+forking)
		eventually(t, "it forks", patience, func() bool { return len(tagged(tag)) >= 3 }) // guard, shell, sleep and what forks
		process.Kill(cmd)
		_ = cmd.Wait()
		if left := tagged(tag); len(left) > 0 {
			t.Errorf("%d processes are left", len(left))
		}
	}
}

func TestSessionAndDescriptors(t *testing.T) {
	leaked, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0) // inherited by whatever is started
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	got := output(t, process.Options{}, `
		set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $6 = $$ ] && [ $7 = 0 ] && echo leads a session without terminal
		(: </dev/tty) 2>/dev/null || echo no terminal
		ls /proc/$$/fd`)
	if want := "leads a session without terminal\nno terminal\n0\n1\n2\n"; !strings.HasPrefix(got, want) || strings.Count(got, "\n") > 6 {
		t.Errorf("got\n%s", got) // the shell may hold its own beyond 2
	}
}

func TestTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd := command(t, process.Options{TTY: true}, "tty </dev/tty >/dev/null && echo mine; stty noflsh; trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	var text []byte
	typed := false
	for b := make([]byte, 200); ; {
		n, err := master.Read(b)
		text = append(text, b[:n]...)
		if !typed && bytes.Contains(text, []byte("ready")) {
			typed = true
			if _, err := master.Write([]byte{3}); err != nil { // Ctrl-C
				t.Fatal(err)
			}
		}
		if err != nil { // EIO: nobody holds the other side any more
			break
		}
	}
	_ = cmd.Wait()
	if got := strings.ReplaceAll(string(text), "\r", ""); got != "mine\nready\n^Ccaught\n" || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("the terminal shows %q, the program ended with %v", got, cmd.ProcessState)
	}
}

func TestManyAtOnce(t *testing.T) {
	pacetest.Costly(t)
	descriptors := func() int {
		names, _ := os.ReadDir("/proc/self/fd")
		return len(names)
	}
	output(t, process.Options{}, "true") // whatever opens once is open now
	before := descriptors()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			cmd, err := process.Command(process.Options{}, "sh", "-c", fmt.Sprintf("sleep 300 & cat; exit %d", i))
			if err != nil {
				t.Error(err)
				return
			}
			cmd.Stdin = strings.NewReader(strings.Repeat("x", 100_000))
			var out bytes.Buffer
			cmd.Stdout = &out
			_ = cmd.Run()
			if out.Len() != 100_000 || cmd.ProcessState.ExitCode() != i {
				t.Errorf("command %d: %d bytes, %v", i, out.Len(), cmd.ProcessState)
			}
		})
	}
	all.Wait()
	if after := descriptors(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if left := process.Descendants(os.Getpid()); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// Who calls the executable by the guard's name gets nothing that a program could
// not do anyway, and not by accident.
func TestGuardsNeedBurin(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command(self)
	stranger.Args = []string{"(guard)", "1", "0", "false", "", "/bin/echo", "echo", "started"}
	out, _ := stranger.CombinedOutput()
	if got := string(out); got != "echo: burin (process 1) has ended\n" {
		t.Errorf("a guard of another process says %q", got)
	}
	// A main that does not call process.Main must not start guards without end.
	forgetful := exec.Command(self, "-test.run=^TestCommandInGuard$")
	forgetful.Args[0] = "(guard)"
	if out, err := forgetful.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCommandInGuard(t *testing.T) {
	if os.Args[0] != "(guard)" {
		t.Skip("run by TestGuardsNeedBurin")
	}
	if _, err := process.Command(process.Options{}, "true"); err == nil || !strings.Contains(err.Error(), "process.Main") {
		t.Errorf("a guard starts guards: %v", err)
	}
}

// The last words of a program reach the other side of the terminal.
func TestTerminalLosesNothing(t *testing.T) {
	pacetest.Costly(t)
	for range 50 {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		cmd := command(t, process.Options{TTY: true}, "echo last words")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		slave.Close()
		text, _ := io.ReadAll(master) // ends with EIO
		if err := cmd.Wait(); err != nil || string(text) != "last words\r\n" {
			t.Errorf("%v: the terminal shows %q", err, text)
		}
		master.Close()
	}
}
