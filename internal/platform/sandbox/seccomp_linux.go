//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // eight bytes each, low half first on both architectures
)

// program is a piece of a filter. Each piece either returns or falls through to
// what follows it.
type program []unix.SockFilter

// errno and the rest are final actions.
func errno(e unix.Errno) program { return action(unix.SECCOMP_RET_ERRNO | uint32(e)) }

func action(k uint32) program { return program{{Code: unix.BPF_RET | unix.BPF_K, K: k}} }

func allow() program { return action(unix.SECCOMP_RET_ALLOW) }

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// skipUnless jumps over then unless the loaded word is k.
func skipUnless(k uint32, then program) program {
	return append(program{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: uint8(len(then))}}, then...)
}

// call is what happens at the system call nr. Bodies are far below the 255
// instructions that a jump can span.
func call(nr uint32, body ...program) program {
	return skipUnless(nr, slices.Concat(body...))
}

// anyBit does then if the low half of argument i has one of the bits.
func anyBit(i int, bits uint32, then ...program) program {
	body := slices.Concat(then...)
	return append(program{load(dataArgs + 8*uint32(i)), {Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: bits, Jf: uint8(len(body))}}, body...)
}

// argument does then if the low half of argument i, masked, is value.
func argument(i int, mask, value uint32, then ...program) program {
	p := program{load(dataArgs + 8*uint32(i))}
	if mask != ^uint32(0) {
		p = append(p, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask})
	}
	return append(p, skipUnless(value, slices.Concat(then...))...)
}

const whole = ^uint32(0)

// filter is the program of c. With a supervisor, calls that depend on what a
// pointer points to are passed to it; without one they are denied or, if files
// alone are concerned, allowed.
func (c confinement) filter(supervised bool, abi int) program {
	p := program{load(dataArch)}
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1})
	p = append(p, action(unix.SECCOMP_RET_KILL_PROCESS)...) // system calls by other tables
	p = append(p, load(dataNumber))
	p = append(p, foreignTable()...)
	for _, nr := range forbidden {
		p = append(p, call(nr, errno(unix.EPERM))...)
	}
	if supervised {
		p = append(p, c.wallCalls()...)
	}
	for _, nr := range attributeCalls {
		p = append(p, call(nr, errno(unix.EOPNOTSUPP))...) // tools take it for a file system without them
	}
	for _, nr := range slices.Sorted(maps.Keys(changeCalls())) {
		switch {
		case c.Mode == ReadOnly:
			p = append(p, call(nr, errno(unix.EPERM))...)
		case supervised:
			p = append(p, call(nr, action(unix.SECCOMP_RET_USER_NOTIF))...)
		}
	}
	p = append(p, c.processCalls(supervised)...)
	if c.Mode != Full {
		p = append(p, c.socketCalls(supervised, abi)...)
	}
	return append(p, allow()...)
}

// processCalls judges calls by their flags.
func (c confinement) processCalls(supervised bool) program {
	if c.Mode == Full {
		return slices.Concat(
			call(unix.SYS_CLONE3, errno(unix.ENOSYS)),
			call(unix.SYS_CLONE, anyBit(0, namespaces, errno(unix.EPERM)), allow()),
		)
	}
	fork := allow()
	var p program
	if c.only != nil {
		fork = slices.Concat(
			argument(0, unix.CLONE_THREAD, unix.CLONE_THREAD, allow()),
			argument(0, firstProcess, firstProcess, allow()),
			errno(unix.EPERM),
		)
		for _, nr := range forkCalls {
			p = append(p, call(nr, errno(unix.EPERM))...)
		}
	}
	others := errno(unix.EPERM) // processes outside
	if supervised {
		others = action(unix.SECCOMP_RET_USER_NOTIF)
	}
	p = append(p, slices.Concat( // all processes of the user
		call(unix.SYS_SETPRIORITY, argument(0, whole, unix.PRIO_USER, errno(unix.EPERM)), argument(1, whole, 0, allow()), others),
		call(unix.SYS_IOPRIO_SET, argument(0, whole, ioprioUser, errno(unix.EPERM)), argument(1, whole, 0, allow()), others),
	)...)
	for _, nr := range scheduleCalls {
		p = append(p, call(nr, argument(0, whole, 0, allow()), others)...)
	}
	return append(p, slices.Concat(
		// Flags of clone3 are behind a pointer. The C library and others fall back to clone.
		call(unix.SYS_CLONE3, errno(unix.ENOSYS)),
		call(unix.SYS_CLONE, argument(0, unix.CLONE_NEWUSER, unix.CLONE_NEWUSER, errno(unix.EPERM)), fork),
		// Limits of other processes: a limit of CPU time would kill.
		call(unix.SYS_PRLIMIT64, argument(0, whole, 0, allow()), errno(unix.EPERM)),
		call(unix.SYS_IOCTL, fileControls(),
			argument(1, whole, unix.TIOCSTI, errno(unix.EPERM)), argument(1, whole, unix.TIOCLINUX, errno(unix.EPERM)), // typing into a terminal
			allow()),
	)...)
}

