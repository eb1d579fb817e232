package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session/remote"
)

// adminCommand manages who may use the server.
func adminCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Manage who may use burin serve, and its keys",
		Long: `Manage who may use burin serve: people, who sign in with a browser, and tokens, which let a
program do less than a person can. What you change holds at once in a server that runs.

  burin admin link                               sign your browser in
  burin admin invite --role member
  burin admin user role ann admin
  burin admin token add ci --rights steer --days 30`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	token := &cobra.Command{
		Use:   "token",
		Short: "List, add and remove tokens for programs",
		Long: `List, add and remove tokens for programs. A server that runs knows new ones at once, and
forgets those that are removed.

  burin admin token list`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listTokens(cmd.Context(), p, "", false) },
	}
	token.AddCommand(tokenAddCommand(p), tokenListCommand(p), tokenRemoveCommand(p))
	cmd.AddCommand(token, linkCommand(p), inviteCommand(p), userCommand(p), groupCommand(p), quotaCommand(p), auditCommand(p), healthCommand(p), storageCommand(p), rotateKeyCommand(p), backupCommand(p), restoreCommand(p))
	return cmd
}

// commandLine is who does what is done here.
func commandLine() people.By { return people.By{Person: people.OwnerID} }

// withPeople opens the server's database and does something with its people.
func withPeople(ctx context.Context, p *program, do func(*people.People) error) error {
	return withServerDatabase(ctx, p, func(db *store.DB) error {
		all, err := people.Open(ctx, db, nil, nil) // no one signs in here
		if err != nil {
			return err
		}
		return do(all)
	})
}

// withPerson does something with the person of a name.
func withPerson(ctx context.Context, p *program, name string, do func(*people.People, people.Person) error) error {
	return withPeople(ctx, p, func(all *people.People) error {
		one, err := all.Named(ctx, name)
		if errors.Is(err, people.ErrUnknown) {
			return usage("no person %q: burin admin user list lists them", name)
		}
		if err != nil {
			return err
		}
		return explained(do(all, one))
	})
}

// explained is an error as a mistake of the command line, if it is one.
func explained(err error) error {
	if _, ok := errors.AsType[people.InputError](err); ok || errors.Is(err, people.ErrTaken) || errors.Is(err, people.ErrUnknown) || errors.Is(err, people.ErrOwner) {
		return usage("%w", err)
	}
	return err
}

func tokenAddCommand(p *program) *cobra.Command {
	rights, days, person := string(remote.Steer), 0, people.OwnerID
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token and print it",
		Long: `Make a token and print it. It is shown only now: burin keeps its hash. The rights are

  watch   see sessions and what happens in them
  steer   also send messages to sessions and stop them
  answer  also answer questions, and so allow calls
  own     everything: begin sessions, run commands, change rules and modes

  burin admin token add dashboard --rights watch
  burin admin token add ci --rights own --days 30`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !remote.Rights(rights).Known() {
				return usage("--rights: must be watch, steer, answer or own, not %q", rights)
			}
			if days < 0 || days > maxTokenDays {
				return usage("--days: must be from 0 to %d, not %d", maxTokenDays, days)
			}
			return addToken(cmd.Context(), p, args[0], person, remote.Rights(rights), days)
		},
	}
	personFlag(p, cmd, &person, "whose token it is")
	cmd.Flags().StringVar(&rights, "rights", rights, "what its holder may do: watch, steer, answer or own")
	cmd.Flags().IntVar(&days, "days", 0, "how long it is valid; 0 is until it is removed")
	_ = cmd.RegisterFlagCompletionFunc("rights", values(string(remote.Watch), string(remote.Steer), string(remote.Answer), string(remote.Own))) // it is there
	return cmd
}

const maxTokenDays = 3650

// personFlag adds --person.
func personFlag(p *program, cmd *cobra.Command, name *string, about string) {
	cmd.Flags().StringVar(name, "person", *name, about)
	_ = cmd.RegisterFlagCompletionFunc("person", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) { // it is there
		return offerPeople(cmd.Context(), p, nil), cobra.ShellCompDirectiveNoFileComp
	})
}

