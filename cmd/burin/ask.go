package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// askFlags are the flags of a prompt.
type askFlags struct {
	print     bool
	mode      string
	model     string
	models    []string
	thinking  string
	baseURL   string
	api       string
	apiKey    string
	system    string
	maxTokens int
	smol      string
	slow      string
	plan      string
	agentFlags
}

func (a *askFlags) register(f *pflag.FlagSet) {
	f.BoolVarP(&a.print, "print", "p", false, "ask, print the answer and exit; @path attaches a file")
	f.StringVar(&a.mode, "mode", "text", "output of -p: text, or json (one event a line)")
	f.StringVar(&a.model, "model", "", "model: provider/id, id, part of a name or role, with :level to say how hard to think")
	f.StringSliceVar(&a.models, "models", nil, "models to choose from, first one first; patterns as in enabledModels")
	f.StringVar(&a.thinking, "thinking", "", "how hard to think: off, minimal, low, medium, high or xhigh")
	f.StringVar(&a.baseURL, "base-url", "", "address of the server that has the model, for one that is not configured")
	f.StringVar(&a.api, "api", "", "wire format of --base-url, such as anthropic-messages; if not given, the provider's or openai-completions")
	f.StringVar(&a.apiKey, "api-key", "", "key for the model's provider; other users of this machine can see it: prefer a variable")
	f.StringVar(&a.system, "system-prompt", "", "instructions for the model")
	f.IntVar(&a.maxTokens, "max-tokens", 0, "most tokens to answer with; 0 is the model's limit")
	f.StringVar(&a.smol, "smol", "", "model of the role smol, for this run")
	f.StringVar(&a.slow, "slow", "", "model of the role slow, for this run")
	f.StringVar(&a.plan, "plan", "", "model of the role plan, for this run")
	a.agentFlags.register(f)
}

// roles are the roles set by flags.
func (a *askFlags) roles() map[string]string {
	roles := map[string]string{}
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
	prompt, err := print.Prompt(args, p.piped(ctx))
	if errors.Is(err, print.ErrNoPrompt) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	settings, models, err := p.open(a.roles())
	defer closeModels(ctx, models)
	if err != nil {
		// Without models.yml the prompt might go to another host than the user set
		// for it, so it goes nowhere.
		return err
	}
	resume, err := p.resumes(ctx, a.agentFlags, settings)
	if err != nil {
		return err
	}
	o, err := p.modelOptions(ctx, a, settings, models, resume)
	if err != nil {
		return err
	}
	o.Output = schema
	return p.work(ctx, a, settings, o, prompt, mode)
}

