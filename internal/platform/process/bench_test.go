//go:build unix

package process_test

import (
	"os/exec"
	"testing"

	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// What a guard, and a sandbox, add to the start of a program. Both depend on the
// size of the executable that holds them.
func BenchmarkStart(b *testing.B) {
	run := func(b *testing.B, command func() (*exec.Cmd, error)) {
		b.ReportAllocs()
		for b.Loop() {
			cmd, err := command()
			if err == nil {
				err = cmd.Run()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("plain", func(b *testing.B) {
		run(b, func() (*exec.Cmd, error) { return exec.Command("/bin/true"), nil })
	})
	b.Run("guarded", func(b *testing.B) {
		run(b, func() (*exec.Cmd, error) { return process.Command(process.Options{}, "/bin/true") })
	})
	b.Run("sandboxed", func(b *testing.B) {
		home := b.TempDir()
		s, err := sandbox.Start(sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: home, Secret: []string{"/home/them/.ssh", "/home/nobody/.ssh"}})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		run(b, func() (*exec.Cmd, error) {
			return process.Command(process.Options{Sandbox: s.Encoded()}, "/bin/true")
		})
	})
}
