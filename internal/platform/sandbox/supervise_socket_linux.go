//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxAddress is the largest socket address (struct sockaddr_storage).
const maxAddress = 128

// systemSockets answer questions about users. They are not doors out.
var systemSockets = []string{"/var/lib/sss/pipes/nss", "/run/systemd/userdb"}

// readAddress copies the socket address of a call.
func (t caller) readAddress(n *notification) ([]byte, uint16, error) {
	size := int(int32(n.args[2]))
	if size < 2 || size > maxAddress {
		return nil, 0, unix.EINVAL
	}
	b, err := t.read(n.args[1], size)
	if err != nil {
		return nil, 0, err
	}
	return b, binary.NativeEndian.Uint16(b), nil
}

// duplicate gives a descriptor for the socket that is the caller's descriptor fd.
func (s *supervisor) duplicate(t caller, n *notification) (int, error) {
	process, err := unix.PidfdOpen(t.process(), 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(process)
	if !s.valid(n) {
		return -1, unix.ESRCH
	}
	return unix.PidfdGetfd(process, int(int32(n.args[0])), 0)
}

// connect connects to sockets of the sandbox and to the proxy, or anywhere but to
// foreign Unix sockets if the network is allowed.
func (s *supervisor) connect(t caller, n *notification) error {
	address, family, err := t.readAddress(n)
	if err != nil {
		return err
	}
	if family == unix.AF_UNIX {
		return s.connectUnix(t, n, address)
	}
	if (family == unix.AF_INET || family == unix.AF_INET6) && !s.c.Network {
		to, ok := internetAddress(address, family)
		if !ok {
			return unix.EINVAL
		}
		if err := s.mayReach(to); err != nil {
			return err
		}
	}
	fd, err := s.duplicate(t, n)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return connectRaw(fd, address)
}

func connectRaw(fd int, address []byte) error {
	return socketCall(unix.SYS_CONNECT, fd, address)
}

func bindRaw(fd int, address []byte) error {
	return socketCall(unix.SYS_BIND, fd, address)
}

func socketCall(nr uintptr, fd int, address []byte) error {
	_, _, errno := unix.Syscall(nr, uintptr(fd), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	if errno != 0 {
		return errno
	}
	return nil
}

// internetAddress reads a struct sockaddr_in or sockaddr_in6.
func internetAddress(b []byte, family uint16) (netip.AddrPort, bool) {
	switch {
	case family == unix.AF_INET && len(b) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:])), true
	case family == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), binary.BigEndian.Uint16(b[2:])), true
	}
	return netip.AddrPort{}, false
}

// mayReach says whether a command may connect to an address.
func (s *supervisor) mayReach(to netip.AddrPort) error {
	ip := to.Addr()
	switch ip { // an unspecified address means this machine
	case netip.IPv4Unspecified():
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case netip.IPv6Unspecified():
		ip = netip.IPv6Loopback()
	}
	if !ip.IsLoopback() {
		return unix.EACCES
	}
	if s.c.Port > 0 && int(to.Port()) == s.c.Port && ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
		return nil
	}
	listening, err := listeners()
	if err != nil {
		return unix.EACCES
	}
	var names []string
	for _, l := range listening {
		if l.mayAnswer(ip, to.Port()) {
			names = append(names, l.name())
		}
	}
	switch {
	case len(names) == 0:
		return unix.ECONNREFUSED
	case !s.kin.ownsSockets(names):
		return unix.EACCES
	}
	return nil
}

// bind binds to loopback: a command that wants all addresses gets that alone, so
// that nothing outside reaches its server.
func (s *supervisor) bind(t caller, n *notification) error {
	address, family, err := t.readAddress(n)
	if err != nil {
		return err
	}
	if family == unix.AF_UNIX && s.walls != nil && len(address) > 2 && address[2] != 0 {
		return s.bindUnix(t, address)
	}
	if family != unix.AF_INET && family != unix.AF_INET6 || s.c.Network {
		return goOn // Landlock judges files, and TCP should the address have changed meanwhile
	}
	to, ok := internetAddress(address, family)
	if !ok {
		return unix.EINVAL
	}
	fd, err := s.duplicate(t, n)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	switch {
	case to.Addr().IsUnspecified():
		toLoopback(fd, address, family)
	case !to.Addr().IsLoopback():
		return unix.EACCES
	}
	return bindRaw(fd, address)
}

