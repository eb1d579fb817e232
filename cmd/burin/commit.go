package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/commit"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/tui/external"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// commitFlags say what burin commit does.
type commitFlags struct {
	commit.Options
	ask                           askFlags
	dryRun, push, yes, json, undo bool
}

func commitCommand(p *program) *cobra.Command {
	var f commitFlags
	cmd := &cobra.Command{
		Use:   "commit",
		Short: "Divide the changes into commits, and make them",
		Long: `Divide what is staged, or else the whole working tree, into commits with messages in the style
of the log. You see and edit the proposal first. Only CHANGELOG.md is written to, if it has an
Unreleased section; your other files stay as they are.

  burin commit
  burin commit -m "the parser fix comes first"
  burin commit --dry-run
  burin commit --undo`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return commitChanges(cmd.Context(), p, f) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "show the commits without making them")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.StringVarP(&f.Hint, "message", "m", "", "what the model should know about the changes")
	fl.StringVarP(&f.Hint, "context", "c", "", "the same as --message")
	fl.BoolVar(&f.Staged, "staged", false, "only what is staged, even if nothing is")
	fl.BoolVar(&f.NoChangelog, "no-changelog", false, "add no entries to CHANGELOG.md")
	fl.BoolVar(&f.NoVerify, "no-verify", false, "do not run the hooks pre-commit and commit-msg")
	fl.BoolVar(&f.push, "push", false, "push the branch afterwards")
	fl.BoolVar(&f.undo, "undo", false, "take back the commits that burin commit made last")
	fl.BoolVar(&f.json, "json", false, "write JSON")
	fl.StringVar(&f.ask.model, "model", "", "model to ask, with :level; by default that of the role commit")
	fl.StringVar(&f.ask.baseURL, "base-url", "", "server address, for a model that is not configured")
	fl.StringVar(&f.ask.api, "api", "", "wire format of --base-url")
	fl.Float64Var(&f.ask.maxCost, "max-cost", 0, "stop before the proposal has cost more dollars than that")
	for _, name := range []string{"context", "base-url", "api"} { // the page is full
		_ = fl.MarkHidden(name)
	}
	return cmd
}

func commitChanges(ctx context.Context, p *program, f commitFlags) error {
	if err := f.ask.check(); err != nil {
		return err
	}
	var tty io.Reader // where the person answers; nil: nothing is asked
	if !f.yes && !f.dryRun && !f.undo {
		if tty = p.terminal(); f.json || tty == nil { // before it costs anything
			return usage("burin commit can't ask here: add --yes or --dry-run")
		}
	}
	h, err := p.host(&f.ask)
	if err != nil {
		return err
	}
	defer p.closeHost(ctx, h)
	if f.undo {
		return undoCommits(ctx, p, h, f)
	}
	o := f.ask.wish()
	d, err := host.ProposeCommits(ctx, h, host.Commits{
		Options: f.Options, Choice: o.Choice, Level: o.Thinking.Level, MaxUSD: llm.Dollars(f.ask.maxCost),
		Tell: func(line string) {
			if p.isTerminal(p.err) {
				fmt.Fprintln(p.err, words.Line(line))
			}
		},
	})
	if err != nil {
		return err
	}
	for _, n := range d.Notes {
		p.warn(words.Line(n))
	}
	if !f.json {
		fmt.Fprint(p.out, d.Text())
	}
	made := d.Report()
	if !f.dryRun {
		if tty != nil {
			if err := settle(ctx, p, d, tty); err != nil {
				return err
			}
		}
		if made, err = d.Make(ctx); err != nil {
			return err
		}
	}
	if f.json {
		if err := p.writeJSON(commitReport{Commits: made, Notes: append([]string{}, d.Notes...), DryRun: f.dryRun}); err != nil {
			return err
		}
	} else if !f.dryRun {
		fmt.Fprintln(p.out)
		for _, m := range made {
			fmt.Fprintf(p.out, "%s %s\n", m.Short(), m.Subject())
		}
	}
	if f.push && !f.dryRun {
		return d.Push(ctx)
	}
	return nil
}

// commitReport is what --json writes.
type commitReport struct {
	Commits []commit.Made `json:"commits"`
	Notes   []string      `json:"notes"`
	DryRun  bool          `json:"dryRun"`
}

// settle has the person say yes, after they have edited the proposal if they like.
func settle(ctx context.Context, p *program, d *commit.Draft, tty io.Reader) error {
	lines := bufio.NewReader(interruptible(ctx, tty))
	plan := d.Plan()
	for {
		fmt.Fprintf(p.err, "Make %s? [y]es, [e]dit, [N]o ", prose.Count(len(d.Commits), "commit"))
		line, err := lines.ReadString('\n')
		if err != nil && line == "" {
			fmt.Fprintln(p.err)
			return err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		case "e", "edit":
			edited, err := external.Edit(ctx, external.Options{Getenv: p.getenv, Stdin: p.in}, plan)
			if err != nil {
				return err
			}
			plan = edited
			err = d.Edit(edited)
			switch {
			case errors.Is(err, commit.ErrEmpty):
				return errDeclined
			case err != nil:
				p.warn(words.Error(err) + "; e opens your text again, y takes the proposal above")
			default:
				fmt.Fprint(p.out, "\n"+d.Text())
				plan = d.Plan()
			}
		default:
			return errDeclined
		}
	}
}

func undoCommits(ctx context.Context, p *program, h *host.Host, f commitFlags) error {
	subjects, err := commit.Undo(ctx, h.Dir())
	if err != nil {
		return err
	}
	if f.json {
		return p.writeJSON(map[string][]string{"undone": subjects})
	}
	for _, s := range subjects {
		fmt.Fprintf(p.out, "took back: %s\n", prose.Inline(s))
	}
	return nil
}

// commitIn does what /commit asks for, with the model that the flags name, or else that of the session.
func commitIn(h *host.Host, a askFlags) func(ctx context.Context, model, arg string) (string, error) {
	return func(ctx context.Context, model, arg string) (string, error) {
		return h.CommitCommand(ctx, a.wish().Choice, model, arg)
	}
}

// reviewIn does what /review asks for, likewise.
func reviewIn(h *host.Host, a askFlags) func(ctx context.Context, s session.Handle, arg string) (string, error) {
	return func(ctx context.Context, s session.Handle, arg string) (string, error) {
		return host.ReviewCommand(ctx, h, a.wish().Choice, s, arg)
	}
}

// ownCommands is what the host does for burin's own commands in a prompt.
func ownCommands(h *host.Host, a askFlags) slash.Own {
	return slash.Own{Memory: memoryIn(h, a), Agents: host.AgentsOf(h).Command, Servers: host.ServersOf(h).Command, Commit: commitIn(h, a), Review: reviewIn(h, a), Shadowed: func(name string) bool {
		_, ok := h.FileCommands().Lookup(name)
		return ok
	}}
}
