//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const exceptsSecrets = false

func (c confinement) wrap(path string, args []string) (string, []string) { return path, args }

func available() Support {
	var how, missing []string
	abi := landlockABI()
	filter := haveSeccomp()
	if abi > 0 {
		how = append(how, fmt.Sprintf("Landlock ABI %d", abi))
	} else {
		missing = append(missing, "This kernel has no Landlock (Linux 5.13, enabled at boot), so commands can read and write all that you can.")
	}
	switch {
	case !filter:
		missing = append(missing, "This kernel has no seccomp filters, so commands reach the network.")
	case abi >= abiNetwork && canSupervise():
		how = append(how, "seccomp with a supervisor")
	case abi > 0:
		how = append(how, "seccomp")
		missing = append(missing, "Here the sandbox cannot act for commands, so they have no loopback network and no Unix sockets, "+
			"and can change modes and times of your files.")
		if abi < abiNetwork {
			missing = append(missing, "Allowed hosts need Linux 6.7; without it the network is denied whole.")
		}
	default:
		how = append(how, "seccomp")
	}
	if 0 < abi && abi < abiScope {
		missing = append(missing, "Commands can send signals to your other programs (Linux 6.12 prevents that).")
	}
	return Support{Files: abi > 0, Network: filter, Walls: abi >= abiNetwork && filter && canSupervise() && !supervised(), How: strings.Join(how, ", "), Missing: strings.Join(missing, " ")}
}

// haveSeccomp says whether the kernel takes filters.
func haveSeccomp() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// canSupervise says whether a guard could act for commands: it must be told of
// their calls and reach into their descriptors.
func canSupervise() bool {
	var sizes [3]uint16
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes)))
	if errno != 0 || sizes[0] > maxNotification || sizes[1] > maxNotification {
		return false
	}
	self, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(self)
	fd, err := unix.PidfdGetfd(self, self, 0)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// supervised says whether this process is under a filter with a supervisor. There can be
// only one, so it tries to install another.
var supervised = sync.OnceValue(func() bool {
	busy := true
	OnThread(func() {
		if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
			return
		}
		if fd, err := install(allow(), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER); err == nil {
			_ = unix.Close(fd)
			busy = false
		}
	})
	return busy
})
