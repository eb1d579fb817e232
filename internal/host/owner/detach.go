package owner

import (
	"fmt"
	"os"
)

// Detached starts this program once more, as a process that stays when this one and its
// terminal end. stdin, stdout and stderr are its own. Nobody waits for it.
func Detached(args []string, stdin, stdout, stderr *os.File) (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find burin's executable: %w", err)
	}
	p, err := os.StartProcess(self, append([]string{"burin"}, args...), &os.ProcAttr{Files: []*os.File{stdin, stdout, stderr}, Sys: detached()})
	if err != nil {
		return nil, fmt.Errorf("start burin in the background: %w", err)
	}
	return p, nil
}
