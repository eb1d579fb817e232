package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/model/catalog"
	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
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
	f.StringSliceVar(&a.tools, "tools", nil, "names of the tools to offer; default all")
	f.BoolVar(&a.noTools, "no-tools", false, "offer no tools: only ask")
	f.StringVar(&a.editEngine, "edit-engine", "", "language of edits: replace, patch, hashline or whole; default follows the model")
	f.IntVar(&a.maxTurns, "max-turns", 0, "most requests to the model; 0 is no limit")
	f.Float64Var(&a.maxCost, "max-cost", 0, "most US dollars to spend; 0 is no limit")
	f.StringVar(&a.schema, "json-schema", "", "print a result of this JSON schema: a file, or the schema itself")
	f.StringVar(&a.append, "append-system-prompt", "", "add to the instructions for the model")
	f.BoolVar(&a.noFiles, "no-context-files", false, "leave out AGENTS.md, CLAUDE.md and their like")
	f.BoolVar(&a.noSession, "no-session", false, "keep no session file")
	f.BoolVar(&a.noSecrets, "no-secrets", false, "do not hide tokens and passwords from the model and the session file")
	a.resumption.register(f)
	f.BoolVar(&a.steps, "steps", false, "show the calls on standard error also where it is no terminal")
}

// check finds what cannot be meant.
func (a *agentFlags) check() error {
	switch a.approval {
	case "", "plan", "ask", "auto-edit", "full":
	default:
		return usage("--approval: %q is none of plan, ask, auto-edit, full", a.approval)
	}
	switch a.sandbox {
	case "", "read-only", "workspace-write", "full":
	default:
		return usage("--sandbox: %q is none of read-only, workspace-write, full", a.sandbox)
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
		return usage("--max-cost: %v is no amount", a.maxCost)
	case a.noTools && len(a.tools) > 0:
		return usage("--no-tools and --tools contradict each other")
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
		b, err := os.ReadFile(a.schema)
		if err != nil {
			return nil, usage("--json-schema: %w", err)
		}
		text = string(b)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, usage("--json-schema: %s is no JSON object: %w", first(text, 40), err)
	}
	return json.RawMessage(text), nil
}

// counted is "1 session", "2 sessions".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func first(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// work prompts a session with all its tools and prints what comes.
func (p *program) work(ctx context.Context, a askFlags, settings *config.Config, o burin.Options, prompt llm.Message, mode print.Mode) error {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	if err := p.agentOptions(&o, a.agentFlags, settings, paths); err != nil {
		return err
	}
	po := print.Options{Mode: mode, Out: p.out, Live: p.isTerminal(p.out) && !a.steps || a.noTools, Result: o.Output != nil, Terminal: p.isTerminal(p.out)}
	if a.steps || p.isTerminal(p.err) {
		po.Steps, po.Color = p.err, p.color(p.err)
	}
	printer := print.New(po)
	o.Emit = printer.Event
	dir, err := workDir()
	if err != nil {
		return err
	}
	closeMeter, err := p.openMeter(ctx, &o, settings, paths, dir)
	if err != nil {
		return err
	}
	defer closeMeter()
	var refused []error
	if o.Approver == nil {
		o.Refused = func(err error) { refused = append(refused, err) }
	}
	if o.Keys, err = p.readyKeys(ctx, o); err != nil {
		return err
	}
	s, err := burin.New(ctx, o)
	if errors.Is(err, transcript.ErrLocked) {
		return fmt.Errorf("%w, or ask without it, with --no-session", goingOn(o.Resume, err))
	}
	if err != nil {
		return err
	}
	outcome, err := printer.Run(ctx, s, prompt)
	if path, ok := s.Path(); ok {
		p.leaveBreadcrumb(crumbsIn(paths), dir, path)
	}
	if cerr := s.Close(); err == nil && cerr != nil {
		fmt.Fprintf(p.err, "burin: %s\n", oneLine(cerr))
	}
	return p.ended(outcome, err, refused)
}

// openMeter writes what a session costs to the account, as spent for the folder dir.
func (p *program) openMeter(ctx context.Context, o *burin.Options, settings *config.Config, paths config.Paths, dir string) (done func(), err error) {
	account, err := ledger.Open(ctx, paths.Data)
	if err != nil {
		return nil, err
	}
	o.Meter = &meter{ledger: account, project: dir, resumed: o.Resume != "", limits: limitsOf(settings)}
	return func() {
		if err := account.Close(); err != nil {
			fmt.Fprintf(p.err, "burin: what was spent is not kept: %s\n", oneLine(err))
		}
	}, nil
}

