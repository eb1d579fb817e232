package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/mode/rpc"
	"github.com/burin-dev/burin/session"
)

// Modes beside those of -p.
const (
	modeRPC   = "rpc"
	modeRPCUI = "rpc-ui"
)

// rpcPatience is how long a question waits in the mode rpc for a client that has not
// answered any yet: it may be one that can't. Who asks for rpc-ui can.
const rpcPatience = 5 * time.Minute

// checkMode finds what can't be meant by --mode and --input-format.
func (a *askFlags) checkMode(args []string) error {
	switch a.mode {
	case string(print.Text), string(print.JSON), modeRPC, modeRPCUI:
	default:
		return usage("--mode: unknown mode %q (want text, json, rpc, rpc-ui or acp)", a.mode)
	}
	if a.inputFormat != "text" && a.inputFormat != string(print.JSON) {
		return usage("--input-format: must be text or json, not %q", a.inputFormat)
	}
	serves := a.mode == modeRPC || a.mode == modeRPCUI
	switch {
	case a.inputFormat == string(print.JSON) && a.mode != string(print.JSON):
		return usage("--input-format json needs --mode json")
	case serves && a.print:
		return usage("-p and --mode %s contradict each other: prompts come on standard input", a.mode)
	case serves && len(args) > 0 && strings.HasPrefix(args[0], "@"):
		return usage("--mode %s takes no @file arguments: send pictures with the prompt command", a.mode)
	case serves && len(args) > 0:
		return usage("--mode %s takes no prompt: send it as a command", a.mode)
	}
	return nil
}

// serves reports whether a program is served, which sends its commands on standard input.
func (a *askFlags) serves() bool {
	return a.mode == modeRPC || a.mode == modeRPCUI || a.inputFormat == string(print.JSON)
}

// serve lets a program drive sessions.
func (p *program) serve(ctx context.Context, a askFlags, args []string) error {
	if err := a.check(); err != nil {
		return err
	}
	schema, err := a.readSchema()
	if err != nil {
		return err
	}
	around, err := p.host(&a)
	if err != nil {
		return err
	}
	d := &rpcDesk{Host: around, program: p, ask: a, schema: schema}
	o := rpc.Options{
		In: interruptible(ctx, p.in), Out: p.out, Open: d.open, Host: d, Own: ownCommands(around, a), Scope: a.models,
		Events: a.inputFormat == string(print.JSON),
	}
	if a.mode == modeRPC {
		o.Patience = rpcPatience
	}
	if len(args) > 0 {
		if o.Prompt, err = print.Prompt(args, nil, usesServer(p)); err != nil {
			return errors.Join(err, around.Close(ctx))
		}
	}
	outcome, err := rpc.Run(ctx, o)
	p.closeHost(ctx, around)
	if !o.Events {
		return err
	}
	if errors.Is(err, rpc.ErrRefused) {
		return refusedError{err}
	}
	if err == nil {
		err = outcome.Err
	}
	if ctx.Err() != nil && err == nil {
		err = ctx.Err()
	}
	return p.ended(outcome, err, nil)
}

// rpcDesk is the program around the face for programs.
type rpcDesk struct {
	*host.Host
	program *program
	ask     askFlags
	schema  json.RawMessage
}

var _ rpc.Host = (*rpcDesk)(nil)

// Archive implements [rpc.Host].
func (d *rpcDesk) Archive() (rpc.Archive, error) { return d.Host.Archive(nil) }

// open opens a session: that of the flags first, then those that the client chooses.
func (d *rpcDesk) open(ctx context.Context, w rpc.Wish) (session.Handle, error) {
	a, resume := d.ask, w.Resume
	if w.First {
		var err error
		if resume, err = d.program.resumes(ctx, d.Host, a.agentFlags, nil); err != nil {
			return nil, err
		}
	} else {
		a.goOn, a.resume = false, ""
	}
	at := owner.Place{Data: d.Paths().Data, Getenv: d.program.getenv}
	begin := func() (*session.Session, error) {
		o := a.wish()
		o.Resume, o.Parent, o.KeepPlan, o.Output = resume, w.Parent, true, d.schema
		o.Desk = session.NewDesk(session.DeskOptions{})
		o.Desk.Attend() // the client, for as long as the session lives
		return d.Open(ctx, o)
	}
	h, err := at.Open(ctx, resume, "rpc", true, begin)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(ownersFlags, a.given); i >= 0 && !h.Owns() && w.First {
		return nil, errors.Join(usage("session %s is open in another burin, which --%s can't change: leave it out", resume, ownersFlags[i]), h.Close())
	}
	return h, nil
}
