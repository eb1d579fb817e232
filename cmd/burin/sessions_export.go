package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
)

type exportOptions struct {
	which     string
	format    string
	output    string
	force     bool
	noSecrets bool
}

func sessionsExportCommand(p *program) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:               "export ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Write a session as a page, a document or JSON",
		Long: `Write a session as a page that needs nothing else (html), as the active branch in
Markdown (md), or whole as JSON (json). Secrets are hidden. An
existing file is kept unless --force replaces it; a session is never replaced.

  burin sessions export 1f9d --format md -o -`,
		Args: arguments(1, 1),
	}
	f := cmd.Flags()
	cmd.RunE = about(&o.which, func(ctx context.Context) error {
		if o.output == "" && f.Changed("output") { // a script's variable is empty
			return usage("-o: no file is named")
		}
		return exportSession(ctx, p, o)
	})
	f.StringVar(&o.format, "format", "", "html, md or json; default: from the file name, else html")
	f.StringVarP(&o.output, "output", "o", "", "the file to write; - is standard output; default burin-ID.FORMAT")
	f.BoolVar(&o.force, "force", false, "replace an existing file")
	f.BoolVar(&o.noSecrets, "no-secrets", false, "do not look for secrets")
	if err := cmd.RegisterFlagCompletionFunc("format", values("html", "md", "json")); err != nil {
		panic(err) // a flag of that name is not registered: a mistake of this file
	}
	return cmd
}

func exportSession(ctx context.Context, p *program, o exportOptions) error {
	eo := archive.ExportOptions{Session: o.which, Format: o.format, To: o.output, Force: o.force, Clear: o.noSecrets}
	if o.output == "-" {
		eo.Out = p.out
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	written, err := a.Export(ctx, eo)
	if err != nil || eo.Out != nil {
		return err
	}
	fmt.Fprintln(p.out, written.File)
	return nil
}

type shareOptions struct {
	which string
	yes   bool
}

func sessionsShareCommand(p *program) *cobra.Command {
	var o shareOptions
	cmd := &cobra.Command{
		Use:               "share ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Share a session as a page",
		Long: `Upload a session as a page and print its address. If burin's configuration folder has a
program named share, it does the upload: burin passes it the page's file, and it prints
the address. Otherwise burin makes a secret gist with gh; anyone with the address can
read it. Secrets are hidden.

  burin sessions share 1f9d`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return shareSession(ctx, p, o) }),
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return cmd
}

func shareSession(ctx context.Context, p *program, o shareOptions) error {
	a, err := p.archive()
	if err != nil {
		return err
	}
	address, err := a.Share(ctx, o.which, func(s archive.Sharing) error {
		where := "with " + words.ShortPath(s.Program)
		if s.Program == "" {
			where = "as a secret gist: anyone with the address can read it"
		}
		return p.sure(ctx, o.yes, fmt.Sprintf("Share session %s (%s), %d entries, %s?", s.ID, prose.Row(s.Title, 60), s.Entries, where))
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, address)
	return nil
}
