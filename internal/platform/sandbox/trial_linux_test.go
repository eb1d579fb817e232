//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// trial makes the test binary try one thing that shell commands cannot do. It ends
// with code 0 if it is done, and says what came in its way otherwise.
const trial = "BURIN_TEST_TRIAL"

func runTrial(name string) int {
	runtime.LockOSThread()
	try, ok := trials()[name]
	if !ok {
		try, ok = networkTrials()[name]
	}
	if !ok {
		try, ok = aloneTrials()[name]
	}
	if !ok {
		fmt.Println("no such trial:", name)
		return 2
	}
	if err := try(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// basic are the credentials of a proxy as a header holds them.
func basic(u *url.Userinfo) string {
	password, _ := u.Password()
	return base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))
}

// repeat does f TIMES times and says how many nanoseconds each took.
func repeat(f func() error) error {
	times := max(1, number("TIMES"))
	began := time.Now()
	for range times {
		if err := f(); err != nil {
			return err
		}
	}
	fmt.Println(float64(time.Since(began).Nanoseconds()) / float64(times))
	return nil
}

func number(variable string) int {
	n, _ := strconv.Atoi(os.Getenv(variable))
	return n
}

// call makes a system call by number.
func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func socket(family, kind, protocol int) func() error {
	return func() error {
		_, err := unix.Socket(family, kind, protocol)
		return err
	}
}

func trials() map[string]func() error {
	burin := number("BURIN")
	out := os.Getenv("OUT") + "/file"
	return map[string]func() error{
		"fchmod": func() error {
			fd, err := unix.Open(out, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.Fchmod(fd, 0o777)
		},
		"setxattr": func() error { return unix.Setxattr(out, "user.burin", []byte("x"), 0) },
		"handle": func() error {
			handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, out, 0)
			if err != nil {
				return err
			}
			_ = mount
			root, err := unix.Open(os.Getenv("OUT"), unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			fd, err := unix.OpenByHandleAt(root, handle, unix.O_WRONLY)
			if err != nil {
				return err
			}
			_, err = unix.Write(fd, []byte("x"))
			return err
		},

		"ptrace": func() error {
			if err := unix.PtraceSeize(burin); err != nil {
				return err
			}
			return nil // ends with this process
		},
		"peek": func() error {
			var b [8]byte
			local := []unix.Iovec{{Base: &b[0], Len: 8}}
			var here int
			_, err := unix.ProcessVMReadv(burin, local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&here)), Len: 8}}, 0)
			if err == unix.EFAULT { // allowed, but nothing is there
				return nil
			}
			return err
		},
		"limits": func() error {
			var limit unix.Rlimit
			if err := unix.Prlimit(burin, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
				return err
			}
			return unix.Prlimit(burin, unix.RLIMIT_NOFILE, &limit, nil)
		},
		"steal": func() error {
			p, err := unix.PidfdOpen(burin, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(p, 0, 0)
			return err
		},

		"udp":         socket(unix.AF_INET, unix.SOCK_DGRAM, 0),
		"udp6":        socket(unix.AF_INET6, unix.SOCK_DGRAM, 0),
		"raw":         socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"packet":      socket(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"mptcp":       socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP),
		"vsock":       socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"audit":       socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
		"datagrams":   socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0),
		"tcp":         socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP),
		"unix":        socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0),
		"route":       socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
		"high family": func() error { return call(unix.SYS_SOCKET, unix.AF_INET|1<<32, unix.SOCK_DGRAM, 0) },
		"fastopen": func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: number("PORT"), Addr: [4]byte{127, 0, 0, 1}})
		},
		"pair": func() error {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return err
		},
		"datagram pair": func() error {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			return err
		},

		"flags": func() error {
			f, err := os.Open(os.Getenv("SELF"))
			if err != nil {
				return err
			}
			defer f.Close()
			flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
			if err != nil {
				return err
			}
			return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags))
		},
		"io_uring": func() error {
			var params [120]byte
			return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
		},
		"userns": func() error { return unix.Unshare(unix.CLONE_NEWUTS) },
		"keys":   func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err },
		"bpf":    func() error { return call(unix.SYS_BPF, 99) },
		"swap":   func() error { return call(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(&[]byte("/nonexistent\x00")[0]))) },
		"clone3": func() error { return call(unix.SYS_CLONE3, 0, 0) },
		"typing": func() error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&[]byte("x")[0]))) },
		"typing2": func() error {
			return call(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, uintptr(unsafe.Pointer(&[]byte("x")[0])))
		},
		"clone": func() error {
			pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if pid == 0 && errno == 0 {
				syscall.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
			}
			if errno != 0 {
				return errno
			}
			return nil
		},
		"nest": nest,
		"repeat chmod": func() error {
			return repeat(func() error { return unix.Chmod("mine", 0o600) })
		},
		"repeat create": func() error {
			return repeat(func() error {
				fd, err := unix.Open("new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
				if err != nil {
					return err
				}
				_ = unix.Close(fd)
				return unix.Unlink("new")
			})
		},
		"repeat open": func() error {
			return repeat(func() error {
				fd, err := unix.Open("mine", unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err == nil {
					_ = unix.Close(fd)
				}
				return err
			})
		},
		"repeat connect": func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					c.Close()
				}
			}()
			return repeat(func() error {
				c, err := net.Dial("tcp", l.Addr().String())
				if err == nil {
					c.Close()
				}
				return err
			})
		},
		"x32": func() error { return call(0x40000000 | unix.SYS_GETPID) },
		"thread": func() error {
			done := make(chan error)
			go func() { runtime.LockOSThread(); done <- nil }()
			return <-done
		},
	}
}

