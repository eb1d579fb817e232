package process

import (
	"os"
	"os/exec"
	"testing"
)

// The walk over all processes finds what the kernel's list holds.
func TestScanFindsChildren(t *testing.T) {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cat.Wait() }()
	for name, list := range map[string]func(int) []int{"list": children, "scan": scan().children} {
		found := false
		for _, pid := range list(os.Getpid()) {
			found = found || pid == cat.Process.Pid
		}
		if !found {
			t.Errorf("%s: %d is not among the children", name, cat.Process.Pid)
		}
	}
}
