package main

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/prose"
)

// The pages of burin help and the man pages are the same texts. A line that begins with
// "# " is a heading, one that begins with a space stays as it is, the others are
// paragraphs. root.txt is the first page.
//
//go:embed help/*.txt
var helpPages embed.FS

// helpWidth is how wide help is at most, whatever the terminal: as wide as any has.
const helpWidth = 80

// topics are the pages in the order in which one reads them.
func topics() []string {
	return []string{"start", "keys", "models", "approval", "config", "sessions", "keyboard", "scripts", "flags"}
}

// page is a page of help as it was written.
func page(root *cobra.Command, name string) (text string, ok bool) {
	if !slices.Contains(topics(), name) {
		return "", false
	}
	if name == "flags" {
		return "flags: all flags of burin\n\n" + flagTable(root.LocalFlags()), true
	}
	b, err := helpPages.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a topic without a page: a mistake of this file
	}
	text = string(b)
	if name == "keys" {
		text += variableTable()
	}
	return text, true
}

// wrapped is a page for a terminal.
func wrapped(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch heading, is := strings.CutPrefix(line, "# "); {
		case is:
			b.WriteString(strings.ToUpper(heading) + "\n")
		case strings.HasPrefix(line, " "), line == "":
			b.WriteString(line + "\n")
		default:
			b.WriteString(fold(line, helpWidth, "") + "\n")
		}
	}
	return b.String()
}

// fold breaks words into lines of at most width columns, and puts indent before all but
// the first.
func fold(text string, width int, indent string) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		switch n := len([]rune(word)); {
		case used == 0:
			used = n
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = n
		default:
			b.WriteByte(' ')
			used += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

// joined are the lines of a text with those of a paragraph in one, as pages have them.
func joined(text string) string {
	var out []string
	paragraph := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		plain := line != "" && !strings.HasPrefix(line, " ")
		if plain && paragraph {
			out[len(out)-1] += " " + line
		} else {
			out = append(out, line)
		}
		paragraph = plain
	}
	return strings.Join(out, "\n")
}

// flagTable lists flags, those of people's everyday first where they have a letter.
func flagTable(flags *pflag.FlagSet) string {
	var names [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + strings.ToUpper(cmp.Or(map[string]string{"strings": "list", "int": "number", "float": "number", "string": "value", "stringArray": "value"}[value], value))
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
			help += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		names = append(names, [2]string{name, help})
	})
	return columns(names, 24)
}

// variableTable names the variables of each provider.
func variableTable() string {
	var rows [][2]string
	for _, provider := range credential.Providers() {
		var names []string
		for _, v := range credential.Variables(provider) {
			names = append(names, v.Name)
		}
		rows = append(rows, [2]string{provider, strings.Join(slices.Compact(names), ", ")})
	}
	return columns(rows, 24)
}

// columns are names with a text beside them. A name that is too long has a line of its own.
func columns(rows [][2]string, most int) string {
	width := 0
	for _, r := range rows {
		if n := len(r[0]); n <= most {
			width = max(width, n)
		}
	}
	indent := strings.Repeat(" ", width+4)
	var b strings.Builder
	for _, r := range rows {
		text := strings.ReplaceAll(fold(r[1], helpWidth-len(indent), ""), "\n", "\n"+indent)
		if len(r[0]) > width {
			fmt.Fprintf(&b, "  %s\n%s%s\n", r[0], indent, text)
			continue
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, r[0], text)
	}
	return b.String()
}

// helpOf is what a command's own help says, as a page.
func helpOf(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		b, err := helpPages.ReadFile("help/root.txt")
		if err != nil {
			panic(err) // embedded
		}
		return string(b)
	}
	var b strings.Builder
	fmt.Fprintln(&b, joined(cmp.Or(cmd.Long, cmd.Short+".")))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	fmt.Fprintf(&b, "\n# Usage\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		var rows [][2]string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				rows = append(rows, [2]string{c.Name(), c.Short})
			}
		}
		fmt.Fprintf(&b, "\n# Commands\n%s", columns(rows, 24))
	}
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, "\n# Flags\n%s", flagTable(flags))
	}
	return b.String()
}

// setHelp has all commands speak in the words of the pages.
func setHelp(root *cobra.Command, out io.Writer) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(out, wrapped(helpOf(cmd))) })
	root.SetHelpCommand(helpCommand(out))
}

func helpCommand(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "help [TOPIC | COMMAND]",
		Short: "Explain a topic, or what a command does and which flags it takes",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := topics()
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() && !slices.Contains(names, c.Name()) {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			found, rest, err := root.Find(args)
			isCommand := err == nil && len(rest) == 0
			if len(args) == 1 {
				if text, ok := page(root, args[0]); ok {
					fmt.Fprint(out, wrapped(text))
					if isCommand {
						fmt.Fprintf(out, "\nburin %s --help: flags and commands of burin %s\n", args[0], args[0])
					}
					return nil
				}
			}
			switch {
			case isCommand:
				return found.Help()
			case found != nil && len(rest) > 0:
				if near := nearCommand(found, rest[0], true); near != "" {
					return usage("unknown command %q: did you mean %s %s?", strings.Join(args, " "), found.CommandPath(), near)
				}
			}
			return usage("unknown topic or command %q (topics: %s)", prose.Inline(strings.Join(args, " ")), strings.Join(topics(), ", "))
		},
	}
}
