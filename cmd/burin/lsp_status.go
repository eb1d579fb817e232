package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// runningServer is a language server of a running session.
type runningServer struct {
	session.LanguageServer
	Session string `json:"session"` // the first one that has it
	path    string
}

// runningServers asks running sessions for their language servers: one session, by its id, or with
// here those of this folder. Sessions of one process share them; each is listed once.
func runningServers(ctx context.Context, p *program, which string, here bool) (all []runningServer, err error) {
	at, err := p.place()
	if err != nil {
		return nil, err
	}
	sessions, closed, err := at.Running(ctx)
	if err != nil {
		return nil, err
	}
	if which != "" {
		one, ok, err := runningSession(ctx, p, which)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, usage("session %s is not running: burin sessions --running lists those that are", which)
		}
		sessions, closed = []owner.Running{one}, 0
	}
	dir := ""
	if here && which == "" {
		if dir, err = archive.WorkDir(); err != nil {
			return nil, err
		}
	}
	if closed > 0 {
		p.warn(prose.Count(closed, "running session") + " can't be asked from here: this command belongs to one, or its process is stopped")
	}
	type key struct {
		process    int
		name, root string
	}
	var known []key
	for _, r := range sessions {
		if dir != "" && r.Dir != dir {
			continue
		}
		list, err := serversOf(ctx, at, r.Path)
		if err != nil {
			if !errors.Is(err, owner.ErrNobody) {
				p.warn(fmt.Sprintf("session %s: %s", prose.Inline(r.ID), words.Error(err)))
			}
			continue
		}
		for _, s := range list {
			if k := (key{r.PID, s.Name, s.Root}); !slices.Contains(known, k) {
				known = append(known, k)
				all = append(all, runningServer{s, r.ID, r.Path})
			}
		}
	}
	return all, nil
}

func serversOf(ctx context.Context, at owner.Place, path string) ([]session.LanguageServer, error) {
	h, err := at.Glance(ctx, path)
	if err != nil {
		return nil, err
	}
	defer h.Close() //nolint:errcheck // it only leaves
	return h.Languages().List(ctx)
}

// lspRunningCommands are about the language servers of running sessions.
func lspRunningCommands(p *program) []*cobra.Command {
	takes := arguments(0, 1)
	command := func(name, short, long string, here bool, run func(ctx context.Context, all []runningServer, asJSON bool) error) *cobra.Command {
		var which string
		var asJSON bool
		cmd := &cobra.Command{
			Use: name + " [NAME]", Short: short, Long: long, Args: takes,
			RunE: func(cmd *cobra.Command, args []string) error {
				all, err := runningServers(cmd.Context(), p, which, here)
				if err != nil {
					return err
				}
				if len(args) > 0 {
					all = slices.DeleteFunc(all, func(s runningServer) bool { return s.Name != args[0] && s.ID != args[0] })
				}
				if here && len(all) == 0 {
					return usage("no running session in this folder has language servers, or this one: burin lsp status lists those of all folders, --session chooses one")
				}
				return run(cmd.Context(), all, asJSON)
			},
		}
		cmd.Flags().StringVar(&which, "session", "", "of this session only, by its id, in whatever folder")
		if !here {
			cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		}
		return cmd
	}
	return []*cobra.Command{
		command("status", "Show the language servers of running sessions",
			`Show the language servers of running sessions: whether they run, how much memory they use,
how many errors they know of, what they are busy with, and why one failed.

  burin lsp status
  burin lsp status gopls --session 1f9d --json`, false, func(_ context.Context, all []runningServer, asJSON bool) error {
				return showServers(p, all, asJSON)
			}),
		command("log", "Show the logs of running sessions' language servers",
			`Show the end of the log of each language server that running sessions of this folder use, or
of one, at most 32 KB: what it wrote to standard error and what it sent as messages.

  burin lsp log gopls
  burin lsp log --session 1f9d`, true, func(ctx context.Context, all []runningServer, _ bool) error {
				return reachServers(ctx, p, all, func(l session.Languages, s *runningServer) error {
					text, err := l.Log(ctx, s.ID)
					if len(all) > 1 {
						fmt.Fprintf(p.out, "== %s, session %s\n", prose.Inline(s.ID), prose.Inline(s.Session))
					}
					if text == "" && err == nil {
						text = "(empty)"
					}
					fmt.Fprintln(p.out, prose.Clean(text, 4))
					return err
				})
			}),
		command("restart", "Restart language servers of running sessions",
			`End the language servers that running sessions of this folder use, or one. burin forgets that
they failed; each starts again with the next edit or request.

  burin lsp restart
  burin lsp restart gopls --session 1f9d`, true, func(ctx context.Context, all []runningServer, _ bool) error {
				return reachServers(ctx, p, all, func(l session.Languages, s *runningServer) error {
					err := l.Restart(ctx, s.ID)
					if err == nil {
						fmt.Fprintf(p.out, "%s ended; it starts with the next edit or request\n", prose.Inline(s.ID))
					}
					return err
				})
			}),
	}
}

func showServers(p *program, all []runningServer, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []runningServer{}
		}
		return p.writeJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.err, "no running session has language servers")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tMEMORY\tERRORS\tSTARTS\tSESSION\tFOLDER\tNOTE")
	for i := range all {
		s := &all[i]
		memory := "-"
		if s.Memory > 0 {
			memory = fmt.Sprintf("%d MB", (s.Memory+1<<19)>>20)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", prose.Inline(s.Name), prose.Inline(s.State), memory, s.Errors, s.Starts,
			prose.Inline(s.Session), prose.Inline(words.ShortPath(s.Root)), prose.Row(cmp.Or(s.Error, strings.Join(s.Work, ", ")), 100))
	}
	return w.Flush()
}

// reachServers does something with servers, in the sessions that have them.
func reachServers(ctx context.Context, p *program, all []runningServer, do func(session.Languages, *runningServer) error) error {
	at, err := p.place()
	if err != nil {
		return err
	}
	for i := range all {
		h, err := at.Attach(ctx, all[i].path, "lsp", remote.Steer)
		if err != nil {
			return err
		}
		err = do(h.Languages(), &all[i])
		_ = h.Close() // it only leaves
		if err != nil {
			return err
		}
	}
	return nil
}
