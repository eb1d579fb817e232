package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

func (p *program) sessionsRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename ID TITLE",
		Short: "Name a session",
		Long: `Name a session, for lists and exports.

  burin sessions rename 1f9d "the flaky login test"`,
		Args: arguments(2, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.renameSession(cmd.Context(), args[0], strings.Join(args[1:], " "))
		},
	}
}

func (p *program) renameSession(ctx context.Context, which, title string) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	file, err := a.find(ctx, which)
	if err != nil {
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

type deleteOptions struct {
	which string
	force bool
	yes   bool
}

func (p *program) sessionsDeleteCommand() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Move a session to the trash",
		Long: `Move a session, with the outputs that belong to it, to the trash. --force deletes it for
good, after a question.

  burin sessions delete 1f9d`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.which = args[0]
			return p.deleteSession(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "delete it for good")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return cmd
}

func (p *program) deleteSession(ctx context.Context, o deleteOptions) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	file, err := a.find(ctx, o.which)
	if err != nil {
		return err
	}
	if err := inDatabase(file); err != nil {
		return err
	}
	info, _ := index.Read(file) // an empty one has no title and is deleted too
	if o.force {
		if err := p.sure(ctx, o.yes, fmt.Sprintf("Delete session %s (%s) for good?", info.ID, first(printable(info.Title), 60))); err != nil {
			return err
		}
	}
	trashed, err := transcript.Trash(file, a.trash)
	if err != nil {
		return explain(file, err)
	}
	if o.force {
		if err := os.RemoveAll(filepath.Dir(trashed)); err != nil {
			return fmt.Errorf("session %s is in the trash, but could not be deleted: %w", trashed, err)
		}
		fmt.Fprintf(p.out, "Deleted %s for good.\n", filepath.Base(file))
		return nil
	}
	fmt.Fprintf(p.out, "Moved to the trash. To take it back: burin sessions restore %s\n", trashID(trashed))
	return nil
}

// inDatabase refuses what is not done with a session in a database.
func inDatabase(name string) error {
	if place.Parse(name).SQL {
		return fmt.Errorf("session %s is in a database, where this is not done: burin sessions fork makes a file of it", shortPath(name))
	}
	return nil
}

// trashID is what names a session in the trash.
func trashID(trashed string) string {
	if info, err := index.Read(trashed); err == nil {
		return info.ID
	}
	return filepath.Base(trashed)
}

func (p *program) sessionsRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore [ID]",
		Short: "Take a session back from the trash",
		Long: `Take a session back from the trash to where it was. Without an id, list what is there.

  burin sessions restore 1f9d`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.restoreSession(cmd.Context(), strings.Join(args, ""))
		},
	}
}

func (p *program) restoreSession(ctx context.Context, which string) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	list, err := index.List(ctx, a.trash, index.ListOptions{})
	if err != nil {
		return err
	}
	if which == "" {
		return p.listTrash(list)
	}
	trashed, err := oneOf(which, list)
	if _, ambiguous := errors.AsType[usageError](err); err != nil && !ambiguous {
		return fmt.Errorf("there is no session %q in the trash: burin sessions restore lists what is there", which)
	}
	if err != nil {
		return err
	}
	path, err := transcript.Restore(trashed)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: delete or move that one first", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Restored %s\n", path)
	return nil
}

func (p *program) listTrash(list []index.Info) error {
	if len(list) == 0 {
		fmt.Fprintln(p.err, "the trash is empty")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\n", printable(s.ID), stampOf(s.Modified), printable(shortPath(s.CWD)), first(printable(s.Title), 60), marks(s))
	}
	return w.Flush()
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
	a, err := p.archive()
	if err != nil {
		return err
	}
	file, err := a.find(ctx, which)
	if err != nil {
		return err
	}
	if err := inDatabase(file); err != nil {
		return err
	}
	if !isDir(dir) {
		return usage("%s is no folder", dir)
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
