package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// Options of a pool.
type Options struct {
	Version string            // of burin
	HTTP    http.RoundTripper // nil is the default
	Environ []string          // of burin
	Tokens  Tokens            // of logins; nil: there are none
	Cache   string            // the folder that keeps what tools servers had; "" is none
	Now     func() time.Time  // nil is time.Now
	// Sampling says that servers may ask for the answers of models, if a [Caller] has some.
	Sampling bool
	// Confine makes the sandbox of a program that works in a folder. nil: those that want one don't start.
	Confine func(s *Sandbox, dir string) (*Confined, error)
}

// Pool has the servers of a process. It is safe for concurrent use.
type Pool struct {
	o Options

	mu    sync.Mutex
	links map[string]*Link
	users map[*Link]int
}

// NewPool makes a pool. Nothing is started.
func NewPool(o Options) *Pool {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HTTP == nil {
		o.HTTP = http.DefaultTransport
	}
	return &Pool{o: o, links: map[string]*Link{}, users: map[*Link]int{}}
}

// Use gives the link to a server for a workspace. Everyone who uses the same gets the same one,
// and calls leave in the end; with the last one the server ends.
func (p *Pool) Use(s Server, dir string) (l *Link, leave func()) { return p.use(s, dir, true) }

// UseOff is Use for a server that the person has switched off: the link has no tools and connects
// to nothing until [Link.Switch] switches it on, and nothing is read for it.
func (p *Pool) UseOff(s Server, dir string) (l *Link, leave func()) { return p.use(s, dir, false) }

func (p *Pool) use(s Server, dir string, on bool) (l *Link, leave func()) {
	whole, _ := json.Marshal(s) // of texts: it cannot fail
	key := string(whole) + "\n" + dir
	if !on { // another one than that of sessions that use the server
		key += "\noff"
	}
	p.mu.Lock()
	l = p.links[key]
	known := l != nil
	if !known {
		l = &Link{pool: p, server: s, dir: dir, gate: make(chan struct{}, 1), watching: map[int]func(){}, off: !on}
		if on {
			l.remember()
		}
		p.links[key] = l
	}
	p.users[l]++
	p.mu.Unlock()
	if known { // its definition says so now
		l.Switch("", on)
	}
	return l, sync.OnceFunc(func() {
		p.mu.Lock()
		p.users[l]--
		last := p.users[l] == 0
		if last {
			delete(p.users, l)
			delete(p.links, key)
		}
		p.mu.Unlock()
		if last {
			l.close()
		}
	})
}

// Find are the links that lead to the server with that name, of all workspaces.
func (p *Pool) Find(name string) (found []*Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		if l.server.Name == name {
			found = append(found, l)
		}
	}
	return found
}

// fresh is how long the tools of a server are taken for what it still has.
const fresh = 24 * time.Hour

// Link is the way to a server. It is safe for concurrent use.
type Link struct {
	pool   *Pool
	server Server
	dir    string
	gate   chan struct{} // held by who connects

	mu       sync.Mutex
	conn     *conn // nil: not connected
	closed   bool
	off      bool            // switched off
	chosen   map[string]bool // tools that were switched since the link is there
	tools    []Tool          // all that the server has
	at       time.Time       // when the server had them; zero: it is not known what it has
	failures int
	failed   time.Time
	err      error     // of the last attempt
	words    string    // of a program that could not be talked to
	spoke    string    // the version that was spoken last; "": it is not known
	spokeAt  time.Time // when it was found out
	watching map[int]func()
	next     int
	asking   sync.WaitGroup
	log      ring

	offer     Offer
	offered   *conn // that was asked for it
	proposing *conn // that proposed values
	proposed  map[string][]string
}

// Server is what the link leads to.
func (l *Link) Server() Server { return l.server }

// Tools are those to use of what the server had last, by name. known is false if it was never
// asked. A server that is switched off has none.
func (l *Link) Tools() (tools []Tool, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return nil, true
	}
	for i := range l.tools {
		if l.offers(l.tools[i].Name) {
			tools = append(tools, l.tools[i])
		}
	}
	return tools, !l.at.IsZero()
}

// Log is what the server said of its work last, the oldest first: at most a hundred lines.
func (l *Link) Log() []Line { return l.log.all() }

// Words are the last ones of a program on its standard error, while it is connected or after an
// attempt to connect has failed.
func (l *Link) Words() string {
	l.mu.Lock()
	c, words := l.conn, l.words
	l.mu.Unlock()
	if c == nil {
		return words
	}
	return c.words()
}

