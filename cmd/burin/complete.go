package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/llm"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func completionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Write the completion script for bash, zsh, fish or powershell",
		Long: `Write the script that lets a shell complete burin's commands, flags and models.

  bash        source <(burin completion bash)
  zsh         source <(burin completion zsh)
  fish        burin completion fish | source
  powershell  burin completion powershell | Out-String | Invoke-Expression

Put the line into the shell's start-up file to have it in every session.`,
		Args:              arguments(1, 1),
		ValidArgsFunction: values(shells...),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.out, true)
			case "zsh":
				return root.GenZshCompletion(p.out)
			case "fish":
				return root.GenFishCompletion(p.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.out)
			}
			return usage("no completion for shell %q (want %s)", args[0], strings.Join(shells, ", "))
		},
	}
}

// completeAsk offers values for the flags of a prompt.
func completeAsk(p *program, root *cobra.Command) {
	models := p.offer(func(m *connect.Models) []string {
		var refs []string
		for _, model := range m.Catalog.Registry.All() {
			refs = append(refs, model.Ref())
		}
		return refs
	})
	var levels []string
	for _, l := range llm.Levels() {
		levels = append(levels, string(l))
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"mode": values("text", "json", modeACP), "thinking": values(levels...), "api": values(host.APIs()...),
		"service-tier": values(catalog.ServiceTiers()...), "web-search": values("auto", "model"),
		"model": models, "smol": models, "slow": models, "plan": models,
	} {
		if err := root.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // a flag of that name is not registered: a mistake of this file
		}
	}
}

// values offers a fixed choice.
func values(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// offer offers what list takes from the models, as far as it fits what is typed.
// A shell shows nothing of an error, so a bad file means a shorter list.
func (p *program) offer(list func(*connect.Models) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		models, _ := p.models()
		if models == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer models.Close()
		fits := slices.DeleteFunc(list(models), func(s string) bool { return !strings.HasPrefix(s, typed) })
		return fits, cobra.ShellCompDirectiveNoFileComp
	}
}

// offerProviders completes the argument of commands that want a provider.
func (p *program) offerProviders() cobra.CompletionFunc {
	return p.offer(func(m *connect.Models) []string { return m.Catalog.Registry.Providers() })
}

// themeFolder is where the user's themes are.
func themeFolder(p *program) (string, error) {
	paths, err := config.FindPaths(p.getenv)
	return filepath.Join(paths.Config, "themes"), err
}

// themeNames are the names of the themes.
func themeNames(p *program) []string {
	names := theme.Names()
	if dir, err := themeFolder(p); err == nil {
		names = append(names, theme.List(dir)...)
	}
	return names
}

// offerThemes completes the name of a theme.
func offerThemes(p *program) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return fitting(typed, themeNames(p)), cobra.ShellCompDirectiveNoFileComp
	}
}

// fitting are the words that begin with what is typed. What stands behind a tab describes one.
func fitting(typed string, words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
}