func addToken(ctx context.Context, p *program, name, person string, rights remote.Rights, days int) error {
	return withPerson(ctx, p, person, func(all *people.People, one people.Person) error {
		var expires time.Time
		if days > 0 {
			expires = time.Now().AddDate(0, 0, days)
		}
		secret, err := all.AddToken(ctx, commandLine(), one.ID, name, rights, expires)
		if errors.Is(err, people.ErrTaken) {
			return usage("there is a token %q already: burin admin token remove %[1]q removes it", name)
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(p.err, "Keep it: it is not shown again.")
		fmt.Fprintln(p.out, secret)
		return nil
	})
}

func tokenListCommand(p *program) *cobra.Command {
	asJSON, person := false, ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens",
		Long: `List the tokens with their rights, when they expire, and when they were used last.

  burin admin token list --json`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listTokens(cmd.Context(), p, person, asJSON) },
	}
	personFlag(p, cmd, &person, "only those of a person")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func listTokens(ctx context.Context, p *program, person string, asJSON bool) error {
	var list []people.Token
	var err error
	if person == "" {
		err = withPeople(ctx, p, func(all *people.People) (err error) {
			list, err = all.Tokens(ctx, "")
			return err
		})
	} else {
		err = withPerson(ctx, p, person, func(all *people.People, one people.Person) (err error) {
			list, err = all.Tokens(ctx, one.ID)
			return err
		})
	}
	if err != nil {
		return err
	}
	if asJSON {
		return p.writeJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(p.err, "No tokens. burin admin token add NAME makes one.")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tRIGHTS\tPERSON\tADDED\tEXPIRES\tUSED")
	for _, t := range list {
		expires := "never"
		switch {
		case t.Expires.IsZero():
		case t.Expires.Before(time.Now()):
			expires = "expired"
		default:
			expires = words.Stamp(t.Expires)
		}
		used := "never"
		if !t.Used.IsZero() {
			used = words.Stamp(t.Used)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", prose.Inline(t.Name), t.Rights, t.Person, words.Stamp(t.Created), expires, used)
	}
	return w.Flush()
}

func tokenRemoveCommand(p *program) *cobra.Command {
	person := people.OwnerID
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a token",
		Long: `Remove a token. Who uses it is refused at once; what is under way with it ends within
5 seconds.

  burin admin token remove ci`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return removeToken(cmd.Context(), p, person, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return offerTokens(cmd.Context(), p, person, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	personFlag(p, cmd, &person, "whose token it is")
	return cmd
}

func removeToken(ctx context.Context, p *program, person, name string) error {
	return withPerson(ctx, p, person, func(all *people.People, one people.Person) error {
		err := all.RemoveToken(ctx, commandLine(), one.ID, name)
		if errors.Is(err, people.ErrUnknown) {
			return usage("no token %q: burin admin token list lists them", name)
		}
		if err == nil {
			fmt.Fprintln(p.out, "Removed.")
		}
		return err
	})
}

// offerTokens completes the name of a token of a person.
func offerTokens(ctx context.Context, p *program, person string, given []string) (names []string) {
	if len(given) > 0 {
		return nil
	}
	_ = withPerson(ctx, p, person, func(all *people.People, one people.Person) error { // none where they can't be listed
		list, err := all.Tokens(ctx, one.ID)
		for _, t := range list {
			if t.Name == prose.Inline(t.Name) {
				names = append(names, described(t.Name, string(t.Rights)))
			}
		}
		return err
	})
	return names
}

// offerPeople completes the name of a person, as the first argument.
func offerPeople(ctx context.Context, p *program, given []string) (names []string) {
	if len(given) > 0 {
		return nil
	}
	_ = withPeople(ctx, p, func(all *people.People) error { // none where they can't be listed
		list, err := all.List(ctx)
		for _, one := range list {
			names = append(names, described(one.Name, string(one.Role)))
		}
		return err
	})
	return names
}