// Stale reports whether the server should be asked again what it has.
func (l *Link) Stale() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.off && (l.at.IsZero() || l.pool.o.Now().Sub(l.at) > fresh)
}

// Watch calls f when the tools have changed, until stop is called.
func (l *Link) Watch(f func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	id := l.next
	l.watching[id] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watching, id)
	}
}

// wait is how long to wait after so many failures before the next attempt.
func wait(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 10), time.Minute)
}

// Connect connects to the server unless it is, and asks for its tools. After a failure it gives
// the same error again for a while.
func (l *Link) Connect(ctx context.Context) error {
	_, err := l.connect(ctx)
	return err
}

func (l *Link) connect(ctx context.Context) (*conn, error) {
	select {
	case l.gate <- struct{}{}:
		defer func() { <-l.gate }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	c, closed, off, failures, since, last := l.conn, l.closed, l.off, l.failures, l.pool.o.Now().Sub(l.failed), l.err
	l.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case off:
		return nil, errOff
	case c != nil && c.why() == nil:
		return c, nil
	case failures > 0 && since < wait(failures):
		return nil, fmt.Errorf("%w; burin tries again in %s", last, (wait(failures) - since).Round(time.Second))
	}
	if c != nil {
		c.close()
	}
	ctx, stop := context.WithTimeout(ctx, l.server.timeout())
	defer stop()
	older := l.older()
	c, tools, err := meet(ctx, l)
	if login := (*LoginError)(nil); err != nil && older && !errors.As(err, &login) {
		l.forget() // perhaps it is a newer one now
		if l.server.Type != Stdio && ctx.Err() == nil {
			c, tools, err = meet(ctx, l)
		}
	}
	l.mu.Lock()
	if err == nil && (l.closed || l.off) {
		off := l.off
		l.mu.Unlock()
		c.close()
		if off {
			return nil, errOff
		}
		return nil, errClosed
	}
	l.words = ""
	if err != nil {
		if c != nil && c.transport != nil {
			l.words = c.words()
		}
		err = l.explain(ctx, c, err)
		l.conn, l.err, l.failed = nil, err, l.pool.o.Now()
		if login := (*LoginError)(nil); !errors.As(err, &login) { // which may be there at any time
			l.failures++
		}
		l.mu.Unlock()
		return nil, err
	}
	l.conn, l.err, l.failures = c, nil, 0
	if speaks := cmp.Or(c.stateless, c.agreed); speaks != l.spoke || l.pool.o.Now().Sub(l.spokeAt) >= memory {
		l.spoke, l.spokeAt = speaks, l.pool.o.Now()
	}
	l.mu.Unlock()
	l.learn(tools)
	return c, nil
}

// meet connects and asks for the tools.
func meet(ctx context.Context, l *Link) (*conn, []Tool, error) {
	c, err := l.dial(ctx)
	if err != nil {
		return c, nil, err
	}
	tools, err := listTools(ctx, c)
	if err != nil {
		c.close()
		return c, nil, err
	}
	c.followed(ctx)
	return c, tools, nil
}

// explain says what went wrong in words that help.
func (l *Link) explain(ctx context.Context, c *conn, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", l.server.timeout())
	}
	if c != nil && c.transport != nil {
		if words := c.words(); words != "" {
			lines := strings.Split(words, "\n")
			err = fmt.Errorf("%w: %s", err, prose.Short(prose.Inline(lines[len(lines)-1]), 300))
		}
	}
	return err
}

