package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/demo"
	"github.com/burin-dev/burin/internal/mode/tui"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/internal/model/connect"
	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// talk shows the terminal's face. It paints before anything is opened that takes time.
func (p *program) talk(ctx context.Context, a askFlags, prompt string, tty *terminal.Terminal) error {
	if err := a.check(); err != nil {
		return err
	}
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	settings, err := config.Load(paths.Config)
	if err != nil {
		return err
	}
	dir, err := workDir()
	if err != nil {
		return err
	}
	p.dump = new(connect.Dump)
	h := &host{program: p, ask: a, settings: settings, paths: paths, dir: dir}
	h.commands = p.fileCommands(paths, func(string) {}) // the completion lists what there is
	if settings.AutoResume && a.resume == "" && a.session == "" && !a.noSession {
		h.ask.goOn = true
	}
	defer h.close()
	if a.seal || settings.Sessions.Encrypt {
		// A pass phrase is asked for before the screen is there.
		if _, err := p.sessionKeys(ctx)(place.Wanted{}); err != nil {
			return err
		}
	}
	if !signal.Ignored(syscall.SIGHUP) { // the terminal is closed: as good a reason to end in order as any
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	home, _ := os.UserHomeDir() // only paths with "~" need it
	last, err := tui.Run(ctx, tui.Options{
		Terminal: tty, Getenv: p.getenv, Settings: settings, Paths: paths, Dir: dir, Home: home, Version: version(),
		Prompt: prompt, Open: h.open, Host: h, OpenPage: openBrowser, Resume: h.ask.goOn || a.resume != "" || a.session != "",
		Choose: a.choose, Hide: h.hide(),
	})
	if last != "" {
		p.leaveBreadcrumb(crumbsIn(paths), dir, last)
		if ctx.Err() == nil { // else the terminal may be gone, or nobody reads it
			fmt.Fprintln(p.err, "burin --continue goes on from here.")
		}
	}
	return err
}

// host is the program around the terminal's face.
type host struct {
	*program
	ask      askFlags
	settings *config.Config
	paths    config.Paths
	dir      string
	commands func() *files.Set

	mu      sync.Mutex
	models  *connect.Models
	old     []*connect.Models // that sessions may use
	account *ledger.Ledger
	first   bool // the session of the flags has been opened

	// unkept is set once nothing that is typed shall be found on the disk later: with
	// --no-session, and from the first encrypted session on.
	unkept atomic.Bool
}

var _ tui.Host = (*host)(nil)

func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.account != nil {
		if err := h.account.Close(); err != nil {
			fmt.Fprintf(h.err, "burin: what was spent is not kept: %s\n", oneLine(err))
		}
	}
	for _, m := range append(h.old, h.models) {
		if m != nil {
			m.Close()
		}
	}
}

// Reload implements [tui.Host]. Sessions that are open go on with the models they have.
func (h *host) Reload() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.models != nil {
		h.old = append(h.old, h.models)
		h.models = nil
	}
}

// Dump implements [tui.Host].
func (h *host) Dump(path string, done func(error)) error { return h.program.dump.Next(path, done) }

// Models implements [tui.Host].
func (h *host) Models() (*connect.Models, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.models != nil {
		return h.models, nil
	}
	_, models, err := h.program.open(h.ask.roles())
	if err != nil {
		if models != nil {
			models.Close()
		}
		return nil, err
	}
	h.models = models
	return models, nil
}

// FileCommands implements [tui.Host].
func (h *host) FileCommands() *files.Set { return h.commands() }

// Ledger implements [tui.Host].
func (h *host) Ledger() (*ledger.Ledger, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.account == nil {
		account, err := ledger.Open(context.Background(), h.paths.Data)
		if err != nil {
			return nil, err
		}
		h.account = account
	}
	return h.account, nil
}

// open opens a session: that of the flags first, then those that the person chooses.
func (h *host) open(ctx context.Context, w tui.Wish) (session.Handle, error) {
	settings, err := config.Load(h.paths.Config) // it may have changed meanwhile
	if err != nil {
		return nil, err
	}
	models, err := h.Models()
	if err != nil {
		return nil, err
	}
	a := h.ask
	quiet := *h.program // what it would print goes to the face
	said := &lines{tell: w.Warn}
	quiet.out, quiet.err = said, said
	quiet.sealing.ask = w.Secret
	resume := w.Resume
	h.mu.Lock()
	first := !h.first
	h.first = true
	h.mu.Unlock()
	switch {
	case first && resume == "":
		if resume, err = quiet.resumes(ctx, a.agentFlags, settings); err != nil {
			return nil, err
		}
	case !first:
		a.goOn, a.resume, a.session = false, "", ""
	}
	if w.Model != "" {
		a.model, a.baseURL, a.models = w.Model, "", nil
	}
	if w.Thinking != "" {
		a.thinking = string(w.Thinking)
	}
	if w.Mode != "" {
		a.approval = w.Mode
	}
	o, err := quiet.modelOptions(ctx, a, settings, models, resume)
	if err != nil {
		return nil, err
	}
	if err := quiet.agentOptions(&o, a.agentFlags, settings, h.paths); err != nil {
		return nil, err
	}
	o.Approver, o.Questioner, o.Warn = w.Approver, w.Questioner, w.Warn
	o.Expand, o.KeepPlan = expander(h.FileCommands), true
	account, err := h.Ledger()
	if err != nil {
		return nil, err
	}
	o.Meter = &meter{ledger: account, project: h.dir, resumed: o.Resume != "", limits: limitsOf(settings)}
	if o.Keys, err = quiet.readyKeys(ctx, o); err != nil {
		return nil, err
	}
	keys := o.Keys
	o.Keys = func(w place.Wanted) (sealed.Key, error) {
		h.unkept.Store(true) // who asks for a key has an encrypted session before it
		key, err := keys(w)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sealing.key, h.sealing.phrase = quiet.sealing.key, quiet.sealing.phrase // asked for once
		return key, err
	}
	return burin.New(ctx, o)
}

