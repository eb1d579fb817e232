package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/transcript"
)

func sessionsCommand(p *program) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, search, copy, move, export and repair sessions",
		Long: `List the sessions of this folder, newest first. The commands below it take a session
by its id, the beginning of it, or its file. --running lists those that are open now, in the
background or in a terminal, of all folders: what each does, and since when.

  burin sessions --all --limit 20
  burin sessions --running`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listSessions(cmd.Context(), p, o) },
	}
	o.register(cmd.Flags())
	cmd.Flags().BoolVar(&o.running, "running", false, "sessions that are open now, of all folders")
	cmd.AddCommand(
		sessionsListCommand(p), sessionsSearchCommand(p), sessionsShowCommand(p), sessionsReplayCommand(p),
		sessionsRenameCommand(p), sessionsDeleteCommand(p), sessionsRestoreCommand(p), sessionsMoveCommand(p),
		sessionsForkCommand(p), sessionsBranchCommand(p), sessionsHandoffCommand(p),
		sessionsExportCommand(p), sessionsShareCommand(p), sessionsImportCommand(p),
		sessionsScrubCommand(p), sessionsDoctorCommand(p), sessionsSealCommand(p), sessionsUnsealCommand(p),
	)
	return cmd
}

// about runs a command about the session that its argument names; without one which is "".
func about(which *string, run func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			if args[0] == "" {
				return archive.ErrUnnamed
			}
			*which = args[0]
		}
		return run(cmd.Context())
	}
}

// choice is which sessions a command is about that is about several: one, those of this
// folder, or all.
type choice struct {
	which string
	all   bool
	yes   bool // it does not ask
}

// command gives a command the argument and the flags of the choice.
func (c *choice) command(cmd *cobra.Command, all string, run func(context.Context) error) *cobra.Command {
	cmd.Args, cmd.RunE = arguments(0, 1), about(&c.which, run)
	cmd.Flags().BoolVar(&c.all, "all", false, all)
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	return cmd
}

// archive is what is done with sessions as a whole, where the settings say they are.
func (p *program) archive() (*archive.Archive, error) {
	h, err := p.host(nil)
	if err != nil {
		return nil, err
	}
	return h.Archive(p.warn)
}

// warn says what a person should know.
func (p *program) warn(line string) { fmt.Fprintf(p.err, "burin: %s\n", line) }

// session opens the session that a word names, to read it.
func (p *program) session(ctx context.Context, which string) (*transcript.Log, error) {
	a, err := p.archive()
	if err != nil {
		return nil, err
	}
	_, l, err := a.Open(ctx, which)
	return l, err
}

// confirm puts a question to the person at the terminal. The error says which flag
// answers it where nobody is.
func (p *program) confirm(ctx context.Context, yes bool, question string) (bool, error) {
	if yes {
		return true, nil
	}
	tty := p.terminal()
	if tty == nil {
		return false, usage("%s burin can't ask here: add --yes", question)
	}
	fmt.Fprintf(p.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(interruptible(ctx, tty)).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(p.err)
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// errDeclined is that the person said no.
var errDeclined = errors.New("nothing changed")

// sure is confirm for what ends with a no.
func (p *program) sure(ctx context.Context, yes bool, question string) error {
	ok, err := p.confirm(ctx, yes, question)
	if err == nil && !ok {
		err = errDeclined
	}
	return err
}

type showOptions struct {
	which string
	json  bool
}

func sessionsShowCommand(p *program) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:               "show ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Show a session: by its id or the beginning of it, or by its file",
		Long: `Show what was said and done in a session, on the branch that is active.

  burin sessions show 1f9d`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return showSession(ctx, p, o) }),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "write the entries, one a line, as they are stored")
	return cmd
}

func showSession(ctx context.Context, p *program, o showOptions) error {
	l, err := p.session(ctx, o.which)
	if err != nil {
		return err
	}
	defer l.Close()
	entries := uninterrupted(ctx, branch(l))
	if !o.json {
		if err := print.Show(p.out, entries, p.color(p.out)); err != nil {
			return err
		}
		return ctx.Err()
	}
	for e, err := range entries {
		if err != nil {
			continue // a damaged record is no line of JSON
		}
		if _, err := fmt.Fprintf(p.out, "%s\n", e.Raw); err != nil {
			return fmt.Errorf("write the entries: %w", err)
		}
	}
	return ctx.Err()
}

// branch reads the entries of the active branch, one at a time.
func branch(l transcript.Reader) iter.Seq2[*transcript.Entry, error] {
	return branchTo(l, l.Leaf(), map[string]bool{})
}

// branchTo reads the entries of the branch to leaf behind the last one that was seen, and adds
// them to those.
func branchTo(l transcript.Reader, leaf string, seen map[string]bool) iter.Seq2[*transcript.Entry, error] {
	nodes := l.Nodes()
	at := len(nodes) - 1
	for at >= 0 && nodes[at].ID != leaf {
		at--
	}
	var path []string
	for ; at >= 0 && !seen[nodes[at].ID]; at = nodes[at].Parent {
		path = append(path, nodes[at].ID)
		seen[nodes[at].ID] = true
	}
	return func(yield func(*transcript.Entry, error) bool) {
		for _, id := range slices.Backward(path) {
			if !yield(l.Entry(id)) {
				return
			}
		}
	}
}

// uninterrupted is entries, as long as ctx has not ended.
func uninterrupted(ctx context.Context, entries iter.Seq2[*transcript.Entry, error]) iter.Seq2[*transcript.Entry, error] {
	return func(yield func(*transcript.Entry, error) bool) {
		for e, err := range entries {
			if ctx.Err() != nil || !yield(e, err) {
				return
			}
		}
	}
}

// writeJSON writes v on lines of its own.
func (p *program) writeJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return nil
}
