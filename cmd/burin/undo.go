package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool/change"
)

// undoFlags say what burin undo does.
type undoFlags struct {
	list, preview, yes bool
}

func undoCommand(p *program) *cobra.Command {
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
			return undo(cmd.Context(), p, f, args)
		},
	}
	cmd.Flags().BoolVar(&f.list, "list", false, "list the turns that changed something, newest first")
	cmd.Flags().BoolVar(&f.preview, "preview", false, "show what would change, without changing it")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

func undo(ctx context.Context, p *program, f undoFlags, args []string) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	changes, err := h.Changes()
	if err != nil {
		return err
	}
	err = undoIn(ctx, p, changes, f, args)
	return errors.Join(err, changes.Close())
}

func undoIn(ctx context.Context, p *program, changes *bench.Changes, f undoFlags, args []string) error {
	turns, err := changes.Turns(ctx)
	if err != nil {
		return err
	}
	if len(turns) == 0 {
		fmt.Fprintln(p.err, "burin has changed nothing in this folder")
		return nil
	}
	if f.list {
		return listTurns(p, turns)
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
	fmt.Fprintf(p.out, "%s: %s\n", what, words.Line(turn.Label))
	for _, step := range plan {
		reason := ""
		if step.Reason != "" {
			reason = "  (" + words.Line(step.Reason) + ")"
		}
		fmt.Fprintf(p.out, "  %-8s %s%s\n", step.Action, prose.Inline(step.Path), reason)
	}
	if f.preview {
		return nil
	}
	if ok, err := p.confirm(ctx, f.yes, "Undo this?"); err != nil || !ok {
		return err
	}
	done, err := changes.Undo(ctx, turn.ID)
	if done != nil {
		fmt.Fprintf(p.out, "%d restored, %d left alone\n", len(done.Restored), len(done.Kept))
		for _, k := range done.Kept {
			fmt.Fprintf(p.out, "  left: %s (%s)\n", prose.Inline(k.Path), words.Line(k.Reason))
		}
	}
	return err
}

func listTurns(p *program, turns []change.Turn) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, t := range turns {
		state := ""
		if t.Undone {
			state = "undone"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Time.Format("2006-01-02 15:04"), prose.Count(len(t.Paths), "file"), state, words.Line(t.Label))
	}
	return w.Flush()
}

// pickTurn is the turn that is named, or the newest that is not undone.
func pickTurn(turns []change.Turn, args []string) (change.Turn, error) {
	named := func(t change.Turn) bool { return !t.Undone }
	if len(args) > 0 {
		// Numbers count within a session: without its suffix the newest is meant.
		named = func(t change.Turn) bool { return t.ID == args[0] || strings.HasPrefix(t.ID, args[0]+"@") }
	}
	i := slices.IndexFunc(turns, named)
	switch {
	case i >= 0:
		return turns[i], nil
	case len(args) > 0:
		return change.Turn{}, fmt.Errorf("no turn %q: burin undo --list shows them", args[0])
	}
	return change.Turn{}, errors.New("every turn is undone already: name one to bring its changes back")
}
