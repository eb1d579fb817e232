//go:build linux && (amd64 || arm64)

package sandbox

import "golang.org/x/sys/unix"

// Numbers that package unix does not have yet, the same on all architectures.
const (
	sysSetxattrat    = 463
	sysRemovexattrat = 466
	sysOpenTreeAttr  = 467
	sysFileSetattr   = 469
)

// Requests of ioctl that package unix does not have.
const (
	fsSetFlags32    = 0x40046602
	fsSetVersion    = 0x40087602
	fsSetVersion32  = 0x40047602
	fsSetAttributes = 0x401c5820 // FS_IOC_FSSETXATTR
)

// forbidden are calls that no command needs and that reach beyond it: other
// processes, namespaces and mounts, the kernel, asynchronous calls that filters do
// not see, files by handle.
var forbidden = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
	unix.SYS_OPEN_TREE, sysOpenTreeAttr, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_BPF, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_OPEN_BY_HANDLE_AT,
}

// attributeCalls change extended attributes, which Landlock does not judge and
// tools can do without.
var attributeCalls = []uint32{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, sysSetxattrat,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, sysRemovexattrat,
	sysFileSetattr,
}

// change is what a call changes about a file that Landlock does not judge.
type change uint8

const (
	changeMode change = iota
	changeOwner
	changeTimes   // struct timespec [2]
	changeTimeval // struct timeval [2]
	changeUtimbuf // struct utimbuf
)

// changeCall says where a call keeps its arguments. none is no such argument.
type changeCall struct {
	folder, path, flags int
	change              change
	first               int // argument of the change
	nofollow            bool
}

const none = -1

// changeCalls are the calls that change modes, owners and times, by number.
func changeCalls() map[uint32]changeCall {
	calls := map[uint32]changeCall{
		unix.SYS_FCHMOD:    {folder: 0, path: none, flags: none, change: changeMode, first: 1},
		unix.SYS_FCHMODAT:  {folder: 0, path: 1, flags: none, change: changeMode, first: 2},
		unix.SYS_FCHMODAT2: {folder: 0, path: 1, flags: 3, change: changeMode, first: 2},
		unix.SYS_FCHOWN:    {folder: 0, path: none, flags: none, change: changeOwner, first: 1},
		unix.SYS_FCHOWNAT:  {folder: 0, path: 1, flags: 4, change: changeOwner, first: 2},
		unix.SYS_UTIMENSAT: {folder: 0, path: 1, flags: 3, change: changeTimes, first: 2},
	}
	addOldCalls(calls)
	return calls
}

// scheduleCalls change how much of the processors and of memory a process gets. Their
// first argument names it; 0 is the caller.
var scheduleCalls = []uint32{
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

// Whom ioprio_set is for.
const (
	ioprioProcess = 1
	ioprioUser    = 3
)
