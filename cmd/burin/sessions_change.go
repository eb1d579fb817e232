package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

func (p *program) sessionsRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename ID TITLE",
		Short: "Name a session",
		Long: `Name a session, for lists and exports. Secrets in the name are hidden.

  burin sessions rename 1f9d "the flaky login test"`,
		Args: arguments(2, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.renameSession(cmd.Context(), args[0], strings.Join(args[1:], " "))
		},
	}
}

func (p *program) renameSession(ctx context.Context, which, title string) error {
	a, file, err := p.theSession(ctx, which)
	if err != nil {
		return err
	}
	if title, err = p.hidden(a, title); err != nil {
		return err
	}
	if !sealedSession(file) && !place.Parse(file).SQL {
		return explain(file, transcript.Rename(file, title))
	}
	l, _, err := place.Open(ctx, file, a.keys(ctx), transcript.Options{})
	if err != nil {
		return explain(file, err)
	}
	return explain(file, errors.Join(l.Rename(title), l.Close()))
}

// inDatabase refuses what is not done with a session in a database.
func inDatabase(name string) error {
	if place.Parse(name).SQL {
		return fmt.Errorf("session %s is in a database, where this is not done: burin sessions fork makes a file of it", shortPath(name))
	}
	return nil
}

func (p *program) sessionsMoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "move ID DIR",
		Short: "Let a session belong to another folder",
		Long: `Let a session belong to another folder, such as one that was renamed. Paths that stand
in the conversation stay as they are.

  burin sessions move 1f9d ~/src/new-name`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.moveSession(cmd.Context(), args[0], args[1])
		},
	}
}

func (p *program) moveSession(ctx context.Context, which, dir string) error {
	a, file, err := p.theSession(ctx, which)
	if err != nil {
		return err
	}
	if err := inDatabase(file); err != nil {
		return err
	}
	if err := listable(file); err != nil {
		return err
	}
	if !isDir(dir) {
		return usage("%q is no folder", dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("find the folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("find the folder: %w", err)
	}
	path, err := transcript.Move(file, a.root, dir)
	if err != nil {
		return explain(file, err)
	}
	fmt.Fprintf(p.out, "Moved to %s; go on there with --resume %s\n", shortPath(dir), trashID(path))
	return nil
}
