package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/prose"
)

func lspCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Show the language servers of this folder",
		Long: `Show the language servers that burin uses in this folder: those of its table, of lsp.json in
burin's configuration folder and of the project's .burin/lsp.json whose program is installed and
whose kind of project this is. Nothing is started.

  burin lsp
  burin lsp test gopls
  burin lsp status`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return listLanguageServers(p, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(lspTestCommand(p))
	cmd.AddCommand(lspRunningCommands(p)...)
	return cmd
}

// findLanguageServers lists the servers, and tells what is wrong with their files.
func findLanguageServers(p *program) (*host.Host, []host.LanguageServer, error) {
	h, err := p.host(nil)
	if err != nil {
		return nil, nil, err
	}
	settings, err := h.Settings()
	if err != nil {
		return nil, nil, err
	}
	if !settings.Bool("lsp.enabled") {
		return nil, nil, usage("language servers are switched off by the setting lsp.enabled")
	}
	all, _, warnings := host.LanguageServers(h, h.Dir())
	for _, w := range warnings {
		fmt.Fprintln(p.err, w)
	}
	return h, all, nil
}

func listLanguageServers(p *program, asJSON bool) error {
	_, all, err := findLanguageServers(p)
	if err != nil {
		return err
	}
	if asJSON {
		type listed struct {
			Name      string   `json:"name"`
			Languages string   `json:"languages,omitempty"`
			Path      string   `json:"path"`
			Args      []string `json:"args,omitempty"`
			State     string   `json:"state"`
			Linter    bool     `json:"linter,omitempty"`
		}
		out := []listed{}
		for _, s := range all {
			out = append(out, listed{s.Name, s.Languages, s.Path, s.Args, string(s.Standing), s.Linter})
		}
		return json.NewEncoder(p.out).Encode(out)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.err, "no language servers for this folder: install one, such as gopls for Go, or define it in lsp.json")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, s.Standing, prose.Row(s.Languages, 40), prose.Row(strings.Join(append([]string{s.Path}, s.Args...), " "), 80))
	}
	return w.Flush()
}

func lspTestCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "test [NAME]", Short: "Start language servers and say whether they answer", Args: arguments(0, 1),
		Long: `Start the language servers of this folder, or one, and say how long each took to answer. Of one
that fails, the end of its log is shown.

  burin lsp test
  burin lsp test gopls`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, all, err := findLanguageServers(p)
			if err != nil {
				return err
			}
			tested, failed := 0, 0
			for _, s := range all {
				if len(args) > 0 && s.Name != args[0] || s.Standing != host.ServerOn {
					continue
				}
				tested++
				if !testLanguageServer(cmd.Context(), p, h, &s) {
					failed++
				}
			}
			switch {
			case tested == 0 && len(args) > 0:
				return usage("no language server %q in use here: burin lsp shows them", args[0])
			case tested == 0:
				return usage("no language servers in use here: burin lsp shows why")
			case failed > 0:
				return fmt.Errorf("%s did not answer", prose.Count(failed, "language server"))
			}
			return nil
		},
	}
}

func testLanguageServer(ctx context.Context, p *program, h *host.Host, s *host.LanguageServer) bool {
	began := time.Now()
	log, err := host.ProbeLanguageServer(ctx, h, s)
	if err == nil {
		fmt.Fprintf(p.out, "%s answers, after %s\n", s.Name, time.Since(began).Round(time.Millisecond))
		return true
	}
	fmt.Fprintf(p.err, "%v\n", err)
	if log != "" {
		fmt.Fprintln(p.err, log)
	}
	return false
}
