package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sys/unix"
)

// The system gives up a connection to a client whose network is gone within two minutes, whether something
// was written or not, also below TLS.
func TestLostClients(t *testing.T) {
	for _, secure := range []bool{false, true} {
		conns := make(chan net.Conn, 1)
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ConnContext = expire
		srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
			if state == http.StateActive {
				select {
				case conns <- c:
				default:
				}
			}
		}
		if secure {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		defer srv.Close()
		answer, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		c := <-conns
		if over, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = over.NetConn()
		}
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			get := func(option int) int {
				n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
				if err != nil {
					t.Error(err)
				}
				return n
			}
			written := get(unix.TCP_USER_TIMEOUT) / 1000
			idle := get(unix.TCP_KEEPIDLE) + get(unix.TCP_KEEPCNT)*get(unix.TCP_KEEPINTVL)
			if beat := int(beat.Seconds()); written == 0 || beat+written > 120 || idle > 120 {
				t.Errorf("TLS %v: it ends after %d s with something written, and %d s without", secure, beat+written, idle)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
