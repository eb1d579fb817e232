//go:build unix

package owner

import "syscall"

// detached puts the process into a session of its own: no terminal can end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
