package main

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

type deleteOptions struct {
	which string
	yes   bool
	force bool
}

func sessionsDeleteCommand(p *program) *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:               "delete ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Move a session to the trash",
		Long: `Move a session, with the outputs that belong to it, to the trash. --force deletes it for
good, after a question. A session of a database stays in it, in a trash of its own.

  burin sessions delete 1f9d
  burin sessions delete talks.db#bob`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return deleteSession(ctx, p, o) }),
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "delete it for good")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return cmd
}

func deleteSession(ctx context.Context, p *program, o deleteOptions) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	var forGood func(index.Info) error
	if o.force {
		forGood = func(s index.Info) error {
			return p.sure(ctx, o.yes, fmt.Sprintf("Delete session %s (%s) for good?", s.ID, prose.Row(s.Title, 60)))
		}
	}
	gone, err := a.Delete(ctx, o.which, forGood)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, deletedWords(gone))
	return nil
}

// deletedWords say what became of a session, and how to take it back.
func deletedWords(gone archive.Deleted) string {
	switch {
	case gone.Database:
		return "Moved to the trash of the database. To restore it: burin sessions restore " + words.ShortPath(gone.Name)
	case gone.Name == "":
		return "Deleted " + filepath.Base(gone.File) + " for good."
	}
	return "Moved to the trash. To restore it: burin sessions restore " + gone.Name
}

func sessionsRestoreCommand(p *program) *cobra.Command {
	var which string
	return &cobra.Command{
		Use:               "restore [ID]",
		ValidArgsFunction: offerTrash(p),
		Short:             "Restore a session from the trash",
		Long: `Restore a session from the trash. If the trash has it twice, name its file. Without an id, list what is there; with the file of a database, what is in the
trash of that.

  burin sessions restore 1f9d
  burin sessions restore talks.db#bob`,
		Args: arguments(0, 1),
		RunE: about(&which, func(ctx context.Context) error { return restoreSession(ctx, p, which) }),
	}
}

func restoreSession(ctx context.Context, p *program, which string) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	n := place.Parse(which)
	switch {
	case n.SQL && n.Session == "":
		list, err := a.TrashOf(ctx, which)
		if err != nil {
			return err
		}
		return listTrashOf(p, list)
	case which == "":
		list, err := a.Trash(ctx)
		if err != nil {
			return err
		}
		return listTrash(p, list)
	}
	path, err := a.Restore(ctx, which)
	if err != nil {
		return err
	}
	if n.SQL {
		path = words.ShortPath(path)
	}
	fmt.Fprintf(p.out, "Restored %s\n", path)
	return nil
}

func listTrash(p *program, list []index.Info) error {
	if len(list) == 0 {
		fmt.Fprintln(p.err, "the trash is empty")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\n", prose.Inline(s.ID), words.Stamp(s.Modified), prose.Inline(words.ShortPath(s.CWD)), prose.Row(s.Title, 60), archive.Marks(s))
	}
	return w.Flush()
}

func listTrashOf(p *program, list []place.Listed) error {
	if len(list) == 0 {
		fmt.Fprintln(p.err, "the trash of the database is empty")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, l := range list {
		fmt.Fprintf(w, "%s\t%s\n", prose.Inline(words.ShortPath(l.Name.String())), words.Stamp(l.Updated))
	}
	return w.Flush()
}
