//go:build !linux || !(amd64 || arm64)

package sandbox

import "os/exec"

// executed are the files that the system executes to start the program at path.
func executed(path string) ([]string, error) { return []string{path}, nil }

// runAlone runs cmd by the program that confines here, if there is one.
func (c confinement) runAlone(cmd *exec.Cmd) error {
	if !available().Files {
		return ErrCannotIsolate
	}
	cmd.Path, cmd.Args = c.wrap(cmd.Path, cmd.Args)
	return cmd.Run()
}
