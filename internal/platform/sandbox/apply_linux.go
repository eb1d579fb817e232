//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/wall"
)

// apply confines the calling thread. The filter comes before Landlock's rules are
// enforced: whether there can be a supervisor decides what they have to allow.
func (c confinement) apply(encoded []byte, descendants func(int) []int) error {
	walls, err := wall.Build(c.Root, c.Walls)
	if err != nil {
		return fmt.Errorf("read walls: %w", err)
	}
	if c.Mode != Full {
		dropCapabilities()
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges of programs: %w", err)
	}
	abi := landlockABI()
	var rules *ruleset // made first: the filter may pass the opening of files to the supervisor
	if abi > 0 && c.Mode != Full {
		if rules, err = c.fileRules(abi); err != nil {
			return err
		}
		defer rules.close()
	}
	listener := -1
	if haveSeccomp() {
		if listener, err = c.filterCalls(abi); err != nil {
			return err
		}
	}
	supervised := listener >= 0
	if supervised {
		go newSupervisor(c, walls, encoded, descendants, listener).serve()
	} else if len(c.Walls) > 0 {
		return errors.New("files that rules refuse cannot be kept from commands here")
	}
	if rules == nil {
		return nil
	}
	return rules.enforce(c, supervised)
}

// keptCapabilities let root work on files whose owner it is not, as it does in
// containers. All others go: they reach beyond files.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities takes from the thread, and from every program it will start,
// what root has beyond keptCapabilities. For others than root it changes nothing,
// and errors mean that there was nothing to drop.
func dropCapabilities() {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	for capability := range 64 {
		if keptCapabilities>>capability&1 == 0 {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0)
		}
	}
	limitCapabilities(keptCapabilities)
}

// limitCapabilities takes others than these from the calling thread.
func limitCapabilities(capabilities uint64) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3} // process 0 is the calling thread
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return
	}
	for i := range data {
		kept := uint32(capabilities >> (32 * i))
		data[i].Effective &= kept
		data[i].Permitted &= kept
		data[i].Inheritable = 0
	}
	_ = unix.Capset(&header, &data[0])
}
