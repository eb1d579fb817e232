package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// agentFlags are the flags of what the model may do.
type agentFlags struct {
	approval   string
	allow      []string
	deny       []string
	sandbox    string
	hosts      []string
	addDirs    []string
	tools      []string
	noTools    bool
	editEngine string
	maxTurns   int
	maxCost    float64
	schema     string
	append     string
	noFiles    bool
	skills     []string
	noSkills   bool
	noLSP      bool
	noSession  bool
	noSecrets  bool
	resumption
	steps bool
}

func (a *agentFlags) register(f *pflag.FlagSet) {
	f.StringVar(&a.approval, "approval", "", "what runs without a question: plan (only look), ask, auto-edit or full")
	f.StringArrayVar(&a.allow, "allow", nil, "calls that may run: bash(go test:*), edit(src/**), fetch(example.com); repeatable")
	f.StringArrayVar(&a.deny, "deny", nil, "calls that never run; wins over --allow")
	f.StringVar(&a.sandbox, "sandbox", "", "how commands are confined: read-only, workspace-write or full (not at all); default follows --approval")
	f.StringSliceVar(&a.hosts, "allow-host", nil, "hosts that confined commands may reach: example.com, *.example.org")
	f.StringArrayVar(&a.addDirs, "add-dir", nil, "another folder that tools may read and write; repeatable")
	f.StringSliceVar(&a.tools, "tools", nil, "tools to offer; default all")
	f.BoolVar(&a.noTools, "no-tools", false, "offer no tools: only ask")
	f.StringVar(&a.editEngine, "edit-engine", "", "edit format: replace, patch, hashline or whole; default follows the model")
	f.IntVar(&a.maxTurns, "max-turns", 0, "maximum number of requests to the model; 0 means no limit")
	f.Float64Var(&a.maxCost, "max-cost", 0, "maximum cost in US dollars; 0 means no limit")
	f.StringVar(&a.schema, "json-schema", "", "print a result of this JSON schema: a file, or the schema itself")
	f.StringVar(&a.append, "append-system-prompt", "", "add to the instructions for the model")
	f.BoolVar(&a.noFiles, "no-context-files", false, "leave out AGENTS.md, CLAUDE.md and their like")
	f.StringSliceVar(&a.skills, "skills", nil, "the only skills to use, by name: review-*, pdf")
	f.BoolVar(&a.noSkills, "no-skills", false, "use no skills")
	f.BoolVar(&a.noLSP, "no-lsp", false, "use no language servers")
	f.BoolVar(&a.noSession, "no-session", false, "keep no session file")
	f.BoolVar(&a.noSecrets, "no-secrets", false, "do not hide tokens and passwords from the model and the session file")
	a.resumption.register(f)
	f.BoolVar(&a.steps, "steps", false, "show tool calls on standard error even when it isn't a terminal")
}

// check finds what cannot be meant.
func (a *agentFlags) check() error {
	switch a.approval {
	case "", "plan", "ask", "auto-edit", "full":
	default:
		return usage("--approval: must be plan, ask, auto-edit or full, not %q", a.approval)
	}
	switch a.sandbox {
	case "", "read-only", "workspace-write", "full":
	default:
		return usage("--sandbox: must be read-only, workspace-write or full, not %q", a.sandbox)
	}
	if err := a.resumption.check(); err != nil {
		return err
	}
	for _, with := range []struct {
		flag  string
		given bool
	}{{"--seal", a.seal}, {"--continue", a.goOn}, {"--resume", a.resume != ""}, {"--session", a.session != ""}} {
		if a.noSession && with.given {
			return usage("--no-session and %s contradict each other: no session is kept", with.flag)
		}
	}
	switch {
	case a.maxTurns < 0:
		return usage("--max-turns: %d is less than 0", a.maxTurns)
	case a.maxCost < 0:
		return usage("--max-cost: %v is less than 0", a.maxCost)
	case a.maxCost > 0 && llm.Dollars(a.maxCost) == 0:
		return usage("--max-cost: %v is too little to count", a.maxCost)
	case math.IsNaN(a.maxCost), a.maxCost > 1e9:
		return usage("--max-cost: %v is not an amount", a.maxCost)
	case a.noTools && len(a.tools) > 0:
		return usage("--no-tools and --tools contradict each other")
	case a.noSkills && len(a.skills) > 0:
		return usage("--no-skills and --skills contradict each other")
	}
	return nil
}

