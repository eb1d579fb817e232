package ipc

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// The pipe belongs to the user, lets nobody else in, and nobody over the network.
func TestPipeIsTheUsersAlone(t *testing.T) {
	address, err := Address("of "+t.Name(), "", nil)
	if err != nil || !strings.HasPrefix(address, `\\.\pipe\burin-`) {
		t.Fatalf("%q, %v", address, err)
	}
	l, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1) // a pipe lets nobody in until somebody accepts
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	c, err := Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	defer func() { (<-accepted).Close() }()
	h := windows.Handle(c.(interface{ Fd() uintptr }).Fd())
	sd, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	user, err := userOf(windows.GetCurrentProcessToken())
	if err != nil {
		t.Fatal(err)
	}
	owner, _, err := sd.Owner()
	if err != nil || owner.String() != user {
		t.Errorf("it belongs to %v, %v", owner, err)
	}
	control, _, err := sd.Control()
	if err != nil || control&windows.SE_DACL_PROTECTED == 0 {
		t.Errorf("its rights can be inherited: %x, %v", control, err)
	}
	text := sd.String()
	_, dacl, _ := strings.Cut(text, "D:")
	if strings.Count(dacl, "(") != 2 || !strings.Contains(dacl, "(D;;") || !strings.Contains(dacl, ";;;NU)") || !strings.Contains(dacl, ";;;"+user+")") {
		t.Errorf("who may use it: %s", text)
	}
}

// A pipe of that name that another process has made first is never used, by either side of
// it.
func TestPipeIsTheFirstOfItsName(t *testing.T) {
	address, err := Address("of "+t.Name(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Listen(address); err == nil {
		second.Close() //nolint:errcheck // it should not be there
		t.Error("two listen")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), address); !errors.Is(err, ErrAbsent) {
		t.Errorf("nobody listens: %v", err)
	}
	foreign, err := winio.ListenPipe(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if l, err := Listen(address); err == nil {
		l.Close() //nolint:errcheck // it should not be there
		t.Error("it listens beside a pipe that it has not made")
	}
}
