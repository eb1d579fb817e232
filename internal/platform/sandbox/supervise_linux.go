//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/wall"
)

// The supervisor lives in the guard, outside the sandbox. The kernel stops a
// command's thread at certain calls and asks it. It copies what the call's
// pointers point to, judges the copy, and carries the call out itself with the
// copy, so that nothing the command changes meanwhile makes a difference. It has
// the user's rights, as the command has them.
type supervisor struct {
	c        confinement
	listener int
	calls    map[uint32]changeCall
	files    map[uint32]fileCall
	walls    *wall.Set
	tty      string // of the command, if it has one
	groups   []int  // of burin
	slots    chan struct{}
	pipes    chan struct{}
	kin      *kin
}

// maxActs is how many calls are carried out at a time; further ones wait.
const maxActs = 128

// maxNotification bounds the kernel's structs, which may grow.
const maxNotification = 512

// notification is struct seccomp_notif with room to grow.
type notification struct {
	id     uint64
	pid    uint32 // of the thread
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
	_      [maxNotification - 80]byte
}

// response is struct seccomp_notif_resp with room to grow.
type response struct {
	id    uint64
	value int64
	error int32 // negative errno
	flags uint32
	_     [maxNotification - 24]byte
}

// addition is struct seccomp_notif_addfd.
type addition struct {
	id       uint64
	flags    uint32
	source   uint32
	target   uint32
	newFlags uint32
}

const (
	ioctlIDValid = 0x40082102
	ioctlAddFD   = 0x40182103

	ioctlSetFlags = 0x40082104
)

// goOn as an errno lets the kernel carry the call out; later is that the call is
// answered already, or will be.
const (
	goOn  = unix.Errno(0xfff)
	later = unix.Errno(0xffe)
)

func newSupervisor(c confinement, walls *wall.Set, encoded []byte, descendants func(int) []int, listener int) *supervisor {
	s := &supervisor{
		c:        c,
		listener: listener,
		calls:    changeCalls(),
		files:    fileCalls(),
		walls:    walls,
		slots:    make(chan struct{}, maxActs),
		pipes:    make(chan struct{}, maxPipes),
		kin: &kin{
			guard: os.Getpid(), burin: os.Getppid(), policy: string(encoded), descendants: descendants, sockets: map[string]bool{},
		},
	}
	s.groups, _ = unix.Getgroups()
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		s.tty, _ = os.Readlink("/proc/self/fd/0")
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), ioctlSetFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) // Linux 6.6
	return s
}

// serve answers until no process of the sandbox is left. What may take long is
// done by others. The thread is the supervisor's alone: it takes on other users' rights
// and other masks of modes at times.
func (s *supervisor) serve() {
	runtime.LockOSThread()
	_ = unix.Unshare(unix.CLONE_FS)
	limitCapabilities(keptCapabilities | 1<<unix.CAP_SYS_PTRACE)
	for {
		n, err := s.receive()
		switch {
		case err != nil:
			return
		case uint32(n.number) != unix.SYS_CONNECT:
			if e := s.act(n); e != later {
				s.respond(n, e)
			}
			continue
		}
		s.slots <- struct{}{}
		go func() {
			defer func() { <-s.slots }()
			s.respond(n, s.act(n))
		}()
	}
}

// receive waits for the next call.
func (s *supervisor) receive() (*notification, error) {
	n := new(notification)
	for {
		err := s.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.ENOENT) || s.deserted():
			return nil, err
		}
		*n = notification{} // the kernel wants zeros
	}
}

// deserted says whether no process is under the filter any more. A call whose
// thread has died before it could be received looks the same to receive.
func (s *supervisor) deserted() bool {
	state := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
	_, err := unix.Poll(state, 0)
	return err == nil && state[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

func (s *supervisor) control(request uintptr, argument unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), request, uintptr(argument))
	runtime.KeepAlive(argument)
	if errno != 0 {
		return errno
	}
	return nil
}

func (s *supervisor) respond(n *notification, e unix.Errno) {
	r := response{id: n.id, error: -int32(e)}
	if e == goOn {
		r.error, r.flags = 0, unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	_ = s.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // the thread may have died
}

// act carries one call out. 0 is success; of all these calls the result is 0 then.
func (s *supervisor) act(n *notification) unix.Errno {
	if f, ok := s.files[uint32(n.number)]; ok {
		return number(s.fileCall(caller{thread: int(n.pid)}, n, f))
	}
	if call, ok := s.calls[uint32(n.number)]; ok {
		return number(s.changeFile(caller{thread: int(n.pid)}, n, call))
	}
	t, ok := s.caller(n)
	if !ok {
		return unix.EPERM
	}
	var err error
	switch nr := uint32(n.number); nr {
	case unix.SYS_CONNECT:
		err = s.connect(t, n)
	case unix.SYS_BIND:
		err = s.bind(t, n)
	case unix.SYS_LISTEN:
		err = s.listen(t, n)
	case unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET:
		err = s.prioritize(nr, int(int32(n.args[0])), int(int32(n.args[1])))
	default:
		if !slices.Contains(scheduleCalls, nr) {
			return unix.ENOSYS
		}
		err = s.schedule(int(int32(n.args[0])))
	}
	return number(err)
}

// schedule lets a command change its own processes and their threads. The number is in
// a register, which nobody can change meanwhile.
func (s *supervisor) schedule(pid int) error {
	if pid > 0 && s.kin.guards(pid) {
		return goOn
	}
	return unix.EPERM
}

// prioritize is schedule for a process, of threads too. What is done to the group or all
// processes of a user is refused.
func (s *supervisor) prioritize(nr uint32, which, who int) error {
	process := unix.PRIO_PROCESS
	if nr == unix.SYS_IOPRIO_SET {
		process = ioprioProcess
	}
	if which != process {
		return unix.EPERM
	}
	return s.schedule(who)
}

// number is an error as the caller gets it.
func number(err error) unix.Errno {
	var e unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errLater):
		return later
	case errors.As(err, &e):
		return e
	}
	return unix.EPERM
}

