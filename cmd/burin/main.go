// Command burin is a program in which a language model works with you. This
// file and its neighbours read flags and hand over to one mode.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done as far as was allowed (a
// call was refused that nobody could be asked about), 130 interrupted. Errors are one
// line on standard error that says what to do.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/sessionkey"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/mode/tui"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitFound       = 4 // by review --fail-on
	exitInterrupted = 130
)

func main() {
	bench.Main() // the guard of a command is this program, started again
	tui.Main()   // and so is the guard of the terminal
	if os.Getenv("GOGC") == "" {
		// What is made while burin starts is kept, or it ends soon: there is little to collect.
		debug.SetGCPercent(400)
		time.AfterFunc(250*time.Millisecond, func() { debug.SetGCPercent(100) })
	}
	p := program{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}
	p.sealing = p.newKeys()
	if err := hidePasswords(os.Args[1:], os.Setenv); err != nil {
		fmt.Fprintf(os.Stderr, "burin: %s\n", words.Error(err))
		os.Exit(exitUsage)
	}
	os.Exit(p.run(os.Args[1:]))
}

// program is what a command may use of the outside.
type program struct {
	in       *os.File
	out, err io.Writer
	getenv   func(string) string
	overlays []string         // files of --config
	sealing  *sessionkey.Keys // of encrypted sessions; nil: nobody has asked for one
}

// usageError is a mistake in how the program was called.
type usageError = archive.UsageError

func usage(format string, args ...any) error { return usageError{Err: fmt.Errorf(format, args...)} }

// signals gives a context that the first interrupt ends, so that work ends in order. A second one
// ends the process, however soon it comes.
func signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	came := make(chan os.Signal, 2)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-came; !ok {
			return
		}
		cancel()
		signal.Stop(came)
		select {
		case again, ok := <-came: // before anybody could know of the first one
			if !ok {
				return
			}
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(again)
			}
			if err != nil { // as on Windows
				os.Exit(exitFailed)
			}
		default:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(came)
		close(came)
		cancel()
	})
}

// run executes one command line and returns the exit code.
func (p *program) run(args []string) int {
	ctx, stop := signals(context.Background())
	defer stop()
	out := &standardOutput{to: p.out}
	p.out = out
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if failed, unread := out.err(); unread {
		return exitFailed
	} else if err == nil && failed != nil {
		err = fmt.Errorf("write to standard output: %w", archive.Pathless(failed))
	}
	if err == nil {
		return exitDone
	}
	var wrong usageError
	var refused refusedError
	var said silentError
	var found foundError
	switch {
	case errors.As(err, &said):
		return int(said)
	case errors.As(err, &found):
		fmt.Fprintf(p.err, "burin: %s\n", found)
		return exitFound
	case errors.As(err, &refused):
		fmt.Fprintf(p.err, "burin: %s\n", words.Error(err))
		return exitRefused
	case ctx.Err() != nil, llm.KindOf(err) == llm.ErrAborted:
		fmt.Fprintln(p.err, "burin: interrupted")
		return exitInterrupted
	case errors.As(err, &wrong):
		line := words.Error(err)
		if !saysWhatToDo(line) {
			line += "; see burin help"
		}
		fmt.Fprintf(p.err, "burin: %s\n", line)
		return exitUsage
	}
	fmt.Fprintf(p.err, "burin: %s%s\n", words.Error(err), remedy(err))
	return exitFailed
}

// remedy is what to do about what a provider has answered; "" where its words say so, or
// where nobody knows.
func remedy(err error) string {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Status == 0 || e.Provider == "" {
		return ""
	}
	provider := prose.Inline(e.Provider)
	switch {
	case e.Kind == llm.ErrAuth:
		return "; burin keys shows where the key comes from, burin keys add " + provider + " stores another"
	case e.Kind == llm.ErrUsageLimit:
		return "; burin models lists those of other providers"
	case e.Status == http.StatusNotFound && strings.Contains(e.Code, "not_found"):
		return "; burin models " + provider + " lists its models"
	}
	return ""
}

func saysWhatToDo(line string) bool {
	return slices.ContainsFunc([]string{"write burin ", "did you mean ", "; see burin "}, func(words string) bool { return strings.Contains(line, words) })
}

