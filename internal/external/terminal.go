package external

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/tool"
)

// terminals are the commands that the agent has burin run.
type terminals struct {
	mu   sync.Mutex
	all  map[string]*terminal
	next int
}

// terminal is one of them.
type terminal struct {
	Terminal
	limit    int  // bytes of output that the agent wants; 0: as many as there are
	released bool // the agent does not need it any more; under the mu of terminals
}

// maxTerminals is how many an agent may have at a time.
const maxTerminals = 50

func (ts *terminals) add(t *terminal) (id string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.next++
	id = "terminal-" + strconv.Itoa(ts.next)
	ts.all[id] = t
	return id
}

func (ts *terminals) full() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	n := 0
	for _, t := range ts.all {
		if !t.released {
			n++
		}
	}
	return n >= maxTerminals
}

// release keeps what a terminal has shown until forget.
func (ts *terminals) release(t *terminal) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.released = true
}

// forget forgets the terminals that were released.
func (ts *terminals) forget() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	maps.DeleteFunc(ts.all, func(_ string, t *terminal) bool { return t.released })
}

// find gives a terminal; nil if there is none of that name.
func (ts *terminals) find(id string) *terminal {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.all[id]
}

// kill ends all commands that run.
func (ts *terminals) kill() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.all {
		go t.Kill()
	}
}

// exit is how the command ended, if it has.
func (t *terminal) exit() (code int, over bool) {
	select {
	case <-t.Done():
		return t.ExitCode(), true
	default:
		return 0, false
	}
}

// status is exit in the words of the protocol; nil: it runs.
func (t *terminal) status() *acp.TerminalExit {
	code, over := t.exit()
	switch {
	case !over:
		return nil
	case code < 0:
		signal := "SIGKILL"
		return &acp.TerminalExit{Signal: &signal}
	}
	return &acp.TerminalExit{ExitCode: &code}
}

// quoted makes a line for a shell of words.
func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil { // it has a NUL in it, which no program can be given
			q = "''"
		}
		b.WriteString(q)
	}
	return b.String()
}

func (l *link) createTerminal(ctx context.Context, p *acp.TerminalRequest) (any, error) {
	a := l.agent
	if strings.TrimSpace(p.Command) == "" {
		return nil, acp.Invalid("command is empty")
	}
	if l.terminals.full() {
		return nil, acp.Errorf(acp.CodeInternal, "%d terminals are open: release one first", maxTerminals)
	}
	// Some agents give a program and its arguments, others a line for a shell.
	line := p.Command
	if len(p.Args) > 0 {
		line = quoted(append([]string{p.Command}, p.Args...))
	}
	c := Command{Line: line, Dir: p.CWD, Env: map[string]string{}}
	shown := line
	for _, v := range p.Env {
		c.Env[v.Name] = v.Value
		shown = "export " + quoted([]string{v.Name + "=" + v.Value}) + "\n" + shown
	}
	args := arguments{Command: shown}
	if p.CWD != "" {
		if args.CWD = a.o.Ground.Name(p.CWD); args.CWD == "." {
			args.CWD = ""
		}
	}
	var id string
	err := l.request(ctx, tool.AccessExecute, toolRun, shown, args, func(ctx context.Context, own *call) error {
		started, err := a.o.Ground.Start(ctx, c)
		if err != nil {
			return err
		}
		t := &terminal{Terminal: started}
		if p.OutputByteLimit != nil {
			t.limit = max(1, *p.OutputByteLimit)
		}
		id = l.terminals.add(t)
		a.mu.Lock()
		if own != nil {
			own.content = []acp.ReceivedContent{{Type: "terminal", TerminalID: id}}
		}
		a.wake()
		a.mu.Unlock()
		go l.follow(own, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return acp.TerminalID{TerminalID: id}, nil
}

// follow ends a request when its command has.
func (l *link) follow(c *call, t *terminal) {
	<-t.Done()
	a := l.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	if c != nil {
		c.ended = true
	}
	a.wake()
}

func (l *link) terminal(id string) (*terminal, error) {
	if t := l.terminals.find(id); t != nil {
		return t, nil
	}
	return nil, acp.Errorf(acp.CodeNotFound, "no terminal %q", id)
}

func (l *link) terminalOutput(_ context.Context, p *acp.TerminalID) (any, error) {
	t, err := l.terminal(p.TerminalID)
	if err != nil {
		return nil, err
	}
	out := acp.TerminalOutput{ExitStatus: t.status()}
	out.Output, out.Truncated = t.Output()
	if t.limit > 0 && len(out.Output) > t.limit {
		out.Output, out.Truncated = strings.ToValidUTF8(out.Output[len(out.Output)-t.limit:], ""), true
	}
	return out, nil
}

func (l *link) awaitTerminal(ctx context.Context, p *acp.TerminalID) (any, error) {
	t, err := l.terminal(p.TerminalID)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.Done():
		return t.status(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *link) killTerminal(_ context.Context, p *acp.TerminalID) (any, error) {
	t, err := l.terminal(p.TerminalID)
	if err != nil {
		return nil, err
	}
	t.Kill()
	return acp.Empty{}, nil
}

// releaseTerminal ends the command. What it wrote stays, for the call that shows it.
func (l *link) releaseTerminal(_ context.Context, p *acp.TerminalID) (any, error) {
	t, err := l.terminal(p.TerminalID)
	if err != nil {
		return nil, err
	}
	l.terminals.release(t)
	t.Kill()
	return acp.Empty{}, nil
}
