package tui

import (
	"os"
	"path/filepath"
	"runtime/debug"
)

// maxReport is the size at which the file of crashes is begun anew.
const maxReport = 1 << 20

// crashReport has the runtime write the trace of a crash into a file, where it is found
// when the screen is gone. It gives the file's name; "" if there is none.
func (a *app) crashReport() string {
	path := filepath.Join(a.o.Paths.State, "logs", "terminal.log")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return ""
	}
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if info, err := os.Stat(path); err == nil && info.Size() > maxReport {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return ""
	}
	defer f.Close() // the runtime keeps a descriptor of its own
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		return ""
	}
	return path
}
