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
		Use:   "seal [ID]",
		Short: "Encrypt a session",
		Long: `Encrypt a session, or all with --all: its text, its pictures, its title. The key lies in
the system's keyring; where there is none, or with --passphrase, it is a pass phrase, of
which BURIN_SESSION_PASSPHRASE tells scripts. Who loses the key loses the session.
The session as it was, and the outputs that belong to it, go to the trash, where they can
still be read; --purge deletes them. Sizes, times and the name of the folder can be seen.

  burin sessions seal 1f9d --purge`,
	}, "all sessions of all folders that are not encrypted", func(ctx context.Context) error { return sealSessions(ctx, p, o) })
	f := cmd.Flags()
	f.BoolVar(&o.purge, "purge", false, "delete what was in the clear, after a question")
	f.BoolVar(&o.passphrase, "passphrase", false, "with a pass phrase, also where there is a keyring")
	return cmd
}

func sessionsUnsealCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "unseal ID",
		Short: "Make an encrypted session readable for everyone again",
		Long: `Make an encrypted session readable for everyone again. The encrypted file goes to the
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
			return p.sure(ctx, o.yes, fmt.Sprintf("Encrypt %s and delete what was in the clear for good?", prose.Count(n, "session")))
		},
		Start:  func() { p.sealing.WithPassphrase(o.passphrase) },
		Failed: func(err error) { p.warn(words.Error(err)) },
	})
	if err != nil {
		return err
	}
	if r.Sessions == 0 {
		fmt.Fprintln(p.err, "there is no session to encrypt")
		return nil
	}
	where := "; as they were they are in the trash, in the clear"
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
	fmt.Fprintf(p.out, "Session %s can be read by everyone who reads its file.\n", id)
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

// askHidden asks the person at the terminal for a line that is not shown.
func (p *program) askHidden(ctx context.Context, question string) (string, error) {
	tty, _ := p.terminal().(*os.File)
	if tty == nil || !term.IsTerminal(int(tty.Fd())) {
		return "", usage("a pass phrase for encrypted sessions is wanted, and nobody can be asked here: set %s", sessionkey.Variable)
	}
	fmt.Fprintf(p.err, "%s (it is not shown): ", question)
	line, err := readHidden(ctx, int(tty.Fd()))
	fmt.Fprintln(p.err)
	if err != nil {
		return "", fmt.Errorf("read the pass phrase: %w", err)
	}
	return string(line), nil
}
