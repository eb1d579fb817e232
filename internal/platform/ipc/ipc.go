// Package ipc connects processes of one user on one machine: sockets that nobody else
// reaches, who is at the other end, and who listens. It knows nothing of sessions.
//
// [Address] names the socket of something by its identity. [Join] makes the process the
// one that listens there or connects it to the one that does. [Peer] and [PeerDescends] say who
// connected.
//
// # Who can connect
//
// On Unix a socket has mode 0600 and lies in a folder of mode 0700 that belongs to the
// user; both ends ask the kernel who the other is and refuse other users, root included.
// A folder for temporary files is never used: confined commands may write there and
// could listen in burin's place. On Windows it is a named pipe that only the user may
// open, and not over the network.
//
// A command that burin confines on Linux can't connect (see package sandbox). One that
// isn't confined can, and [PeerDescends] finds it by its parents, because every command
// runs below a guard that adopts orphans (see package process).
//
// What remains:
//
//   - An unconfined command can have a process connect for it that isn't its child: through
//     a terminal multiplexer, a service manager, cron, a container daemon, ssh to this machine,
//     a debugger.
//   - It can kill its guard with SIGKILL. What it has put into a session of its own
//     then lives on as a child of the first process.
//   - Before Linux 6.5 the kernel keeps only the number of the process that connected.
//     That process can pass the connection to another and end; once its number belongs to
//     a new process, that one is judged. On macOS the number is the same, and is that of the process
//     that last used the connection.
//   - Outside Linux there are no guards that adopt: a process whose parents have ended
//     has lost its origin. On Windows its parent is gone, on macOS it is launchd.
//
// On other systems than Linux, macOS and Windows every connection is refused, because who
// connects isn't known there.
package ipc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// ErrAbsent means that nobody listens at an address.
var ErrAbsent = errors.New("nobody listens")

// hash is the short name of an identity: 80 bits, as no one gains by a collision.
func hash(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:10])
}

// Listener accepts connections of the same user. It is safe for concurrent use.
type Listener struct {
	net     net.Listener
	remove  func() error // removes the name; after net is closed
	closed  chan struct{}
	close   sync.Once
	problem error // of Close
}

// pause is how long Accept waits when the system has no descriptor left.
const pause = 50 * time.Millisecond

// Accept waits for the next connection. Those of other users are closed. After Close the
// error is [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.net.Accept()
		switch {
		case err == nil:
			if _, err := Peer(c); err == nil {
				return c, nil
			}
			_ = c.Close()
		case outOfDescriptors(err):
			select {
			case <-time.After(pause):
			case <-l.closed:
			}
		default:
			select {
			case <-l.closed:
				return nil, net.ErrClosed
			default:
				return nil, err
			}
		}
	}
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}

// Close ends Accept and removes the name. Accepted connections stay open. Call it before
// giving back the lock that made this process listen.
func (l *Listener) Close() error {
	l.close.Do(func() {
		close(l.closed)
		l.problem = errors.Join(l.net.Close(), l.remove())
	})
	return l.problem
}
