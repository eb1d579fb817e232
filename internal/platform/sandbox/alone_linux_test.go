//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// alone runs a trial of the test binary alone and gives what it says of a failure.
func alone(t testing.TB, name string, env []string, writable ...string) (said string, err error) {
	t.Helper()
	return tried(t, name, env, func(cmd *exec.Cmd) error { return sandbox.Alone(cmd, writable...) })
}

func tried(t testing.TB, name string, env []string, run func(*exec.Cmd) error) (said string, err error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), trial+"="+name), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err = run(cmd)
	return out.String(), err
}

// aloneTrials are what a program that is alone tries.
func aloneTrials() map[string]func() error {
	out := os.Getenv("OUT")
	return map[string]func() error{
		"alone: read": func() error { _, err := os.ReadFile(filepath.Join(out, "file")); return err },
		"alone: threads": func() error {
			var wg sync.WaitGroup
			failed := make([]error, 20)
			for i := range failed {
				wg.Go(func() { sandbox.OnThread(func() { _, failed[i] = os.ReadDir("/") }) })
			}
			wg.Wait()
			return errors.Join(failed...)
		},
		"alone: write":      func() error { return os.WriteFile(filepath.Join(out, "file"), []byte("x"), 0o600) },
		"alone: create":     func() error { return os.WriteFile(filepath.Join(out, "new"), []byte("x"), 0o600) },
		"alone: start":      func() error { return exec.Command("/bin/true").Run() },
		"alone: start self": func() error { return exec.Command("/proc/self/exe").Run() },
		"alone: fork": func() error {
			pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
			if err == nil {
				_, err = syscall.Wait4(pid, nil, 0, nil)
			}
			return err
		},
		"alone: exec":        func() error { return unix.Exec("/bin/true", []string{"true"}, nil) },
		"alone: exec script": func() error { return unix.Exec(filepath.Join(out, "script"), []string{"script"}, nil) },
		"alone: connect": func() error {
			c, err := net.Dial("tcp", os.Getenv("ADDRESS"))
			if err == nil {
				err = c.Close()
			}
			return err
		},
		"alone: unix socket": func() error {
			_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return err
		},
		"alone: terminal": func() error { _, err := os.Open("/dev/tty"); return err },
	}
}

func TestAloneExecutesNothing(t *testing.T) {
	needLandlock(t)
	out := folder(t)
	write(t, filepath.Join(out, "file"), "text")
	write(t, filepath.Join(out, "script"), "#!/bin/sh\ntrue\n")
	if err := os.Chmod(filepath.Join(out, "script"), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	env := []string{"OUT=" + out, "ADDRESS=" + listener.Addr().String()}
	for name := range aloneTrials() {
		said, err := alone(t, name, env)
		if works := name == "alone: read" || name == "alone: threads"; (err == nil) != works {
			t.Errorf("%s: done %v: %s", name, err == nil, said)
		}
	}
	if said, err := alone(t, "alone: create", env, out); err != nil {
		t.Errorf("in a writable folder: %v: %s", err, said)
	}
	if said, err := alone(t, "alone: exec script", env, out); err == nil {
		t.Errorf("a file that can be written can be executed: %s", said)
	}
	// Nothing of that holds burin itself.
	if err := exec.Command("/bin/true").Run(); err != nil {
		t.Errorf("after it, burin cannot start programs: %v", err)
	}
}

// A sealed program can do less than one that is alone: it reads no file either.
func TestSealedReadsNothing(t *testing.T) {
	needLandlock(t)
	out := folder(t)
	write(t, filepath.Join(out, "file"), "text")
	env := []string{"OUT=" + out, "ADDRESS=127.0.0.1:9"}
	for name := range aloneTrials() {
		if said, err := tried(t, name, env, sandbox.Sealed); (err == nil) != (name == "alone: threads") {
			t.Errorf("%s: done %v: %s", name, err == nil, said)
		}
	}
}

func TestAloneEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sleep", "600")
	if err := sandbox.Alone(cmd); err == nil || cmd.ProcessState == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("%v, %v", err, cmd.ProcessState)
	}
}

func TestAloneRefusesScripts(t *testing.T) {
	script := filepath.Join(folder(t), "script")
	write(t, script, "#!/bin/sh\necho ran\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	if err := sandbox.Alone(cmd); err == nil || !strings.Contains(err.Error(), "ELF") || cmd.Process != nil {
		t.Errorf("a script: %v", err)
	}
	if err := sandbox.Alone(exec.Command("no-such-program")); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// The ratio of the two is what confining costs.
func BenchmarkAlone(b *testing.B) {
	needLandlock(b)
	for name, run := range map[string]func(*exec.Cmd) error{"alone": func(c *exec.Cmd) error { return sandbox.Alone(c) }, "free": (*exec.Cmd).Run} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(exec.Command("/bin/true")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