// readSchema reads --json-schema: a file, or the schema itself.
func (a *agentFlags) readSchema() (json.RawMessage, error) {
	if a.schema == "" {
		return nil, nil
	}
	text := strings.TrimSpace(a.schema)
	if !strings.HasPrefix(text, "{") {
		b, err := smallfile.Given(a.schema, smallfile.Settings)
		if err != nil {
			return nil, usage("--json-schema: %w", err)
		}
		text = string(b)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, usage("--json-schema: %s is not a JSON object: %w", prose.Cut(text, 40), err)
	}
	return json.RawMessage(text), nil
}

// work prompts a session with all its tools and prints what comes.
func (p *program) work(ctx context.Context, h *host.Host, a askFlags, o host.Session, prompt llm.Message, mode print.Mode) error {
	settings, err := h.Settings()
	if err != nil {
		return err
	}
	po := print.Options{Mode: mode, Out: p.out, Live: p.isTerminal(p.out) && !a.steps || a.noTools, Result: o.Output != nil, Terminal: p.isTerminal(p.out), Warn: p.warn, Own: ownCommands(h, a)}
	if a.steps || p.isTerminal(p.err) {
		po.Steps, po.Color = p.err, p.color(p.err)
	}
	o.Desk = session.NewDesk(session.DeskOptions{Wait: settings.Text("ask.unattended") == "wait", Timeout: time.Duration(settings.Int("ask.timeout")) * time.Second})
	if tty := p.terminal(); tty != nil {
		po.Asker = &print.Terminal{In: tty, Out: p.err}
		defer o.Desk.Attend()()
	}
	printer := print.New(po)
	o.Emit = printer.Event
	var refused []error
	if po.Asker == nil {
		o.Refused = func(err error) { refused = append(refused, err) }
	}
	s, err := h.Open(ctx, o)
	if errors.Is(err, transcript.ErrLocked) {
		return p.askOwner(ctx, h, &a, o, po, prompt)
	}
	if err != nil {
		return err
	}
	face := owner.Place{Data: h.Paths().Data, Getenv: p.getenv}.Listen(s, "script", po.Asker != nil)
	outcome, err := printer.Run(ctx, face, prompt)
	if path, ok := s.Path(); ok {
		h.Crumb(p.terminalID(), h.Dir(), path)
	}
	if cerr := face.Close(); err == nil && cerr != nil {
		p.warn(words.Error(cerr))
	}
	return p.ended(outcome, err, refused)
}

// apply sets what these flags say of a session.
func (a *agentFlags) apply(o *host.Session) {
	g := &o.Ground
	o.Approval, g.Sandbox, o.EditEngine = a.approval, a.sandbox, a.editEngine
	g.AddDirs, g.Allow, g.Deny, g.Hosts = a.addDirs, a.allow, a.deny, a.hosts
	o.Tools, o.NoTools, o.Append = a.tools, a.noTools, a.append
	g.NoFiles, g.NoSecrets = a.noFiles || a.noTools, a.noSecrets
	o.Skills, o.NoSkills, o.NoLSP = a.skills, a.noSkills, a.noLSP
	o.NoSession, o.Seal = a.noSession, a.seal
	o.MaxTurns, o.MaxCost = a.maxTurns, llm.Dollars(a.maxCost)
	if a.session != "" && archive.IsDir(a.session) {
		o.SessionDir = a.session
	}
}

// terminal is where a person can be asked: standard input if it is one, else the
// terminal of the process while standard error shows it. Nil if nobody is there.
func (p *program) terminal() io.Reader {
	if !p.isTerminal(p.err) {
		return nil
	}
	if term.IsTerminal(int(p.in.Fd())) {
		return p.in
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	if tty, err := os.Open("/dev/tty"); err == nil {
		return tty
	}
	return nil
}

func (p *program) isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// color reports whether what is written to w may be coloured.
func (p *program) color(w io.Writer) bool {
	return p.isTerminal(w) && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
}

// ended makes the outcome of a run an error, or nil.
func (p *program) ended(o agent.Outcome, err error, refused []error) error {
	switch {
	case errors.Is(err, session.ErrBudget):
		return fmt.Errorf("stopped: %w; --max-cost sets the limit", err)
	case err != nil:
		return err
	case o.Reason == agent.ReasonMaxTurns:
		return fmt.Errorf("stopped after %s (--max-turns); the work may not be done", prose.Count(o.Turns, "request"))
	case o.Reason == agent.ReasonLength:
		return errors.New("the answer was cut at the model's output limit; --max-tokens sets it")
	}
	switch n := len(refused); n {
	case 0:
		return nil
	case 1:
		return refusedError{refused[0]}
	default:
		return refusedError{fmt.Errorf("%w (also refused: %s)", refused[0], prose.Count(n-1, "call"))}
	}
}

// refusedError is that the model was not allowed what it needed.
type refusedError struct{ error }
