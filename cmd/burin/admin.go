package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/access"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session/remote"
)

// adminCommand manages who may use the server.
func adminCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Manage who may use burin serve, and its keys",
		Long: `Manage who may use burin serve, and its keys. A token lets a program do less than you can:

  burin admin token add ci --rights steer --days 30
  burin admin token list
  burin admin token remove ci
  burin admin health`,
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
		RunE: func(cmd *cobra.Command, _ []string) error { return listTokens(cmd.Context(), p, false) },
	}
	token.AddCommand(tokenAddCommand(p), tokenListCommand(p), tokenRemoveCommand(p))
	cmd.AddCommand(token, healthCommand(p), storageCommand(p), rotateKeyCommand(p))
	return cmd
}

func tokenAddCommand(p *program) *cobra.Command {
	rights, days := string(remote.Steer), 0
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
			return addToken(cmd.Context(), p, args[0], remote.Rights(rights), days)
		},
	}
	cmd.Flags().StringVar(&rights, "rights", rights, "what its holder may do: watch, steer, answer or own")
	cmd.Flags().IntVar(&days, "days", 0, "how long it is valid; 0 is until it is removed")
	_ = cmd.RegisterFlagCompletionFunc("rights", values(string(remote.Watch), string(remote.Steer), string(remote.Answer), string(remote.Own))) // it is there
	return cmd
}

const maxTokenDays = 3650

// tokensOf are those of this user. The caller closes the store.
func tokensOf(p *program) (*access.Store, error) {
	paths, err := config.FindPaths(p.getenv)
	return access.New(paths.Data), err
}

func addToken(ctx context.Context, p *program, name string, rights remote.Rights, days int) error {
	store, err := tokensOf(p)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // what was written is there
	var expires time.Time
	if days > 0 {
		expires = time.Now().AddDate(0, 0, days)
	}
	secret, err := store.Add(ctx, name, rights, expires)
	if errors.Is(err, access.ErrTaken) {
		return usage("there is a token %q already: burin admin token remove %[1]q removes it", name)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(p.err, "Keep it: it is not shown again.")
	fmt.Fprintln(p.out, secret)
	return nil
}

func tokenListCommand(p *program) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens",
		Long: `List the tokens with their rights, when they expire, and when they were used last.

  burin admin token list --json`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listTokens(cmd.Context(), p, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func listTokens(ctx context.Context, p *program, asJSON bool) error {
	store, err := tokensOf(p)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it was only read
	all, err := store.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		if all == nil {
			all = []access.Token{}
		}
		return p.writeJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.err, "No tokens. burin admin token add NAME makes one.")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tRIGHTS\tADDED\tEXPIRES\tUSED")
	for _, t := range all {
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", prose.Inline(t.Name), t.Rights, words.Stamp(t.Created), expires, used)
	}
	return w.Flush()
}

func tokenRemoveCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a token",
		Long: `Remove a token. Who uses it is refused at once; what is under way with it ends within
5 seconds.

  burin admin token remove ci`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return removeToken(cmd.Context(), p, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			return offerTokens(cmd.Context(), p, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func removeToken(ctx context.Context, p *program, name string) error {
	store, err := tokensOf(p)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // what was written is there
	err = store.Remove(ctx, name)
	if errors.Is(err, access.ErrUnknown) {
		return usage("there is no token %q: burin admin token list lists them", name)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, "Removed.")
	return nil
}

// offerTokens completes the name of a token.
func offerTokens(ctx context.Context, p *program, given []string) (names []string) {
	store, err := tokensOf(p)
	if err != nil || len(given) > 0 {
		return nil
	}
	defer store.Close()       //nolint:errcheck // it was only read
	all, _ := store.List(ctx) // none where they can't be listed
	for _, t := range all {
		if t.Name == prose.Inline(t.Name) {
			names = append(names, described(t.Name, string(t.Rights)))
		}
	}
	return names
}
