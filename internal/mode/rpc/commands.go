package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/session/remote"
)

// order says when a command is done.
type order uint8

const (
	inOrder order = iota // when those before it are done
	posted               // the same, among messages: those behind it don't wait for it
	moving               // when all before it are done, messages included
	beside               // at once
	endless              // at once, and until the client stops it or goes
)

// command is what one type of line does.
type command struct {
	name string
	does string // the method of the handle, or of the host, that it leads to
	order
	run func(ctx context.Context, c *call) (any, error)
}

// on makes a command of a function that takes the fields of its line as a P.
func on[P any](name, does string, o order, f func(ctx context.Context, c *call, p P) (any, error)) command {
	return command{name, does, o, func(ctx context.Context, c *call) (any, error) {
		var p P
		if err := json.Unmarshal(c.raw, &p); err != nil {
			return nil, fmt.Errorf("the command's fields: %w", err)
		}
		return f(ctx, c, p)
	}}
}

// of makes a command that has no fields of its own.
func of(name, does string, o order, f func(ctx context.Context, c *call) (any, error)) command {
	return command{name, does, o, f}
}

// table has all commands, in the order of docs/machine-faces.md, which is made of it.
func table() []command {
	return slices.Concat(prompting(), stateCommands(), modelCommands(), policyCommands(), shellCommands(), sessionCommands(), ownCommands())
}

// ownPrefix begins the commands that are burin's own.
const ownPrefix = "burin/"

// ownOrder is when methods of a handle are done that take long, or that hand in messages;
// all others are done in their order.
var ownOrder = map[string]order{
	"submit": posted, "resend": posted,
	"abort": beside, "abort_retry": beside, "abort_command": beside, "aside": beside, "run": beside, "compact": beside, "shake": beside,
	"handoff": beside, "job_kill": beside, "answer": beside, "try_rules": beside, "navigate": beside,
	"wait": endless, "console_follow": endless,
}

// commands are all commands by their types, with those of the handle's methods.
func commands() map[string]*command {
	all := map[string]*command{}
	for _, name := range remote.Methods() {
		c := method(name)
		all[c.name] = &c
	}
	for _, c := range table() {
		all[c.name] = &c
	}
	return all
}

type withJSON struct {
	With json.RawMessage `json:"with"`
}

// method is the command for a method of the handle.
func method(name string) command {
	return on(ownPrefix+name, name, ownOrder[name], func(ctx context.Context, c *call, p withJSON) (any, error) {
		pieces := newSpool(func(piece string) { c.f.out.object(chunkJSON{"burin/chunk", c.ID, piece}) })
		data, err := remote.Do(ctx, c.s.h, name, p.With, pieces.add)
		pieces.close()
		return data, err
	})
}

type chunkJSON struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id,omitempty"`
	Chunk string          `json:"chunk"`
}
