package external

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/prose"
)

// link is a running agent, and the connection to it.
type link struct {
	agent *Agent
	cmd   *exec.Cmd
	conn  *acp.Conn
	is    acp.InitializeResponse
	stdin io.Closer
	noise noise
	kill  func(*exec.Cmd)

	ended   chan struct{} // closed when the process has ended, for why
	why     error
	loading bool // a session is being loaded: what it tells was told before; under the agent's mu

	terminals terminals
}

// noise is what an agent writes that is no message: standard error, and other lines on
// standard output. The last line says why an agent ended.
type noise struct {
	mu    sync.Mutex
	last  string
	lines int // on standard output
}

func (n *noise) line(text string, out bool) (lines int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if text = prose.Row(strings.TrimSpace(text), 200); text != "" {
		n.last = text
	}
	if out {
		n.lines++
	}
	return n.lines
}

func (n *noise) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == "" {
		return ""
	}
	return ": " + n.last
}

// maxNoise is how many lines an agent may write that are no messages before it has said what
// it is. A program that writes more is none.
const maxNoise = 500

// start starts the agent and introduces burin to it.
func (a *Agent) start(ctx context.Context) (*link, error) {
	cmd, err := a.o.Program(ctx)
	if err != nil {
		return nil, err
	}
	l := &link{agent: a, cmd: cmd, kill: a.o.Kill, ended: make(chan struct{}), terminals: terminals{all: map[string]*terminal{}}}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", a.o.Name, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", a.o.Name, err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", a.o.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", a.o.Name, err)
	}
	l.stdin = in
	l.conn = acp.New(in, l.take)
	var reading sync.WaitGroup
	reading.Go(func() {
		s := bufio.NewReader(stderr)
		for {
			line, _, err := s.ReadLine() // a long line comes in parts
			if err != nil {
				return
			}
			l.noise.line(string(line), false)
		}
	})
	introduced := make(chan struct{})
	reading.Go(func() {
		messages := &messages{r: bufio.NewReader(out), other: func(line string) {
			n := l.noise.line(line, true)
			select {
			case <-introduced:
			default:
				if n > maxNoise {
					l.stop()
				}
			}
		}}
		_ = l.conn.Serve(context.Background(), messages, func() { _ = in.Close() })
		l.stop() // it has closed its output: nothing more can come
	})
	go func() {
		reading.Wait()
		err := cmd.Wait()
		l.gone(err)
	}()
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	version := acp.Version
	err = l.conn.Call(ctx, acp.MethodInitialize, acp.InitializeRequest{
		ProtocolVersion: &version, ClientCapabilities: capabilities(), ClientInfo: &acp.Implementation{Name: "burin", Title: "burin", Version: a.o.Version},
	}, &l.is)
	close(introduced)
	if err == nil && l.is.ProtocolVersion != acp.Version {
		err = fmt.Errorf("%s speaks version %d of the Agent Client Protocol, and burin version %d", a.o.Name, l.is.ProtocolVersion, acp.Version)
		l.stop()
		return nil, err
	}
	if err == nil {
		return l, nil
	}
	late := errors.Is(err, context.DeadlineExceeded)
	var refused *acp.Error
	l.stop()
	if errors.Is(err, acp.ErrClosed) {
		<-l.ended
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case errors.As(err, &refused):
		return nil, fmt.Errorf("%s is no agent of the Agent Client Protocol: it answers %q to the first message", a.o.Name, prose.Row(refused.Message, 200))
	case late:
		return nil, fmt.Errorf("%s does not answer within %s: is it an agent of the Agent Client Protocol?%s", a.o.Name, startTime, l.noise.said())
	case l.noise.line("", false) > maxNoise:
		return nil, fmt.Errorf("%s does not speak the Agent Client Protocol, it writes%s", a.o.Name, l.noise.said())
	}
	return nil, fmt.Errorf("%s ended before it answered%s", a.o.Name, l.noise.said())
}

func capabilities() acp.ClientCapabilities {
	var c acp.ClientCapabilities
	c.FS.ReadTextFile, c.FS.WriteTextFile, c.Terminal = true, true, true
	return c
}

// gone notes that the process has ended.
func (l *link) gone(err error) {
	a := l.agent
	l.terminals.kill()
	a.mu.Lock()
	defer a.mu.Unlock()
	how := ""
	if err != nil {
		how = " (" + err.Error() + ")"
	}
	l.why = fmt.Errorf("%s ended in the middle of its work%s%s", a.o.Name, how, l.noise.said())
	close(l.ended)
	if a.link == l {
		a.link = nil
	}
	for _, t := range []*turn{a.turn, a.winding} {
		if t != nil && t.link == l && !t.over {
			t.over, t.err = true, l.why
		}
	}
	a.wake()
}

