package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// manCommand writes the man pages, for packages: burin(1) and one page for each command
// and topic, from the texts that burin help shows.
func manCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the man pages into a folder", Hidden: true, Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := manPages(cmd.Root())
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write the man pages: %w", err)
			}
			for name, text := range pages {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
					return fmt.Errorf("write the man pages: %w", err)
				}
			}
			fmt.Fprintf(p.out, "%d pages written to %s\n", len(pages), args[0])
			return nil
		},
	}
}

// manPages are the man pages by their files' names.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		short := cmd.Short
		text := helpOf(cmd)
		if cmd == root {
			_, text, _ = strings.Cut(text, "\n")
			text += "\n# Flags\n" + flagTable(root.LocalFlags())
		}
		pages[name+".1"] = roff(name, 1, strings.ToLower(short[:1])+short[1:], text)
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				add(c)
			}
		}
	}
	add(root)
	for _, topic := range topics() {
		text, _ := page(root, topic)
		title, rest, _ := strings.Cut(text, "\n")
		_, title, _ = strings.Cut(title, ": ")
		pages["burin-help-"+topic+".7"] = roff("burin-help-"+topic, 7, title, rest)
	}
	return pages
}

// roff is a page for man.
func roff(name string, section int, title, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %d \"\" \"burin\" \"burin\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", strings.ToUpper(name), section, escaped(name), escaped(title))
	literal, pending := false, false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, " ")
		if literal && !indented && line != "" {
			b.WriteString(".fi\n.RE\n")
			literal = false
		}
		switch heading, is := strings.CutPrefix(line, "# "); {
		case line == "":
			pending = true
			continue
		case is:
			fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(escaped(heading)))
		case indented && !literal:
			b.WriteString(".PP\n.RS 2\n.nf\n" + escaped(line[2:]) + "\n")
			literal = true
		case indented:
			if pending {
				b.WriteString("\n")
			}
			b.WriteString(escaped(line[min(2, len(line)):]) + "\n")
		default:
			b.WriteString(".PP\n" + escaped(line) + "\n")
		}
		pending = false
	}
	if literal {
		b.WriteString(".fi\n.RE\n")
	}
	return b.String()
}

// escaped is text that man takes for nothing but text.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
