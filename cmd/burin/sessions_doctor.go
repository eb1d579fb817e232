package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
)

type doctorOptions struct {
	choice
	fix bool
}

func sessionsDoctorCommand(p *program) *cobra.Command {
	var o doctorOptions
	cmd := o.command(&cobra.Command{
		Use:   "doctor [ID]",
		Short: "Look for damage in sessions, and repair it",
		Long: `Look for damage in a session, or in those of this folder: lines that cannot be read,
large pieces (pictures, documents, long texts) that are gone or damaged, drafts that a
crash has left, outputs without a session, copies; with --all also for large pieces that
no session uses. --fix rewrites what is damaged without the damage,
keeping the file as it was beside it, moves outputs without a session to the trash, and,
with --all, deletes the pieces that nothing uses, after a question.

  burin sessions doctor --all`,
	}, "sessions of all folders, and what they share", func(ctx context.Context) error { return doctorSessions(ctx, p, o) })
	cmd.Flags().BoolVar(&o.fix, "fix", false, "repair what can be repaired")
	return cmd
}

func doctorSessions(ctx context.Context, p *program, o doctorOptions) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	r, err := a.Doctor(ctx, archive.DoctorOptions{
		Session: o.which, All: o.all, Fix: o.fix, Found: func(f archive.Finding) { writeFinding(p, f) },
		Delete: func(pieces string) (bool, error) {
			return p.confirm(ctx, o.yes, "Delete "+pieces+"? Session files that you keep elsewhere are not known here.")
		},
	})
	if err != nil {
		return err
	}
	switch left := r.Left(); {
	case left == 0:
		fmt.Fprintf(p.err, "looked at %s; nothing is wrong\n", prose.Count(r.Sessions-r.Closed, "session"))
		return nil
	case o.fix:
		return fmt.Errorf("problems are left: %d; see above", left)
	default:
		return fmt.Errorf("problems were found: %d; burin sessions doctor --fix repairs what can be repaired", left)
	}
}

// writeFinding says on a line what was found.
func writeFinding(p *program, f archive.Finding) {
	line := f.Text
	if f.File != "" {
		file := words.ShortPath(f.File)
		if f.Kind == archive.Problem {
			file = prose.Inline(file)
		}
		line = file + ": " + line
	}
	switch {
	case f.Err != nil:
		line += "; it could not be repaired: " + words.Error(f.Err)
	case f.Repaired:
		line += "; repaired"
	}
	fmt.Fprintln(p.out, line)
}
