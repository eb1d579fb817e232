//go:build unix

package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/platform/process"
)

// middle makes the test binary play burin: it starts the script of this variable
// under a guard and waits to be killed.
const middle = "BURIN_TEST_MIDDLE"

func TestMain(m *testing.M) {
	process.Main()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or each guard of a race-tested binary ends a second late
	if script := os.Getenv(middle); script != "" {
		playBurin(script)
	}
	goleak.VerifyTestMain(m)
}

// playBurin starts script three times, says so, and waits for its end.
func playBurin(script string) {
	for range 3 {
		cmd, err := process.Command(process.Options{}, "sh", "-c", script)
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			fmt.Println("cannot start:", err)
			os.Exit(1)
		}
		go func() { _ = cmd.Wait() }()
	}
	fmt.Println("on")
	select {}
}

// patience is how long tests wait for what must happen: long, because a machine may do
// much else.
const patience = time.Minute

// soon is how long what burin has started may outlive it. Only a machine that does nothing
// else can be held to it; what is not ended stays for five minutes.
func soon() time.Duration {
	if os.Getenv("BURIN_BUDGETS") == "1" {
		return 2 * time.Second
	}
	return patience
}

// eventually polls until done.
func eventually(t *testing.T, what string, limit time.Duration, done func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// command prepares a shell command.
func command(t *testing.T, o process.Options, script string) *exec.Cmd {
	t.Helper()
	cmd, err := process.Command(o, "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// output runs a shell command and gives what it wrote to both streams.
func output(t *testing.T, o process.Options, script string) string {
	t.Helper()
	out, err := command(t, o, script).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", script, err)
	}
	return string(out)
}

// start starts a shell command and waits for the first line that it writes.
func start(t *testing.T, o process.Options, script string) (cmd *exec.Cmd, line string) {
	t.Helper()
	cmd = command(t, o, script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill(cmd)
		_ = cmd.Wait() // a second time if the test has waited
	})
	var text []byte
	for b := make([]byte, 1); ; {
		if _, err := out.Read(b); err != nil {
			t.Fatalf("%s: %v after %q", script, err, text)
		}
		if b[0] == '\n' {
			return cmd, string(text)
		}
		text = append(text, b[0])
	}
}

func TestStatusIsTheProgrammes(t *testing.T) {
	for _, tt := range []struct {
		script string
		code   int
		signal syscall.Signal
	}{
		{script: "exit 0"},
		{script: "exit 3", code: 3},
		{script: "exit 255", code: 255},
		{script: "kill -KILL $$", signal: syscall.SIGKILL},
		{script: "kill -TERM $$", signal: syscall.SIGTERM},
		{script: "kill -INT $$", signal: syscall.SIGINT},
		{script: "kill -SEGV $$", signal: syscall.SIGSEGV},
		{script: "kill -PIPE $$", signal: syscall.SIGPIPE},
		{script: "kill -CHLD $$; kill -HUP $$", signal: syscall.SIGHUP},
		{script: "sleep 300 & exit 4", code: 4},
	} {
		cmd := command(t, process.Options{}, tt.script)
		_ = cmd.Run()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if tt.signal != 0 {
			if !status.Signaled() || status.Signal() != tt.signal {
				t.Errorf("%s: %v, want %v", tt.script, cmd.ProcessState, tt.signal)
			}
		} else if !status.Exited() || status.ExitStatus() != tt.code {
			t.Errorf("%s: %v, want code %d", tt.script, cmd.ProcessState, tt.code)
		}
	}
}

func TestProgramsThatCannotStart(t *testing.T) {
	if _, err := process.Command(process.Options{}, "no-such-program-anywhere"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := process.Command(process.Options{Sandbox: make([]byte, 200_000)}, "sh"); err == nil {
		t.Error("a policy of 200 KB is accepted")
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, says string
		code       int
	}{
		{"/nonexistent/program", "/nonexistent/program: no such file or directory\n", 127},
		{text, text + ": exec format error\n", 126},
	} {
		cmd, err := process.Command(process.Options{}, tt.path)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := cmd.CombinedOutput()
		if string(out) != tt.says || cmd.ProcessState.ExitCode() != tt.code {
			t.Errorf("%s: says %q with code %d, want %q with %d", tt.path, out, cmd.ProcessState.ExitCode(), tt.says, tt.code)
		}
	}
}

func TestStreamsFolderEnvironmentArguments(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := process.Command(process.Options{Dir: dir, Env: []string{"PATH=/usr/bin:/bin", "A=b c"}},
		"sh", "-c", `cat; pwd; echo "$A|$0|$1|$#|$HOME"; echo err >&2`, "zero", "", "(guard)")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader("in\n")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("in\n"+dir+"\nb c|zero||2|\n", out.String()); diff != "" {
		t.Error(diff)
	}
	if errs.String() != "err\n" {
		t.Errorf("standard error: %q", errs.String())
	}
}

// The guard holds no end of the program's streams: the reader sees the program
// close them while it runs on.
func TestClosedStreamIsSeen(t *testing.T) {
	cmd := command(t, process.Options{}, "echo out; exec >&- 2>&-; sleep 300")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if string(text) != "out\n" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	process.Kill(cmd)
	if err := cmd.Wait(); err == nil {
		t.Error("a program that was killed ended well")
	}
}

func TestExtraFiles(t *testing.T) {
	var files []*os.File
	for i := range 3 {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fmt.Fprintf(f, "file %d\n", i)
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	got := output(t, process.Options{ExtraFiles: files}, "cat <&5; cat <&3; cat <&4; (: <&6) 2>/dev/null || echo no more")
	if diff := cmp.Diff("file 2\nfile 0\nfile 1\nno more\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsLeftAfterWait(t *testing.T) {
	dir := t.TempDir()
	output(t, process.Options{Dir: dir}, `
		sleep 300 & echo $! >> pids
		sh -c 'echo $$ >> pids; trap "" TERM HUP INT; while :; do sleep 300; done' &
		(sh -c 'echo $$ >> pids; exec sleep 300' &)
		while [ $(wc -l < pids) -lt 3 ]; do sleep 0.01; done`)
	pids, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(pids)) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is left", pid)
		}
	}
}

func TestKill(t *testing.T) {
	process.Kill(command(t, process.Options{}, "true")) // not started: nothing happens
	cmd, _ := start(t, process.Options{}, `trap "" TERM INT HUP; sleep 300 & echo on; while :; do sleep 300; done`)
	below := process.Descendants(cmd.Process.Pid)
	if len(below) < 2 {
		t.Fatalf("the tree is %v", below)
	}
	for range 3 {
		go process.Kill(cmd)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a killed program ended well")
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	process.Kill(cmd) // ended: nothing happens
	for _, pid := range below {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is left", pid)
		}
	}
}

// A kill that comes before the guard has begun its work ends it too.
func TestKillAtOnce(t *testing.T) {
	for range 20 {
		cmd := command(t, process.Options{}, "sleep 300")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		process.Kill(cmd)
		if err := cmd.Wait(); err == nil {
			t.Error("a killed program ended well")
		}
	}
}

func TestTerminate(t *testing.T) {
	process.Terminate(command(t, process.Options{}, "true"))
	cmd, _ := start(t, process.Options{}, `trap "exit 7" TERM; echo on; while :; do sleep 0.01; done`)
	process.Terminate(cmd)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the program was not asked to end: %v", err)
	}
}

func TestContextKills(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd, err := process.CommandContext(ctx, process.Options{}, "sh", "-c", "sleep 300 & sleep 300")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a cancelled program ended well")
	}
}

func TestDescendantsAreDeepestFirst(t *testing.T) {
	cmd, _ := start(t, process.Options{}, `sh -c 'sh -c "echo on; sleep 300; :"; :'; :`)
	eventually(t, "a chain of four", patience, func() bool { return len(process.Descendants(cmd.Process.Pid)) == 4 })
	chain := process.Descendants(cmd.Process.Pid)
	for i, pid := range chain[:3] {
		if below := process.Descendants(chain[i+1]); len(below) != i+1 || below[i] != pid {
			t.Errorf("of %v, below number %d there is %v", chain, i+1, below)
		}
	}
	if got := process.Descendants(1 << 30); len(got) != 0 {
		t.Errorf("below a process that is not there: %v", got)
	}
}
