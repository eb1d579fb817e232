package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/process"
)

// Options of a pool.
type Options struct {
	Version string        // of burin
	Environ []string      // of the servers; nil is burin's
	Idle    time.Duration // how long a server runs after its last use; 0 is DefaultIdle, negative for ever
	// Confine gives the encoded policy of the sandbox in which servers run, and variables that they
	// need in it; nil: they are not confined.
	Confine func() (policy []byte, env []string, err error)
}

// Pool has the servers of a folder. It is safe for concurrent use.
type Pool struct {
	o    Options
	life context.Context // ends with the pool, and with it what starts
	stop context.CancelFunc

	mu     sync.Mutex
	links  map[string]*Link
	closed bool
	uses   uint64
}

// NewPool makes a pool. Nothing is started.
func NewPool(o Options) *Pool {
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.Confine == nil {
		o.Confine = func() ([]byte, []string, error) { return nil, nil, nil }
	}
	p := &Pool{o: o, links: map[string]*Link{}}
	p.life, p.stop = context.WithCancel(context.Background())
	return p
}

// Link gives the way to a server for a root. Nothing is started.
func (p *Pool) Link(s *Server, root string) *Link {
	whole, _ := json.Marshal(s) // of texts: it cannot fail
	key := string(whole) + "\n" + s.Path + "\n" + root
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.links[key]
	if l == nil {
		l = &Link{pool: p, server: s, root: root, gate: make(chan struct{}, 1), closed: p.closed, linter: linter{room: make(chan struct{}, lintsAtOnce)}}
		p.links[key] = l
	}
	return l
}

// Links are those that were asked for, by name and root.
func (p *Pool) Links() []*Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*Link
	for _, l := range p.links {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *Link) int {
		return strings.Compare(a.server.Name+"\n"+a.root, b.server.Name+"\n"+b.root)
	})
	return all
}

// Close ends all servers. It returns when no process is left.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop() // of a server that starts nobody waits for the end of that
	var ending sync.WaitGroup
	for _, l := range p.Links() {
		ending.Go(func() { l.end(true) })
	}
	ending.Wait()
	return nil
}

// used notes that a link is used, and ends another server where too many run.
func (p *Pool) used(l *Link) {
	var oldest *Link
	p.mu.Lock()
	p.uses++
	now := p.uses
	running := 0
	for _, other := range p.links {
		other.mu.Lock()
		if other.client != nil {
			running++
			if other != l && other.busy == 0 && (oldest == nil || other.turn < oldest.turn) {
				oldest = other
			}
		}
		other.mu.Unlock()
	}
	p.mu.Unlock()
	l.mu.Lock()
	l.turn = now
	l.mu.Unlock()
	if running > maxRunning && oldest != nil {
		go oldest.end(false)
	}
}

// Link is the way to a server. It is safe for concurrent use.
type Link struct {
	pool   *Pool
	server *Server
	root   string
	gate   chan struct{} // held by who starts or ends the server
	linter linter        // of a program that is run for each file

	mu       sync.Mutex
	client   *client // nil: it does not run
	starting bool
	closed   bool
	failures int       // since it last worked
	failed   time.Time // the last time
	err      error     // of the last failure
	starts   int
	busy     int // requests that run
	turn     uint64
	idle     *time.Timer
	lastLog  string // of the process before
	missed   int    // deadlines in a row in which it did not say what it thinks of an edit
}

// Server is what the link leads to, Root the folder that it works in.
func (l *Link) Server() *Server { return l.server }

// Root is the folder that the server works in.
func (l *Link) Root() string { return l.root }

// State says whether a server runs.
type State string

// The states.
const (
	Stopped  State = "stopped" // it starts with the next request
	Starting State = "starting"
	Running  State = "running"
	Failed   State = "failed"  // it is tried again after a while
	OnCall   State = "on call" // a program that is run for each file
)