// closeModels closes the models, if there are any. Who interrupts does not wait for a
// renewal to end.
func closeModels(ctx context.Context, models *connect.Models) {
	if models != nil && ctx.Err() == nil {
		models.Close()
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

// modelOptions choose the model of a session, and how it is asked.
func (p *program) modelOptions(ctx context.Context, a askFlags, settings *config.Config, models *connect.Models, resume string) (burin.Options, error) {
	choice, err := p.chooseFor(ctx, models, a, resume)
	if err != nil {
		return burin.Options{}, err
	}
	if a.apiKey != "" {
		models.Keys.Override(choice.Model.Provider, credential.Secret(a.apiKey))
	}
	retention, err := models.CacheRetention()
	if err != nil {
		return burin.Options{}, err
	}
	client, err := models.Client(choice.Model, "")
	if err != nil {
		return burin.Options{}, err
	}
	level, err := a.level()
	if err != nil {
		return burin.Options{}, err
	}
	for _, l := range []llm.Level{choice.Level, settings.DefaultThinkingLevel} {
		if level == llm.LevelDefault {
			level = l
		}
	}
	return burin.Options{
		Open: opener(models), Resume: resume,
		Client: client, Model: &choice.Model.Model, System: a.system,
		MaxTokens: a.maxTokens, Thinking: llm.Thought{Level: level},
		Cache: llm.CacheHint{Retention: retention},
	}, nil
}

// opener finds models by selector, with a client for each.
func opener(models *connect.Models) func(context.Context, string) (*llm.Model, llm.Client, error) {
	return func(ctx context.Context, selector string) (*llm.Model, llm.Client, error) {
		choice, err := models.Choose(ctx, catalog.Wish{Selector: selector})
		if err != nil {
			return nil, nil, err
		}
		client, err := models.Client(choice.Model, "")
		if err != nil {
			return nil, nil, err
		}
		return &choice.Model.Model, client, nil
	}
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

// open reads the settings and opens the models. The models are not nil if only
// models.yml is at fault: see [program.tolerate].
func (p *program) open(roles map[string]string) (*config.Config, *connect.Models, error) {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return nil, nil, err
	}
	settings, err := config.Load(paths.Config)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("find the working directory: %w", err)
	}
	home, _ := os.UserHomeDir() // only lists with "~" need it
	var keyring credential.Keyring
	if p.getenv("BURIN_NO_KEYRING") != "" {
		keyring = credential.NoKeyring()
	}
	models, err := connect.Open(connect.Options{
		Keyring:   keyring,
		Warn:      func(s string) { fmt.Fprintf(p.err, "burin: %s; using another key\n", oneLine(errors.New(s))) },
		ConfigDir: paths.Config, DataDir: paths.Data, CacheDir: paths.Cache, WorkDir: dir, UserHome: home,
		ProviderOrder: settings.ModelProviderOrder, Enabled: settings.EnabledModels, Disabled: settings.DisabledProviders,
		Roles: settings.ModelRoles, RoleFlags: roles, OAuth: settings.OAuth,
		Dump:       p.dump,
		FirstEvent: milliseconds(settings.Stream.FirstEventTimeoutMS), Idle: milliseconds(settings.Stream.IdleTimeoutMS),
	})
	return settings, models, err
}

// tolerate reports a models.yml that cannot be used, for commands that do no
// harm without it, and passes on every other error.
func (p *program) tolerate(models *connect.Models, err error) error {
	if err == nil || models == nil {
		return err
	}
	fmt.Fprintf(p.err, "burin: %s; going on with the built-in models\n", oneLine(err))
	return nil
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// resumes is the session file to go on with; "" is a new one.
func (p *program) resumes(ctx context.Context, a agentFlags, settings *config.Config) (string, error) {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return "", err
	}
	dir, err := workDir()
	if err != nil {
		return "", err
	}
	root := sessionRoot(settings, paths)
	if a.session != "" && isDir(a.session) {
		root = a.session
	}
	path, err := p.toResume(ctx, a.resumption, root, crumbsIn(paths), dir)
	if err == nil && !a.noSecrets {
		err = p.nameable(ctx, path)
	}
	return path, err
}

// chooseFor finds the model to ask: of a session that is gone on with, its own, unless
// another is asked for.
func (p *program) chooseFor(ctx context.Context, models *connect.Models, a askFlags, resume string) (catalog.Choice, error) {
	if resume == "" || a.model != "" || len(a.models) > 0 || a.baseURL != "" {
		return p.choose(ctx, models, a)
	}
	ref := p.modelOf(ctx, resume)
	if ref == "" {
		return p.choose(ctx, models, a)
	}
	choice, err := models.Choose(ctx, catalog.Wish{Selector: ref})
	if err == nil {
		return choice, nil
	}
	fmt.Fprintf(p.err, "burin: the model of this session cannot be used: %s\n", oneLine(err))
	return p.choose(ctx, models, a)
}

// modelOf is the model that a session used last; "" if it does not say.
func (p *program) modelOf(ctx context.Context, path string) string {
	l, _, err := place.Read(ctx, path, p.sessionKeys(ctx), transcript.Options{})
	if err != nil {
		return "" // who opens it says why
	}
	defer l.Close()
	c, err := l.Context(l.Leaf())
	if err != nil {
		return ""
	}
	return c.Models[catalog.RoleDefault]
}

// choose finds the model to ask.
func (p *program) choose(ctx context.Context, models *connect.Models, a askFlags) (catalog.Choice, error) {
	if a.baseURL != "" {
		return chooseAt(models, a)
	}
	if a.api != "" {
		return catalog.Choice{}, usage("--api says what --base-url speaks: give both")
	}
	choice, err := models.Choose(ctx, catalog.Wish{Selector: a.model, Models: a.models})
	if err == nil && choice.Note != "" {
		note := choice.Note
		if a.model == "" { // it says why this model, but not which
			note = "asking " + choice.Model.Ref() + ", " + note
		}
		fmt.Fprintf(p.err, "burin: %s\n", note)
	}
	return choice, err
}

// apiNames are the values of --api.
func apiNames() []string {
	var names []string
	for _, api := range []llm.API{
		llm.APICompletions, llm.APIResponses, llm.APIAnthropic, llm.APIGoogle, llm.APIBedrock,
		llm.APIVertex, llm.APIAzureResponses, llm.APICodexResponses,
	} {
		names = append(names, string(api))
	}
	return names
}

// chooseAt makes the model of --base-url.
func chooseAt(models *connect.Models, a askFlags) (catalog.Choice, error) {
	provider, id, ok := llm.SplitRef(a.model)
	if !ok {
		return catalog.Choice{}, usage("--base-url needs --model provider/id; the provider may be any name, such as local")
	}
	var level llm.Level
	if i := strings.LastIndexByte(id, ':'); i > 0 {
		if l, err := llm.ParseLevel(id[i+1:]); err == nil {
			id, level = id[:i], l
		}
	}
	if names := apiNames(); a.api != "" && !slices.Contains(names, a.api) {
		return catalog.Choice{}, usage("--api: unknown wire format %q (want %s)", a.api, strings.Join(names, ", "))
	}
	model, err := models.Unlisted(provider, id, llm.API(a.api), a.baseURL)
	if err != nil {
		return catalog.Choice{}, usageError{err}
	}
	// Bedrock also takes the name of a region.
	if u, err := url.Parse(a.baseURL); model.API != llm.APIBedrock && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return catalog.Choice{}, usage("--base-url: %q is no address such as http://127.0.0.1:8000/v1", a.baseURL)
	}
	return catalog.Choice{Model: model, Level: level}, nil
}
