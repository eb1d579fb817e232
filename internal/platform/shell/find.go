package shell

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/installed"
)

// kind is what a shell understands.
type kind int

const (
	bash    kind = iota
	posix        // sh: dash, ash, ksh, or bash by that name
	builtin      // burin's own
)

// script is the command line with which a shell at path runs text.
func (k kind) script(text string) []string {
	switch k {
	case bash:
		return []string{"--norc", "--noprofile", "-c", politeEnd + text, "bash"}
	case builtin:
		return []string{interpreterName, "-c", text}
	}
	return []string{"-c", politeEnd + text, "sh"}
}

// describe names a shell at path for people.
func (k kind) describe(path string) string {
	if k == builtin {
		return "in burin"
	}
	return path
}

// builtinName is the value of Options.Shell that asks for burin's own.
const builtinName = "builtin"

// posixShells are the names of shells that are driven as sh.
var posixShells = []string{"sh", "dash", "ash", "busybox", "ksh", "mksh", "yash"}

// find gives the shell that is asked for.
func find(name string) (kind, string, error) {
	switch name {
	case builtinName:
		path, err := self()
		return builtin, path, err
	case "":
		return findAny()
	}
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".exe")
	k := posix
	switch {
	case base == "bash":
		k = bash
	case !slices.Contains(posixShells, base):
		return 0, "", fmt.Errorf("the shell %s is not one that burin can use: give it bash, sh or %q", name, builtinName)
	}
	path, err := locate(name)
	if err != nil {
		return 0, "", fmt.Errorf("the shell %s cannot be used: %w", name, err)
	}
	return k, path, nil
}

// locate gives the absolute path of a shell. One that is only named is none that a command
// may have made: it also runs what is not confined.
func locate(name string) (string, error) {
	if filepath.Base(name) == name {
		return installed.Path(name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// findAny gives bash, or else sh, or else burin's own.
func findAny() (kind, string, error) {
	for _, path := range wellKnown() {
		if k, path, err := find(path); err == nil {
			return k, path, nil
		}
	}
	return find(builtinName)
}

// wellKnown are the shells to try.
func wellKnown() []string {
	if runtime.GOOS != "windows" {
		return []string{"bash", "/bin/bash", "sh", "/bin/sh"}
	}
	// The bash.exe on the path is often the one that starts a Linux system with
	// other files and programs. That of Git for Windows is wanted.
	var paths []string
	for _, dir := range gitFolders() {
		paths = append(paths, filepath.Join(dir, "bin", "bash.exe"))
	}
	return paths
}