// Status is how a server is.
type Status struct {
	Name  string `json:"name"`
	Root  string `json:"root"`
	Path  string `json:"path"`
	State State  `json:"state"`
	PID   int    `json:"pid,omitempty"`
	// Memory is how many bytes it and what it started have; 0 is unknown.
	Memory int64 `json:"memory,omitempty"`
	// Starts counts how often the program was started, Documents the open ones.
	Starts    int      `json:"starts"`
	Documents int      `json:"documents"`
	Errors    int      `json:"errors"` // diagnostics that are errors
	Work      []string `json:"work,omitempty"`
	Err       string   `json:"error,omitempty"`
}

// Status says how the server is.
func (l *Link) Status() Status {
	l.mu.Lock()
	s := Status{Name: l.server.Name, Root: l.root, Path: l.server.Path, State: Stopped, Starts: l.starts}
	c := l.client
	switch {
	case c != nil && c.why() == nil:
		s.State = Running
	case l.starting:
		s.State = Starting
	case l.err != nil:
		s.State, s.Err = Failed, l.err.Error()
	case c != nil:
		s.State, s.Err = Failed, c.why().Error()
	case l.lints():
		s.State = OnCall
	}
	l.mu.Unlock()
	if l.lints() {
		for _, d := range l.judged() {
			if d.Severity == SeverityError {
				s.Errors++
			}
		}
	}
	if s.State != Running {
		return s
	}
	s.PID = c.cmd.Process.Pid
	s.Memory = process.Memory(s.PID)
	c.mu.Lock()
	s.Documents = len(c.docs)
	for _, title := range c.progress {
		s.Work = append(s.Work, title)
	}
	c.mu.Unlock()
	slices.Sort(s.Work)
	for _, d := range c.diagnostics() {
		if d.Severity == SeverityError {
			s.Errors++
		}
	}
	return s
}

// Log is the end of what the server wrote to its log.
func (l *Link) Log() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		return l.client.log.String()
	}
	return l.lastLog
}

// backoff is how long to wait after so many failures.
func backoff(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 10), time.Minute)
}

// resting says why the program isn't started now; nil if it may be. l.mu is held.
func (l *Link) resting() error {
	if l.failures == 0 {
		return nil
	}
	left := backoff(l.failures) - time.Since(l.failed)
	if left <= 0 {
		return nil
	}
	return fmt.Errorf("%s: %w; burin tries again in %s", l.server.Name, l.err, left.Round(time.Second))
}

// confined says how programs run.
func (p *Pool) confined() (o process.Options, err error) {
	policy, env, err := p.o.Confine()
	o = process.Options{Env: p.o.Environ, Sandbox: policy}
	if env != nil {
		o.Env = slices.Concat(o.Env, env)
	}
	return o, err
}

// running is the server if it runs.
func (l *Link) running() *client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil || l.client.why() != nil {
		return nil
	}
	return l.client
}

// Ready reports whether the server runs, or can be started now: it did not just fail.
func (l *Link) Ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil && l.client.why() == nil {
		return true
	}
	return !l.closed && (l.failures == 0 || time.Since(l.failed) >= backoff(l.failures))
}

// connect gives the running server, and starts it if need be. It goes on to start when ctx ends
// first: the next request needs it too.
func (l *Link) connect(ctx context.Context) (*client, error) {
	if c := l.running(); c != nil {
		return c, nil
	}
	done := make(chan struct{})
	var c *client
	var err error
	go func() {
		defer close(done)
		c, err = l.start()
	}()
	select {
	case <-done:
		return c, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s is still starting", l.server.Name)
	}
}