// interruptible is r for reading until ctx ends. A read from a terminal or a
// pipe cannot be broken off, so what is under way goes on, into a buffer of its
// own, until the process ends.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	type result struct {
		n   int
		err error
	}
	return readerFunc(func(b []byte) (int, error) {
		own, done := make([]byte, len(b)), make(chan result, 1)
		go func() {
			n, err := r.Read(own)
			done <- result{n, err}
		}()
		select {
		case got := <-done:
			return copy(b, own[:got.n]), got.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func (p *program) root() *cobra.Command {
	var ask askFlags
	var show bool
	var back background
	root := &cobra.Command{
		Use:               "burin [prompt...]",
		Short:             "A language model that works with you",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if show {
				fmt.Fprintf(p.out, "burin %s\n", version())
				return nil
			}
			if err := ask.checkMode(args); err != nil {
				return err
			}
			switch {
			case back.on && ask.serves():
				return usage("--background and --mode %s contradict each other: a client is there", ask.mode)
			case back.on && ask.mode == string(print.JSON):
				return usage("--background and --mode json contradict each other: burin attach --mode json prints the events")
			case back.on && ask.print:
				return usage("--background and -p contradict each other: -p waits for the answer")
			}
			switch {
			case ask.mode == modeACP:
				return p.serveEditor(cmd.Context(), ask, args)
			case ask.serves():
				return p.serve(cmd.Context(), ask, args)
			case ask.print, ask.mode == string(print.JSON):
				return p.ask(cmd.Context(), ask, args)
			}
			for _, flag := range []string{"mode", "steps", "json-schema"} {
				if cmd.Flags().Changed(flag) {
					return usage("--%s is for burin -p", flag)
				}
			}
			marked := cmd.ArgsLenAtDash() == 0
			prompt, err := firstPrompt(cmd.Root(), args, marked)
			if err != nil {
				return err
			}
			if back.on {
				return inBackground(cmd.Context(), p, ask, back, args)
			}
			tty, err := terminal.Open()
			switch {
			case err == nil:
				defer tty.Close()
				return p.talk(cmd.Context(), ask, prompt, tty)
			case prompt == "" && cmd.Flags().NFlag() > 0:
				// Flags say that something was to be done; --help is not among them.
				return usage("%w: to ask without one write burin -p \"...\"", err)
			case prompt == "":
				return cmd.Help()
			case marked || strings.ContainsAny(prompt, " \t\n"):
				return usage("%w: to ask a question write burin -p %q", err, prompt)
			}
			return usage("%q is not a command, and %w: to ask a question write burin -p %q", prompt, err, prompt)
		},
	}
	root.Flags().BoolVarP(&show, "version", "v", false, "print the version")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// burin --resume at the end of a line means a list, as in other programs.
		if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && cmd == root && missing.GetFlag().Name == "resume" {
			return p.chooseSession(cmd.Context(), ask)
		}
		return wrongFlag(cmd, err)
	})
	root.PersistentFlags().StringArrayVar(&p.overlays, "config", nil, "a file of settings over config.yml, for this run; repeatable, later ones win")
	ask.register(root.Flags())
	back.register(root.Flags())
	completeAsk(p, root)
	setHelp(root, p.out)
	root.AddCommand(demoCommand(p), resumeCommand(p), attachCommand(p), logsCommand(p), stopCommand(p), scheduleCommand(p), consoleCommand(p), acpCommand(p), acpRunCommand(p), serveCommand(p), adminCommand(p), sessionsCommand(p), undoCommand(p), commitCommand(p), reviewCommand(p), permissionsCommand(p), trustCommand(p), agentsCommand(p), mcpCommand(p), lspCommand(p), configCommand(p), usageCommand(p), memoryCommand(p), modelsCommand(p), loginCommand(p), logoutCommand(p), keysCommand(p), completionCommand(p), doctorCommand(p), updateCommand(p), manCommand(p))
	return root
}

// arguments accepts from least to most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error { return countArguments(cmd, given, least, most) }
}

// countArguments is a function of its own so that each command doesn't have a copy of it, as the
// compiler would give it: these were 100 KB.
func countArguments(cmd *cobra.Command, given []string, least, most int) error {
	switch n := len(given); {
	case n > most && cmd.HasSubCommands():
		if near := nearCommand(cmd, given[most], true); near != "" {
			return usage("%s has no command %q: did you mean %s %s?", cmd.CommandPath(), given[most], cmd.CommandPath(), near)
		}
		return usage("%s has no command %q", cmd.CommandPath(), given[most])
	case n > most:
		return usage("%q is one argument too many for %s", given[most], cmd.CommandPath())
	case n < least:
		return usage("an argument is missing: write %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	}
	return nil
}

// tag is the version for who builds burin where Go does not know it, as outside of git:
// -ldflags "-X main.tag=v0.1.0".
var tag string

// version is the module's version and the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(tag, "unknown")
	}
	v := cmp.Or(tag, info.Main.Version)
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && !strings.Contains(v, s.Value[:12]) {
			v += " " + s.Value[:12]
		}
	}
	return v
}
