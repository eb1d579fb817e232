//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// A signal that reaches the guard while it hands over a descriptor does not make the call
// return another one: Go's runtime sends its own threads signals all the time.
func TestSignalsWhileFilesAreOpened(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	g := newGround(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Walls: everything})
	ready := filepath.Join(g.workspace, "guard")
	done := make(chan struct{})
	shot := make(chan int)
	go func() {
		n := 0
		defer func() { shot <- n }()
		for guard := 0; ; {
			select {
			case <-done:
				return
			default:
			}
			if guard == 0 {
				text, _ := os.ReadFile(ready) // it may not be there yet
				guard, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				continue
			}
			threads, _ := os.ReadDir("/proc/" + strconv.Itoa(guard) + "/task") // it may have ended
			for range 50 {
				for _, thread := range threads {
					if id, err := strconv.Atoi(thread.Name()); err == nil && unix.Tgkill(guard, id, unix.SIGURG) == nil {
						n++
					}
				}
			}
		}
	}()
	out, code := confined(t, s, g.workspace, `echo $PPID > guard.new && mv guard.new guard
for i in $(seq `+pacetest.Cases("100", "600")+`); do
	echo $i > f || { echo "write $i failed"; exit 1; }
	read x < f || { echo "read $i failed"; exit 1; }
	[ "$x" = $i ] || { echo "$i was written and $x read"; exit 1; }
done </dev/null`)
	close(done)
	n := <-shot
	if code != 0 {
		t.Errorf("after %d signals: code %d\n%s", n, code, out)
	}
	if n == 0 {
		t.Error("the guard got no signals: nothing was tried")
	}
}
