package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// foreignTable denies the calls of the x32 ABI, which have a bit of their own, and
// those that only this architecture has.
func foreignTable() program {
	const x32 = 0x40000000
	return append(program{{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32, Jf: 1}},
		append(errno(unix.ENOSYS), append(call(unix.SYS_IOPL, errno(unix.EPERM)), call(unix.SYS_IOPERM, errno(unix.EPERM))...)...)...)
}

// forkCalls start a process and take no flags.
var forkCalls = []uint32{unix.SYS_FORK, unix.SYS_VFORK}

// addOldCalls adds the forms without a folder, which newer architectures left out.
func addOldCalls(calls map[uint32]changeCall) {
	calls[unix.SYS_CHMOD] = changeCall{folder: none, path: 0, flags: none, change: changeMode, first: 1}
	calls[unix.SYS_CHOWN] = changeCall{folder: none, path: 0, flags: none, change: changeOwner, first: 1}
	calls[unix.SYS_LCHOWN] = changeCall{folder: none, path: 0, flags: none, change: changeOwner, first: 1, nofollow: true}
	calls[unix.SYS_UTIME] = changeCall{folder: none, path: 0, flags: none, change: changeUtimbuf, first: 1}
	calls[unix.SYS_UTIMES] = changeCall{folder: none, path: 0, flags: none, change: changeTimeval, first: 1}
	calls[unix.SYS_FUTIMESAT] = changeCall{folder: 0, path: 1, flags: none, change: changeTimeval, first: 2}
}

// addOldFileCalls adds the forms without a folder.
func addOldFileCalls(calls map[uint32]fileCall) {
	calls[unix.SYS_OPEN] = fileCall{op: opOpen, folder: none, path: 0, flags: 1, mode: 2}
	calls[unix.SYS_CREAT] = fileCall{op: opOpen, folder: none, path: 0, flags: none, mode: 1, alwaysFlags: unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC}
	calls[unix.SYS_MKDIR] = fileCall{op: opMakeFolder, folder: none, path: 0, flags: none, mode: 1}
	calls[unix.SYS_MKNOD] = fileCall{op: opMakeNode, folder: none, path: 0, flags: none, mode: 1, device: 2}
	calls[unix.SYS_SYMLINK] = fileCall{op: opMakeLink, content: 0, folder: none, path: 1, flags: none, mode: none}
	calls[unix.SYS_LINK] = fileCall{op: opLink, folder: none, path: 0, folder2: none, path2: 1, flags: none, mode: none}
	calls[unix.SYS_RENAME] = fileCall{op: opRename, folder: none, path: 0, folder2: none, path2: 1, flags: none, mode: none}
	calls[unix.SYS_UNLINK] = fileCall{op: opRemove, folder: none, path: 0, flags: none, mode: none}
	calls[unix.SYS_RMDIR] = fileCall{op: opRemoveFolder, folder: none, path: 0, flags: none, mode: none}
}
