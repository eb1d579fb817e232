//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// nest runs a command in a sandbox, from within one: there the kernel takes no
// second supervisor.
func nest() error {
	s, err := sandbox.Start(sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: os.Getenv("WORK")})
	if err != nil {
		return err
	}
	defer s.Close()
	cmd, err := process.Command(process.Options{Dir: os.Getenv("WORK"), Sandbox: s.Encoded()}, "bash", "-c", os.Getenv("SCRIPT"))
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	cmd.Env = append(os.Environ(), trial+"="+os.Getenv("NEXT"))
	return cmd.Run()
}

// A sandbox in a sandbox holds both policies, and denies what it cannot judge.
func TestSandboxInSandbox(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	g := newGround(t)
	outer := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Writable: []string{g.outside}})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		script, next, says string
		fails              bool
	}{
		{script: "echo x > new; cat new; chmod 600 new && bash -c 'echo done'", says: "done"},
		{script: "echo x > $OUT/new", says: "Permission denied", fails: true},
		{script: "echo x > /etc/burin-test", says: "Permission denied", fails: true},
		{script: `exec "$SELF"`, next: "tcp", says: "permission denied", fails: true},
		{script: `exec "$SELF"`, next: "unix", says: "permission denied", fails: true},
		{script: `exec "$SELF"`, next: "pair"},
		{script: "kill -0 $PPID", says: "not permitted", fails: true},
	} {
		if strings.Contains(tt.script, "kill") && !judgesSignals() {
			continue
		}
		out, code := confined(t, outer, g.workspace, fmt.Sprintf("%q", self), trial+"=nest",
			"WORK="+g.workspace, "OUT="+g.outside, "SELF="+self, "SCRIPT="+tt.script, "NEXT="+tt.next)
		if (code != 0) != tt.fails || !strings.Contains(out, tt.says) {
			t.Errorf("%s %s: code %d\n%s", tt.script, tt.next, code, out)
		}
	}
}
