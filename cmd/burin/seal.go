package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/transcript/place"
)

type sealOptions struct {
	choice
	purge      bool
	passphrase bool
}

func (p *program) sessionsSealCommand() *cobra.Command {
	var o sealOptions
	cmd := o.command(&cobra.Command{
		Use:   "seal [ID]",
		Short: "Encrypt a session",
		Long: `Encrypt a session, or all with --all: its text, its pictures, its title. The key lies in
the system's keyring; where there is none, or with --passphrase, it is a pass phrase, of
which BURIN_SESSION_PASSPHRASE tells scripts. Who loses the key loses the session.
The session as it was, and the outputs that belong to it, go to the trash, where they can
still be read; --purge deletes them. Sizes, times and the name of the folder can be seen.

  burin sessions seal 1f9d --purge`,
	}, "all sessions of all folders that are not encrypted", func(ctx context.Context) error { return p.sealSessions(ctx, o) })
	f := cmd.Flags()
	f.BoolVar(&o.purge, "purge", false, "delete what was in the clear, after a question")
	f.BoolVar(&o.passphrase, "passphrase", false, "with a pass phrase, also where there is a keyring")
	return cmd
}

func (p *program) sessionsUnsealCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unseal ID",
		Short: "Make an encrypted session readable for everyone again",
		Long: `Make an encrypted session readable for everyone again. The encrypted file goes to the
trash.

  burin sessions unseal 1f9d`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.unsealSession(cmd.Context(), args[0]) },
	}
}

// plainSessions are the files that are to be encrypted.
func (a *archive) plainSessions(ctx context.Context, o sealOptions) ([]string, error) {
	if o.which == "" && !o.all {
		return nil, usage("say which session, or --all")
	}
	files, err := a.chosen(ctx, o.which, o.all)
	if err != nil || o.which != "" {
		return files, err
	}
	var plain []string
	for _, f := range files {
		if !sealedSession(f) && !strings.HasSuffix(f, ".draft") {
			plain = append(plain, f)
		}
	}
	return plain, nil
}

func (p *program) sealSessions(ctx context.Context, o sealOptions) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	files, err := a.plainSessions(ctx, o)
	if err != nil {
		return err
	}
	if o.purge && len(files) > 0 {
		if err := p.sure(ctx, o.yes, fmt.Sprintf("Encrypt %s and delete what was in the clear for good?", counted(len(files), "session"))); err != nil {
			return err
		}
	}
	p.sealing = &sealing{passphrase: o.passphrase}
	done := 0
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.sealOne(ctx, a, file, o.purge); err != nil {
			if keyless, ok := errors.AsType[keyError](err); ok && done == 0 {
				return keyless // it is so for all of them
			}
			if len(files) == 1 {
				return err
			}
			fmt.Fprintf(p.err, "burin: %s\n", oneLine(err))
			continue
		}
		done++
	}
	// It has copies of what was said. It is made again when needed.
	if err := a.dropIndex(); err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintln(p.err, "there is no session to encrypt")
		return nil
	}
	where := "; as they were they are in the trash, in the clear"
	if o.purge {
		where = ""
	}
	fmt.Fprintf(p.out, "Encrypted sessions: %d%s\n", done, where)
	if done < len(files) {
		return fmt.Errorf("not encrypted: %s; see above", counted(len(files)-done, "session"))
	}
	return nil
}

func (p *program) sealOne(ctx context.Context, a *archive, file string, purge bool) error {
	if place.Parse(file).SQL {
		return errors.New("a session in a database is encrypted from its beginning or never: start one with --seal")
	}
	trashed, err := place.Seal(file, p.sessionKeys(ctx), a.blobs(), a.trash)
	if err != nil {
		return explain(file, fmt.Errorf("encrypt session %s: %w", shortPath(file), err))
	}
	if !purge {
		return nil
	}
	if err := os.RemoveAll(filepath.Dir(trashed)); err != nil {
		return fmt.Errorf("session %s is encrypted, but what it was could not be deleted: %w", shortPath(file), err)
	}
	return nil
}

func (p *program) unsealSession(ctx context.Context, which string) error {
	a, file, err := p.theSession(ctx, which)
	if err != nil {
		return err
	}
	if _, err := place.Unseal(file, p.sessionKeys(ctx), a.trash); err != nil {
		return explain(file, fmt.Errorf("decrypt session %s: %w", shortPath(file), err))
	}
	fmt.Fprintf(p.out, "Session %s can be read by everyone who reads its file.\n", trashID(file))
	return nil
}

// dropIndex removes the search index.
func (a *archive) dropIndex() error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(a.index + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the search index, which may hold what was said: %w", err)
		}
	}
	return nil
}

// newSession is the store of a new session: encrypted if the settings say so, or what
// it is made of is.
func (p *program) newSession(ctx context.Context, a *archive, path, from string) (place.Draft, error) {
	seal := a.settings.Sessions.Encrypt || from != "" && sealedSession(from)
	return place.New(path, p.sessionKeys(ctx), seal, a.blobs())
}
