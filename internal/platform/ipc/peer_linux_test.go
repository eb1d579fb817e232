package ipc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/ipc"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/shell"
)

// begin starts the test binary in a role, as a user, and waits for its first line.
func begin(t *testing.T, what, a string, user uint32) (pid int, line string) {
	t.Helper()
	exe := copied(t)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), role+"="+what, address+"="+a)
	if user != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	out, err := cmd.StdoutPipe()
	do(t, err, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err = firstLine(out)
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, line
}

// copied is the test binary where every user can run it.
func copied(t *testing.T) string {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	do(t, err)
	defer from.Close()
	dir := folder(t)
	do(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "test")
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755)
	do(t, err)
	_, err = io.Copy(to, from)
	do(t, err, to.Close())
	return path
}

func TestPeer(t *testing.T) {
	a := newAddress(t)
	l := listen(t, a)
	accepted := acceptOne(l)
	pid, _ := begin(t, "dial", a, 0)
	c := <-accepted
	defer c.Close()
	if got, err := ipc.Peer(c); got != pid || err != nil {
		t.Errorf("the client is %d, %v, want %d", got, err, pid)
	}
	for of, want := range map[int]bool{os.Getpid(): true, pid: true} {
		if got, err := ipc.PeerDescends(c, of); got != want || err != nil {
			t.Errorf("the client descends from %d: %v, %v", of, got, err)
		}
	}
	if got, err := ipc.Descends(os.Getpid(), pid); got || err != nil {
		t.Errorf("a parent descends from its child: %v, %v", got, err)
	}
	// When it has ended, its number can be anybody's: nothing is said of it.
	do(t, unix.Kill(pid, unix.SIGKILL))
	eventually(t, "an answer about an ended process", func() bool {
		_, err := ipc.PeerDescends(c, os.Getpid())
		return err != nil
	})
	client, owner := pair(t)
	for _, end := range []net.Conn{client, owner} {
		if got, err := ipc.Peer(end); got != os.Getpid() || err != nil {
			t.Errorf("this process is %d, %v", got, err)
		}
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(what)
		}
	}
}

// Should a socket be reachable by another user after all, each end refuses.
func TestOtherUser(t *testing.T) {
	asRoot(t)
	a := newAddress(t)
	l := listen(t, a)
	// It is opened to all, as a careless person might.
	for dir := filepath.Dir(a); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		do(t, os.Chmod(dir, 0o777))
	}
	do(t, os.Chmod(a, 0o666))
	accepted := acceptOne(l)
	begin(t, "dial raw", a, nobody) // connected, as the kernel allows it, and closed
	c, err := ipc.Dial(t.Context(), a)
	do(t, err)
	defer c.Close()
	owner := <-accepted
	defer owner.Close()
	if pid, err := ipc.Peer(owner); pid != os.Getpid() || err != nil {
		t.Errorf("accepted %d, %v", pid, err)
	}

	theirs := filepath.Join(filepath.Dir(a), "theirs")
	begin(t, "listen raw", theirs, nobody)
	for _, call := range []func() error{
		func() error { _, err := ipc.Dial(t.Context(), theirs); return err },
		func() error { _, err := ipc.Listen(theirs); return err },
		func() error { // even if the file is ours
			do(t, os.Chown(theirs, 0, 0))
			_, err := ipc.Dial(t.Context(), theirs)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("a socket of another user: %v", err)
		}
	}
}

// start is a command line that connects.
func start(a string) string {
	return fmt.Sprintf("env %s=dial %s=%s %s", role, address, a, "/proc/"+fmt.Sprint(os.Getpid())+"/exe")
}

// What an unconfined command starts, in whatever way, is found by its parents.
func TestCommandsDescend(t *testing.T) {
	a := newAddress(t)
	l := listen(t, a)
	dir := folder(t)
	s, err := shell.Open(shell.Options{Dir: dir})
	do(t, err)
	defer s.Close()
	for name, line := range map[string]string{
		"child":      start(a),
		"grandchild": "sh -c '(" + start(a) + ")'",
		"daemon":     "setsid sh -c '(setsid " + start(a) + " >/dev/null 2>&1 &)' & wait",
		"background": "nohup " + start(a) + " >/dev/null 2>&1 &",
	} {
		t.Run(name, func(t *testing.T) {
			accepted := acceptOne(l)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = s.Run(ctx, shell.Command{Line: line}, nil)
			}()
			c := <-accepted
			if name == "daemon" { // all its parents but the guard have ended
				<-ended
			}
			if does, err := ipc.PeerDescends(c, os.Getpid()); !does || err != nil {
				t.Errorf("it descends: %v, %v", does, err)
			}
			c.Close()
			cancel()
			<-ended
		})
	}
	accepted := acceptOne(l)
	c, err := ipc.Dial(t.Context(), a)
	do(t, err)
	defer c.Close()
	owner := <-accepted
	defer owner.Close()
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	do(t, err, cat.Start())
	defer func() { in.Close(); _ = cat.Wait() }()
	if does, err := ipc.PeerDescends(owner, cat.Process.Pid); does || err != nil {
		t.Errorf("another process descends: %v, %v", does, err)
	}
}

// A confined command can't connect, even where it may write.
func TestConfinedCommandsCannotConnect(t *testing.T) {
	support := sandbox.Available()
	if !support.Files || !support.Network {
		t.Skip(support.Missing)
	}
	work, runtime, writable := folder(t), folder(t), folder(t)
	exe := copied(t)
	box, err := sandbox.Start(sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: work, Writable: []string{writable}})
	do(t, err)
	defer box.Close()
	s, err := shell.Open(shell.Options{Dir: work, Sandbox: box})
	do(t, err)
	defer s.Close()
	for _, dir := range []string{runtime, writable} {
		a, err := ipc.Address("x", "", runtimeDir(dir))
		do(t, err)
		l := listen(t, a)
		for _, how := range []string{"dial", "dial raw"} {
			accepted := acceptOne(l)
			o, err := s.Run(t.Context(), shell.Command{Line: fmt.Sprintf("%s='%s' %s=%s %s", role, how, address, a, exe)}, nil)
			do(t, err)
			if o.ExitCode == 0 || strings.Contains(o.Output.Text, "connected") || !strings.Contains(o.Output.Text, "permission denied") {
				t.Errorf("%s: %q, code %d", how, o.Output.Text, o.ExitCode)
			}
			// The guard connects to see who listens, and hangs up: it is one of ours, too.
			c := <-accepted
			if does, err := ipc.PeerDescends(c, os.Getpid()); !does && err == nil {
				t.Error("who connected doesn't descend from this process")
			}
			if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
				t.Errorf("%s: the command sent %q, %v", how, got, err)
			}
			c.Close()
		}
	}
}
