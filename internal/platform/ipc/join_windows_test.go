package ipc_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/burin-dev/burin/internal/platform/ipc"
)

// A pipe names the process at its other end, and from whom it descends.
func TestPipeNamesItsClient(t *testing.T) {
	a := newAddress(t)
	l := listen(t, a)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=dial", address+"="+a)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := ipc.Peer(c); pid != cmd.Process.Pid || err != nil {
		t.Errorf("the client is %d, %v, want %d", pid, err, cmd.Process.Pid)
	}
	for of, want := range map[int]bool{os.Getpid(): true, cmd.Process.Pid: true, -1: false} {
		if got, err := ipc.PeerDescends(c, of); got != want || err != nil {
			t.Errorf("the client descends from %d: %v, %v", of, got, err)
		}
	}
	c.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the client didn't see the end: %v", err)
	}
}

// A pipe carries more than its buffers hold, in both directions at once, and then the end.
func TestPipeCarries(t *testing.T) {
	client, owner := pair(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	received := make(chan []byte, 2)
	for _, c := range []net.Conn{client, owner} {
		go func() {
			got, err := io.ReadAll(io.LimitReader(c, int64(len(want))))
			if err != nil {
				t.Error(err)
			}
			received <- got
		}()
		go func() {
			if _, err := c.Write(want); err != nil {
				t.Error(err)
			}
		}()
	}
	for range 2 {
		if got := <-received; !bytes.Equal(got, want) {
			t.Errorf("received %d bytes of %d, or others", len(got), len(want))
		}
	}
	owner.Close()
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
}
