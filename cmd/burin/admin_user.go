package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
)

// linkFlag adds --url, for the links that are printed.
func linkFlag(cmd *cobra.Command, at *string) {
	cmd.Flags().StringVar(at, "url", "", "the address of the server; default that of the last burin serve here")
}

// serverAddress is the address of the server: the one given, or that of the last one here.
func serverAddress(p *program, given string) (string, error) {
	if given != "" {
		if !isServer(given) {
			return "", usage("--url: must begin with http:// or https://, not %q", given)
		}
		return strings.TrimRight(given, "/"), nil
	}
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return "", err
	}
	s, err := readServed(paths)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usage("the server's address is unknown: start burin serve first, or give --url")
	}
	return s.URL, err
}

func linkCommand(p *program) *cobra.Command {
	at := ""
	cmd := &cobra.Command{
		Use:   "link [NAME]",
		Short: "Print a link that signs a browser in once",
		Long: `Print a link that signs a browser in: once, within ten minutes, as the owner of this machine
or as the person you name.

  burin admin link
  burin admin link ann --url https://burin.example.org`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := append(args, people.OwnerID)[0]
			return printLink(p, at, "open", func() (secret string, err error) {
				err = withPerson(cmd.Context(), p, name, func(all *people.People, one people.Person) error {
					if one.Disabled {
						return usage("%s is disabled: burin admin user enable %[1]s", one.Name)
					}
					secret, err = all.Links().Link(cmd.Context(), commandLine(), one.ID)
					return err
				})
				return secret, err
			})
		},
		ValidArgsFunction: completePeople(p),
	}
	linkFlag(cmd, &at)
	return cmd
}

func completePeople(p *program) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return offerPeople(cmd.Context(), p, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// printLink makes the secret of a link and prints the link.
func printLink(p *program, at, kind string, secret func() (string, error)) error {
	address, err := serverAddress(p, at)
	if err != nil {
		return err
	}
	s, err := secret()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s/%s/%s\n", address, kind, s)
	return nil
}

func inviteCommand(p *program) *cobra.Command {
	at, role, days := "", string(people.Member), 7
	cmd := &cobra.Command{
		Use:   "invite",
		Short: "Print a link with which somebody makes an account",
		Long: `Print a link with which somebody makes an account, once. The roles are

  admin   manages people, and does everything with the sessions of this machine
  member  has chats of their own
  viewer  looks

  burin admin invite --role member --days 2
  burin admin invite list`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > maxTokenDays {
				return usage("--days: must be from 1 to %d, not %d", maxTokenDays, days)
			}
			return printLink(p, at, "join", func() (code string, err error) {
				err = withPeople(cmd.Context(), p, func(all *people.People) error {
					code, err = all.Links().Invite(cmd.Context(), commandLine(), people.Role(role), time.Now().AddDate(0, 0, days))
					return explained(err)
				})
				return code, err
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", role, "what they will be: admin, member or viewer")
	cmd.Flags().IntVar(&days, "days", days, "how long it is valid")
	_ = cmd.RegisterFlagCompletionFunc("role", values(roles()...)) // it is there
	linkFlag(cmd, &at)
	asJSON := false
	list := &cobra.Command{
		Use:   "list",
		Short: "List invitations that nobody has used",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withPeople(cmd.Context(), p, func(all *people.People) error {
				found, err := all.Links().Invitations(cmd.Context())
				if err != nil || asJSON {
					return errors.Join(err, p.writeJSON(found))
				}
				w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "ID\tROLE\tMADE\tEXPIRES")
				for _, i := range found {
					fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", i.ID, i.Role, words.Stamp(i.Created), words.Stamp(i.Expires))
				}
				return w.Flush()
			})
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	remove := &cobra.Command{
		Use:   "remove ID",
		Short: "Make an invitation worthless",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usage("%q is not the number of an invitation: burin admin invite list lists them", args[0])
			}
			return done(p, "Removed.", withPeople(cmd.Context(), p, func(all *people.People) error {
				return explained(all.Links().Withdraw(cmd.Context(), commandLine(), id))
			}))
		},
	}
	cmd.AddCommand(list, remove)
	return cmd
}

func roles() []string {
	return []string{string(people.Admin), string(people.Member), string(people.Viewer)}
}

// done says that something was done.
func done(p *program, line string, err error) error {
	if err == nil {
		fmt.Fprintln(p.out, line)
	}
	return err
}

// userCommand manages people.
func userCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "List, add, change and remove people",
		Long: `List, add, change and remove people. The owner of this machine is among them, as "owner",
and stays.

  burin admin user list
  burin admin user add ann --role admin
  burin admin user reset ann`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listPeople(cmd.Context(), p, false) },
	}
	asJSON := false
	list := &cobra.Command{
		Use: "list", Short: "List the people", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listPeople(cmd.Context(), p, asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	// change does something with the person that the first argument names.
	change := func(use, short, said string, most int, do func(context.Context, *people.People, people.Person, []string) error) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: arguments(most, most), ValidArgsFunction: completePeople(p),
			RunE: func(cmd *cobra.Command, args []string) error {
				return done(p, said, withPerson(cmd.Context(), p, args[0], func(all *people.People, one people.Person) error {
					return do(cmd.Context(), all, one, args)
				}))
			},
		}
	}
	yes := false
	remove := change("remove NAME", "Remove a person with all that is theirs, chats too", "Removed. A server that runs removes the chats within a minute.", 1, func(ctx context.Context, all *people.People, one people.Person, _ []string) error {
		if one.ID == people.OwnerID {
			return people.ErrOwner
		}
		if err := p.sure(ctx, yes, fmt.Sprintf("Remove %s with all that is theirs?", one.Name)); err != nil {
			return err
		}
		return all.Remove(ctx, commandLine(), one.ID)
	})
	remove.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	cmd.AddCommand(list, userAddCommand(p), userResetCommand(p), remove,
		change("role NAME ROLE", "Make somebody an admin, a member or a viewer", "Changed.", 2, func(ctx context.Context, all *people.People, one people.Person, args []string) error {
			return all.SetRole(ctx, commandLine(), one.ID, people.Role(args[1]))
		}),
		change("disable NAME", "Keep a person out, and sign them out everywhere", "Disabled.", 1, func(ctx context.Context, all *people.People, one people.Person, _ []string) error {
			return all.Disable(ctx, commandLine(), one.ID)
		}),
		change("enable NAME", "Let a person in again", "Enabled.", 1, func(ctx context.Context, all *people.People, one people.Person, _ []string) error {
			return all.Enable(ctx, commandLine(), one.ID)
		}))
	return cmd
}