// agentOptions joins flags, settings and places; flags win.
func (p *program) agentOptions(o *burin.Options, a agentFlags, settings *config.Config, paths config.Paths) error {
	set := func(to *string, values ...string) {
		for _, v := range values {
			if *to == "" {
				*to = v
			}
		}
	}
	set(&o.Approval, a.approval, settings.Approval)
	set(&o.Sandbox, a.sandbox, settings.Sandbox.Mode)
	set(&o.EditEngine, a.editEngine, settings.Edit.Mode)
	set(&o.Shell, settings.ShellPath)
	set(&o.SearXNG, settings.SearXNG.Endpoint, p.getenv("SEARXNG_ENDPOINT"))
	o.AddDirs = a.addDirs
	o.Allow = append(settings.Permissions.Allow[:len(settings.Permissions.Allow):len(settings.Permissions.Allow)], a.allow...)
	o.Deny = append(settings.Permissions.Deny[:len(settings.Permissions.Deny):len(settings.Permissions.Deny)], a.deny...)
	o.Hosts = append(settings.Sandbox.Hosts[:len(settings.Sandbox.Hosts):len(settings.Sandbox.Hosts)], a.hosts...)
	o.Writable = settings.Sandbox.Writable
	o.Tools, o.NoTools = a.tools, a.noTools
	o.Append, o.NoFiles, o.NoSession = a.append, a.noFiles || a.noTools, a.noSession
	o.MaxTurns, o.MaxCost = a.maxTurns, llm.Dollars(a.maxCost)
	o.Steering, o.FollowUp = agent.QueueMode(settings.Text("steeringMode")), agent.QueueMode(settings.Text("followUpMode"))
	o.Interrupt = agent.InterruptMode(settings.Text("interruptMode"))
	o.Retry, o.Compaction = retryOf(settings), compactionOf(settings)
	o.NoPromote = settings.ContextPromotion.Enabled != nil && !*settings.ContextPromotion.Enabled
	if settings.Titles.Model {
		o.TitleModel = catalog.RoleSmol
	}
	o.Fallbacks = settings.Retry.FallbackChains[catalog.RoleDefault]
	o.NoSecrets = a.noSecrets || settings.Secrets.Enabled != nil && !*settings.Secrets.Enabled
	o.Environ = os.Environ()
	if !o.NoSecrets {
		entries, err := loadSecrets(".burin", paths.Config)
		if err != nil {
			return err
		}
		o.SecretEntries = entries
	}
	o.SessionDir, o.Seal = sessionRoot(settings, paths), a.seal || settings.Sessions.Encrypt
	if a.session != "" && isDir(a.session) {
		o.SessionDir = a.session
	}
	o.PermissionFile = filepath.Join(paths.Config, "permissions.json")
	o.StateDir, o.ConfigDir = paths.Data, paths.Config
	o.UserHome, _ = os.UserHomeDir() // without one there is nothing of the user's to look for
	o.Warn = func(line string) { fmt.Fprintf(p.err, "burin: %s\n", oneLine(errors.New(line))) }
	o.Expand = expander(p.fileCommands(paths, o.Warn))
	client, err := wire.NewClient(wire.OptionsFromEnv(p.getenv))
	if err != nil {
		return err
	}
	o.HTTP = client.Transport
	if tty := p.terminal(); tty != nil {
		t := &print.Terminal{In: tty, Out: p.err}
		o.Approver, o.Questioner = t, t
	}
	return nil
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
		return fmt.Errorf("stopped after %s, as --max-turns says; the work may not be done", counted(o.Turns, "request"))
	case o.Reason == agent.ReasonLength:
		return errors.New("the answer was cut at the model's limit of output; --max-tokens sets it")
	}
	switch n := len(refused); n {
	case 0:
		return nil
	case 1:
		return refusedError{refused[0]}
	default:
		return refusedError{fmt.Errorf("%w (refused besides: %s)", refused[0], counted(n-1, "call"))}
	}
}

// refusedError is that the model was not allowed what it needed.
type refusedError struct{ error }
