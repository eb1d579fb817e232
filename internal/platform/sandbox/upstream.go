package sandbox

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// reach connects to t, through the proxy that burin itself has to use if there is
// one. That proxy resolves the name: its address cannot be judged then, an address
// given as such can.
func (p *proxy) reach(ctx context.Context, t target, rule host) (net.Conn, error) {
	up, err := p.way.upstream(&url.URL{Scheme: "https", Host: t.String()})
	if err != nil {
		return nil, err
	}
	if up == nil {
		return p.dial(ctx, t, rule)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := dialUpstream(ctx, up)
	if err != nil {
		return nil, err
	}
	if err := connectThrough(ctx, c, up, t); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func dialUpstream(ctx context.Context, up *url.URL) (net.Conn, error) {
	port := up.Port()
	switch {
	case up.Scheme != "http" && up.Scheme != "https":
		return nil, fmt.Errorf("burin's own proxy is a %s proxy, which cannot be used behind the sandbox's", up.Scheme)
	case port == "" && up.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	address := net.JoinHostPort(up.Hostname(), port)
	if up.Scheme == "https" {
		return (&tls.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// connectThrough asks the proxy at the other end of c for a tunnel.
func connectThrough(ctx context.Context, c net.Conn, up *url.URL, t target) error {
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
		defer func() { _ = c.SetDeadline(time.Time{}) }()
	}
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: t.String()}, Host: t.String(), Header: http.Header{}}
	if up.User != nil {
		password, _ := up.User.Password()
		r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+password)))
	}
	if err := r.Write(c); err != nil {
		return fmt.Errorf("ask burin's own proxy: %w", err)
	}
	// A buffer of one byte reads nothing of the tunnel itself: the answer's head
	// ends before, and a server speaks first in some protocols.
	answer, err := http.ReadResponse(bufio.NewReaderSize(oneByte{c}, 16), r)
	if err != nil {
		return fmt.Errorf("ask burin's own proxy: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("burin's own proxy answered %s", answer.Status)
	}
	return nil
}

// oneByte reads byte by byte, so that a buffer above it never holds more than was
// asked of it.
type oneByte struct{ net.Conn }

func (o oneByte) Read(b []byte) (int, error) {
	if len(b) > 1 {
		b = b[:1]
	}
	return o.Conn.Read(b)
}
