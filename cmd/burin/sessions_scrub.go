package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
)

type scrubOptions struct {
	choice
	write bool
}

func sessionsScrubCommand(p *program) *cobra.Command {
	var o scrubOptions
	cmd := o.command(&cobra.Command{
		Use:               "scrub [ID]",
		ValidArgsFunction: offerSessions(p),
		Short:             "Find and remove secrets in stored sessions",
		Long: `Find tokens, passwords and keys in sessions, in the outputs that belong to them, in what was
kept of them when they were repaired, and in the undo journal of their folder. Without an
id it looks at the sessions of this folder; with --all at those of all folders and of the
trash. Not looked into are pictures, those of a condensed history among them, and texts so
large that they lie in blobs.

The undo journal has what files held before they were changed. With --write, what holds a
secret is taken out of it: the files stay as they are, but an undo can't bring that state
of them back, and says so.

--write puts placeholders in their place. No copy with the secrets stays, so that this
cannot be taken back; a disk may still hold what files said before. A session of which a
record could not be read any more stays as it is. Change a secret that was found: who read
the session may have it.

  burin sessions scrub --all`,
	}, "sessions of all folders, and of the trash", func(ctx context.Context) error { return scrubSessions(ctx, p, o) })
	cmd.Flags().BoolVar(&o.write, "write", false, "remove the secrets")
	return cmd
}

func scrubSessions(ctx context.Context, p *program, o scrubOptions) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	told := false
	tell := func(r archive.ScrubReport) { // what was found, before the question
		told = true
		if r.Closed > 0 {
			fmt.Fprintf(p.err, "%s not looked into: %s\n", prose.Count(r.Closed, "encrypted session"), words.Error(r.ClosedErr))
		}
		if r.JournalUnseen {
			fmt.Fprintln(p.err, "the undo journal was not checked: run scrub without an id in the session's folder")
		}
	}
	r, err := a.Scrub(ctx, archive.ScrubOptions{
		Session: o.which, All: o.all, Write: o.write,
		Found:  func(s archive.Secrets) { writeSecrets(p, s) },
		Failed: func(err error) { p.warn(words.Error(err)) },
		Sure: func(r archive.ScrubReport) error {
			tell(r)
			return p.sure(ctx, o.yes, scrubQuestion(r))
		},
	})
	if !told {
		tell(r)
	}
	if r.Rewritten {
		fmt.Fprintf(p.out, "Removed the secrets from %s.\n", prose.Count(r.Cleaned, "session"))
	}
	for _, journal := range r.CleanedJournals {
		fmt.Fprintf(p.out, "Removed the secrets from the undo journal %s.\n", journal)
	}
	if err != nil || o.write && !r.Clean() {
		return err
	}
	looked := prose.Count(r.Looked, "session")
	if r.Clean() {
		fmt.Fprintf(p.err, "no secrets found in %s\n", looked)
		return nil
	}
	fmt.Fprintf(p.err, "secrets in %d of %s", len(r.Sessions), looked)
	if len(r.Journals) > 0 {
		fmt.Fprintf(p.err, " and in %s", prose.Count(len(r.Journals), "undo journal"))
	}
	fmt.Fprintln(p.err, "; --write removes them")
	return nil
}

func scrubQuestion(r archive.ScrubReport) string {
	if len(r.Journals) > 0 {
		return fmt.Sprintf("Remove these secrets from %s and %s? No copy is kept, and undo won't restore files with them.",
			prose.Count(len(r.Sessions), "session"), prose.Count(len(r.Journals), "undo journal"))
	}
	return fmt.Sprintf("Replace these secrets with placeholders in %s? No copy is kept.", prose.Count(len(r.Sessions), "session"))
}

// writeSecrets says on a line what was found where.
func writeSecrets(p *program, s archive.Secrets) {
	what := ""
	if s.Journal {
		what = "undo journal "
	}
	fmt.Fprintf(p.out, "%s%s  %s\n", what, s.ID, counts(s.Kinds))
}

// counts says how many secrets of which kind there are.
func counts(found map[string]int) string {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		words = append(words, fmt.Sprintf("%d %s", found[kind], kind))
	}
	return strings.Join(words, ", ")
}
