package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/schedule"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

func scheduleCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Run prompts at certain times",
		Long: `Run prompts at certain times, in the folder where they were added. The system's own timers
start burin: systemd's user units, launchd or cron. Each run is a background session: while it
works, burin attach joins it, and afterwards burin --resume continues it.

  burin schedule add "every weekday 9:00" "review yesterday's commits"
  burin schedule list
  burin schedule run 3f2a
  burin schedule remove 3f2a`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return listSchedules(p, false) },
	}
	cmd.AddCommand(scheduleAddCommand(p), scheduleListCommand(p), scheduleRemoveCommand(p), scheduleRunCommand(p))
	return cmd
}

// schedules are kept in burin's data folder.
func schedules(p *program) (schedule.Store, error) {
	if runtime.GOOS == "windows" {
		return schedule.Store{}, errors.New(`burin schedule doesn't support Windows: have the Task Scheduler start burin -p "..."`)
	}
	paths, err := config.FindPaths(p.getenv)
	return schedule.Store{Data: paths.Data, Getenv: p.getenv}, err
}

// scheduleFlags are the flags of a prompt that a schedule keeps. A key is not among them: it
// would lie in a file.
var scheduleFlags = []string{
	"model", "models", "thinking", "smol", "slow", "plan", "max-tokens", "system-prompt", "append-system-prompt",
	"approval", "allow", "deny", "sandbox", "allow-host", "add-dir", "tools", "no-tools", "edit-engine", "max-turns", "max-cost",
	"no-context-files", "skills", "no-skills", "no-lsp", "no-secrets",
}

// scheduled registers these flags.
func (a *askFlags) scheduled(f *pflag.FlagSet) {
	var all pflag.FlagSet
	a.register(&all)
	for _, name := range scheduleFlags {
		f.AddFlag(all.Lookup(name))
	}
}

// written are those of the flags that were given and that take takes, as words of a command line.
func written(f *pflag.FlagSet, take func(name string) bool) (all []string) {
	f.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if take(flag.Name) {
				all = append(all, "--"+flag.Name+"="+v)
			}
		}
	})
	return all
}

