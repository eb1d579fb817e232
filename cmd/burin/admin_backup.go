package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

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
they are at one moment. A server may run meanwhile. What people wrote is encrypted in the
copy: keep server.key of the data folder, too, in another place. Attachments in a
folder or a bucket are not in the copy. For PostgreSQL there is pg_dump.

  burin admin backup ~/backups/burin-monday.db`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), p, func(_ config.Paths, _ *config.Config, db *store.DB) error {
				err := db.Backup(cmd.Context(), args[0])
				if errors.Is(err, fs.ErrExist) {
					return usage("%s is there already: name another file", args[0])
				}
				if err == nil {
					fmt.Fprintf(p.out, "The copy is in %s.\n", args[0])
				}
				return err
			})
		},
	}
}

func restoreCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a copy in the place of the server's database",
		Long: `Put a copy that burin admin backup has made in the place of the server's database. No
server may run. A damaged copy changes nothing, and the database that was there stays
beside the new one, under another name.

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
	kept, err := store.Restore(ctx, from, at)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintf(p.err, "What was there is in %s.\n", words.ShortPath(kept))
	}
	fmt.Fprintf(p.out, "%s has the data of the copy.\n", words.ShortPath(at))
	return nil
}
