package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
)

// agentsFlags are the flags that hold for an external agent: those of burin around it.
var agentsFlags = []string{
	"print", "mode", "input-format", "approval", "allow", "deny", "sandbox", "allow-host", "add-dir", "max-turns", "max-cost",
	"no-session", "no-secrets", "continue", "resume", "session", "seal", "steps", "prompt", "agent-env", "agent-name", "help",
}

// acpRunCommand has another agent answer in place of a model.
func acpRunCommand(p *program) *cobra.Command {
	var a askFlags
	var prompt, name string
	var env []string
	cmd := &cobra.Command{
		Use:   "acp-run [flags] COMMAND [ARGS...]",
		Short: "Work with another agent that speaks the Agent Client Protocol",
		Long: `Work with another agent that speaks the Agent Client Protocol: it answers in place of a
model, in burin's terminal, sessions, permissions, undo and cost limit. Flags of burin stand
before COMMAND; burin help flags lists more. docs/acp-run.md says what burin can't hold.

  burin acp-run npx @zed-industries/claude-code-acp
  burin acp-run --agent-env GEMINI_API_KEY gemini --experimental-acp
  burin acp-run -p --prompt "why does it fail?" --approval plan gemini --acp`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name the agent's command: burin acp-run npx @zed-industries/claude-code-acp")
			}
			var foreign []string
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if !slices.Contains(agentsFlags, f.Name) {
					foreign = append(foreign, "--"+f.Name)
				}
			})
			if len(foreign) > 0 {
				return usage("%s is for models: an agent has its own model, instructions and tools", strings.Join(foreign, ", "))
			}
			if a.mode == modeACP {
				return usage("--mode acp serves an editor: let it start the agent itself")
			}
			if err := a.checkMode(nil); err != nil {
				return err
			}
			for _, v := range env {
				if variable, _, _ := strings.Cut(v, "="); variable == "" {
					return usage("--agent-env: want NAME or NAME=VALUE, not %q", v)
				}
			}
			a.external = &bench.External{Name: agentName(name, args), Command: args, Env: env, Version: version()}
			var words []string
			if prompt != "" {
				words = []string{prompt}
			}
			switch {
			case a.serves():
				return p.serve(cmd.Context(), a, words)
			case a.print, a.mode == string(print.JSON):
				return p.ask(cmd.Context(), a, words)
			}
			tty, err := terminal.Open()
			if err != nil {
				return usage("%w: to ask without one write burin acp-run -p --prompt \"...\" COMMAND", err)
			}
			defer tty.Close()
			return p.talk(cmd.Context(), a, prompt, tty)
		},
	}
	a.register(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&prompt, "prompt", "", "the first prompt; with -p also from standard input")
	f.StringArrayVar(&env, "agent-env", nil, "a variable that the agent gets: NAME, with burin's value, or NAME=VALUE; repeatable")
	f.StringVar(&name, "agent-name", "", "what burin calls the agent; default is the name of its program")
	f.SetInterspersed(false) // what stands behind the agent's command is the agent's
	f.VisitAll(func(f *pflag.Flag) {
		f.Hidden = !slices.Contains([]string{"print", "prompt", "agent-env", "agent-name", "approval", "max-cost"}, f.Name)
	})
	return cmd
}

// agentName is what the agent is called: as it is told, else as its program or the package that
// npx and its like run.
func agentName(given string, command []string) string {
	name := given
	if name == "" {
		name = filepath.Base(command[0])
		if slices.Contains([]string{"npx", "bunx", "uvx", "pnpx", "pipx"}, name) {
			for _, arg := range command[1:] {
				if !strings.HasPrefix(arg, "-") && arg != "run" {
					name, _, _ = strings.Cut(arg[strings.LastIndexByte(arg, '/')+1:], "@")
					break
				}
			}
		}
	}
	name = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(name, "-"), "-")
	if name == "" {
		return "agent"
	}
	return name
}
