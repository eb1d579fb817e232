package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/internal/prose"
)

// rotateKeyCommand makes new keys.
func rotateKeyCommand(p *program) *cobra.Command {
	ofServer, from := false, ""
	cmd := &cobra.Command{
		Use:   "rotate-key [NAME]",
		Short: "Make new keys for what the server keeps",
		Long: `Make a new key for what the server keeps of a person, or of everybody. burin serve seals
their data with it in the background, and deletes the old key when nothing is sealed with
it any more. People whose keys are locked get theirs when they unlock them.

With --server it replaces the server's own key, which opens the keys of people. Servers
that share the database need the new one, too. --from says where the present key is,
if server.key in the settings says where the new one goes.

  burin admin rotate-key
  burin admin rotate-key --server`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case ofServer && len(args) > 0:
				return usage("--server is about the server's own key, not about a person's")
			case from != "" && !ofServer:
				return usage("--from is for --server")
			case from != "" && !slices.Contains([]string{keyOfFile, keyOfKeyring, keyOfPhrase}, from):
				return usage("--from: must be file, keyring or passphrase, not %q", from)
			case ofServer:
				return rotateServer(cmd.Context(), p, from)
			}
			return rotatePeople(cmd.Context(), p, args)
		},
	}
	cmd.Flags().BoolVar(&ofServer, "server", false, "replace the server's own key")
	cmd.Flags().StringVar(&from, "from", "", "where the present key is, if not where server.key says: file, keyring or passphrase")
	_ = cmd.RegisterFlagCompletionFunc("from", values(keyOfFile, keyOfKeyring, keyOfPhrase)) // it is there
	return cmd
}

// withDatabase does something in the server's database.
func withDatabase(ctx context.Context, p *program, do func(paths config.Paths, settings *config.Config, db *store.DB) error) error {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	settings, err := settingsHere(p) // no project can set the server's
	if err != nil {
		return err
	}
	db, err := serverDatabase(ctx, p, paths, settings)
	if err != nil {
		return err
	}
	return errors.Join(do(paths, settings, db), db.Close())
}

func rotateServer(ctx context.Context, p *program, from string) error {
	return withDatabase(ctx, p, func(paths config.Paths, settings *config.Config, db *store.DB) error {
		to := serverSource(p, paths, settings.Text("server.key"))
		old := to
		if from != "" {
			old = serverSource(p, paths, from)
		}
		n, err := vault.RotateServer(ctx, db, old, to)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "The server has a new key. Wrapped with it: %s\n", prose.Count(n, "key"))
		if settings.Text("server.key") == keyOfPhrase {
			fmt.Fprintf(p.err, "Set %s to the new pass phrase before you start the server.\n", phraseVariable)
		}
		if db.Server() {
			fmt.Fprintln(p.err, "Other servers on this database need it, too: they make no new keys until they have it.")
		}
		return nil
	})
}

func rotatePeople(ctx context.Context, p *program, names []string) error {
	return withDatabase(ctx, p, func(paths config.Paths, settings *config.Config, db *store.DB) error {
		v, err := serverVault(ctx, p, paths, settings, db)
		if err != nil {
			return err
		}
		defer v.Close()
		all, err := v.People(ctx)
		if err != nil {
			return err
		}
		whose := all
		if len(names) > 0 {
			everybody, err := people.Open(ctx, db, v, nil)
			if err != nil {
				return err
			}
			one, err := everybody.Named(ctx, names[0])
			if err != nil {
				return err
			}
			if !slices.Contains(all, one.ID) {
				return usage("nothing is sealed for %q yet", one.Name)
			}
			whose = []string{one.ID}
		}
		done, later := 0, 0
		for _, person := range whose {
			now, err := v.Rotate(ctx, person)
			if err != nil {
				return err
			}
			if now {
				done++
			} else {
				later++
			}
		}
		fmt.Fprintf(p.out, "New keys: %d, when they are unlocked: %d\n", done, later)
		return nil
	})
}

// sayLocked says what a new password of a person doesn't open.
func sayLocked(ctx context.Context, p *program, person people.Person) error {
	return withServerDatabase(ctx, p, func(db *store.DB) error {
		mode, err := vault.ModeOf(ctx, db, person.ID)
		if err == nil && mode == vault.Own {
			fmt.Fprintf(p.err, "%s: %s\n", person.Name, server.KeysStayLocked)
		}
		return err
	})
}
