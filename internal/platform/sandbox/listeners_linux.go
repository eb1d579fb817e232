//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listener is a TCP socket that accepts connections.
type listener struct {
	local netip.AddrPort
	inode uint64
}

// mayAnswer says whether a connection to ip and port may end at l.
func (l listener) mayAnswer(ip netip.Addr, port uint16) bool {
	local := l.local.Addr()
	return l.local.Port() == port && (local.Unmap() == ip || local.IsUnspecified())
}

// name is how /proc names the socket among the descriptors of a process.
func (l listener) name() string { return fmt.Sprintf("socket:[%d]", l.inode) }

// tcpListen is the state of listening sockets.
const tcpListen = 10

// listeners are all listening TCP sockets of this network. The kernel gives them
// by netlink; its table in /proc is for kernels without that, and takes
// milliseconds on machines with much memory.
func listeners() ([]listener, error) {
	var all []listener
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		some, err := askListeners(family)
		if err != nil {
			return readListeners("/proc/self/net/tcp", "/proc/self/net/tcp6")
		}
		all = append(all, some...)
	}
	return all, nil
}

// listenersRequest is struct inet_diag_req_v2 behind a netlink header.
type listenersRequest struct {
	header           unix.NlMsghdr
	family, protocol uint8
	_                [2]uint8
	states           uint32
	_                [48]byte // struct inet_diag_sockid: any
}

// sizeofDiag is that of struct inet_diag_msg.
const sizeofDiag = 72

func askListeners(family uint8) ([]listener, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	r := listenersRequest{family: family, protocol: unix.IPPROTO_TCP, states: 1 << tcpListen}
	r.header = unix.NlMsghdr{Len: uint32(unsafe.Sizeof(r)), Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST | unix.NLM_F_DUMP}
	if _, err := unix.Write(fd, (*[unsafe.Sizeof(r)]byte)(unsafe.Pointer(&r))[:]); err != nil {
		return nil, err
	}
	var all []listener
	for b := make([]byte, 32<<10); ; {
		n, err := unix.Read(fd, b)
		if err != nil {
			return nil, err
		}
		messages, err := syscall.ParseNetlinkMessage(b[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				return all, nil
			case m.Header.Type == unix.NLMSG_ERROR:
				return nil, unix.EOPNOTSUPP
			case len(m.Data) >= sizeofDiag:
				all = append(all, parseDiag(m.Data))
			}
		}
	}
}

// parseDiag reads a struct inet_diag_msg.
func parseDiag(b []byte) listener {
	const port, source, inode = 4, 8, 68
	ip := netip.AddrFrom16([16]byte(b[source:]))
	if b[0] == unix.AF_INET {
		ip = netip.AddrFrom4([4]byte(b[source:]))
	}
	return listener{netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[port:])), uint64(binary.NativeEndian.Uint32(b[inode:]))}
}

func readListeners(tables ...string) ([]listener, error) {
	var all []listener
	for _, table := range tables {
		data, err := os.ReadFile(table)
		if os.IsNotExist(err) {
			continue // a kernel without version 6
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			// slot local remote state queues timer retransmits user timeout inode …
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != fmt.Sprintf("%02X", tcpListen) {
				continue
			}
			local, ok := parseLocal(f[1])
			inode, err := strconv.ParseUint(f[9], 10, 64)
			if ok && err == nil {
				all = append(all, listener{local, inode})
			}
		}
	}
	return all, nil
}

// parseLocal reads an address as the kernel writes it: words in its own byte order
// in hexadecimal, a colon, the port.
func parseLocal(text string) (netip.AddrPort, bool) {
	words, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(words)
	if !ok || err != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	ip, ok := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(ip, uint16(n)), ok && err == nil
}
