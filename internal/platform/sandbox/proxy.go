package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Limits of the proxy.
const (
	maxExchanges  = 256              // at a time; more are answered 503
	headTimeout   = 10 * time.Second // for the head of a request
	dialTimeout   = 20 * time.Second
	maxHead       = 64 << 10
	deniedKept    = 32 // names of denied hosts that are remembered for explanations
	maxDeniedName = 300
)

const proxyUser = "burin"

// proxy forwards HTTP requests and tunnels to allowed hosts. It listens on
// loopback and wants a password, so that only commands that got its address use
// it. It sees where a tunnel goes, not what is in it.
type proxy struct {
	hosts    []host
	token    string
	listener net.Listener
	server   *http.Server
	way      way
	forward  *http.Transport
	slots    chan struct{}
	ended    context.Context // ends tunnels
	end      context.CancelFunc
	tunnels  sync.WaitGroup

	mu     sync.Mutex
	denied []string // latest last
}

// way is how the proxy gets out.
type way struct {
	upstream func(*url.URL) (*url.URL, error) // the proxy that burin itself has to use; nil for none
	resolve  func(ctx context.Context, network, name string) ([]netip.Addr, error)
}

// systemWay is the way of burin's own requests.
func systemWay() way {
	return way{upstream: httpproxy.FromEnvironment().ProxyFunc(), resolve: net.DefaultResolver.LookupNetIP}
}

func startProxy(hosts []host, w way) (*proxy, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("sandbox: proxy of the allowed hosts: %w", err)
	}
	p := &proxy{
		hosts:    hosts,
		token:    rand.Text(),
		listener: listener,
		way:      w,
		slots:    make(chan struct{}, maxExchanges),
	}
	p.ended, p.end = context.WithCancel(context.Background())
	p.forward = &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return p.way.upstream(r.URL) },
		DialContext:            p.dialForward,
		DisableCompression:     true,
		MaxIdleConns:           16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHead,
	}
	p.server = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: headTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHead,
	}
	p.tunnels.Go(func() { _ = p.server.Serve(listener) }) // returns at close
	return p, nil
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *proxy) url() string {
	return fmt.Sprintf("http://%s:%s@127.0.0.1:%d", proxyUser, p.token, p.port())
}

func (p *proxy) close() error {
	p.end()
	err := p.server.Close()
	p.tunnels.Wait()
	p.forward.CloseIdleConnections()
	return err
}

