package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/transcript/pgstore"
)

func backupCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the server's database, while it runs too",
		Long: `Copy the server's database to a file: people, projects, chats and their transcripts, as
they are at one moment, with all attachments. A server may run meanwhile. What people
wrote is encrypted in the copy: keep server.key of the data folder, too, in another place.
For PostgreSQL there is pg_dump, which doesn't copy attachments in a folder or a bucket.

  burin admin backup ~/backups/burin-monday.db`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), p, func(_ config.Paths, settings *config.Config, db *store.DB) error {
				missing, err := backup(cmd.Context(), p, settings, db, args[0])
				if errors.Is(err, fs.ErrExist) {
					return usage("%s is there already: name another file", args[0])
				}
				if missing > 0 {
					fmt.Fprintf(p.err, "%d attachments are not in the copy: they are missing in server.attachments.\n", missing)
				}
				if err == nil {
					fmt.Fprintf(p.out, "The copy is in %s.\n", args[0])
				}
				return err
			})
		},
	}
}

const backupTries = 3

// backup copies the database and all attachments to a file, which is there when it has all of them.
func backup(ctx context.Context, p *program, settings *config.Config, db *store.DB, to string) (missing int, err error) {
	pieces, err := serverAttachments(ctx, p, settings, db, nil)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return 0, cmp.Or(err, fs.ErrExist)
	}
	part := to + ".part"
	for try := 1; ; try++ {
		if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a backup that was killed
			return 0, err
		}
		if err = db.Backup(ctx, part); err == nil {
			missing, err = copyAttachments(ctx, pieces, part)
		}
		if err == nil {
			return missing, os.Rename(part, to)
		}
		if !errors.Is(err, attachment.ErrChanged) || try == backupTries {
			if gone := os.Remove(part); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
			return 0, err
		}
	}
}

func copyAttachments(ctx context.Context, pieces *attachment.Store, to string) (missing int, err error) {
	db, err := store.Open(ctx, to, "", attachment.Part())
	if err != nil {
		return 0, err
	}
	db.SQL().SetMaxOpenConns(1)
	_, missing, err = pieces.CopyTo(ctx, db)
	if err == nil { // so that the copy can be read where nothing can be written
		_, err = db.SQL().ExecContext(ctx, `PRAGMA journal_mode = DELETE`)
	}
	return missing, errors.Join(err, db.Close())
}

func restoreCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a copy in the place of the server's database",
		Long: `Put a copy that burin admin backup has made in the place of the server's database. No
server may run. A damaged copy changes nothing, and the database that was there stays
beside the new one, under another name. Attachments go where server.attachments says.

  burin admin restore ~/backups/burin-monday.db`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return restoreDatabase(cmd.Context(), p, args[0]) },
	}
}

func restoreDatabase(ctx context.Context, p *program, from string) error {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	settings, err := settingsHere(p) // no project can set the server's
	if err != nil {
		return err
	}
	at := databasePlace(paths, settings)
	if pgstore.IsAddress(at) {
		return store.ErrServer
	}
	kept, err := store.Restore(ctx, from, at, attachment.CheckCopies)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintf(p.err, "What was there is in %s.\n", words.ShortPath(kept))
	}
	fmt.Fprintf(p.out, "%s has the data of the copy.\n", words.ShortPath(at))
	if settings.Text("server.attachments") == "database" {
		return nil
	}
	return moveAttachments(ctx, p, paths, settings)
}

// moveAttachments moves the attachments of a restored database to their place.
func moveAttachments(ctx context.Context, p *program, paths config.Paths, settings *config.Config) error {
	db, err := serverDatabase(ctx, p, paths, settings)
	if err != nil {
		return err
	}
	pieces, err := serverAttachments(ctx, p, settings, db, nil)
	moved := 0
	if err == nil {
		moved, err = pieces.MoveOut(ctx)
	}
	if err != nil { // nothing is lost
		err = fmt.Errorf("attachments stay in the database, where burin serve finds them: %w", err)
	}
	if err == nil && moved > 0 {
		_, err = db.SQL().ExecContext(ctx, `VACUUM`)
		fmt.Fprintf(p.out, "%d attachments are in server.attachments.\n", moved)
	}
	return errors.Join(err, db.Close())
}
