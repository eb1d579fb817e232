package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/mode/demo"
	"github.com/burin-dev/burin/internal/mode/tui"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/internal/model/credential"
	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// talk shows the terminal's face until the person leaves, in one folder after the other
// where they move.
func (p *program) talk(ctx context.Context, a askFlags, prompt string, tty *terminal.Terminal) error {
	for {
		ended, err := p.talkHere(ctx, a, prompt, tty)
		if err == nil && ended.Demo {
			_ = tty.Close() // the demo opens it for itself
			return demoTerminal(ctx, p)
		}
		if err != nil || ended.Moved == "" {
			return err
		}
		if err := os.Chdir(ended.MovedTo); err != nil {
			return fmt.Errorf("the session was moved, but burin cannot work there: %w", err)
		}
		prompt = ""
		a.resume, a.session, a.goOn, a.choose, a.attach = ended.Moved, "", false, false, false
	}
}

// talkHere shows the terminal's face in the working directory. It paints before anything is
// opened that takes time.
func (p *program) talkHere(ctx context.Context, a askFlags, prompt string, tty *terminal.Terminal) (ended tui.Ended, err error) {
	if err := a.check(); err != nil {
		return ended, err
	}
	h := &desk{program: p, ask: a}
	around, err := p.hostFor(&a, func(line string) { warnAt(h, line) })
	if err != nil {
		return ended, err
	}
	h.Host = around
	defer p.closeHost(ctx, around)
	settings, err := around.Settings()
	if err != nil {
		return ended, err
	}
	if settings.AutoResume && a.resume == "" && a.session == "" && !a.noSession {
		h.ask.goOn = true
	}
	if a.seal || settings.Sessions.Encrypt {
		// A pass phrase is asked for before the screen is there.
		if _, err := p.sessionKeys(ctx)(place.Wanted{}); err != nil {
			return ended, err
		}
	}
	if !signal.Ignored(syscall.SIGHUP) { // the terminal is closed: as good a reason to end in order as any
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	home, _ := os.UserHomeDir() // only paths with "~" need it
	ended, err = tui.Run(ctx, tui.Options{
		Terminal: tty, Getenv: p.getenv, Settings: settings, Paths: h.Paths(), Dir: h.Dir(), Home: home,
		Version: version(), Changelog: burin.Changelog(),
		Prompt: prompt, Open: opener(h), Host: h, Agents: host.AgentsOf(h.Host), Servers: host.ServersOf(h.Host), OpenPage: openBrowser, Resume: h.ask.goOn || a.resume != "" || a.session != "",
		Words:  host.WordsOf(h.Host),
		Choose: a.choose, Hide: hiding(h, settings), News: p.news(a, settings, h.Paths()),
		Running: runningBeside(p),
	})
	if last := ended.Last; last != "" {
		h.Crumb(last)
		if ended.Detached != nil && err == nil && ctx.Err() == nil {
			return ended, detached(ctx, p, h.Paths(), last, ended.Detached)
		}
		if ctx.Err() == nil { // else the terminal may be gone, or nobody reads it
			fmt.Fprintln(p.err, "burin --continue resumes this session.")
		}
	}
	return ended, err
}

// desk is the program around the terminal's face.
type desk struct {
	*host.Host
	program *program
	ask     askFlags
	// remembering is set once the memory is brought up to date, which it is once for a start.
	remembering atomic.Bool
	first       atomic.Bool                  // the session of the flags has been opened
	tell        atomic.Pointer[func(string)] // tells the person; nil: no session has been opened yet
	runs        atomic.Pointer[runner]       // runs programs beside the session that was opened last; nil: nothing can

	// unkept is set once nothing that is typed shall be found on the disk later: with
	// --no-session, and from the first encrypted session on.
	unkept atomic.Bool
}

// runner runs a program beside a session, in its sandbox.
type runner func(context.Context, bench.Program) (bench.Ended, error)

var _ tui.Host = (*desk)(nil)

// warnAt says what a person should know: in the face, once it is there.
func warnAt(h *desk, line string) {
	if tell := h.tell.Load(); tell != nil {
		(*tell)(line)
		return
	}
	h.program.warn(line)
}

// lineLimit is how long the command of the status line may take.
const lineLimit = 5 * time.Second

// StatusLine implements [tui.Host].
func (h *desk) StatusLine(ctx context.Context, command string, facts []byte) (string, error) {
	run := h.runs.Load()
	if run == nil {
		return "", nil
	}
	ended, err := (*run)(ctx, bench.Program{Line: command, Input: facts, Timeout: lineLimit})
	line := func(text string) string {
		text, _, _ = strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
		return strings.TrimSpace(ansi.Strip(text))
	}
	switch {
	case err != nil:
		return "", err
	case ended.TimedOut:
		return "", fmt.Errorf("stopped after %v: make it faster", lineLimit)
	case ended.ExitCode != 0:
		return "", fmt.Errorf("exit code %d: %s", ended.ExitCode, cmp.Or(line(ended.Stderr), "no message"))
	}
	return line(ended.Stdout), nil
}

// Ledger implements [tui.Host].
func (h *desk) Ledger() (*ledger.Ledger, error) { return h.Host.Ledger(context.Background()) }

// Archive implements [tui.Host].
func (h *desk) Archive(warn func(string)) (tui.Archive, error) { return h.Host.Archive(warn) }

// Own implements [tui.Host].
func (h *desk) Own() slash.Own { return ownCommands(h.Host, h.ask) }

// Crumb implements [tui.Host].
func (h *desk) Crumb(path string) { h.Host.Crumb(h.program.terminalID(), h.Dir(), path) }

// opener opens sessions: that of the flags first, then those that the person chooses.
func opener(h *desk) func(context.Context, tui.Wish) (session.Handle, error) {
	return func(ctx context.Context, w tui.Wish) (session.Handle, error) { return openNext(ctx, h, w) }
}

func openNext(ctx context.Context, h *desk, w tui.Wish) (session.Handle, error) {
	s, err := opened(ctx, h, w)
	var none *credential.NotFoundError
	if errors.As(err, &none) {
		h.first.Store(false) // the flags still say which session, once there is a key
	}
	if err == nil && h.ask.external == nil && !h.ask.attach && h.remembering.CompareAndSwap(false, true) {
		if m, err := h.Memory(); err == nil { // the settings could be read a moment ago
			m.UpdateInBackground(h.ask.wish().Choice, w.Note, w.Warn)
		}
	}
	if err == nil && s.Facts().Sealed { // by another process, perhaps
		h.unkept.Store(true)
	}
	return s, err
}

func opened(ctx context.Context, h *desk, w tui.Wish) (session.Handle, error) {
	h.tell.Store(&w.Warn)
	h.program.sealing.AskWith(w.Secret)
	a, resume := h.ask, w.Resume
	first := h.first.CompareAndSwap(false, true)
	if first && a.attach && isServer(a.resume) {
		return joinServer(ctx, h.program, a.resume, "terminal", remote.Own)
	}
	switch {
	case first && resume == "":
		var err error
		if resume, err = h.program.resumes(ctx, h.Host, a.agentFlags, w.Warn); err != nil {
			return nil, err
		}
	case !first:
		h.runs.Store(nil) // those of the session before have gone with it
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
	place := owner.Place{Data: h.Paths().Data, Getenv: h.program.getenv}
	if a.attach && first {
		return h.program.attached(ctx, h.Paths(), resume, "terminal", remote.Own)
	}
	return place.Open(ctx, resume, "terminal", true, func() (*session.Session, error) { return begin(ctx, h, a, w, resume) })
}

// begin opens a session in this process.
func begin(ctx context.Context, h *desk, a askFlags, w tui.Wish, resume string) (*session.Session, error) {
	o := a.wish()
	o.Resume, o.Warn, o.Note, o.KeepPlan = resume, w.Warn, w.Note, true
	if resume != "" {
		o.Keyless = func(none *credential.NotFoundError) { w.Warn(tui.NoKey(none)) }
	}
	o.Desk = session.NewDesk(session.DeskOptions{})
	o.Desk.Attend() // the face that opens it
	o.Wakes = true
	o.Programs = func(run func(context.Context, bench.Program) (bench.Ended, error)) {
		r := runner(run)
		h.runs.Store(&r)
	}
	keys := h.program.sessionKeys(ctx)
	o.Keys = func(w place.Wanted) (sealed.Key, error) {
		h.unkept.Store(true) // who asks for a key has an encrypted session before it
		return keys(w)
	}
	return h.Open(ctx, o)
}

// hiding takes secrets out of the prompts that the history keeps; "" is not kept. What is
// secret is collected with the first prompt, for which nobody waits.
func hiding(h *desk, settings *config.Config) func(string) string {
	h.unkept.Store(h.ask.noSession || h.ask.seal || settings.Sessions.Encrypt)
	hide := sync.OnceValue(func() func(string) string {
		if on := settings.Secrets.Enabled; h.ask.noSecrets || on != nil && !*on {
			return func(text string) string { return text }
		}
		a, err := h.program.archive()
		if err != nil {
			return func(string) string { return "" }
		}
		v, err := a.Vault()
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

// resumeCommand shows the sessions to go on with.
func resumeCommand(p *program) *cobra.Command {
	var a askFlags
	cmd := &cobra.Command{
		Use:               "resume [ID]",
		ValidArgsFunction: offerSessions(p),
		Short:             "Choose a session to resume",
		Long: `Choose a session to resume in the terminal: from a list with search and preview, or
by its id, the beginning of it, or its file.

  burin resume`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && args[0] == "":
				return archive.ErrUnnamed
			case len(args) == 1:
				a.resume = args[0]
			}
			return p.chooseSession(cmd.Context(), a)
		},
	}
	return cmd
}

// chooseSession resumes the session that a names, or lets a person choose one.
func (p *program) chooseSession(ctx context.Context, a askFlags) error {
	if a.print {
		return usage("--resume: name a session; burin sessions lists them")
	}
	tty, err := terminal.Open()
	if err != nil {
		return fmt.Errorf("choose a session: %w", err)
	}
	defer tty.Close()
	a.choose = a.resume == ""
	return p.talk(ctx, a, "", tty)
}

// demoTerminal shows the demo in the terminal's face. Rules are asked about as every day.
func demoTerminal(ctx context.Context, p *program) error {
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
	a.editEngine, a.offline = "replace", true
	return p.talk(ctx, a, stage.Question, tty)
}