// ServeHTTP answers one request of a command.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		http.Error(w, "burin's sandbox proxy has too many connections", http.StatusServiceUnavailable)
		return
	}
	if !p.authorized(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="burin sandbox"`)
		http.Error(w, "burin's sandbox proxy needs the password of the proxy variables", http.StatusProxyAuthRequired)
		return
	}
	target, ok := targetOf(r)
	if !ok {
		http.Error(w, "burin's sandbox proxy takes CONNECT host:port and requests for http:// addresses", http.StatusBadRequest)
		return
	}
	rule, ok := p.rule(target)
	if !ok {
		p.deny(target.String())
		http.Error(w, fmt.Sprintf("burin's sandbox does not allow %s: it is not among the allowed hosts", target), http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r, target, rule)
		return
	}
	p.pass(w, r, target, rule)
}

func (p *proxy) authorized(r *http.Request) bool {
	scheme, encoded, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return false
	}
	given, err := base64.StdEncoding.DecodeString(encoded)
	return err == nil && subtle.ConstantTimeCompare(given, []byte(proxyUser+":"+p.token)) == 1
}

// target is where a command wants to go.
type target struct {
	host string
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

func targetOf(r *http.Request) (target, bool) {
	t := target{host: r.URL.Hostname(), port: 80}
	port := r.URL.Port()
	switch {
	case r.Method == http.MethodConnect:
		if port == "" {
			return t, false
		}
	case r.URL.Scheme != "http":
		return t, false
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return t, false
		}
		t.port = int(n)
	}
	return t, t.host != "" && len(t.host) < maxDeniedName
}

func (p *proxy) rule(t target) (host, bool) {
	i := slices.IndexFunc(p.hosts, func(h host) bool { return h.matches(t.host, t.port) })
	if i < 0 {
		return host{}, false
	}
	return p.hosts[i], true
}

func (p *proxy) deny(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied = append(slices.DeleteFunc(p.denied, func(d string) bool { return d == name }), name)
	if len(p.denied) > deniedKept {
		p.denied = slices.Delete(p.denied, 0, 1)
	}
}

// lastDenied are the hosts denied so far, latest last.
func (p *proxy) lastDenied() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.denied)
}

var errAddress = errors.New("it leads to an address of this machine or its neighbourhood")

// dial connects to t itself. The addresses that were judged are the ones dialled:
// a second answer of the name's DNS changes nothing.
func (p *proxy) dial(ctx context.Context, t target, rule host) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := p.way.resolve(ctx, "ip", t.host)
	if err != nil {
		return nil, err
	}
	err = errAddress
	var d net.Dialer
	for _, a := range addresses {
		if !rule.mayBe(a) {
			continue
		}
		var c net.Conn
		if c, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(a.Unmap(), uint16(t.port)).String()); err == nil {
			return c, nil
		}
	}
	if errors.Is(err, errAddress) {
		p.deny(t.String())
	}
	return nil, err
}

// route is how a plain request is to be dialled.
type route struct {
	target   target
	rule     host
	upstream bool
}

type routeKey struct{}

// dialForward connects for a plain request: to the upstream proxy if there is one
// for it, else to the host whose name has been judged.
func (p *proxy) dialForward(ctx context.Context, network, address string) (net.Conn, error) {
	way, ok := ctx.Value(routeKey{}).(route)
	switch {
	case !ok:
		return nil, errors.New("a request without a route")
	case way.upstream:
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	}
	return p.dial(ctx, way.target, way.rule)
}

// hopHeaders concern one connection, not the request.
var hopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// pass forwards a plain request and its answer.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, t target, rule host) {
	up, err := p.way.upstream(r.URL)
	if err != nil {
		p.badGateway(w, t.String(), err)
		return
	}
	out := r.Clone(context.WithValue(r.Context(), routeKey{}, route{t, rule, up != nil}))
	out.RequestURI = ""
	out.Host = r.URL.Host // not what a Host header may claim
	dropHopHeaders(out.Header)
	answer, err := p.forward.RoundTrip(out)
	if err != nil {
		p.badGateway(w, t.String(), err)
		return
	}
	defer answer.Body.Close()
	dropHopHeaders(answer.Header)
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(flushing{w, http.NewResponseController(w)}, answer.Body) // either end may go away
}

func dropHopHeaders(h http.Header) {
	for _, names := range h["Connection"] {
		for name := range strings.SplitSeq(names, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopHeaders {
		h.Del(name)
	}
}

// flushing passes each piece on at once: answers may be streams of events.
type flushing struct {
	io.Writer
	c *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err != nil {
		return n, err
	}
	return n, f.c.Flush()
}

func (p *proxy) badGateway(w http.ResponseWriter, name string, err error) {
	if errors.Is(err, errAddress) {
		http.Error(w, fmt.Sprintf("burin's sandbox does not allow %s: %v", name, err), http.StatusForbidden)
		return
	}
	http.Error(w, fmt.Sprintf("burin's sandbox proxy cannot reach %s: %v", name, err), http.StatusBadGateway)
}

// tunnel connects the command with t and stays out of what they say.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request, t target, rule host) {
	far, err := p.reach(r.Context(), t, rule)
	if err != nil {
		p.badGateway(w, t.String(), err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot become a tunnel", http.StatusInternalServerError)
		return
	}
	defer near.Close()
	p.tunnels.Add(1)
	defer p.tunnels.Done()
	stop := context.AfterFunc(p.ended, func() { near.Close(); far.Close() })
	defer stop()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(far, buffered) // what came with the request's head is in the buffer
		closeWrite(far)
	}()
	_, _ = io.Copy(near, far)
	closeWrite(near)
	<-done
}

// closeWrite tells the other end that no more comes, while its answer may still
// come back.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}
