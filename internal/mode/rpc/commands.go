package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/session/remote"
)

// order says when a command runs.
type order uint8

const (
	inOrder order = iota // after the commands before it
	posted               // after the messages before it; later commands don't wait for it
	moving               // after all commands and messages before it
	beside               // at once
	endless              // at once, until the client stops it or leaves
)

// command handles one type of line.
type command struct {
	name string
	does string // the method of the handle or the host that it calls
	order
	run func(ctx context.Context, c *call) (any, error)
}

// on makes a command from a function that takes the fields of the line as a P.
func on[P any](name, does string, o order, f func(ctx context.Context, c *call, p P) (any, error)) command {
	return command{name, does, o, func(ctx context.Context, c *call) (any, error) {
		var p P
		if err := json.Unmarshal(c.raw, &p); err != nil {
			return nil, fmt.Errorf("the command's fields: %w", err)
		}
		return f(ctx, c, p)
	}}
}

// of makes a command without fields.
func of(name, does string, o order, f func(ctx context.Context, c *call) (any, error)) command {
	return command{name, does, o, f}
}

// table has all commands in the order of docs/machine-faces.md, which is made from it.
func table() []command {
	return slices.Concat(prompting(), stateCommands(), modelCommands(), policyCommands(), shellCommands(), sessionCommands(), ownCommands())
}

// ownPrefix begins the commands that are burin's own.
const ownPrefix = "burin/"

// ownOrder has the order of handle methods that take long or submit messages. All others run
// in order.
var ownOrder = map[string]order{
	"submit": posted, "resend": posted,
	"abort": beside, "abort_retry": beside, "abort_command": beside, "aside": beside, "run": beside, "compact": beside, "shake": beside,
	"handoff": beside, "job_kill": beside, "restart_language_server": beside, "answer": beside, "try_rules": beside, "navigate": beside,
	"wait": endless, "console_follow": endless,
}

// commands are all commands by type, including one for each method of a handle.
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

// method makes the command for a method of the handle.
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
