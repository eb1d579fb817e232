package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/sessionkey"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/place"
)

type sealOptions struct {
	choice
	purge      bool
	passphrase bool
}

func sessionsSealCommand(p *program) *cobra.Command {
	var o sealOptions
	cmd := o.command(&cobra.Command{
		Use:               "seal [ID]",
		ValidArgsFunction: offerSessions(p),
		Short:             "Encrypt a session",
		Long: `Encrypt a session, or all with --all: its text, its pictures, its title. The key is kept in
the system's keyring. Without a keyring, or with --passphrase, burin asks for a pass phrase;
scripts set BURIN_SESSION_PASSPHRASE. If you lose the key, you lose the session.
The unencrypted session and its outputs go to the trash, where they can still be read;
--purge deletes them. Sizes, times and the folder name stay visible.

  burin sessions seal 1f9d --purge`,
	}, "all sessions of all folders that are not encrypted", func(ctx context.Context) error { return sealSessions(ctx, p, o) })
	f := cmd.Flags()
	f.BoolVar(&o.purge, "purge", false, "delete the unencrypted files, after a question")
	f.BoolVar(&o.passphrase, "passphrase", false, "use a pass phrase even if there is a keyring")
	return cmd
}

func sessionsUnsealCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "unseal ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Decrypt a session",
		Long: `Decrypt a session. The encrypted file goes to the
trash.

  burin sessions unseal 1f9d`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return unsealSession(cmd.Context(), p, args[0]) },
	}
}

func sealSessions(ctx context.Context, p *program, o sealOptions) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	r, err := a.Seal(ctx, archive.SealOptions{
		Session: o.which, All: o.all, Purge: o.purge,
		Sure: func(n int) error {
			return p.sure(ctx, o.yes, fmt.Sprintf("Encrypt %s and delete the unencrypted files for good?", prose.Count(n, "session")))
		},
		Start:  func() { p.sealing.WithPassphrase(o.passphrase) },
		Failed: func(err error) { p.warn(words.Error(err)) },
	})
	if err != nil {
		return err
	}
	if r.Sessions == 0 {
		fmt.Fprintln(p.err, "no sessions to encrypt")
		return nil
	}
	where := "; the unencrypted files are in the trash"
	if o.purge {
		where = ""
	}
	fmt.Fprintf(p.out, "Encrypted sessions: %d%s\n", r.Sealed, where)
	if left := r.Left(); left > 0 {
		return fmt.Errorf("not encrypted: %s; see above", prose.Count(left, "session"))
	}
	return nil
}

func unsealSession(ctx context.Context, p *program, which string) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	id, err := a.Unseal(ctx, which)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Session %s is no longer encrypted.\n", id)
	return nil
}

// newKeys are the keys of encrypted sessions, for which the person at the terminal is asked.
func (p *program) newKeys() *sessionkey.Keys {
	k := &sessionkey.Keys{Getenv: p.getenv}
	k.AskWith(p.askHidden)
	return k
}

// sessionKeys asks for the keys of sessions while ctx lasts.
func (p *program) sessionKeys(ctx context.Context) place.Keys {
	if p.sealing == nil {
		p.sealing = p.newKeys()
	}
	return p.sealing.For(ctx)
}

// askHidden asks for the pass phrase of encrypted sessions.
func (p *program) askHidden(ctx context.Context, question string) (string, error) {
	return askLine(ctx, p, question, "encrypted sessions need a pass phrase, and burin can't ask for it here: set "+sessionkey.Variable)
}

// askLine asks the person at the terminal for a line that is not shown. Where there is none, the
// error says what to do.
func askLine(ctx context.Context, p *program, question, otherwise string) (string, error) {
	tty, _ := p.terminal().(*os.File)
	if tty == nil || !term.IsTerminal(int(tty.Fd())) {
		return "", usage("%s", otherwise)
	}
	fmt.Fprintf(p.err, "%s (it is not shown): ", question)
	line, err := readHidden(ctx, int(tty.Fd()))
	fmt.Fprintln(p.err)
	if err != nil {
		return "", fmt.Errorf("read the pass phrase: %w", err)
	}
	return string(line), nil
}
