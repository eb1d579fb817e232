package server

import (
	"context"
	"net"
	"time"
)

// lostTime is how long a client may be out of reach. Beats are written more often, so that a stream to
// nobody ends soon, and whoever was there counts no more as somebody who looks.
const lostTime = time.Minute

// expire has the system give a connection up whose other end is out of reach. Without it that takes
// minutes. It is [http.Server.ConnContext].
func expire(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = over.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		// Where the system can't, it takes as long as it does.
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: lostTime / 4, Interval: lostTime / 4, Count: 3})
		_ = giveUp(tcp, lostTime)
	}
	return ctx
}
