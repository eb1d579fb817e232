package ipc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/platform/ipc"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/shell"
)

// role makes the test binary another process of a test; address is the socket that it
// uses, locks the folder of the files that it locks.
const (
	role    = "IPC_TEST_ROLE"
	address = "IPC_TEST_ADDRESS"
	locks   = "IPC_TEST_LOCKS"
)

func TestMain(m *testing.M) {
	process.Main()
	shell.Main()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or each guard of a race-tested binary ends a second late
	switch os.Getenv(role) {
	case "dial":
		os.Exit(report(dial()))
	case "dial raw":
		os.Exit(report(dialRaw()))
	case "listen raw":
		os.Exit(report(listenRaw()))
	case "join":
		os.Exit(report(joinForever()))
	}
	// The library of pipes on Windows has one goroutine that waits for all of them, for good.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor"))
}

func report(err error) int {
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	return 0
}

// dial connects and stays until the other side closes.
func dial() error {
	c, err := ipc.Dial(context.Background(), os.Getenv(address))
	if err != nil {
		return err
	}
	return talk(c)
}

func dialRaw() error {
	c, err := net.Dial("unix", os.Getenv(address))
	if err != nil {
		return err
	}
	return talk(c)
}

func talk(c net.Conn) error {
	fmt.Println("connected")
	_, err := io.Copy(io.Discard, c)
	return err
}

func listenRaw() error {
	l, err := net.Listen("unix", os.Getenv(address))
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		_ = c.Close()
	}
}

// newAddress is an address in a folder of its own.
func newAddress(t testing.TB) string {
	t.Helper()
	a, err := ipc.Address(t.Name(), "", runtimeDir(folder(t)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// folder makes a short folder, without links in its name.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ipc")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runtimeDir is an environment with that runtime directory.
func runtimeDir(dir string) func(string) string {
	return func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[name] }
}

func listen(t testing.TB, address string) *ipc.Listener {
	t.Helper()
	l, err := ipc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// acceptOne accepts one connection, or gives nil if none comes. A pipe of Windows lets
// nobody in until somebody accepts.
func acceptOne(l *ipc.Listener) <-chan net.Conn {
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	return accepted
}

// pair is a connection: the client's end and the owner's.
func pair(t testing.TB) (client, owner net.Conn) {
	t.Helper()
	a := newAddress(t)
	l := listen(t, a)
	accepted := acceptOne(l)
	client, err := ipc.Dial(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if owner = <-accepted; owner == nil {
		t.Fatal("nothing was accepted")
	}
	t.Cleanup(func() { client.Close(); owner.Close() })
	return client, owner
}

// firstLine reads what a process says first.
func firstLine(r io.Reader) (string, error) {
	s := bufio.NewScanner(r)
	if !s.Scan() {
		return "", errors.Join(io.ErrUnexpectedEOF, s.Err())
	}
	return s.Text(), nil
}
