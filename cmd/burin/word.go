package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/fuzzy"
)

// firstPrompt is the prompt that words behind burin make; "" is none. marked says that
// "--" stands before them, which makes a prompt of anything.
//
// Decided: burin "fix the bug" begins with that, and so does burin hello. One word is
// refused only where somebody is likely to want something else of it, because a
// prompt costs money and may change files: where it is nearly a command, a command
// below another one, what programs of this kind call a command, or a file or folder.
// Of several words the first is looked at for the near miss only: burin sesions list.
func firstPrompt(root *cobra.Command, args []string, marked bool) (string, error) {
	text := strings.TrimSpace(strings.Join(args, " "))
	if text == "" || marked || strings.ContainsAny(args[0], " \t\n") {
		return text, nil
	}
	word := args[0]
	if near := nearCommand(root, word, len(args) == 1); near != "" {
		return "", usage("unknown command %q: did you mean burin %s? To send it as a prompt write burin -- %s", word, near, text)
	}
	if len(args) > 1 {
		return text, nil
	}
	if instead := instead(root, word); instead != "" {
		return "", usage("unknown command %q: %s. To send it as a prompt write burin -- %s", word, instead, word)
	}
	if info, err := os.Stat(word); err == nil && info.IsDir() {
		return "", usage("%s is a folder: go there with cd, and write burin. To send it as a prompt write burin -- %s", word, word)
	} else if err == nil {
		return "", usage("%s is a file: say what to do with it, as in burin \"explain @%s\". To send it as a prompt write burin -- %s", word, word, word)
	}
	return text, nil
}

// nearCommand is the command that a word is likely a slip of, "" if it is of none.
// alone says that nothing follows it: then it may also be the beginning of a name.
func nearCommand(root *cobra.Command, word string, alone bool) string {
	word = strings.ToLower(word)
	if word == "log" && !alone {
		return "" // "log every request" is a prompt, as likely as it is burin logs
	}
	const most = 2
	best, least := "", most+1
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		name := c.Name()
		slips := fuzzy.Distance(word, name, most)
		if alone && len(word) >= 3 && strings.HasPrefix(name, word) {
			slips = min(slips, 1)
		}
		allowed := 1
		if len(name) > 7 {
			allowed = most
		}
		if slips <= allowed && slips < least {
			best, least = name, slips
		}
	}
	return best
}

// instead is what to write for a word that people know as a command, "" if there is no
// reason to think that it is meant as one.
func instead(root *cobra.Command, word string) string {
	for _, c := range root.Commands() {
		if slices.ContainsFunc(c.Commands(), func(below *cobra.Command) bool { return below.Name() == word && !below.Hidden }) {
			return "use burin " + c.Name() + " " + word
		}
	}
	switch word {
	case "version":
		return "use burin --version"
	case "continue":
		return "use burin --continue"
	case "ask", "chat", "exec", "print", "query", "run":
		return "burin \"...\" begins with a prompt, burin -p \"...\" prints the answer"
	case "configure", "settings":
		return "use burin config, or /settings in the terminal"
	case "setup", "init":
		return "/" + word + " in the terminal does that"
	case "auth", "signin":
		return "use burin login"
	case "signout":
		return "use burin logout"
	case "cost", "costs", "stats":
		return "use burin usage"
	case "history":
		return "use burin sessions"
	case "install", "uninstall", "update", "upgrade":
		return "burin is installed and updated the way you got it"
	case "acp", "mcp", "plugin", "plugins", "serve", "server", "web":
		return "burin does not have it"
	}
	return ""
}
