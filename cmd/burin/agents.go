package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

func agentsCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "agents [NAME]",
		Short: "List the agents that a model can start, or show one",
		Long: `List the agents that a model can start with the tool task: those that are part of burin, yours,
and those of the project and of other programs, with what is wrong with some. NAME shows one:
what it may use, and its prompt.

  burin agents
  burin agents review
  burin agents --json`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return showAgents(p, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listedAgent is an agent in JSON.
type listedAgent struct {
	Name        string          `json:"name"`
	Aliases     []string        `json:"aliases,omitempty"`
	Description string          `json:"description"`
	Source      string          `json:"source"`
	Path        string          `json:"path,omitempty"` // "" is part of burin
	Used        bool            `json:"used"`
	Trusted     bool            `json:"trusted"`
	Why         string          `json:"why,omitempty"` // of what isn't used
	Models      []string        `json:"models,omitempty"`
	Thinking    llm.Level       `json:"thinking,omitempty"`
	Tools       []string        `json:"tools"` // null is all of the session's
	Spawns      []string        `json:"spawns,omitempty"`
	Skills      []string        `json:"skills,omitempty"`
	Blocking    bool            `json:"blocking,omitempty"`
	Requests    int             `json:"requests,omitempty"`
	Isolated    *bool           `json:"isolated,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	ACP         []string        `json:"acp,omitempty"`    // the program that does the work
	Prompt      string          `json:"prompt,omitempty"` // of one that was asked for
}

func listed(d *subagent.Definition) listedAgent {
	return listedAgent{
		Name: d.Name, Aliases: d.Aliases, Description: d.Description, Source: d.Source, Path: d.Path,
		Used: d.Status() == "", Trusted: d.Trusted, Why: d.Status(), Models: d.Models, Thinking: d.Thinking, Tools: d.Tools,
		Spawns: d.Spawns, Skills: d.Skills, Blocking: d.Blocking, Requests: d.Requests, Isolated: d.Isolated, Output: d.Output, ACP: d.ACP,
	}
}

func showAgents(p *program, args []string, asJSON bool) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		d, err := host.AgentsOf(h).Get(args[0])
		if err != nil {
			return usage("%w: burin agents lists them", err)
		}
		if asJSON {
			one := listed(d)
			one.Prompt = d.Prompt
			return p.writeJSON(one)
		}
		_, err = fmt.Fprint(p.out, prose.Clean(d.Show(), 4))
		return err
	}
	set, warnings, err := host.AgentsOf(h).Find()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		p.warn(words.Line(w))
	}
	if asJSON {
		all := []listedAgent{}
		for _, d := range set.List() {
			all = append(all, listed(d))
		}
		return p.writeJSON(all)
	}
	tw := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, d := range set.List() {
		note := "model " + cmp.Or(strings.Join(d.Models, ", "), "the session's")
		if status := d.Status(); status != "" {
			note = "not used: " + status
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", d.Name, d.Source, words.Line(note))
	}
	return tw.Flush()
}
