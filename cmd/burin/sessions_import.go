package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/foreign"
)

type importOptions struct {
	paths   []string
	format  string
	fromAll bool
	yes     bool
}

func sessionsImportCommand(p *program) *cobra.Command {
	var o importOptions
	var names []string
	for _, f := range foreign.Formats() {
		names = append(names, string(f))
	}
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Import conversations from other programs",
		Long: `Import conversations from other programs, and report what was left out of each. New
messages of a conversation that was imported before are added to its session; if you have
continued that session here, they become a new one. Secrets are hidden.
Formats:  ` + strings.Join(names, ", ") + `.

  burin sessions import ~/Downloads/conversations.json
  burin sessions import --from-all       list all there is; --yes imports it`,
		Args: arguments(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			return importSessions(cmd.Context(), p, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "format; default: detected")
	f.BoolVar(&o.fromAll, "from-all", false, "conversations of other programs on this machine")
	f.BoolVar(&o.yes, "yes", false, "with --from-all: import it")
	if err := cmd.RegisterFlagCompletionFunc("format", values(names...)); err != nil {
		panic(err) // a flag of that name is not registered: a mistake of this file
	}
	return cmd
}

func (o importOptions) check() error {
	switch {
	case o.fromAll && (len(o.paths) > 0 || o.format != ""):
		return usage("--from-all finds places and formats by itself: leave the others out")
	case !o.fromAll && len(o.paths) == 0:
		return usage("say what to import: a file or a folder, or --from-all")
	case o.format == "":
		return nil
	}
	for _, f := range foreign.Formats() {
		if string(f) == o.format {
			return nil
		}
	}
	return usage("--format: unknown format %q", o.format)
}

func importSessions(ctx context.Context, p *program, o importOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	if o.fromAll {
		sources, err := archive.ImportSources()
		if err != nil {
			return err
		}
		if !o.yes {
			return listSources(p, sources)
		}
		for _, s := range sources {
			o.paths = append(o.paths, s.Path)
		}
	}
	r, err := a.Import(ctx, archive.ImportOptions{Paths: o.paths, Format: foreign.Format(o.format), Told: func(i archive.Imported) { writeImported(p, i) }})
	if err != nil {
		return err
	}
	grown := ""
	if n := r.Count(archive.Grown); n > 0 {
		grown = fmt.Sprintf("%d updated, ", n)
	}
	failed := r.Count(archive.Failed)
	fmt.Fprintf(p.err, "%d imported, %s%d unchanged, %d unreadable\n", r.Count(archive.Fresh, archive.Parted), grown, r.Count(archive.Unchanged), failed)
	if failed > 0 && failed == len(r.Conversations) {
		return errors.New("nothing imported; see above")
	}
	return nil
}

// writeImported says what became of a conversation.
func writeImported(p *program, i archive.Imported) {
	switch i.State {
	case archive.Unchanged:
		return
	case archive.Failed:
		from := ""
		if i.Report.Source != "" {
			from = "import " + i.Report.Source + ": "
		}
		p.warn(from + words.Error(i.Err))
		return
	}
	fmt.Fprintf(p.out, "%s\n%s\n", i.ID, prose.Clean(strings.TrimSpace(i.Report.String()), 8))
	switch i.State {
	case archive.Parted:
		fmt.Fprintf(p.out, "  changed since it was imported as %s, and that session changed too: both are kept\n", i.Older)
	case archive.Grown:
		fmt.Fprintf(p.out, "  updated: %s added\n", prose.Count(i.Added, "entry"))
	}
}

func listSources(p *program, sources []foreign.Source) error {
	if len(sources) == 0 {
		fmt.Fprintln(p.err, "no conversations from other programs found")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, s := range sources {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Format.Title(), prose.Count(s.Files, "file"), prose.Inline(words.ShortPath(s.Path)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(p.err, "to import all of it: burin sessions import --from-all --yes; to import some: burin sessions import PATH")
	return nil
}