// caller is the thread that made a call. It is stopped, or dead: then its number
// may be that of another, and valid tells.
type caller struct{ thread int }

// caller finds out who calls. It refuses those that have become another user: the
// supervisor must not lend them its rights.
func (s *supervisor) caller(n *notification) (caller, bool) {
	t := caller{thread: int(n.pid)}
	var st unix.Stat_t
	err := unix.Stat("/proc/"+strconv.Itoa(t.thread), &st)
	return t, t.thread > 0 && err == nil && int(st.Uid) == os.Geteuid()
}

// valid says whether the thread still waits: what was read of it before is its own.
func (s *supervisor) valid(n *notification) bool {
	id := n.id
	return s.control(ioctlIDValid, unsafe.Pointer(&id)) == nil
}

// process is the one that the thread belongs to, 0 if it has ended.
func (t caller) process() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.thread))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	process, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	return process
}

// read copies size bytes of the caller's memory.
func (t caller) read(address uint64, size int) ([]byte, error) {
	b := make([]byte, size)
	n, err := t.readSome(b, address)
	if err == nil && n < size {
		err = unix.EFAULT
	}
	return b, err
}

func (t caller) readSome(b []byte, address uint64) (int, error) {
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	return unix.ProcessVMReadv(t.thread, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
}

// readString copies a string that ends with a zero byte, at most PATH_MAX long.
func (t caller) readString(address uint64) (string, error) {
	const page = 4096
	var text []byte
	b := make([]byte, page)
	for len(text) < unix.PathMax {
		// Up to the end of a page: the next one may not be there.
		n, err := t.readSome(b[:page-address%page], address)
		if err != nil {
			return "", err
		}
		if i := strings.IndexByte(string(b[:n]), 0); i >= 0 {
			return string(append(text, b[:i]...)), nil
		}
		text = append(text, b[:n]...)
		address += uint64(n)
	}
	return "", unix.ENAMETOOLONG
}

// kin says which processes and sockets belong to the sandbox: those below this
// guard, and those below other guards of the same burin with the same policy.
type kin struct {
	guard, burin int
	policy       string
	descendants  func(pid int) []int

	mu      sync.Mutex
	sockets map[string]bool // "socket:[…]" known to be of the sandbox
}

// maxKnown bounds the sockets that are remembered; then it starts anew.
const maxKnown = 1000

// includes walks from pid to its guard.
func (k *kin) includes(pid int) bool {
	for range 1000 {
		switch {
		case pid == k.guard:
			return true
		case pid <= 1:
			return false
		}
		parent := parentOf(pid)
		if parent == k.burin {
			return k.sameGuard(pid)
		}
		pid = parent
	}
	return false
}

// sameGuard says whether pid, a child of burin, is a guard of the same policy. Its
// command line holds it; nothing in a sandbox can become a child of burin.
func (k *kin) sameGuard(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), "\x00"+k.policy+"\x00")
}

// parentOf is 0 if pid has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// pid (name) state parent …; the name may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

// ownsSockets says whether a process of the sandbox holds each of the sockets,
// given as /proc names them.
func (k *kin) ownsSockets(names []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	missing := map[string]bool{}
	for _, name := range names {
		if !k.sockets[name] {
			missing[name] = true
		}
	}
	if len(missing) == 0 {
		return true
	}
	if len(k.sockets) > maxKnown {
		clear(k.sockets)
	}
	k.find(missing, k.descendants(k.guard))
	if len(missing) > 0 {
		others := slices.DeleteFunc(k.descendants(k.burin), func(pid int) bool { return !k.includes(pid) })
		k.find(missing, others)
	}
	return len(missing) == 0
}

// find looks for sockets among the descriptors of processes, moves those it finds
// from missing to the known ones, and ends with the last.
func (k *kin) find(missing map[string]bool, pids []int) {
	for _, pid := range pids {
		files := fmt.Sprintf("/proc/%d/fd", pid)
		dir, err := os.Open(files)
		if err != nil {
			continue
		}
		open, _ := dir.Readdirnames(-1) // what is there
		dir.Close()
		for _, f := range open {
			name, err := os.Readlink(files + "/" + f)
			if err == nil && missing[name] {
				delete(missing, name)
				k.sockets[name] = true
			}
		}
		if len(missing) == 0 {
			return
		}
	}
}