// bindUnix judges the name of a socket. The kernel binds, as the name is what others see
// as the socket's address. A command that changes the name or a folder meanwhile could make
// an empty name behind a wall; there is nothing in a socket that anybody would execute.
func (s *supervisor) bindUnix(t caller, address []byte) error {
	name, _, _ := strings.Cut(string(address[2:]), "\x00")
	p, err := s.find(t, unix.AT_FDCWD, name, false)
	if err != nil {
		return err
	}
	defer p.close()
	if err := s.mayChangeName(p); err != nil {
		return err
	}
	return goOn
}

// toLoopback replaces the unspecified address. A socket of version 6 that takes
// both versions gets the loopback of version 4, which more clients try.
func toLoopback(fd int, address []byte, family uint16) {
	if family == unix.AF_INET {
		copy(address[4:], []byte{127, 0, 0, 1})
		return
	}
	ip := netip.IPv6Loopback().As16()
	if only, err := unix.GetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); err == nil && only == 0 {
		ip = netip.MustParseAddr("::ffff:127.0.0.1").As16()
	}
	copy(address[8:], ip[:])
}

// listen listens. A socket that was not bound would get all addresses.
func (s *supervisor) listen(t caller, n *notification) error {
	fd, err := s.duplicate(t, n)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		if a.Port == 0 {
			err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
	case *unix.SockaddrInet6:
		if a.Port == 0 {
			err = unix.Bind(fd, &unix.SockaddrInet6{Addr: netip.IPv6Loopback().As16()})
		}
	}
	if err != nil {
		return err
	}
	return unix.Listen(fd, int(int32(n.args[1])))
}

// connectUnix connects to a Unix socket. One that the policy names is taken as it
// is. Of others it is known only after connecting who listens, so that it is not
// the caller's socket that is connected but a new one, which takes the place of
// the caller's if the listener belongs to the sandbox. Options that were set on
// the caller's are lost then, those of its descriptor are kept. A listener that ended
// as soon as it had accepted is refused: nobody can tell any more whose it was.
func (s *supervisor) connectUnix(t caller, n *notification, address []byte) error {
	fd, err := s.duplicate(t, n)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_UNIX {
		return unix.EINVAL
	}
	if len(address) > 2 && address[2] != 0 { // not abstract
		path, _, _ := strings.Cut(string(address[2:]), "\x00")
		socket, err := t.open(unix.AT_FDCWD, path, false)
		if err != nil {
			return err
		}
		defer unix.Close(socket)
		address = append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), magicLink(socket)+"\x00"...)
		if s.namesSocket(nameOf(socket)) {
			return connectRaw(fd, address)
		}
	}
	fresh, err := freshSocket(fd)
	if err != nil {
		return err
	}
	defer unix.Close(fresh)
	if err := connectRaw(fresh, address); err != nil {
		return err
	}
	peer, err := unix.GetsockoptUcred(fresh, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || !s.kin.includes(int(peer.Pid)) {
		return unix.EACCES
	}
	return s.replace(t, n, fresh)
}

// namesSocket says whether the policy allows the socket at path as such.
func (s *supervisor) namesSocket(path string) bool {
	return slices.Contains(s.c.Writable, path) ||
		slices.ContainsFunc(systemSockets, func(system string) bool { return below(path, system) })
}

// freshSocket makes an unconnected socket like fd.
func freshSocket(fd int) (int, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return -1, err
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return -1, err
	}
	return unix.Socket(unix.AF_UNIX, kind|flags&unix.O_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// replace puts fd in the place of the caller's descriptor.
func (s *supervisor) replace(t caller, n *notification, fd int) error {
	a := addition{
		id:     n.id,
		flags:  unix.SECCOMP_ADDFD_FLAG_SETFD,
		source: uint32(fd),
		target: uint32(n.args[0]),
	}
	if closesOnExec(t, int(int32(n.args[0]))) {
		a.newFlags = unix.O_CLOEXEC
	}
	return s.add(&a)
}

// add puts a descriptor into the caller's table. A signal that interrupts it after the kernel
// has woken the caller takes the descriptor away again, and the caller's call returns 0, which
// is its standard input: so no signal reaches this thread meanwhile. The caller takes the
// descriptor at once, or dies.
func (s *supervisor) add(a *addition) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = math.MaxUint64
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return err
	}
	err := s.control(ioctlAddFD, unsafe.Pointer(a))
	if e := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err == nil {
		err = e
	}
	return err
}

func closesOnExec(t caller, fd int) bool {
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", t.thread, fd))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(info), "flags:")
	line, _, _ := strings.Cut(rest, "\n")
	flags, err := strconv.ParseUint(strings.TrimSpace(line), 8, 64)
	return err == nil && flags&unix.O_CLOEXEC != 0
}
