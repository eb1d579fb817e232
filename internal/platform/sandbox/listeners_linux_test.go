//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel's two ways of telling who listens agree, and name the socket as the
// list of descriptors does.
func TestListeners(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Skip(err)
		}
		defer l.Close()
		raw, err := l.(*net.TCPListener).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var name string
		if err := raw.Control(func(fd uintptr) { name, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }); err != nil {
			t.Fatal(err)
		}
		want := l.Addr().(*net.TCPAddr).AddrPort()
		for way, list := range map[string]func() ([]listener, error){
			"netlink 4": func() ([]listener, error) { return askListeners(unix.AF_INET) },
			"netlink 6": func() ([]listener, error) { return askListeners(unix.AF_INET6) },
			"both":      listeners,
			"table": func() ([]listener, error) {
				return readListeners("/proc/self/net/tcp", "/proc/self/net/tcp6", "/nonexistent")
			},
		} {
			if way == "netlink 4" && want.Addr().Is6() || way == "netlink 6" && want.Addr().Is4() {
				continue
			}
			all, err := list()
			if err != nil {
				t.Errorf("%s: %v", way, err)
			}
			found := ""
			for _, l := range all {
				if l.local == want {
					found = l.name()
				}
			}
			if found != name {
				t.Errorf("%s: %v is %q, want %q", way, want, found, name)
			}
		}
	}
}

func TestListenersThatMayAnswer(t *testing.T) {
	for _, tt := range []struct {
		local, to string
		want      bool
	}{
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.0.0.1:80", "127.0.0.1:81", false},
		{"127.0.0.1:80", "127.0.0.2:80", false},
		{"0.0.0.0:80", "127.0.0.2:80", true},
		{"[::]:80", "127.0.0.1:80", true},
		{"[::ffff:127.0.0.1]:80", "127.0.0.1:80", true},
		{"[::1]:80", "127.0.0.1:80", false},
	} {
		to := netip.MustParseAddrPort(tt.to)
		if got := (listener{local: netip.MustParseAddrPort(tt.local)}).mayAnswer(to.Addr(), to.Port()); got != tt.want {
			t.Errorf("%s may answer %s: %v", tt.local, tt.to, got)
		}
	}
}

// Whatever a table of the kernel holds, addresses are read or refused.
func FuzzParseLocal(f *testing.F) {
	f.Add("0100007F:1F90")
	f.Add("0000000000000000FFFF00000100007F:223D")
	f.Add("00:0")
	f.Fuzz(func(t *testing.T, text string) {
		if a, ok := parseLocal(text); ok && !a.Addr().IsValid() {
			t.Errorf("%q is %v", text, a)
		}
	})
}

func TestParseLocal(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000:0016":                         "0.0.0.0:22",
		"00000000000000000000000001000000:1F90": "[::1]:8080",
		"0000000000000000FFFF00000100007F:223D": "[::ffff:127.0.0.1]:8765",
	} {
		if got, ok := parseLocal(text); !ok || got.String() != want {
			t.Errorf("%s is %v %v, want %s", text, got, ok, want)
		}
	}
}

func BenchmarkListeners(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := listeners(); err != nil {
			b.Fatal(err)
		}
	}
}
