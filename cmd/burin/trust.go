package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/prose"
)

func trustCommand(p *program) *cobra.Command {
	var allow, refuse, forget, asJSON bool
	cmd := &cobra.Command{
		Use:   "trust [FILE...]",
		Short: "List what this folder would run, and trust it or not",
		Long: `List the hooks that this folder and the setups of other programs would run, the shell
lines of its commands, its MCP servers, and settings of the project that run something, reach out or loosen rules,
with what you have decided about them. Nothing of it takes effect before you trust it. What you trust is its content: when that
changes, it needs your trust again.

  burin trust
  burin trust --allow .claude/settings.json
  burin trust --refuse
  burin trust --forget

Without a file the decision is for all that is listed.`,
		RunE: func(_ *cobra.Command, args []string) error {
			state, err := decision(allow, refuse, forget)
			if err != nil {
				return err
			}
			return decideTrust(p, state, args, allow || refuse || forget, asJSON)
		},
	}
	cmd.Flags().BoolVar(&allow, "allow", false, "trust it")
	cmd.Flags().BoolVar(&refuse, "refuse", false, "never run it, and don't ask")
	cmd.Flags().BoolVar(&forget, "forget", false, "forget what was decided")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func decision(allow, refuse, forget bool) (trust.State, error) {
	n, state := 0, trust.Unknown
	for _, d := range []struct {
		given bool
		state trust.State
	}{{allow, trust.Trusted}, {refuse, trust.Refused}, {forget, trust.Unknown}} {
		if d.given {
			n, state = n+1, d.state
		}
	}
	if n > 1 {
		return "", usage("--allow, --refuse and --forget contradict each other: give one")
	}
	return state, nil
}

// decideTrust lists what runs, and decides about it.
func decideTrust(p *program, state trust.State, files []string, decide, asJSON bool) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	all, err := h.Wanted()
	if err != nil {
		return err
	}
	if len(files) > 0 {
		var some []host.Wanted
		for _, file := range files {
			before := len(some)
			for _, w := range all {
				if w.File() == file || w.Path == file {
					some = append(some, w)
				}
			}
			if len(some) == before {
				return usage("%s: nothing in it would run: burin trust lists the files", file)
			}
		}
		all = some
	}
	if decide {
		if err := h.Decide(state, all); err != nil {
			return err
		}
		for i := range all {
			all[i].State = state
		}
	}
	if asJSON {
		if all == nil {
			all = []host.Wanted{}
		}
		return json.NewEncoder(p.out).Encode(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.err, "nothing here runs by itself")
		return nil
	}
	for _, w := range all {
		fmt.Fprintf(p.out, "%s (%s): %s\n", w.Path, w.Owner, stateWords(w.State))
		for line := range strings.SplitSeq(w.What, "\n") {
			fmt.Fprintf(p.out, "  %s\n", prose.Inline(line))
		}
	}
	return nil
}

func stateWords(s trust.State) string {
	switch s {
	case trust.Trusted:
		return "trusted"
	case trust.Refused:
		return "refused"
	case trust.Changed:
		return "changed since you trusted it, no effect"
	case trust.Unknown:
	}
	return "not decided, no effect"
}
