package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/prose"
)

// familyFiles are the settings of the pi family on this machine.
func familyFiles(p *program) map[string]string {
	home, _ := os.UserHomeDir() // without one there are none
	return discover.FamilySettings(discover.Options{UserHome: home, Getenv: p.getenv})
}

func configImport(p *program) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "import PROGRAM|FILE",
		Short: "Take over settings of pi, oh-my-pi, arcane or gajae",
		Long: `Take over the settings of pi, oh-my-pi, arcane or gajae that burin has too, from that program's
settings.json or config.yml, or from a file of that kind. Settings that you have in config.yml
stay. burin says what it takes over and what it doesn't have. With --dry-run nothing is written.`,
		Args: arguments(1, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Sorted(maps.Keys(familyFiles(p))), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path := args[0]
			if files := familyFiles(p); files[path] != "" {
				path = files[path]
			} else if _, err := os.Stat(path); err != nil {
				return usage("%s is neither a file nor a program with settings here: %s", path, nameOr(slices.Sorted(maps.Keys(files)), "none of pi, oh-my-pi, arcane and gajae has any"))
			}
			return importSettings(p, path, dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be taken over, and write nothing")
	return cmd
}

func nameOr(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}

// importSettings takes over the settings of a file, and reports it.
func importSettings(p *program, path string, dry bool) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	dir := h.Paths().Config
	a, err := discover.ReadSettings(path)
	if err != nil {
		return err
	}
	var wrote, kept []string
	if !dry {
		if wrote, kept, err = a.Write(dir); err != nil {
			return err
		}
	}
	for _, e := range a.Values {
		if dry || slices.Contains(wrote, e.Key) {
			fmt.Fprintf(p.out, "%s: %s\n", e.Key, prose.Inline(shortValue(e)))
		}
	}
	if dry {
		fmt.Fprintf(p.err, "%s could be taken over from %s\n", prose.Count(len(a.Values), "setting"), path)
	} else {
		fmt.Fprintf(p.err, "%s taken over from %s into %s\n", prose.Count(len(wrote), "setting"), path, config.File(dir))
	}
	if len(kept) > 0 {
		fmt.Fprintf(p.err, "kept as you have them: %s\n", strings.Join(kept, ", "))
	}
	if len(a.Left) > 0 {
		fmt.Fprintf(p.err, "not taken over: %s\n", prose.Inline(strings.Join(a.Left, ", ")))
	}
	return nil
}

func configMigrate(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Rewrite old names and values in config.yml",
		Long: `Rewrite names and values in config.yml that the pi family or an older burin used and that have
other names today. burin understands them as they are; this keeps the file tidy. A copy of the
old file is kept as config.yml.bak.`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			copied, told, err := config.Migrate(h.Paths().Config)
			if err != nil {
				return err
			}
			if copied == "" {
				fmt.Fprintln(p.err, "config.yml has no old names or values")
				return nil
			}
			for _, t := range told {
				fmt.Fprintln(p.out, t)
			}
			fmt.Fprintf(p.err, "the file as it was: %s\n", copied)
			return nil
		},
	}
}
