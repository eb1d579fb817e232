package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/shell"
)

// sandboxed is a sandbox that can be changed, and that notes what it is asked.
type sandboxed struct {
	policy []byte
	env    []string
	codes  []int
	ends   []string
}

func (s *sandboxed) Encoded() []byte { return s.policy }
func (s *sandboxed) Env() []string   { return s.env }

func (s *sandboxed) Explain(output string, exitCode int) string {
	s.codes, s.ends = append(s.codes, exitCode), append(s.ends, output)
	return strings.Repeat("denied", exitCode)
}

func TestSandboxExplains(t *testing.T) {
	box := &sandboxed{env: []string{"HTTP_PROXY=http://127.0.0.1:1"}}
	s := open(t, shell.Options{Sandbox: box})
	says(t, s, `echo $HTTP_PROXY; export A=1`, "http://127.0.0.1:1\n")
	o := run(t, s, shell.Command{Line: `seq -s ' ' 100000 | fold -w 100; exit 2`, TTY: true})
	if o.Denied != "denieddenied" {
		t.Errorf("denied: %q", o.Denied)
	}
	end := box.ends[1]
	if !strings.HasSuffix(end, " 100000\n") || len(end) != 4<<10 || !cmp.Equal(box.codes, []int{0, 2}) {
		t.Errorf("Explain got %d bytes: …%.30q, and the codes %v", len(end), end[max(len(end)-30, 0):], box.codes)
	}
}

// A shell never runs under a policy that is no longer the sandbox's.
func TestSandboxChanges(t *testing.T) {
	support := sandbox.Available()
	if !support.Files {
		t.Skip(support.Missing)
	}
	dir, outside := tempDir(t), tempDir(t)
	confined, err := sandbox.Start(sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: dir, Network: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confined.Close() })
	box := &sandboxed{env: []string{"PROXY=old"}}
	for _, kind := range kinds()[1:] {
		t.Run(filepath.Base(kind), func(t *testing.T) {
			box.policy, box.env = nil, []string{"PROXY=old"}
			s := open(t, shell.Options{Shell: kind, Dir: dir, Sandbox: box})
			file := filepath.Join(outside, filepath.Base(kind))
			says(t, s, `export A=1; echo $PROXY; touch `+file, "old\n")
			box.policy, box.env = confined.Encoded(), nil
			o := run(t, s, shell.Command{Line: `echo $A$PROXY; touch inside && rm ` + file})
			if !strings.HasPrefix(o.Output.Text, "1\n") || o.ExitCode == 0 || !strings.Contains(o.Note, "sandbox has changed") {
				t.Errorf("under a policy: %+v", o)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("a file outside was removed: %v", err)
			}
			for _, tty := range []bool{false, true} {
				j := startJob(t, s, shell.Command{Line: `rm ` + file, TTY: tty})
				if <-j.Done(); j.Outcome().ExitCode == 0 {
					t.Errorf("a job is not confined, terminal %v", tty)
				}
			}
			box.policy = nil
			says(t, s, `rm `+file, "")
		})
	}
}
