// Package killtest is for tests of what must hold after a process was killed at any
// moment: it starts the test binary again as the process to kill.
package killtest

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Kill starts the test of that name in a process of its own, with env added to its
// environment. That test prints a line when it is ready and goes on for ever; it is
// killed at a random moment within most after its line.
func Kill(t *testing.T, test, env string, most time.Duration) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Duration(rand.Int64N(int64(most))))
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
}
