package mcp

import (
	"context"
	"errors"
	"time"
)

// The states of a link.
const (
	Off        = "off"        // switched off
	Connecting = "connecting" // or asking for tools
	Connected  = "connected"
	Ended      = "ended"  // the connection, by the server; the next call connects again
	Failed     = "failed" // the last attempt to connect; a call tries again, not before Retry
	NeedsLogin = "login"  // a login is missing, or not enough
	Idle       = "idle"   // not connected, as nothing was called yet
)

// Status is how a link is.
type Status struct {
	State string
	Err   error     // why it ended or failed
	Retry time.Time // of Failed: before that calls give the same error
	At    time.Time // when the server had its tools; zero: it was never asked
	Tools []Tool    // all that the server had last, those that aren't used too; they must not be changed
	Spoke string    // the version of the protocol that it spoke last; "": it is not known
}

// Status says how the link is. It asks nobody, and of a link that was off from the beginning it
// reads the file of the server's tools.
func (l *Link) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off && l.at.IsZero() {
		l.remember()
	}
	s := Status{At: l.at, Tools: l.tools, State: Idle, Err: l.err, Spoke: l.spoke}
	login := (*LoginError)(nil)
	switch {
	case l.off:
		s.State = Off
	case l.conn != nil && l.conn.why() == nil:
		s.State = Connected
	case len(l.gate) > 0:
		s.State = Connecting
	case errors.As(l.err, &login):
		s.State = NeedsLogin
	case l.err != nil:
		s.State, s.Retry = Failed, l.failed.Add(wait(max(l.failures, 1)))
	case l.conn != nil:
		s.State, s.Err = Ended, l.conn.why()
	}
	return s
}

// Offers reports whether a tool is to be used.
func (l *Link) Offers(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offers(tool)
}

func (l *Link) offers(tool string) bool {
	if on, ok := l.chosen[tool]; ok {
		return on
	}
	return l.server.offers(tool)
}

// Off reports whether the server is switched off.
func (l *Link) Off() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.off
}

// Switch switches a tool off or on, whatever the definition of the server says; with "" it is the
// server: off, it ends with its calls, and on it connects to nothing yet. Who watches is told.
func (l *Link) Switch(tool string, on bool) {
	l.mu.Lock()
	var c *conn
	switch {
	case tool != "":
		if l.chosen == nil {
			l.chosen = map[string]bool{}
		}
		l.chosen[tool] = on
	case l.off == !on:
		l.mu.Unlock()
		return
	default:
		c = l.conn
		l.off, l.conn, l.failures, l.err = !on, nil, 0, nil
		if on && l.at.IsZero() {
			l.remember()
		}
	}
	tell := l.watchers()
	l.mu.Unlock()
	hangUp(c, errOff)
	for _, f := range tell {
		f()
	}
}

// Reconnect ends the connection and its calls, forgets failures, and connects.
func (l *Link) Reconnect(ctx context.Context) error {
	l.mu.Lock()
	c := l.conn
	l.conn, l.failures, l.err = nil, 0, nil
	l.mu.Unlock()
	hangUp(c, errAgain)
	return l.Connect(ctx)
}

// hangUp ends a connection for a reason; nil is none.
func hangUp(c *conn, why error) {
	if c != nil {
		c.fail(why)
		c.close()
	}
}

// watchers are those who are told of changes. The link is locked.
func (l *Link) watchers() (all []func()) {
	for _, f := range l.watching {
		all = append(all, f)
	}
	return all
}
