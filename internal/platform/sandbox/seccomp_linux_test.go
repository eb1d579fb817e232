//go:build linux && (amd64 || arm64)

package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// run is what the kernel does with a filter.
func (p program) run(t *testing.T, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	data := map[uint32]uint32{dataNumber: nr, dataArch: arch}
	for i, a := range args {
		data[dataArgs+8*uint32(i)] = uint32(a)
		data[dataArgs+8*uint32(i)+4] = uint32(a >> 32)
	}
	var word uint32
	for i := 0; i < len(p); i++ {
		in := p[i]
		var taken bool
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			word = data[in.K]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			word &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			taken = word == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			taken = word >= in.K
		default:
			t.Fatalf("instruction %d: %+v", i, in)
		}
		if taken {
			i += int(in.Jt)
		} else {
			i += int(in.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

const (
	yes   = unix.SECCOMP_RET_ALLOW
	asks  = unix.SECCOMP_RET_USER_NOTIF
	perm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unsup = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
	acc   = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
)

// The filter of each kind of sandbox, call by call: supervised, supervised with the
// network, alone, alone with a proxy and Landlock's rule for its port, read-only.
func TestFilter(t *testing.T) {
	filters := [...]program{
		confinement{Mode: WorkspaceWrite}.filter(true, abiNetwork),
		confinement{Mode: WorkspaceWrite, Network: true}.filter(true, abiNetwork),
		confinement{Mode: WorkspaceWrite}.filter(false, abiNetwork),
		confinement{Mode: WorkspaceWrite, Port: 7}.filter(false, abiNetwork),
		confinement{Mode: ReadOnly, Port: 7}.filter(false, abiNetwork-1),
	}
	for _, tt := range []struct {
		name string
		nr   uint32
		args []uint64
		want [len(filters)]uint32
	}{
		{"read", unix.SYS_READ, nil, [...]uint32{yes, yes, yes, yes, yes}},
		{"execve", unix.SYS_EXECVE, nil, [...]uint32{yes, yes, yes, yes, yes}},
		{"ptrace", unix.SYS_PTRACE, nil, [...]uint32{perm, perm, perm, perm, perm}},
		{"fchmodat", unix.SYS_FCHMODAT, nil, [...]uint32{asks, asks, yes, yes, perm}},
		{"utimensat", unix.SYS_UTIMENSAT, nil, [...]uint32{asks, asks, yes, yes, perm}},
		{"connect", unix.SYS_CONNECT, nil, [...]uint32{asks, asks, yes, yes, yes}},
		{"bind", unix.SYS_BIND, nil, [...]uint32{asks, yes, yes, yes, yes}},
		{"listen", unix.SYS_LISTEN, nil, [...]uint32{asks, yes, yes, yes, yes}},
		{"tcp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, 0}, [...]uint32{yes, yes, acc, yes, acc}},
		{"tcp6", unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, [...]uint32{yes, yes, acc, yes, acc}},
		{"mptcp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, [...]uint32{acc, yes, acc, acc, acc}},
		{"sctp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP}, [...]uint32{acc, yes, acc, acc, acc}},
		{"udp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, [...]uint32{acc, yes, acc, acc, acc}},
		{"unix", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, [...]uint32{yes, yes, acc, acc, acc}},
		{"unix datagrams", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, [...]uint32{acc, acc, acc, acc, acc}},
		{"packet", unix.SYS_SOCKET, []uint64{unix.AF_PACKET, unix.SOCK_RAW, 0}, [...]uint32{acc, acc, acc, acc, acc}},
		{"route", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, [...]uint32{yes, yes, yes, yes, yes}},
		{"other netlink", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG}, [...]uint32{acc, acc, acc, acc, acc}},
		{"pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, [...]uint32{yes, yes, yes, yes, yes}},
		{"sendto", unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_NOSIGNAL}, [...]uint32{yes, yes, yes, yes, yes}},
		{"fast open", unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_NOSIGNAL | unix.MSG_FASTOPEN}, [...]uint32{perm, yes, perm, perm, perm}},
		{"fast open many", unix.SYS_SENDMMSG, []uint64{3, 0, 1, unix.MSG_FASTOPEN}, [...]uint32{perm, yes, perm, perm, perm}},
		{"fast open message", unix.SYS_SENDMSG, []uint64{3, 0, unix.MSG_FASTOPEN}, [...]uint32{perm, yes, perm, perm, perm}},
		{"thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, [...]uint32{yes, yes, yes, yes, yes}},
		{"user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | 17}, [...]uint32{perm, perm, perm, perm, perm}},
		{"own limits", unix.SYS_PRLIMIT64, []uint64{0, 7}, [...]uint32{yes, yes, yes, yes, yes}},
		{"other's limits", unix.SYS_PRLIMIT64, []uint64{99, 7}, [...]uint32{perm, perm, perm, perm, perm}},
		{"size of terminal", unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, [...]uint32{yes, yes, yes, yes, yes}},
		{"flags of a file", unix.SYS_IOCTL, []uint64{3, unix.FS_IOC_SETFLAGS}, [...]uint32{unsup, unsup, unsup, unsup, unsup}},
		{"verity", unix.SYS_IOCTL, []uint64{3, unix.FS_IOC_ENABLE_VERITY}, [...]uint32{unsup, unsup, unsup, unsup, unsup}},
		{"snapshot", unix.SYS_IOCTL, []uint64{3, 0x50009401}, [...]uint32{unsup, unsup, unsup, unsup, unsup}},
		{"remove a volume", unix.SYS_IOCTL, []uint64{3, 0x5000940f}, [...]uint32{unsup, unsup, unsup, unsup, unsup}},
		{"volume", unix.SYS_IOCTL, []uint64{3, 0x4020bc10}, [...]uint32{unsup, unsup, unsup, unsup, unsup}},
		{"shared copy", unix.SYS_IOCTL, []uint64{3, unix.FICLONE}, [...]uint32{yes, yes, yes, yes, yes}},
		{"ask for flags", unix.SYS_IOCTL, []uint64{3, unix.FS_IOC_GETFLAGS}, [...]uint32{yes, yes, yes, yes, yes}},
		{"typing", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, [...]uint32{perm, perm, perm, perm, perm}},
		{"typing with high bits", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI | 5<<32}, [...]uint32{perm, perm, perm, perm, perm}},
	} {
		for i, f := range filters {
			if got := f.run(t, auditArch, tt.nr, tt.args...); got != tt.want[i] {
				t.Errorf("%s in filter %d: %#x, want %#x", tt.name, i, got, tt.want[i])
			}
		}
	}
	for i, f := range filters {
		if len(f) > 4096 {
			t.Errorf("filter %d has %d instructions, the kernel takes 4096", i, len(f))
		}
		if got := f.run(t, 0x40000003, unix.SYS_READ); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("calls of another architecture in filter %d: %#x", i, got)
		}
		if auditArch == unix.AUDIT_ARCH_X86_64 {
			if got := f.run(t, auditArch, 0x40000000|unix.SYS_PTRACE); got == yes {
				t.Errorf("filter %d allows calls of x32", i)
			}
		}
	}
}
