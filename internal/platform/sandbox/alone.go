package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrCannotIsolate reports that this system cannot keep a program from starting others.
var ErrCannotIsolate = errors.New("this system cannot keep a program from starting others")

// Alone runs cmd to its end, as its Run does, as a program that can read files, compute
// and use its streams. It can execute nothing: it starts no process, and no other file
// than the one at cmd.Path may be executed. It reaches no network, has no terminal, and
// writes to no file outside the writable folders, which are absolute. On Linux it is
// killed when burin ends.
//
// That is for programs which read what a workspace configures, as git does. No look at
// the configuration beforehand could replace it: a command may change the files between
// the look and the program.
//
// cmd.Path is absolute, and not a script. The error is [ErrCannotIsolate] where nothing
// keeps the program from starting others; the program does not run then. On a Linux
// without Landlock the program starts no process, and its files are not confined. The
// loader has to be executable, so a program that is itself hostile could put another in
// its own place by it; it would be confined all the same.
func Alone(cmd *exec.Cmd, writable ...string) error {
	return confinement{Mode: ReadOnly}.alone(cmd, writable)
}

// Sealed is [Alone] for a program that works on its streams only: under Linux it can read no file
// but its own and the system's libraries. Elsewhere it can, because it would not start otherwise.
func Sealed(cmd *exec.Cmd) error {
	c := confinement{Mode: ReadOnly}
	if runtime.GOOS == "linux" {
		c.Secret = []string{"/"}
		for _, folder := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/etc/ld.so.cache"} {
			c.Readable = append(c.Readable, resolveExisting(folder))
		}
	}
	return c.alone(cmd, nil)
}

func (c confinement) alone(cmd *exec.Cmd, writable []string) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	path, err := filepath.EvalSymlinks(cmd.Path)
	if err == nil {
		c.only, err = executed(path)
	}
	if err != nil {
		return fmt.Errorf("run %s alone: %w", cmd.Path, err)
	}
	if len(writable) > 0 {
		c.Mode = WorkspaceWrite
		for _, folder := range writable {
			c.Writable = append(c.Writable, resolveExisting(folder))
		}
	}
	return c.runAlone(cmd)
}