// hide takes secrets out of the prompts that the history keeps; "" is not kept. What is
// secret is collected with the first prompt, for which nobody waits.
func (h *host) hide() func(string) string {
	h.unkept.Store(h.ask.noSession || h.ask.seal || h.settings.Sessions.Encrypt)
	hide := sync.OnceValue(func() func(string) string {
		if on := h.settings.Secrets.Enabled; h.ask.noSecrets || on != nil && !*on {
			return func(text string) string { return text }
		}
		a, err := h.archive()
		if err != nil {
			return func(string) string { return "" }
		}
		v, err := h.vault(a)
		if err != nil { // the session says why
			return func(string) string { return "" }
		}
		return v.Hide
	})
	return func(text string) string {
		if h.unkept.Load() {
			return ""
		}
		return hide()(text)
	}
}

// lines tells what is written, a line at a time.
type lines struct {
	mu   sync.Mutex
	part []byte
	tell func(string)
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.tell(strings.TrimPrefix(string(line), "burin: "))
		l.part = rest
	}
}

// Command implements [tui.Host].
func (h *host) Command(ctx context.Context, args ...string) (string, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return "", err
	}
	defer null.Close()
	var out bytes.Buffer
	p := &program{in: null, out: &out, err: &out, getenv: h.getenv, sealing: h.sealing}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err = root.ExecuteContext(ctx)
	return out.String(), err
}

// Sessions implements [tui.Host].
func (h *host) Sessions() string { return sessionRoot(h.settings, h.paths) }

// Index implements [tui.Host].
func (h *host) Index() string {
	a, err := h.archive()
	if err != nil {
		return ""
	}
	return a.index
}

// Handoff implements [tui.Host].
func (h *host) Handoff(file string, from transcript.Header, title, document string) (string, error) {
	return h.copied(func(p *program, a *archive) error {
		return p.beginHandoff(context.Background(), a, file, from, title, document)
	})
}

// Copy implements [tui.Host].
func (h *host) Copy(ctx context.Context, path, entry string) (string, error) {
	return h.copied(func(p *program, _ *archive) error {
		if entry == "" {
			return p.forkSession(ctx, path)
		}
		return p.branchSession(ctx, path, entry)
	})
}

// copied is the file of the session that make prints the id of.
func (h *host) copied(make func(*program, *archive) error) (string, error) {
	var out, said bytes.Buffer
	p := *h.program
	p.out, p.err = &out, &said
	a, err := p.archive()
	if err != nil {
		return "", err
	}
	if err := make(&p, a); err != nil {
		return "", err
	}
	id := strings.TrimSpace(out.String())
	if id == "" {
		return "", errors.New("the new session has no id")
	}
	return a.find(context.Background(), id)
}

// Crumb implements [tui.Host].
func (h *host) Crumb(path string) { h.leaveBreadcrumb(crumbsIn(h.paths), h.dir, path) }

// resumeCommand shows the sessions to go on with.
func (p *program) resumeCommand() *cobra.Command {
	var a askFlags
	cmd := &cobra.Command{
		Use:   "resume [ID]",
		Short: "Choose a session to go on with",
		Long: `Choose a session to go on with in the terminal: from a list with search and preview, or
by its id, the beginning of it, or its file.

  burin resume`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && args[0] == "":
				return errUnnamed
			case len(args) == 1:
				a.resume = args[0]
			default:
				a.choose = true
			}
			tty, err := terminal.Open()
			if err != nil {
				return fmt.Errorf("choose a session: %w", err)
			}
			defer tty.Close()
			return p.talk(cmd.Context(), a, "", tty)
		},
	}
	return cmd
}

// demoTerminal shows the demo in the terminal's face. Rules are asked about as every day.
func (p *program) demoTerminal(ctx context.Context) error {
	tty, err := terminal.Open()
	if err != nil {
		return fmt.Errorf("show the demo: %w", err)
	}
	defer tty.Close()
	stage, err := demo.SetUp(ctx, 0)
	if err != nil {
		return err
	}
	defer stage.Close()
	if err := os.Chdir(stage.Dir); err != nil {
		return fmt.Errorf("show the demo: %w", err)
	}
	a := askFlags{model: "demo/scripted", baseURL: stage.URL, api: string(llm.APICompletions)}
	a.editEngine = "replace"
	return p.talk(ctx, a, stage.Question, tty)
}
