package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

type deleteOptions struct {
	which string
	yes   bool
	force bool
}

func (p *program) sessionsDeleteCommand() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Move a session to the trash",
		Long: `Move a session, with the outputs that belong to it, to the trash. --force deletes it for
good, after a question. A session of a database stays in it, in a trash of its own.

  burin sessions delete 1f9d
  burin sessions delete talks.db#bob`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return p.deleteSession(ctx, o) }),
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "delete it for good")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return cmd
}

func (p *program) deleteSession(ctx context.Context, o deleteOptions) error {
	a, file, err := p.theSession(ctx, o.which)
	if err != nil {
		return err
	}
	if n := place.Parse(file); n.SQL {
		return p.deleteInDatabase(ctx, n, o.force)
	}
	if err := listable(file); err != nil {
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

// listable refuses to put a file where only a list leads to it again, if none does.
func listable(file string) error {
	if isSession(file) {
		return nil
	}
	return fmt.Errorf("%s: lists would not find it, because its name does not end with .jsonl: rename it first", shortPath(file))
}

// deleteInDatabase moves a session to the trash of its database. There is no way to
// delete one of them for good: a database is emptied as a whole or not at all.
func (p *program) deleteInDatabase(ctx context.Context, n place.Name, force bool) error {
	if force {
		return usage("--force is not for sessions in a database: without it %s goes to the trash in that database", shortPath(n.String()))
	}
	list, err := place.List(ctx, n.File)
	if err != nil {
		return explain(n.String(), err)
	}
	n, err = oneListed(n, list)
	if err != nil {
		return err
	}
	if err := place.Trash(ctx, n); err != nil {
		return explain(n.String(), err)
	}
	fmt.Fprintf(p.out, "Moved to the trash of the database. To take it back: burin sessions restore %s\n", shortPath(n.String()))
	return nil
}

// oneListed is the session of a database that a name means. What is deleted must be
// named, unless there is only one.
func oneListed(n place.Name, list []place.Listed) (place.Name, error) {
	db := place.Name{File: n.File, SQL: true}
	switch {
	case n.Session != "":
		if slices.ContainsFunc(list, func(l place.Listed) bool { return l.Name.Session == n.Session }) {
			return n, nil
		}
		return n, fmt.Errorf("there is no session %q in %s: burin sessions list %s lists them", n.Session, shortPath(n.File), shortPath(db.String()))
	case len(list) == 0:
		return n, fmt.Errorf("there is no session in %s", shortPath(n.File))
	case len(list) == 1:
		return list[0].Name, nil
	}
	return n, usage("there are %d sessions in %s: say which, as in %s; burin sessions list %s lists them", len(list), shortPath(n.File), shortPath(list[0].Name.String()), shortPath(db.String()))
}

// trashID is what names a session in the trash.
func trashID(trashed string) string {
	if info, err := index.Read(trashed); err == nil {
		return info.ID
	}
	return filepath.Base(trashed)
}

func (p *program) sessionsRestoreCommand() *cobra.Command {
	var which string
	return &cobra.Command{
		Use:   "restore [ID]",
		Short: "Take a session back from the trash",
		Long: `Take a session back from the trash to where it was. What lies there twice is named by
its file. Without an id, list what is there; with the file of a database, what is in the
trash of that.

  burin sessions restore 1f9d
  burin sessions restore talks.db#bob`,
		Args: arguments(0, 1),
		RunE: about(&which, func(ctx context.Context) error { return p.restoreSession(ctx, which) }),
	}
}

func (p *program) restoreSession(ctx context.Context, which string) error {
	if n := place.Parse(which); n.SQL {
		return p.restoreInDatabase(ctx, n)
	}
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
	trashed, err := oneTrashed(which, list)
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

// oneTrashed is the file of the one session in the trash that a word names. Only a path
// tells apart what was deleted twice.
func oneTrashed(which string, list []index.Info) (string, error) {
	if named, err := os.Stat(which); err == nil && isPath(which) {
		for _, s := range list {
			if info, err := os.Stat(s.Path); err == nil && os.SameFile(named, info) {
				return s.Path, nil
			}
		}
	}
	return oneOf(which, list)
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

// restoreInDatabase takes a session back from the trash of its database, or lists what
// is there.
func (p *program) restoreInDatabase(ctx context.Context, n place.Name) error {
	n, err := n.Abs()
	if err != nil {
		return err
	}
	if !n.Exists() {
		return noDatabase(n)
	}
	list, err := place.Trashed(ctx, n.File)
	if err != nil {
		return explain(n.String(), err)
	}
	if n.Session == "" {
		return p.listTrashOf(list)
	}
	if !slices.ContainsFunc(list, func(l place.Listed) bool { return l.Name.Session == n.Session }) {
		db := place.Name{File: n.File, SQL: true}
		return fmt.Errorf("there is no session %q in the trash of %s: burin sessions restore %s lists what is there", n.Session, shortPath(n.File), shortPath(db.String()))
	}
	if err := place.Restore(ctx, n); err != nil {
		return explain(n.String(), err)
	}
	fmt.Fprintf(p.out, "Restored %s\n", shortPath(n.String()))
	return nil
}

func (p *program) listTrashOf(list []place.Listed) error {
	if len(list) == 0 {
		fmt.Fprintln(p.err, "the trash of the database is empty")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, l := range list {
		fmt.Fprintf(w, "%s\t%s\n", printable(shortPath(l.Name.String())), stampOf(l.Updated))
	}
	return w.Flush()
}
