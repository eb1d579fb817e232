package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/customize/config"
)

// undoFlags say what burin undo does.
type undoFlags struct {
	list, preview, yes bool
}

func (p *program) undoCommand() *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use:   "undo [TURN]",
		Short: "Restore what a prompt changed in this folder",
		Long: `Restore what a prompt changed in this folder, commands included: the last one, or
the one that is named. Files that were changed since are left alone. Undoing a turn
that is undone brings its changes back.

  burin undo --list
  burin undo --preview
  burin undo`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.undo(cmd.Context(), f, args)
		},
	}
	cmd.Flags().BoolVar(&f.list, "list", false, "list the turns that changed something, newest first")
	cmd.Flags().BoolVar(&f.preview, "preview", false, "say what would be done, and do nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (p *program) undo(ctx context.Context, f undoFlags, args []string) error {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	changes, err := burin.OpenChanges(".", paths.Data)
	if err != nil {
		return err
	}
	err = p.undoIn(ctx, changes, f, args)
	return errors.Join(err, changes.Close())
}

func (p *program) undoIn(ctx context.Context, changes *burin.Changes, f undoFlags, args []string) error {
	turns, err := changes.Turns()
	if err != nil {
		return err
	}
	if len(turns) == 0 {
		fmt.Fprintln(p.err, "burin has changed nothing in this folder")
		return nil
	}
	if f.list {
		return p.listTurns(turns)
	}
	turn, err := pickTurn(turns, args)
	if err != nil {
		return err
	}
	plan, err := changes.Preview(ctx, turn.ID)
	if err != nil {
		return err
	}
	what := "Undo"
	if turn.Undone {
		what = "Bring back"
	}
	fmt.Fprintf(p.out, "%s: %s\n", what, line(turn.Label))
	for _, step := range plan {
		reason := ""
		if step.Reason != "" {
			reason = "  (" + line(step.Reason) + ")"
		}
		fmt.Fprintf(p.out, "  %-8s %s%s\n", step.Action, printable(step.Path), reason)
	}
	if f.preview {
		return nil
	}
	if ok, err := p.confirm(ctx, f.yes, "Do it?"); err != nil || !ok {
		return err
	}
	done, err := changes.Undo(ctx, turn.ID)
	if done != nil {
		fmt.Fprintf(p.out, "%d restored, %d left alone\n", len(done.Restored), len(done.Kept))
		for _, k := range done.Kept {
			fmt.Fprintf(p.out, "  left: %s (%s)\n", printable(k.Path), line(k.Reason))
		}
	}
	return err
}

func (p *program) listTurns(turns []burin.Turn) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, t := range turns {
		state := ""
		if t.Undone {
			state = "undone"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Time.Format("2006-01-02 15:04"), counted(len(t.Paths), "file"), state, line(t.Label))
	}
	return w.Flush()
}

// pickTurn is the turn that is named, or the newest that is not undone.
func pickTurn(turns []burin.Turn, args []string) (burin.Turn, error) {
	named := func(t burin.Turn) bool { return !t.Undone }
	if len(args) > 0 {
		// Numbers count within a session: without its suffix the newest is meant.
		named = func(t burin.Turn) bool { return t.ID == args[0] || strings.HasPrefix(t.ID, args[0]+"@") }
	}
	i := slices.IndexFunc(turns, named)
	switch {
	case i >= 0:
		return turns[i], nil
	case len(args) > 0:
		return burin.Turn{}, fmt.Errorf("there is no turn %q: burin undo --list shows them", args[0])
	}
	return burin.Turn{}, errors.New("every turn is undone already: name one to bring its changes back")
}
