package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/words"
)

func sessionsRenameCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "rename ID TITLE",
		ValidArgsFunction: offerSessions(p),
		Short:             "Name a session",
		Long: `Name a session, for lists and exports. Secrets in the name are hidden.

  burin sessions rename 1f9d "the flaky login test"`,
		Args: arguments(2, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			return renameSession(cmd.Context(), p, args[0], strings.Join(args[1:], " "))
		},
	}
}

func renameSession(ctx context.Context, p *program, which, title string) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	return a.Rename(ctx, which, title)
}

func sessionsMoveCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "move ID DIR",
		ValidArgsFunction: offerSessions(p),
		Short:             "Move a session to another folder",
		Long: `Move a session to another folder, such as one that was renamed. Paths in the
conversation don't change.

  burin sessions move 1f9d ~/src/new-name`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return moveSession(cmd.Context(), p, args[0], args[1])
		},
	}
}

func moveSession(ctx context.Context, p *program, which, dir string) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	moved, err := a.Move(ctx, which, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Moved to %s; continue there with --resume %s\n", words.ShortPath(moved.Dir), moved.ID)
	return nil
}
