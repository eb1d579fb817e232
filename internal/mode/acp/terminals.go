package acp

import (
	"context"
	"strings"
	"sync"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/session"
)

// terminals shows programs that need a person in terminals of the client. The program stays in
// burin's shell, with the sandbox, the undo journal and the limits; in the client's terminal runs
// burin, joined to it. nil: the client has no terminals.
type terminals struct {
	conn     *proto.Conn
	session  string
	dir      string
	programs session.Consoles
	// command returns the program and arguments that join a terminal to the console id.
	command func(id string) ([]string, error)
	update  func(...any) error
	notice  func(severity, text string)

	mu   sync.Mutex
	open map[string]bool // by console; false: the program has ended
}

// add notes a program, and reports whether it is a new one.
func (t *terminals) add(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.open[id]; known {
		return false
	}
	t.open[id] = true
	return true
}

// ended notes that a program has ended: its terminal is released when burin has left it.
func (t *terminals) ended(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.open[id]; known {
		t.open[id] = false
	}
}

// remove forgets a program, and reports whether it is still running.
func (t *terminals) remove(id string) (runs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	runs = t.open[id]
	delete(t.open, id)
	return runs
}

// show shows a program until it ends, or until the person closes the terminal, which ends it.
func (t *terminals) show(ctx context.Context, c *session.Console) {
	id, err := t.create(ctx, c)
	if err != nil {
		t.remove(c.ID)
		if ctx.Err() == nil {
			t.notice("warning", "A program needs you, but the editor opened no terminal ("+words.Line(err.Error())+"): run burin attach "+t.session+" in a terminal.")
		}
		return
	}
	if c.CallID != "" {
		_ = t.update(proto.ToolCall{Kind: "tool_call_update", ToolCallID: c.CallID, Content: []any{proto.Terminal{Type: "terminal", TerminalID: id}}})
	}
	of := proto.TerminalID{SessionID: t.session, TerminalID: id}
	var exit proto.TerminalExit
	_ = t.conn.Call(ctx, proto.MethodTerminalWait, of, &exit) // however it ended, it is over
	if t.remove(c.ID) && ctx.Err() == nil {
		_ = t.programs.Stop(ctx, c.ID) // it may have ended meanwhile
	}
	var none proto.Empty
	_ = t.conn.Call(ctx, proto.MethodTerminalRelease, of, &none)
}

// create opens a terminal of the client.
func (t *terminals) create(ctx context.Context, c *session.Console) (id string, err error) {
	command, err := t.command(c.ID)
	if err != nil {
		return "", err
	}
	var made proto.TerminalID
	err = t.conn.Call(ctx, proto.MethodTerminalCreate, proto.TerminalRequest{
		SessionID: t.session, Command: command[0], Args: command[1:], Env: []proto.EnvVariable{}, CWD: t.dir,
	}, &made)
	if err == nil && strings.TrimSpace(made.TerminalID) == "" {
		err = proto.Invalid("its answer to %s has no terminalId", proto.MethodTerminalCreate)
	}
	return made.TerminalID, err
}