func listPeople(ctx context.Context, p *program, asJSON bool) error {
	return withPeople(ctx, p, func(all *people.People) error {
		list, err := all.List(ctx)
		if err != nil || asJSON {
			return errors.Join(err, p.writeJSON(list))
		}
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tROLE\tADDED\tSIGNS IN WITH\tDISPLAY NAME")
		for _, one := range list {
			with := "links"
			switch {
			case one.Disabled:
				with = "nothing: disabled"
			case one.Password && one.SecondFactor:
				with = "password and code"
			case one.Password:
				with = "password"
			}
			if one.Passkeys > 0 && !one.Disabled {
				with = strings.TrimPrefix(with+", ", "links, ") + "passkey"
			}
			if one.Identities > 0 && !one.Disabled {
				with = strings.TrimPrefix(with+", ", "links, ") + "linked account"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", one.Name, one.Role, words.Stamp(one.Created), with, prose.Inline(one.Display))
		}
		return w.Flush()
	})
}

func userAddCommand(p *program) *cobra.Command {
	at, role, display := "", string(people.Member), ""
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a person, and print a link to choose a password with",
		Long: `Add a person, and print a link with which they choose a password within a day.
burin admin invite lets them choose the name, too.

  burin admin user add ann --role admin --display "Ann Other"`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printLink(p, at, "reset", func() (secret string, err error) {
				err = withPeople(cmd.Context(), p, func(all *people.People) error {
					id, err := all.Add(cmd.Context(), commandLine(), args[0], display, people.Role(role))
					if err == nil {
						secret, err = all.Links().Reset(cmd.Context(), commandLine(), id, people.Reset{})
					}
					return explained(err)
				})
				return secret, err
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", role, "admin, member or viewer")
	cmd.Flags().StringVar(&display, "display", "", "the name that others see")
	_ = cmd.RegisterFlagCompletionFunc("role", values(roles()...)) // it is there
	linkFlag(cmd, &at)
	return cmd
}

func userResetCommand(p *program) *cobra.Command {
	at, also := "", people.Reset{}
	cmd := &cobra.Command{
		Use:   "reset NAME",
		Short: "Print a link to choose a new password with",
		Long: `Print a link with which a person chooses a new password within a day. It signs them out
everywhere.

  burin admin user reset ann --second-factor`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printLink(p, at, "reset", func() (secret string, err error) {
				var person people.Person
				err = withPerson(cmd.Context(), p, args[0], func(all *people.People, one people.Person) error {
					person = one
					secret, err = all.Links().Reset(cmd.Context(), commandLine(), one.ID, also)
					return err
				})
				if err == nil {
					err = sayLocked(cmd.Context(), p, person)
				}
				return secret, err
			})
		},
		ValidArgsFunction: completePeople(p),
	}
	cmd.Flags().BoolVar(&also.SecondFactor, "second-factor", false, "turn their second factor off, too")
	cmd.Flags().BoolVar(&also.Passkeys, "passkeys", false, "remove their passkeys, too")
	cmd.Flags().BoolVar(&also.Linked, "linked", false, "unlink their accounts elsewhere, too")
	linkFlag(cmd, &at)
	return cmd
}

func auditCommand(p *program) *cobra.Command {
	asJSON, limit := false, 50
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what was done with accounts",
		Long: `Show what was done with accounts, newest first: sign-ins and failed ones, changes of roles,
tokens, links, invitations, exports, deletions. It is kept for 400 days.

  burin admin audit --limit 200 --json`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage("--limit: must be positive, not %d", limit)
			}
			return withPeople(cmd.Context(), p, func(all *people.People) error {
				list, err := all.Audit(cmd.Context(), "", limit)
				if err != nil || asJSON {
					return errors.Join(err, p.writeJSON(list))
				}
				w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "TIME\tWHO\tWHAT\tWHOM\tFROM\tDETAIL")
				for _, e := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", words.Stamp(e.Time), shown(e.WhoName, e.Who), e.What, shown(e.TargetName, e.Target), shown(e.Address, ""), prose.Inline(e.Detail))
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().IntVar(&limit, "limit", limit, "how many entries at most")
	return cmd
}

// shown is the first of two that isn't empty, or a dash.
func shown(first, second string) string {
	switch {
	case first != "":
		return first
	case second != "":
		return second
	}
	return "-"
}