// stop kills the process with all that it started.
func (l *link) stop() { l.kill(l.cmd) }

// end lets the process end by itself, for as long as grace.
func (l *link) end(grace time.Duration) {
	_ = l.stdin.Close()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-l.ended:
	case <-late.C:
		l.stop()
		<-l.ended
	}
}

// messages reads only the lines that may be messages. Agents write other things to standard
// output, too.
type messages struct {
	r      *bufio.Reader
	other  func(line string)
	inside bool // of a line that is passed on
}

func (m *messages) Read(b []byte) (int, error) {
	for !m.inside {
		first, err := m.r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch first {
		case '\n', '\r', ' ', '\t':
			continue
		case '{':
			m.inside = true
			b[0] = first
			return 1, nil
		}
		_ = m.r.UnreadByte() // it was just read
		line, err := m.r.ReadSlice('\n')
		m.other(string(line[:min(len(line), 1000)]))
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = m.r.ReadSlice('\n')
		}
		if err != nil {
			return 0, err
		}
	}
	if m.r.Buffered() == 0 {
		if _, err := m.r.Peek(1); err != nil {
			return 0, err
		}
	}
	n := min(len(b), m.r.Buffered())
	line, _ := m.r.Peek(n) // they are buffered
	for i, c := range line {
		if c == '\n' {
			n, m.inside = i+1, false
			break
		}
	}
	copy(b, line[:n])
	_, err := m.r.Discard(n)
	return n, err
}

// open opens the session of the conversation at the agent, and reports whether that is a new
// one, which does not know the conversation.
func (a *Agent) open(ctx context.Context, l *link, goOn bool) (fresh bool, err error) {
	o := acp.OpenRequest{CWD: a.o.Dir, MCPServers: []json.RawMessage{}}
	if l.is.AgentCapabilities.SessionCapabilities.AdditionalDirectories != nil {
		o.AdditionalDirectories = a.o.AddDirs
	}
	a.mu.Lock()
	id := a.session
	a.mu.Unlock()
	method := ""
	switch caps := &l.is.AgentCapabilities; {
	case !goOn || id == "":
	case caps.SessionCapabilities.Resume != nil:
		method = acp.MethodSessionResume
	case caps.LoadSession:
		method = acp.MethodSessionLoad
	}
	if method != "" {
		o.SessionID = id
		a.loads(l, true)
		err := l.conn.Call(ctx, method, o, nil)
		a.loads(l, false)
		if err == nil {
			return false, nil
		}
		if ctx.Err() != nil || errors.Is(err, acp.ErrClosed) {
			return false, a.sorted(l, err)
		}
		o.SessionID = ""
	}
	var r acp.SessionResponse
	if err := l.conn.Call(ctx, acp.MethodSessionNew, o, &r); err != nil {
		return false, a.sorted(l, err)
	}
	if r.SessionID == "" {
		return false, fmt.Errorf("%s opened a session without an id", a.o.Name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = r.SessionID
	a.money.begin()
	return true, nil
}

func (a *Agent) loads(l *link, yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l.loading = yes
}

// errAuth is that a person has to log in to the agent.
type errAuth struct{ words string }

func (e *errAuth) Error() string { return e.words }

// sorted makes an error of the protocol one for people.
func (a *Agent) sorted(l *link, err error) error {
	var refused *acp.Error
	switch {
	case errors.Is(err, acp.ErrClosed):
		l.stop()
		<-l.ended
		return l.why
	case !errors.As(err, &refused):
		return err
	case refused.Code == acp.CodeAuthRequired:
		return &errAuth{a.login(l)}
	}
	return fmt.Errorf("%s: %s", a.o.Name, prose.Row(refused.Message, 400))
}

// login says how to log in to the agent.
func (a *Agent) login(l *link) string {
	words := a.o.Name + " wants you to log in: start it by itself and log in there"
	var ways []string
	for _, m := range l.is.AuthMethods {
		way := prose.Row(m.Name, 80)
		if m.Description != "" {
			way += ", " + prose.Row(m.Description, 120)
		}
		ways = append(ways, way)
		if len(ways) == 5 {
			break
		}
	}
	if len(ways) > 0 {
		words += " (" + strings.Join(ways, "; ") + ")"
	}
	return words + "; a key in the environment reaches it with --agent-env NAME"
}
