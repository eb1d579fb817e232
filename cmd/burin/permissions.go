package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/index"
)

func permissionsCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "permissions",
		Short: "List the rules that hold in this folder",
		Long: `List the rules for this folder: those in config.yml, and permanent grants.

  burin permissions
  burin permissions try 'bash(go test:*)'
  burin permissions revoke 3f9a`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return listPermissions(p) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a grant",
		Args:  arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			rules, err := openPermissions(p)
			if err != nil {
				return err
			}
			return rules.Revoke(args[0])
		},
	}, &cobra.Command{
		Use:   "try RULE",
		Short: "List the calls of past sessions that a rule would have changed",
		Args:  arguments(1, 1),
		RunE:  func(cmd *cobra.Command, args []string) error { return tryPermission(cmd.Context(), p, args[0]) },
	})
	return cmd
}

func openPermissions(p *program) (*bench.Permissions, error) {
	h, err := p.host(nil)
	if err != nil {
		return nil, err
	}
	return h.Permissions()
}

func listPermissions(p *program) error {
	rules, err := openPermissions(p)
	if err != nil {
		return err
	}
	all := rules.Rules()
	if len(all) == 0 {
		fmt.Fprintln(p.err, "no rules: burin asks before it changes or runs something")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, r := range all {
		id, scope, source, until := r.ID, string(r.Scope), r.Source, ""
		if id == "" { // it is in the configuration, and stays until it is removed there
			id, scope, source = "-", "user", "config.yml"
		}
		if !r.Expires.IsZero() {
			until = "until " + r.Expires.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", id, r.Verdict, r, scope, source, until)
	}
	return w.Flush()
}

func tryPermission(ctx context.Context, p *program, rule string) error {
	rules, err := openPermissions(p)
	if err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	dir, err := archive.WorkDir()
	if err != nil {
		return err
	}
	list, err := index.List(ctx, a.Root(), index.ListOptions{CWD: dir})
	if err != nil {
		return err
	}
	var files []string
	for _, s := range list {
		files = append(files, s.Path)
	}
	tried, of, err := rules.Try(rule, files)
	if err != nil {
		return usageError{Err: err}
	}
	if of == 0 {
		fmt.Fprintln(p.err, "no calls of past sessions in this folder to try it on")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, t := range tried {
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.Decision.Verdict, t.Tool, prose.Inline(prose.Short(t.Target, 100)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(p.err, "it makes a difference to %d of %s of past sessions in this folder\n", len(tried), prose.Count(of, "call"))
	return nil
}
