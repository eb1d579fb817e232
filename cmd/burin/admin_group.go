package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// groupCommand manages groups.
func groupCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Manage groups: which models people may use, and for how much",
		Long: `Manage groups. Whoever is in several may use the models that all of them allow, within the
smallest budget.

  burin admin group set students --model 'anthropic/*' --budget 5
  burin admin group join students ann
  burin admin group list`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listGroups(cmd.Context(), p, false) },
	}
	asJSON := false
	list := &cobra.Command{
		Use: "list", Short: "List the groups", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listGroups(cmd.Context(), p, asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	var models []string
	budget := none
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a group, or change its models and budget",
		Long: `Make a group, or change its models and budget. Without flags all models are allowed, and
there is no budget.

  burin admin group set students --model 'anthropic/*' --budget 5`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			usd, err := readBudget(budget)
			if err != nil {
				return err
			}
			return done(p, "Saved.", withPeople(cmd.Context(), p, func(all *people.People) error {
				return explained(all.Groups().Set(cmd.Context(), commandLine(), args[0], models, usd))
			}))
		},
	}
	set.Flags().StringArrayVar(&models, "model", nil, "a selector of models that members may use; repeatable")
	set.Flags().StringVar(&budget, "budget", budget, "dollars that each member may spend in a month, or none")
	change := func(use, short, said string, do func(context.Context, people.Groups, []string, people.Person) error, n int) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: arguments(n, n),
			RunE: func(cmd *cobra.Command, args []string) error {
				if n == 1 {
					return done(p, said, withPeople(cmd.Context(), p, func(all *people.People) error {
						return explained(do(cmd.Context(), all.Groups(), args, people.Person{}))
					}))
				}
				return done(p, said, withPerson(cmd.Context(), p, args[1], func(all *people.People, one people.Person) error {
					return do(cmd.Context(), all.Groups(), args, one)
				}))
			},
		}
	}
	cmd.AddCommand(list, set,
		change("remove NAME", "Remove a group; its members stay", "Removed.", func(ctx context.Context, g people.Groups, args []string, _ people.Person) error {
			return g.Remove(ctx, commandLine(), args[0])
		}, 1),
		change("join NAME PERSON", "Add a person to a group", "Added.", func(ctx context.Context, g people.Groups, args []string, one people.Person) error {
			return g.Join(ctx, commandLine(), args[0], one.ID)
		}, 2),
		change("leave NAME PERSON", "Take a person out of a group", "Removed.", func(ctx context.Context, g people.Groups, args []string, one people.Person) error {
			return g.Leave(ctx, commandLine(), args[0], one.ID)
		}, 2))
	return cmd
}

// none is no limit, on the command line and in lists.
const none = "none"

// readBudget reads dollars; nil is no budget.
func readBudget(text string) (*llm.USD, error) {
	if text == none {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1e9 {
		return nil, usage("--budget: must be dollars, such as 5 or 0.50, or none, not %q", text)
	}
	usd := llm.Dollars(n)
	return &usd, nil
}

func listGroups(ctx context.Context, p *program, asJSON bool) error {
	return withPeople(ctx, p, func(all *people.People) error {
		list, err := all.Groups().List(ctx)
		if err != nil || asJSON {
			return errors.Join(err, p.writeJSON(list))
		}
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tBUDGET\tMODELS\tMEMBERS")
		for _, g := range list {
			models := "all"
			if len(g.Models) > 0 {
				models = prose.Inline(strings.Join(g.Models, ", "))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", g.Name, budgetText(g.Budget), models, shown(strings.Join(g.Members, ", "), ""))
		}
		return w.Flush()
	})
}

func budgetText(usd *llm.USD) string {
	if usd == nil {
		return none
	}
	return usd.String()
}

func quotaCommand(p *program) *cobra.Command {
	budget, storage, turns := "", "", ""
	cmd := &cobra.Command{
		Use:   "quota NAME",
		Short: "Show or change what a person may use",
		Long: `Show or change what a person may use: dollars a month, gigabytes that are stored, turns at
the same time. "none" is no limit. The budgets of their groups hold, too.

  burin admin quota ann
  burin admin quota ann --budget 20 --storage 5 --turns none`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withPerson(cmd.Context(), p, args[0], func(all *people.People, one people.Person) error {
				return changeQuota(cmd.Context(), p, all, one, budget, storage, turns)
			})
		},
		ValidArgsFunction: completePeople(p),
	}
	cmd.Flags().StringVar(&budget, "budget", "", "dollars in a month, or none")
	cmd.Flags().StringVar(&storage, "storage", "", "gigabytes, or none")
	cmd.Flags().StringVar(&turns, "turns", "", "turns at the same time, or none")
	return cmd
}

// changeQuota changes what was given, and shows what is.
func changeQuota(ctx context.Context, p *program, all *people.People, one people.Person, budget, storage, turns string) error {
	is, err := all.Groups().Quota(ctx, one.ID)
	if err != nil {
		return err
	}
	if budget != "" {
		if is.Budget, err = readBudget(budget); err != nil {
			return err
		}
	}
	switch {
	case storage == none:
		is.Storage = nil
	case storage != "":
		n, err := strconv.ParseFloat(storage, 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > 1e6 {
			return usage("--storage: must be gigabytes, such as 5 or 0.5, or none, not %q", storage)
		}
		bytes := int64(n * 1e9)
		is.Storage = &bytes
	}
	switch {
	case turns == none:
		is.Turns = nil
	case turns != "":
		n, err := strconv.Atoi(turns)
		if err != nil || n < 0 {
			return usage("--turns: must be a number from 0, or none, not %q", turns)
		}
		is.Turns = &n
	}
	if budget+storage+turns != "" {
		if err := all.Groups().SetQuota(ctx, commandLine(), one.ID, is); err != nil {
			return err
		}
	}
	stored, at := none, none
	if is.Storage != nil {
		stored = strconv.FormatFloat(float64(*is.Storage)/1e9, 'f', -1, 64) + " GB"
	}
	if is.Turns != nil {
		at = strconv.Itoa(*is.Turns)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "STORAGE\tTURNS\tBUDGET A MONTH\n%s\t%s\t%s\n", stored, at, budgetText(is.Budget))
	return w.Flush()
}
