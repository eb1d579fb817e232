package owner

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached gives the process a console of its own, which is not shown: without one, each
// command that it starts would open a window.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP}
}
