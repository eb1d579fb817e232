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
		Use:               "doctor [ID]",
		ValidArgsFunction: offerSessions(p),
		Short:             "Check sessions for damage, and repair it",
		Long: `Check a session, the sessions of a database, or those of this folder, for damage: unreadable lines, missing or
damaged blobs (pictures, documents, long texts), drafts left by a crash, outputs without a
session, copies; with --all also for unused blobs. --fix rewrites damaged files and keeps
a copy of each, moves outputs without a session to the trash, and, with --all, deletes
unused blobs after a question.

  burin sessions doctor --all`,
	}, "check the sessions of all folders, and unused blobs", func(ctx context.Context) error { return doctorSessions(ctx, p, o) })
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
		fmt.Fprintf(p.err, "checked %s; no problems found\n", prose.Count(r.Sessions-r.Closed, "session"))
		return nil
	case o.fix:
		return fmt.Errorf("problems remaining: %d; see above", left)
	default:
		return fmt.Errorf("problems found: %d; burin sessions doctor --fix repairs what it can", left)
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
