package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/platform/process"
)

// pwdFlag makes the shells of Git for Windows print a folder as Windows names it.
const pwdFlag = "-W"

func exitCode(p *os.ProcessState) int {
	if p == nil {
		return -1
	}
	return p.ExitCode()
}

func askToEnd(cmd *exec.Cmd) { process.Terminate(cmd) }

func openTerminal() (master, slave *os.File, err error) {
	return nil, nil, errors.New("commands on Windows can't have a terminal: run the command without one")
}

// gitFolders are the folders in which Git for Windows may be installed.
func gitFolders() []string {
	var dirs []string
	if git, err := installed.Path("git"); err == nil { // <folder>\cmd\git.exe
		dirs = append(dirs, filepath.Dir(filepath.Dir(git)))
	}
	for _, v := range []string{"ProgramFiles", "ProgramFiles(x86)"} {
		if dir := os.Getenv(v); dir != "" {
			dirs = append(dirs, filepath.Join(dir, "Git"))
		}
	}
	if dir := os.Getenv("LocalAppData"); dir != "" {
		dirs = append(dirs, filepath.Join(dir, "Programs", "Git"))
	}
	return dirs
}

// extendPath drops what is twice in a search path, and adds the programs of Git
// for Windows.
func extendPath(path string) string {
	dirs := filepath.SplitList(path)
	for _, git := range gitFolders() {
		for _, sub := range []string{"cmd", `usr\bin`} {
			if dir := filepath.Join(git, sub); isDir(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	seen := map[string]bool{}
	var kept []string
	for _, dir := range dirs {
		if key := strings.ToLower(filepath.Clean(dir)); dir != "" && !seen[key] {
			seen[key] = true
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

func resizeTerminal(*os.File, int, int) error { return errors.ErrUnsupported }