// start starts the server unless it runs.
func (l *Link) start() (*client, error) {
	l.gate <- struct{}{}
	defer func() { <-l.gate }()
	l.mu.Lock()
	c := l.client
	if c != nil && c.why() != nil { // it has ended by itself
		l.failures++
		l.failed, l.err, l.lastLog = time.Now(), c.explain(c.why()), c.log.String()
		l.client = nil
		if l.failures == 1 { // the first time it is started again at once
			l.failed = time.Time{}
		}
	}
	switch {
	case l.closed:
		l.mu.Unlock()
		return nil, errClosed
	case l.client != nil:
		defer l.mu.Unlock()
		return l.client, nil
	case l.resting() != nil:
		defer l.mu.Unlock()
		return nil, l.resting()
	}
	l.starting = true
	l.starts++
	l.mu.Unlock()
	o, err := l.pool.confined()
	if err == nil {
		ctx, stop := context.WithTimeout(l.pool.life, l.server.startTime())
		c, err = start(ctx, l.server, l.root, l.pool.o.Version, o)
		stop()
	}
	l.mu.Lock()
	l.starting = false
	if err != nil {
		l.failures++
		l.failed, l.err = time.Now(), err
		l.mu.Unlock()
		return nil, fmt.Errorf("%s does not start: %w", l.server.Name, err)
	}
	l.client, l.err = c, nil
	closed := l.closed
	l.mu.Unlock()
	if closed {
		c.close()
		return nil, errClosed
	}
	return c, nil
}

// Start starts the server unless it runs.
func (l *Link) Start(ctx context.Context) error {
	if l.lints() {
		return l.tryLinter(ctx)
	}
	_, err := l.connect(ctx)
	return err
}

// end ends the server; for good, or until the next request.
func (l *Link) end(forGood bool) {
	l.mu.Lock()
	l.closed = l.closed || forGood
	l.mu.Unlock()
	l.gate <- struct{}{}
	defer func() { <-l.gate }()
	l.mu.Lock()
	c := l.client
	l.client = nil
	if c != nil {
		l.lastLog = c.log.String()
	}
	if l.idle != nil {
		l.idle.Stop()
	}
	l.failures, l.err = 0, nil
	l.mu.Unlock()
	if c != nil {
		c.close()
	}
	if forGood {
		l.linter.running.Wait() // the end of the pool has ended them
	}
	l.linter.mu.Lock()
	l.linter.files = nil
	l.linter.mu.Unlock()
}

// Restart ends the server, and forgets its failures. The next request starts it.
func (l *Link) Restart() { l.end(false) }

// enter and leave are around each use: a server that is used does not end for being idle.
func (l *Link) enter() {
	l.pool.used(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy++
	if l.idle != nil {
		l.idle.Stop()
	}
}

func (l *Link) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	if l.busy > 0 || l.closed || l.pool.o.Idle < 0 {
		return
	}
	if l.idle == nil {
		l.idle = time.AfterFunc(l.pool.o.Idle, func() {
			l.mu.Lock()
			unused := l.busy == 0
			l.mu.Unlock()
			if unused {
				l.end(false)
			}
		})
		return
	}
	l.idle.Reset(l.pool.o.Idle)
}

// with runs a request, and once more with a new process if the server ends meanwhile.
func (l *Link) with(ctx context.Context, request func(c *client) error) error {
	if l.lints() {
		return fmt.Errorf("%s: %w", l.server.Name, ErrUnsupported)
	}
	l.enter()
	defer l.leave()
	for again := false; ; again = true {
		c, err := l.connect(ctx)
		if err != nil {
			return err
		}
		if time.Since(c.scannedAt()) > rescan {
			c.scan(false)
		}
		err = request(c)
		gone := c.why()
		switch {
		case err == nil:
			l.mu.Lock()
			l.failures = 0
			l.mu.Unlock()
			return nil
		case ctx.Err() != nil:
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s did not answer in time%s", l.server.Name, c.work())
			}
			return ctx.Err()
		case gone != nil && !errors.Is(gone, errClosed) && !again:
			continue
		case gone != nil:
			return fmt.Errorf("%s: %w during the request", l.server.Name, c.explain(gone))
		case errors.Is(err, ErrUnsupported):
			return fmt.Errorf("%s: %w", l.server.Name, err)
		}
		return fmt.Errorf("%s: %w", l.server.Name, err)
	}
}

// rescan is how old what is known of the files on disk may be.
const rescan = 200 * time.Millisecond

func (c *client) scannedAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scanned
}

// work says what the server is busy with.
func (c *client) work() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, title := range c.progress {
		return ": it is busy with " + title
	}
	return ""
}
