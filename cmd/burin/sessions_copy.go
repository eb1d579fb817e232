package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
)

func sessionsForkCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "fork ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Copy a session into this folder",
		Long: `Copy a session, with all its branches and outputs, into this folder. It
prints the id of the copy.

  burin sessions fork 1f9d`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return forkSession(cmd.Context(), p, args[0]) },
	}
}

func forkSession(ctx context.Context, p *program, which string) error {
	dir, err := archive.WorkDir()
	if err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	made, err := a.Fork(ctx, which, dir)
	if err != nil {
		return err
	}
	return began(p, made)
}

func sessionsBranchCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "branch ID ENTRY",
		ValidArgsFunction: offerSessions(p),
		Short:             "Copy a session up to an entry",
		Long: `Copy a session up to an entry, without its other branches, to continue from there. ENTRY
is the entry's id or its beginning, as sessions show --json and sessions search print
it. It prints the id of the copy, which belongs to the same folder.

  burin sessions branch 1f9d 03ab`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return branchSession(cmd.Context(), p, args[0], args[1])
		},
	}
}

func branchSession(ctx context.Context, p *program, which, entry string) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	made, err := a.Branch(ctx, which, entry)
	if err != nil {
		return err
	}
	return began(p, made)
}

// began prints the id of a new session, and how to go on with it.
func began(p *program, made archive.Created) error {
	fmt.Fprintln(p.out, made.ID)
	here, err := archive.WorkDir()
	if err != nil || here != made.Dir {
		fmt.Fprintf(p.err, "continue in %s with burin -p \"...\" --resume %s\n", words.ShortPath(made.Dir), made.ID)
		return nil
	}
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	h.Crumb(p.terminalID(), made.Dir, made.File)
	fmt.Fprintf(p.err, "continue with burin -p \"...\" --resume %s, or --continue\n", made.ID)
	return nil
}
