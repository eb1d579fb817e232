package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/fuzzy"
)

// wrongFlag says what is wrong with a flag in words that are no programmer's.
func wrongFlag(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = name[1:]
		}
		where := cmd.CommandPath() + " --help"
		if !cmd.HasParent() {
			where = "burin help flags"
		}
		if near := nearFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			return usage("unknown flag %s for %s: did you mean --%s?", name, cmd.CommandPath(), near)
		}
		if instead := flagInstead(unknown.GetSpecifiedName()); instead != "" && !cmd.HasParent() {
			return usage("unknown flag %s: %s; see %s", name, instead, where)
		}
		return usage("unknown flag %s for %s; see %s", name, cmd.CommandPath(), where)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usage("--%s needs a value", missing.GetFlag().Name)
	}
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return usageError{Err: err}
	}
	name, value := bad.GetFlag().Name, bad.GetValue()
	wanted := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false"}[bad.GetFlag().Value.Type()]
	switch {
	case errors.Is(err, strconv.ErrRange):
		return usage("--%s: %s is too large", name, value)
	case wanted != "":
		return usage("--%s: %q is not %s", name, value, wanted)
	}
	return usage("--%s: %q: %w", name, value, bad.Unwrap())
}

// nearFlag is the flag that name is likely a slip of, "" if it is of none.
func nearFlag(cmd *cobra.Command, name string) string {
	const most = 2
	best, least := "", most+1
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := fuzzy.Distance(strings.ToLower(name), f.Name, most); !f.Hidden && d < least && 2*d < len(name) {
			best, least = f.Name, d
		}
	})
	return best
}

// flagInstead says what does here what a flag of another program does; "" if it is none
// that people write often.
func flagInstead(name string) string {
	switch name {
	case "dangerously-skip-permissions", "dangerously-bypass-approvals-and-sandbox", "yolo":
		return "write --approval full"
	case "permission-mode", "approval-mode", "ask-for-approval", "full-auto":
		return "write --approval plan, ask, auto-edit or full"
	case "allowedTools", "allowed-tools":
		return `write --allow "bash(go test:*)"; --tools names the tools to offer`
	case "disallowedTools", "disallowed-tools", "exclude-tools":
		return `write --deny "bash(rm:*)"; --tools names the tools to offer`
	case "output-format":
		return "write --mode json, which writes one event a line"
	case "verbose":
		return "write --steps, which shows tool calls"
	case "debug":
		return "burin doctor checks this installation"
	case "provider":
		return "write --model PROVIDER/MODEL"
	case "list-models":
		return "write burin models"
	case "effort":
		return "write --thinking low, medium or high"
	case "max-budget-usd":
		return "write --max-cost"
	case "fallback-model":
		return "retry.fallbackChains in config.yml names fallbacks"
	case "export":
		return "write burin sessions export ID"
	case "fork", "fork-session":
		return "write burin sessions fork ID, or /fork in the terminal"
	case "session-dir", "session-id":
		return "write --session with a folder or a file"
	case "name":
		return "write burin sessions rename, or /rename in the terminal"
	case "cwd", "cd":
		return "go to the folder with cd first"
	case "image":
		return "write @FILE in the prompt"
	case "skill":
		return "name the folder in skills.customDirectories of config.yml"
	case "mcp-config", "extension", "plugin-dir", "agents":
		return "burin does not have it yet"
	}
	return ""
}
