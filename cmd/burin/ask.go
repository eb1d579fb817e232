package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

// askFlags are the flags of a prompt.
type askFlags struct {
	print       bool
	mode        string
	inputFormat string
	model       string
	models      []string
	thinking    string
	baseURL     string
	api         string
	apiKey      string
	system      string
	maxTokens   int
	smol        string
	slow        string
	plan        string
	offline     bool            // burin asks no server of its own accord
	external    *bench.External // another agent that answers in place of a model; nil: none
	sampling
	agentFlags
}

func (a *askFlags) register(f *pflag.FlagSet) {
	f.BoolVarP(&a.print, "print", "p", false, "ask, print the answer and exit; @path attaches a file")
	f.StringVar(&a.mode, "mode", "text", "text; json: one event a line; rpc, rpc-ui: commands of a program on standard input; acp: an editor")
	f.StringVar(&a.inputFormat, "input-format", "text", "with --mode json: text, or json (commands, one a line)")
	f.StringVar(&a.model, "model", "", "model: provider/id, id, part of a name, or role; :level sets the thinking level")
	f.StringSliceVar(&a.models, "models", nil, "models to choose from, first one first; patterns as in enabledModels")
	f.StringVar(&a.thinking, "thinking", "", "thinking level: off, minimal, low, medium, high or xhigh")
	f.StringVar(&a.baseURL, "base-url", "", "server address, for a model that is not configured")
	f.StringVar(&a.api, "api", "", "wire format of --base-url, such as anthropic-messages; if not given, the provider's or openai-completions")
	f.StringVar(&a.apiKey, "api-key", "", "key for the model's provider; other users of this machine can see it: prefer a variable")
	f.StringVar(&a.system, "system-prompt", "", "instructions for the model")
	f.IntVar(&a.maxTokens, "max-tokens", 0, "maximum tokens of an answer; 0 means the model's limit")
	a.sampling.register(f)
	f.StringVar(&a.smol, "smol", "", "model of the role smol, for this run")
	f.StringVar(&a.slow, "slow", "", "model of the role slow, for this run")
	f.StringVar(&a.plan, "plan", "", "model of the role plan, for this run")
	a.agentFlags.register(f)
}

// roles are the roles set by flags.
func (a *askFlags) roles() map[string]string {
	roles := map[string]string{}
	if a == nil {
		return roles
	}
	for role, selector := range map[string]string{catalog.RoleSmol: a.smol, catalog.RoleSlow: a.slow, catalog.RolePlan: a.plan} {
		if selector != "" {
			roles[role] = selector
		}
	}
	return roles
}

// ask answers one prompt.
func (p *program) ask(ctx context.Context, a askFlags, args []string) error {
	mode, err := print.ParseMode(a.mode)
	if err != nil {
		return usage("--mode: %w", err)
	}
	if err := a.check(); err != nil {
		return err
	}
	schema, err := a.readSchema()
	if err != nil {
		return err
	}
	prompt, err := print.Prompt(args, p.piped(ctx), usesServer(p))
	if errors.Is(err, print.ErrNoPrompt) {
		return usageError{Err: err}
	}
	if err != nil {
		return err
	}
	h, err := p.host(&a)
	if err != nil {
		return err
	}
	defer p.closeHost(ctx, h)
	if a.external == nil {
		if _, err := h.Models(); err != nil {
			return err
		}
	}
	o := a.wish()
	if o.Resume, err = p.resumes(ctx, h, a.agentFlags, nil); err != nil {
		return err
	}
	o.Output = schema
	return p.work(ctx, h, a, o, prompt, mode)
}

// usesServer tells whether burin uses an MCP server of a name here.
func usesServer(p *program) func(name string) bool {
	return func(name string) bool {
		h, err := p.hostFor(nil, func(string) {}) // what is wrong is said where the session opens
		return err == nil && host.UsesServer(h, name)
	}
}

// host is what is around the sessions of this run. a may be nil.
func (p *program) host(a *askFlags) (*host.Host, error) {
	return p.hostFor(a, func(line string) { p.warn(words.Line(line)) })
}

// hostFor is host for a face that shows by itself what a person should know.
func (p *program) hostFor(a *askFlags, warn func(string)) (*host.Host, error) {
	return p.hostIn(a, "", warn)
}

// hostIn is hostFor in a folder; "" is the working directory.
func (p *program) hostIn(a *askFlags, dir string, warn func(string)) (*host.Host, error) {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return nil, err
	}
	overlays, err := overlayFiles(p)
	if err != nil {
		return nil, err
	}
	return host.New(host.Options{
		Paths: paths, Dir: dir, Getenv: p.getenv, Roles: a.roles(), Tuning: a.tuning(), Version: version(), Keys: p.sessionKeys,
		Overlays: overlays, Flags: a.held(), Warn: warn,
	})
}

// closeHost closes what a run has opened.
func (p *program) closeHost(ctx context.Context, h *host.Host) {
	if err := h.Close(ctx); err != nil {
		p.warn(words.Error(err))
	}
}

// check finds what cannot be meant.
func (a *askFlags) check() error {
	if _, err := a.level(); err != nil {
		return err
	}
	if a.maxTokens < 0 {
		return usage("--max-tokens: %d is less than 0", a.maxTokens)
	}
	if err := a.sampling.check(); err != nil {
		return err
	}
	return a.agentFlags.check()
}

// level is how hard to think; LevelDefault where no flag says it.
func (a *askFlags) level() (llm.Level, error) {
	if a.thinking == "" {
		return llm.LevelDefault, nil
	}
	level, err := llm.ParseLevel(a.thinking)
	if err != nil {
		return level, usage("--thinking: %w", err)
	}
	return level, nil
}

// wish is the session that the flags describe.
func (a *askFlags) wish() host.Session {
	level, _ := a.level() // it was checked
	o := host.Session{Choice: host.Choice{Model: a.model, Models: a.models, BaseURL: a.baseURL, API: a.api, APIKey: a.apiKey}}
	o.System, o.MaxTokens, o.Thinking.Level = a.system, a.maxTokens, level
	o.WebSearch, o.External = a.webSearch, a.external
	a.agentFlags.apply(&o)
	return o
}

// piped is standard input if something is connected to it that can end: a pipe
// or a file, not a terminal or a null device.
func (p *program) piped(ctx context.Context) io.Reader {
	info, err := p.in.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice != 0 {
		return nil
	}
	return interruptible(ctx, p.in)
}

// resumes is the session file to go on with; "" is a new one. warn is told what a person
// should know; nil prints it.
func (p *program) resumes(ctx context.Context, h *host.Host, a agentFlags, warn func(string)) (string, error) {
	return h.Resume(ctx, host.Past{
		Resumption: archive.Resumption{Last: a.goOn, Session: a.session, Which: a.resume},
		Terminal:   p.terminalID(), Hidden: !a.noSecrets, Warn: warn,
	})
}
