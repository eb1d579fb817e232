package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	known := map[key]bool{}
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
			if k := (key{r.PID, s.Name, s.Root}); !known[k] {
				known[k] = true
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

func lspStatusCommand(p *program) *cobra.Command {
	var which string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the language servers of running sessions", Args: arguments(0, 0),
		Long: `Show the language servers of running sessions: whether they run, how much memory they use,
how many errors they know of, what they are busy with, and why one failed.

  burin lsp status
  burin lsp status --session 1f9d --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := runningServers(cmd.Context(), p, which, false)
			if err != nil {
				return err
			}
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
			for _, s := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", prose.Inline(s.Name), prose.Inline(s.State), memoryWords(s.Memory), s.Errors, s.Starts,
					prose.Inline(s.Session), prose.Inline(words.ShortPath(s.Root)), prose.Row(cmp.Or(s.Error, strings.Join(s.Work, ", ")), 100))
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringVar(&which, "session", "", "of this session only, by its id")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func memoryWords(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%d MB", (bytes+1<<19)>>20)
}

// namedServers finds the servers with a name, or an id, in the sessions of this folder.
func namedServers(ctx context.Context, p *program, which, name string) (found []runningServer, err error) {
	all, err := runningServers(ctx, p, which, true)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if name == "" || s.Name == name || s.ID == name {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		if name == "" {
			return nil, usage("no running session in this folder has language servers: burin lsp status lists those of all folders, --session chooses one")
		}
		return nil, usage("no running session in this folder has a language server %q: burin lsp status lists those of all folders, --session chooses one", name)
	}
	return found, nil
}

func lspLogCommand(p *program) *cobra.Command {
	var which string
	cmd := &cobra.Command{
		Use: "log NAME", Short: "Show the log of a running session's language server", Args: arguments(1, 1),
		Long: `Show the end of the log of a language server that running sessions of this folder use, at most
32 KB: what it wrote to standard error and what it sent as messages.

  burin lsp log gopls
  burin lsp log gopls --session 1f9d`,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := namedServers(cmd.Context(), p, which, args[0])
			if err != nil {
				return err
			}
			at, err := p.place()
			if err != nil {
				return err
			}
			for _, s := range found {
				if len(found) > 1 {
					fmt.Fprintf(p.out, "== %s, session %s, %s\n", prose.Inline(s.Name), prose.Inline(s.Session), prose.Inline(s.Root))
				}
				h, err := at.Glance(cmd.Context(), s.path)
				if err != nil {
					return err
				}
				text, err := h.Languages().Log(cmd.Context(), s.ID)
				_ = h.Close() // it only leaves
				if err != nil {
					return err
				}
				if text == "" {
					fmt.Fprintf(p.err, "%s has written nothing\n", prose.Inline(s.Name))
					continue
				}
				fmt.Fprintln(p.out, prose.Clean(text, 4))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&which, "session", "", "of this session, by its id, in whatever folder")
	return cmd
}

func lspRestartCommand(p *program) *cobra.Command {
	var which string
	cmd := &cobra.Command{
		Use: "restart [NAME]", Short: "Restart language servers of running sessions", Args: arguments(0, 1),
		Long: `End the language servers that running sessions of this folder use, or one. burin forgets that
they failed; each starts again with the next edit or request.

  burin lsp restart
  burin lsp restart gopls --session 1f9d`,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := namedServers(cmd.Context(), p, which, strings.Join(args, ""))
			if err != nil {
				return err
			}
			at, err := p.place()
			if err != nil {
				return err
			}
			for _, s := range found {
				h, err := at.Attach(cmd.Context(), s.path, "lsp", remote.Steer)
				if err != nil {
					return err
				}
				err = h.Languages().Restart(cmd.Context(), s.ID)
				_ = h.Close() // it only leaves
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "%s ended; it starts with the next edit or request\n", prose.Inline(s.ID))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&which, "session", "", "of this session, by its id, in whatever folder")
	return cmd
}