// dial connects and introduces burin.
func (l *Link) dial(ctx context.Context) (*conn, error) {
	if l.server.Type == Stdio {
		c, err := startUp(ctx, l, false)
		if errors.Is(err, errLost) && ctx.Err() == nil { // some end with a question that they don't know
			c, err = startUp(ctx, l, true)
		}
		return c, err
	}
	kinds := []string{l.server.Type}
	if l.server.Type == HTTP {
		kinds = append(kinds, SSE) // an older server at the same address
	}
	var first error
	for _, kind := range kinds {
		c := l.newConn()
		w, err := reach(ctx, c, &l.server, l.pool.o, kind)
		if err == nil {
			if err = l.introduce(ctx, c, w); err == nil {
				switch {
				case c.stateless != "":
					subscribe(l, c)
				case kind != SSE:
					w.listen(ctx)
				}
				return c, nil
			}
			c.close()
		}
		if !errors.Is(err, errStatus) {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// startUp starts a program and introduces burin, as to an older server or as to one that isn't known yet.
func startUp(ctx context.Context, l *Link, older bool) (*conn, error) {
	c := l.newConn()
	if err := start(c, &l.server, l.dir, &l.pool.o); err != nil {
		return nil, err
	}
	var err error
	if older {
		var said agreed
		if said, err = c.initialize(ctx, &l.pool.o); err == nil {
			err = begin(ctx, l, c, nil, said)
		}
	} else {
		err = l.introduce(ctx, c, nil)
	}
	if err != nil {
		c.close()
		return c, err
	}
	if c.stateless != "" {
		subscribe(l, c)
	}
	return c, nil
}

func (l *Link) newConn() *conn {
	c := newConn()
	c.asked = func(ctx context.Context, method string, params json.RawMessage) (any, *Error) {
		switch method {
		case "ping":
			return nil, nil
		case "roots/list":
			return roots(l.dir), nil
		}
		return l.serve(ctx, c, method, params)
	}
	c.about = func(version, method string, caller *Caller) map[string]any {
		return about(&l.pool.o, c, version, method, caller)
	}
	c.notified = func(method string, params json.RawMessage) {
		switch method {
		case "notifications/tools/list_changed":
			l.refresh(c)
		case "notifications/resources/list_changed", "notifications/prompts/list_changed":
			l.changed(c)
		case "notifications/elicitation/complete":
			c.completed(params)
		case "notifications/message":
			l.log.take(l.pool.o.Now(), params)
		}
	}
	return c
}

// refresh asks for the tools again, beside everything else.
func (l *Link) refresh(c *conn) {
	l.besides(func(ctx context.Context) {
		if tools, err := listTools(ctx, c); err == nil { // else the old ones stay
			l.learn(tools)
		}
	})
}

// hello is what burin says of itself.
func hello(version string, sampling bool) map[string]any {
	can := map[string]any{"roots": struct{}{}, "elicitation": elicits()}
	if sampling {
		can["sampling"] = struct{}{}
	}
	return map[string]any{
		"protocolVersion": versions[0], "capabilities": can,
		"clientInfo": map[string]string{"name": "burin", "version": version},
	}
}

// agreed is what an older server says of itself.
type agreed struct {
	Version      string       `json:"protocolVersion"`
	Capabilities capabilities `json:"capabilities"`
}

// initialize asks an older server what it speaks.
func (c *conn) initialize(ctx context.Context, o *Options) (said agreed, err error) {
	err = c.callFor(ctx, pending{silent: true}, "initialize", hello(o.Version, o.Sampling), &said)
	return said, err
}

// begin begins to speak an older version of the protocol.
func begin(ctx context.Context, l *Link, c *conn, w *web, said agreed) error {
	if !slices.Contains(versions, said.Version) {
		return errVersion(said.Version)
	}
	if w != nil {
		w.agree(said.Version)
	}
	c.agreed = said.Version
	c.completes = said.Capabilities.Completions != nil
	line, _ := json.Marshal(message{Version: "2.0", Method: "notifications/initialized"}) // it cannot fail
	if _, err := c.send(ctx, parcel{line: line}); err != nil {
		return err
	}
	if said.Capabilities.Logging != nil { // some say nothing before they are asked to
		l.besides(func(ctx context.Context) {
			_ = c.call(ctx, "logging/setLevel", map[string]any{"level": "info"}, nil) // its log is then what it is
		})
	}
	return nil
}

// besides does something while everything else continues, within the server's time.
func (l *Link) besides(do func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.asking.Go(func() {
		ctx, stop := context.WithTimeout(context.Background(), l.server.timeout())
		defer stop()
		do(ctx)
	})
}

// list asks for all pages of a list, which has this name in answers. A server that does not know
// the method has none.
func list[T any](ctx context.Context, c *conn, method, name string, most int) ([]T, error) {
	all := []T{}
	cursor := ""
	for range maxPages {
		var page map[string]json.RawMessage
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		err := c.call(ctx, method, params, &page)
		if e := (*Error)(nil); errors.As(err, &e) && e.Code == methodNotFound {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var some []T
		if page[name] != nil {
			if err := json.Unmarshal(page[name], &some); err != nil {
				return nil, fmt.Errorf("read the answer to %s: %w", method, err)
			}
		}
		all = append(all, some[:min(len(some), most-len(all))]...)
		cursor = ""
		if next := page["nextCursor"]; next != nil {
			_ = json.Unmarshal(next, &cursor) // what is no text is no cursor
		}
		if cursor == "" {
			break
		}
	}
	return all, nil
}

// listTools asks for the tools of a server, by name.
func listTools(ctx context.Context, c *conn) ([]Tool, error) {
	some, err := list[Tool](ctx, c, "tools/list", "tools", maxTools)
	if err != nil {
		return nil, fmt.Errorf("list its tools: %w", err)
	}
	_, over := c.transport.(*web)
	all := []Tool{}
	for _, t := range some {
		if _, ok := parameters(t.InputSchema); !ok && over && c.stateless != "" {
			continue // the protocol wants it left out: what its call would have to say can't be said
		}
		if t.Name != "" && len(t.Name) < 256 {
			t.harmless()
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Tool) bool { return a.Name == b.Name }), nil
}

// learn notes the tools, here and for the next run, and tells who watches.
func (l *Link) learn(tools []Tool) {
	now := l.pool.o.Now()
	l.mu.Lock()
	changed := l.at.IsZero() || !slices.EqualFunc(l.tools, tools, equal)
	l.tools, l.at = tools, now
	var tell []func()
	if changed {
		tell = l.watchers()
	}
	k := kept{At: now, Tools: tools, Offer: l.offer, Spoke: l.spoke, SpokeAt: l.spokeAt}
	l.mu.Unlock()
	l.keep(k)
	for _, f := range tell {
		f()
	}
}

func equal(a, b Tool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.Annotations == b.Annotations && string(a.InputSchema) == string(b.InputSchema)
}

// kept is the file of what a server had.
type kept struct {
	At    time.Time `json:"at"`
	Tools []Tool    `json:"tools"`
	Offer Offer     `json:"offer"`

	Spoke   string    `json:"spoke,omitempty"`
	SpokeAt time.Time `json:"spokeAt,omitzero"`
}

func (l *Link) file() string {
	if l.pool.o.Cache == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(l.server.key(l.dir)))
	return filepath.Join(l.pool.o.Cache, hex.EncodeToString(sum[:12])+".json")
}

// keep writes the file. Without it the next run asks the server.
func (l *Link) keep(k kept) {
	file := l.file()
	if offer, err := json.Marshal(k.Offer); err != nil || len(offer) > maxOffer {
		k.Offer = Offer{} // the tools matter more
	}
	text, err := json.Marshal(k)
	if file == "" || err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = smallfile.Replace(file, text)
}

// remember reads the file.
func (l *Link) remember() {
	file := l.file()
	if file == "" {
		return
	}
	text, err := smallfile.Read(file, smallfile.Table)
	var k kept
	if err != nil || json.Unmarshal(text, &k) != nil {
		return
	}
	l.tools, l.at, l.offer, l.spoke, l.spokeAt = k.Tools, k.At, k.Offer, k.Spoke, k.SpokeAt
}

// Call calls a tool for a caller; nil is one that gives nothing.
func (l *Link) Call(ctx context.Context, tool string, args json.RawMessage, caller *Caller) (*Result, error) {
	c, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if caller == nil {
		caller = &Caller{}
	}
	var r Result
	params := map[string]any{"name": tool, "arguments": args}
	w := pending{caller: caller, headers: headersFor(l, c, tool, args)}
	err = l.askFor(ctx, c, w, "tools/call", params, &r)
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == headerMismatch { // it was not looked at
		if tools, listed := listTools(ctx, c); listed == nil {
			l.learn(tools)
			w.headers = headersFor(l, c, tool, args)
			err = l.askFor(ctx, c, w, "tools/call", params, &r)
		}
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// ask makes a request within the server's time.
func (l *Link) ask(ctx context.Context, c *conn, method string, params map[string]any, result any) error {
	return l.askFor(ctx, c, pending{}, method, params, result)
}

// askFor makes a request for a caller, within the server's time.
func (l *Link) askFor(ctx context.Context, c *conn, w pending, method string, params map[string]any, result any) error {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	clock := newClock(l.server.timeout(), stop)
	defer clock.stop()
	w.clock, w.life = clock, limited
	err := l.rounds(limited, c, w, method, params, result)
	for try := 1; c.pagesFor(limited, &w, err, try); try++ {
		err = l.rounds(limited, c, w, method, params, result)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("no answer within %s; what the call did until then is not known", l.server.timeout())
	case errors.Is(err, errExpired): // it was not looked at
		return fmt.Errorf("%w; call it again", err)
	case c.why() != nil:
		return fmt.Errorf("%w during the call; what the call did until then is not known", c.why())
	}
	return err
}

// close ends the connection for good.
func (l *Link) close() {
	l.mu.Lock()
	l.closed = true
	c := l.conn
	l.conn = nil
	l.mu.Unlock()
	if c != nil {
		c.close()
		c.fail(errClosed)
	}
	l.asking.Wait()
}
