package main

import (
	"bytes"
	"io"
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
		Long: `Write the script that lets a shell complete burin's commands and flags, and what is yours:
models, sessions, settings, skills and commands of a prompt, files behind "@".

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
				return writeBash(p.out, root)
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

// bashWords stands in for what the package bash-completion has, which many machines lack: it finds
// the words up to the cursor, with those put together again that bash takes apart at "=", ":"
// and "@".
const bashWords = `local line=${COMP_LINE:0:COMP_POINT} rest word i
    words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:space:]]*}"} word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$rest
        if ((cword >= 0)) && [[ $rest == "$line" ]]; then
            words[cword]+=$word
        else
            words[++cword]=$word
        fi
        line=${rest#"$word"}
    done
    cur=${words[cword]} prev=
    ((cword > 0)) && prev=${words[cword-1]}
    return 0`

// writeBash writes cobra's script for bash so that it works without bash-completion, and with
// words that begin with "@".
func writeBash(out io.Writer, root *cobra.Command) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	_, err := strings.NewReplacer(
		`_get_comp_words_by_ref "$@" cur prev words cword`, bashWords,
		"_init_completion -n =:", "_init_completion -n =:@",
	).WriteString(out, script.String())
	return err
}

// completeAsk offers values for those flags of a prompt that a command has, and its commands
// and files.
func completeAsk(p *program, cmd *cobra.Command) {
	models := p.offer(modelRefs)
	var levels []string
	for _, l := range llm.Levels() {
		levels = append(levels, string(l))
	}
	cmd.ValidArgsFunction = offerPrompt(p)
	for flag, complete := range map[string]cobra.CompletionFunc{
		"mode": values("text", "json", modeACP), "thinking": values(levels...), "api": values(host.APIs()...),
		"service-tier": values(catalog.ServiceTiers()...), "web-search": values("auto", "model"),
		"model": models, "smol": models, "slow": models, "plan": models,
		"approval": choices("approval"), "sandbox": choices("sandbox.mode"), "edit-engine": choices("edit.mode"),
		"resume": func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return offerSessions(p)(cmd, nil, typed)
		},
	} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // it is registered twice: a mistake of this file
		}
	}
}

// choices offers what a setting may be.
func choices(key string) cobra.CompletionFunc {
	s, _ := config.Find(key)
	return values(s.Choices...)
}

// values offers a fixed choice.
func values(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// offer offers what list takes from the models.
func (p *program) offer(list func(*connect.Models) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return fitting(typed, fromModels(p, list)), cobra.ShellCompDirectiveNoFileComp
	}
}

// fromModels gives what list takes from the models. A shell shows nothing of an error, so a
// bad file means a shorter list.
func fromModels(p *program, list func(*connect.Models) []string) []string {
	models, _ := p.models()
	if models == nil {
		return nil
	}
	defer models.Close()
	return list(models)
}

// modelRefs are the names of all models.
func modelRefs(m *connect.Models) (refs []string) {
	for _, model := range m.Catalog.Registry.All() {
		refs = append(refs, model.Ref())
	}
	return refs
}

func providerNames(m *connect.Models) []string { return m.Catalog.Registry.Providers() }

// offerProviders completes the argument of commands that want a provider.
func (p *program) offerProviders() cobra.CompletionFunc { return p.offer(providerNames) }

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