// namespaces are what a new process could have of its own to see other files.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS

// fileControls denies what file systems do on request to files and folders that
// are open for reading only, which Landlock does not judge: flags, encryption,
// verity, and volumes within volumes, of which a snapshot would show secrets under
// another name. Copies that share their blocks are judged by how files are open.
func fileControls() program {
	unsupported := errno(unix.EOPNOTSUPP) // tools take it for a file system without them
	p := slices.Concat(
		argument(1, whole, unix.FICLONE, allow()),
		argument(1, whole, unix.FICLONERANGE, allow()),
		argument(1, whole, unix.FIDEDUPERANGE, allow()),
	)
	const family = 0xff00 // the file system that a request is for
	for _, volumes := range []uint32{0x9400 /* btrfs */, 0xbc00 /* bcachefs */} {
		p = append(p, argument(1, family, volumes, unsupported)...)
	}
	for _, request := range []uint32{
		unix.FS_IOC_SETFLAGS, fsSetFlags32, fsSetVersion, fsSetVersion32, fsSetAttributes,
		unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY, unix.FS_IOC_REMOVE_ENCRYPTION_KEY,
	} {
		p = append(p, argument(1, whole, request, unsupported)...)
	}
	return p
}

// sequential does then for sockets whose destination is set by connect alone. A
// datagram socket could name one in each call that sends.
func sequential(typeArg int, then ...program) program {
	const typeMask = 0xf // without the flags for new descriptors
	return slices.Concat(
		argument(typeArg, typeMask, unix.SOCK_STREAM, then...),
		argument(typeArg, typeMask, unix.SOCK_SEQPACKET, then...),
	)
}

func (c confinement) socketCalls(supervised bool, abi int) program {
	denied := errno(unix.EACCES)
	local := denied // Unix sockets
	if supervised {
		local = sequential(1, allow())
	}
	internet := denied
	switch {
	case c.Network:
		internet = allow()
	case abi >= abiNetwork && (supervised || c.Port > 0):
		// TCP only: Landlock does not judge the other protocols of streams.
		internet = argument(1, 0xf, unix.SOCK_STREAM, argument(2, whole, 0, allow()), argument(2, whole, unix.IPPROTO_TCP, allow()))
	}
	netlink := argument(2, whole, unix.NETLINK_ROUTE, allow()) // programs list interfaces
	p := slices.Concat(
		call(unix.SYS_SOCKET,
			argument(0, whole, unix.AF_UNIX, local),
			argument(0, whole, unix.AF_INET, internet),
			argument(0, whole, unix.AF_INET6, internet),
			argument(0, whole, unix.AF_NETLINK, netlink),
			denied),
		call(unix.SYS_SOCKETPAIR, sequential(1, allow()), denied),
	)
	if !c.Network { // sending that connects
		for nr, flags := range map[uint32]int{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
			p = append(p, call(nr, argument(flags, unix.MSG_FASTOPEN, unix.MSG_FASTOPEN, errno(unix.EPERM)), allow())...)
		}
	}
	if !supervised {
		return p
	}
	notify := action(unix.SECCOMP_RET_USER_NOTIF)
	p = append(p, call(unix.SYS_CONNECT, notify)...)
	if !c.Network {
		p = append(p, call(unix.SYS_BIND, notify)...)
		p = append(p, call(unix.SYS_LISTEN, notify)...)
	}
	return p
}

// filterCalls puts the calling thread under the filter of c. It gives the
// descriptor by which the supervisor is asked, -1 without one.
func (c confinement) filterCalls(abi int) (listener int, err error) {
	if (abi >= abiNetwork || c.Mode == Full) && c.only == nil && canSupervise() {
		p := c.filter(true, abi)
		for _, flags := range []uintptr{
			unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, // Linux 5.19
			unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		} {
			if listener, err = install(p, flags); err == nil {
				return listener, nil
			}
		}
		if !errors.Is(err, unix.EBUSY) { // EBUSY: there is a supervisor already
			return -1, err
		}
	}
	_, err = install(c.filter(false, abi), 0)
	return -1, err
}

func install(p program, flags uintptr) (fd int, err error) {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return -1, fmt.Errorf("install the system call filter: %w", errno)
	}
	return int(r), nil
}
