//go:build unix

package key

import (
	"os"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// A terminal that is opened by its name and never asked for its Fd can be left.
func TestReaderLeavesTerminal(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer tty.Close()
	own, err := os.OpenFile(tty.Name(), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := own.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Control(func(fd uintptr) { _, err = term.MakeRaw(int(fd)) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	testEndsWithContext(t, own, master)
}