func scheduleAddCommand(p *program) *cobra.Command {
	var a askFlags
	var with string
	cmd := &cobra.Command{
		Use:   "add WHEN PROMPT...",
		Short: "Run a prompt at certain times, in this folder",
		Long: `Run a prompt at certain times, in this folder. WHEN is "daily 7:30", "every weekday 9:00",
"every monday, friday 18:00", "every 2h", "every 30m", or the five fields of cron. "@FILE"
is read at each run. Flags of a prompt, such as --model, --approval, --allow, --tools and
--max-cost, apply to each run; burin help flags explains them.

Questions wait for you, an hour unless ask.timeout says otherwise; then the call is refused.
Store the key with burin keys add: the timer doesn't know the variables of this shell.

  burin schedule add "every weekday 9:00" "review yesterday's commits"
  burin schedule add "daily 7:30" --max-cost 1 "update the changelog"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(`a time and a prompt are needed, such as burin schedule add "every weekday 9:00" "PROMPT"`)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return addSchedule(cmd.Context(), p, a, with, schedule.Schedule{When: args[0], Prompt: args[1:], Flags: written(cmd.Flags(), func(name string) bool { return slices.Contains(scheduleFlags, name) })})
		},
	}
	a.scheduled(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // burin help flags has them
	completeAsk(p, cmd)
	cmd.Flags().StringVar(&with, "with", "", "the timer to write: systemd, launchd or cron; default is what this system has")
	_ = cmd.RegisterFlagCompletionFunc("with", values(schedule.Timers()...)) // it is there
	return cmd
}

func addSchedule(ctx context.Context, p *program, a askFlags, with string, s schedule.Schedule) error {
	store, err := schedules(p)
	if err != nil {
		return err
	}
	if err := schedule.Check(s.When); err != nil {
		return usageError{Err: err}
	}
	if with != "" && !slices.Contains(schedule.Timers(), with) {
		return usage("--with: must be systemd, launchd or cron, not %q", with)
	}
	if err := a.check(); err != nil {
		return err
	}
	if _, err := print.Prompt(s.Prompt, nil, usesServer(p)); errors.Is(err, print.ErrNoPrompt) { // it would fail at each run
		return usageError{Err: err}
	} else if err != nil {
		return err
	}
	note, err := usable(ctx, p, a)
	if err != nil {
		return err
	}
	if s.Folder, err = archive.WorkDir(); err != nil {
		return err
	}
	overlays, err := overlayFiles(p)
	if err != nil {
		return err
	}
	for _, file := range overlays {
		s.Flags = append(s.Flags, "--config="+file)
	}
	added, err := store.Add(ctx, s, with)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, added.ID)
	fmt.Fprintf(p.err, "Runs next at %s, started by %s. burin schedule run %s tries it now.\n", words.Stamp(added.Next()), added.Timer, added.ID)
	for _, line := range []string{note, lasting(ctx, added)} {
		if line != "" {
			p.warn(line)
		}
	}
	return nil
}

// usable finds the model that runs would ask, and says what a timer doesn't know of its key.
func usable(ctx context.Context, p *program, a askFlags) (note string, _ error) {
	h, err := p.host(&a)
	if err != nil {
		return "", err
	}
	defer p.closeHost(ctx, h)
	models, err := h.Models()
	if err != nil {
		return "", err
	}
	choice, err := models.Choose(ctx, catalog.Wish{Selector: a.model, Models: a.models})
	if err != nil {
		return "", err
	}
	provider := choice.Model.Provider
	found, err := models.Keys.Available(ctx, provider)
	if err != nil {
		return "", err
	}
	f := found[provider]
	if name, ok := strings.CutPrefix(f.Source, "variable "); ok && (f.From == credential.FromVariable || f.From == credential.FromModelsYAML) && !strings.Contains(name, " of ") {
		return fmt.Sprintf("the key for %s is in the variable %s, which timers don't know: burin keys add %[1]s stores it", provider, strings.Fields(name)[0]), nil
	}
	return "", nil
}

// lasting says when a timer doesn't run; "" if it always does as far as is known.
func lasting(ctx context.Context, s *schedule.Schedule) string {
	switch s.Timer {
	case "systemd":
		if lingers, err := owner.Lingers(ctx); err == nil && !lingers {
			return "it runs only while you are logged in: loginctl enable-linger lets it run always"
		}
	case "launchd":
		return "it runs only while you are logged in"
	}
	return ""
}

func scheduleListCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List schedules, with their next and last runs",
		Long: `List schedules: when each runs next, and when it ran last, how that ended, and its session.

  burin schedule list
  burin schedule list --json`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return listSchedules(p, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listedSchedule is a schedule in JSON.
type listedSchedule struct {
	schedule.Schedule
	Next time.Time     `json:"next,omitzero"`
	Last *schedule.Run `json:"last,omitempty"`
}

func listSchedules(p *program, asJSON bool) error {
	store, err := schedules(p)
	if err != nil {
		return err
	}
	list, err := store.List()
	if len(list) == 0 && err != nil {
		return err
	}
	if err != nil {
		p.warn(words.Error(err))
	}
	if asJSON {
		all := []listedSchedule{}
		for _, s := range list {
			all = append(all, listedSchedule{*s, s.Next(), s.Last})
		}
		return p.writeJSON(all)
	}
	if len(list) == 0 {
		fmt.Fprintln(p.err, "no schedules")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tWHEN\tNEXT\tLAST\tOUTCOME\tSESSION\tFOLDER\tPROMPT")
	var failed []string
	for _, s := range list {
		next, last, outcome, of := "?", "-", "-", "-"
		if t := s.Next(); !t.IsZero() {
			next = words.Stamp(t)
		}
		if r := s.Last; r != nil {
			last, outcome, of = words.Stamp(r.Started), string(r.Outcome), cmp.Or(r.Session, "-")
			if r.Error != "" {
				failed = append(failed, s.ID+": "+words.Line(r.Error))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, prose.Row(s.When, 40), next, last, prose.Inline(outcome), prose.Inline(of), prose.Inline(words.ShortPath(s.Folder)), prose.Row(strings.Join(s.Prompt, " "), 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range failed {
		fmt.Fprintln(p.err, line)
	}
	return nil
}

func scheduleRemoveCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "remove ID",
		Short:             "Remove a schedule and its timer",
		Long:              "Remove a schedule and its timer. Sessions of its runs stay.\n\n  burin schedule remove 3f2a",
		Args:              arguments(1, 1),
		ValidArgsFunction: offerSchedules(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := schedules(p)
			if err != nil {
				return err
			}
			if err := store.Remove(cmd.Context(), args[0]); err != nil {
				return unknownSchedule(err)
			}
			fmt.Fprintln(p.out, "Removed.")
			return nil
		},
	}
}

func unknownSchedule(err error) error {
	if errors.Is(err, schedule.ErrUnknown) {
		return fmt.Errorf("%w: burin schedule list shows them", err)
	}
	return err
}

// offerSchedules completes the id of a schedule.
func offerSchedules(p *program) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		store, err := schedules(p)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := store.List() // none where they can't be read
		for _, s := range list {
			ids = append(ids, described(s.ID, s.When+"  "+strings.Join(s.Prompt, " ")))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func scheduleRunCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "run ID",
		Short: "Run a schedule now, as its timer does",
		Long: `Run a schedule now, as its timer does: in its folder, with its flags and the PATH of when it
was added. The command returns when the work is done; meanwhile burin attach joins the session.

  burin schedule run 3f2a`,
		Args:              arguments(1, 1),
		ValidArgsFunction: offerSchedules(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := schedules(p)
			if err != nil {
				return err
			}
			s, err := store.Get(args[0])
			if err != nil {
				return unknownSchedule(err)
			}
			return runSchedule(cmd.Context(), p, store, s)
		},
	}
}

func runSchedule(ctx context.Context, p *program, store schedule.Store, s *schedule.Schedule) error {
	opened, end, err := store.Begin(s.ID)
	if errors.Is(err, schedule.ErrRunning) {
		return fmt.Errorf("schedule %s: %w: burin schedule list shows its session", s.ID, err)
	}
	if err != nil {
		return err
	}
	outcome, err := holdSchedule(ctx, p, s, opened)
	end(outcome, err)
	return err
}

// holdSchedule holds the session of a run until its work is done.
func holdSchedule(ctx context.Context, p *program, s *schedule.Schedule, opened func(string)) (schedule.Outcome, error) {
	if err := os.Chdir(s.Folder); err != nil {
		return schedule.Failed, fmt.Errorf("run in the folder of the schedule: %w", err)
	}
	if err := scheduleEnvironment(p, s); err != nil {
		return schedule.Failed, err
	}
	var a askFlags
	flags := pflag.NewFlagSet("schedule", pflag.ContinueOnError)
	a.scheduled(flags)
	flags.StringArrayVar(&p.overlays, "config", nil, "")
	if err := flags.Parse(s.Flags); err != nil {
		return schedule.Failed, fmt.Errorf("flags of the schedule: %w", err)
	}
	if err := a.check(); err != nil {
		return schedule.Failed, err
	}
	prompt, err := print.Prompt(s.Prompt, nil, usesServer(p))
	if err != nil {
		return schedule.Failed, err
	}
	r := &scheduledRun{}
	err = hold(ctx, p, a, prompt, holding{
		say: p.warn, always: true, settled: r.settled, refused: r.refuse, wait: r.wait,
		opened: func(id, _ string) error {
			opened(id)
			fmt.Fprintln(p.out, id)
			fmt.Fprintf(p.err, "burin attach %s joins it, burin logs %[1]s shows it, burin stop %[1]s ends it.\n", id)
			return nil
		},
		questions: func(settings *config.Config) session.DeskOptions {
			return session.DeskOptions{Wait: waits(settings), Timeout: cmp.Or(seconds(settings, "ask.timeout"), unattendedTime(settings))}
		},
	})
	if err != nil {
		return schedule.Failed, err
	}
	return r.outcome()
}

// unattendedTime is how long a run waits for a person.
func unattendedTime(settings *config.Config) time.Duration {
	return cmp.Or(seconds(settings, "background.idle"), time.Hour)
}

// scheduleEnvironment gives this process what a timer left out of its environment.
func scheduleEnvironment(p *program, s *schedule.Schedule) error {
	if err := os.Setenv("PATH", s.Path); err != nil {
		return err
	}
	// cron knows nothing of the user's bus, on which keyrings and notifications are.
	dir := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	if _, err := os.Stat(filepath.Join(dir, "bus")); err != nil || p.getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	return errors.Join(os.Setenv("XDG_RUNTIME_DIR", dir), os.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(dir, "bus")))
}

// scheduledRun is what became of the prompt of a schedule.
type scheduledRun struct {
	mu      sync.Mutex
	end     *session.SettledTurn // of the prompt; nil while it runs
	refused []error
}

func (r *scheduledRun) settled(t *session.SettledTurn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil {
		r.end = t
	}
}

func (r *scheduledRun) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, err)
}

func (r *scheduledRun) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end != nil
}

// wait waits until the prompt has ended and nobody is attached. Jobs that it leaves behind
// have as long as a person would.
func (r *scheduledRun) wait(ctx context.Context, b *owner.Background, settings *config.Config) {
	for {
		some, stop := context.WithTimeout(ctx, unattendedTime(settings))
		why := b.Wait(some, time.Second)
		late := some.Err() != nil
		stop()
		busy := !r.done() || b.Attended() || b.Facts().Working
		if ctx.Err() != nil || why == owner.Told || !busy && (late || why == owner.Idle) {
			return
		}
	}
}

func (r *scheduledRun) outcome() (schedule.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.end == nil, r.end.Reason == agent.ReasonAborted:
		return schedule.Stopped, errors.New("the run was stopped before its work was done")
	case r.end.Reason != agent.ReasonDone:
		return schedule.Failed, errors.New(cmp.Or(prose.Line(r.end.Error), "the run ended early: "+string(r.end.Reason)))
	case len(r.refused) > 0:
		return schedule.Done, refusedError{r.refused[0]}
	}
	return schedule.Done, nil
}