// Calls that reach beyond a command do not work, those that it needs do. What comes
// in the way of the denied ones is the sandbox, not the kernel or missing rights.
func TestSystemCalls(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	g := newGround(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace})
	open := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Network: true})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const anything = "whatever the kernel says"
	for _, tt := range []struct {
		name             string
		offline, network string // how it ends: "" is well
	}{
		{"udp", "permission denied", ""},
		{"udp6", "permission denied", anything},
		{"raw", "permission denied", "operation not permitted"},
		{"packet", "permission denied", "permission denied"},
		{"mptcp", "permission denied", anything},
		{"vsock", "permission denied", "permission denied"},
		{"audit", "permission denied", "permission denied"},
		{"datagrams", "permission denied", "permission denied"},
		{"high family", "permission denied", ""},
		{"tcp", "", ""},
		{"unix", "", ""},
		{"route", "", ""},
		{"pair", "", ""},
		{"datagram pair", "permission denied", "permission denied"},
		{"fastopen", "operation not permitted", "connection refused"},
		{"flags", "operation not supported", "operation not supported"},
		{"io_uring", "operation not permitted", "operation not permitted"},
		{"userns", "operation not permitted", "operation not permitted"},
		{"keys", "operation not permitted", "operation not permitted"},
		{"bpf", "operation not permitted", "operation not permitted"},
		{"swap", "operation not permitted", "operation not permitted"},
		{"clone3", "function not implemented", "function not implemented"},
		{"clone", "operation not permitted", "operation not permitted"},
		{"typing", "operation not permitted", "operation not permitted"},
		{"typing2", "operation not permitted", "operation not permitted"},
		{"thread", "", ""},
	} {
		for _, net := range []struct {
			box  *sandbox.Sandbox
			want string
		}{{s, tt.offline}, {open, tt.network}} {
			out, _ := confined(t, net.box, g.workspace, `exec "$SELF"`, trial+"="+tt.name, "SELF="+self, "PORT=1")
			if got := strings.TrimSpace(out); got != net.want && (net.want != anything || strings.Contains(got, "permission")) {
				t.Errorf("%s: %q, want %q", tt.name, got, net.want)
			}
		}
	}
}
