package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript/place"
)

// place is where the owners of sessions listen.
func (p *program) place() (owner.Place, error) {
	paths, err := config.FindPaths(p.getenv)
	return owner.Place{Data: paths.Data, Getenv: p.getenv}, err
}

// listRunning lists the sessions that a process has open.
func listRunning(ctx context.Context, p *program, o listOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	at, err := p.place()
	if err != nil {
		return err
	}
	list, closed, err := at.Running(ctx)
	if err != nil {
		return err
	}
	if closed > 0 {
		p.warn(prose.Count(closed, "running session") + " can't be asked from here: this command belongs to one, or its process is stopped")
	}
	if o.limit > 0 {
		list = list[:min(len(list), o.limit)]
	}
	if o.json {
		if list == nil {
			list = []owner.Running{}
		}
		return p.writeJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(p.err, "no running sessions")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tSINCE\tCOST\tJOINED\tPID\tFOLDER\tTITLE")
	for _, r := range list {
		cost := r.Cost.String()
		if !r.Known && r.Cost > 0 {
			cost = "≥ " + cost
		} else if !r.Known {
			cost = "?"
		}
		title := prose.Row(r.Title, 60)
		if r.Question != "" {
			title = strings.TrimSpace(title + " (asks: " + prose.Row(r.Question, 60) + ")")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", prose.Inline(r.ID), r.State, words.Stamp(r.Since), cost, r.Faces, r.PID, prose.Inline(words.ShortPath(r.Dir)), title)
	}
	return w.Flush()
}

// runningSession finds the running session with an id or the beginning of one; ok is false if
// there is none.
func runningSession(ctx context.Context, p *program, which string) (r owner.Running, ok bool, err error) {
	if which == "" {
		return r, false, archive.ErrUnnamed
	}
	at, err := p.place()
	if err != nil {
		return r, false, err
	}
	all, _, err := at.Running(ctx)
	if err != nil {
		return r, false, err
	}
	var found []owner.Running
	for _, s := range all {
		if s.ID == which {
			return s, true, nil
		}
		if strings.HasPrefix(s.ID, which) || s.Path == which {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return r, false, nil
	case 1:
		return found[0], true, nil
	}
	var ids []string
	for _, s := range found {
		ids = append(ids, prose.Inline(s.ID))
	}
	return r, false, usage("%q fits %d running sessions: %s; write more of the id", which, len(found), strings.Join(ids, ", "))
}

// openPath is the file of the session that a word names, running sessions first.
func openPath(ctx context.Context, p *program, which string) (string, error) {
	r, ok, err := runningSession(ctx, p, which)
	if err != nil {
		return "", err
	}
	if ok && r.Path != "" {
		return r.Path, nil
	}
	a, err := p.archive()
	if err != nil {
		return "", err
	}
	return a.Find(ctx, which)
}

// goToSession changes to the folder of the running session that a word names, because the
// session continues here when its owner ends, and gives its file. For any other session it gives
// the word.
func goToSession(ctx context.Context, p *program, which string) (string, error) {
	r, ok, err := runningSession(ctx, p, which)
	if err != nil || !ok || r.Path == "" {
		return which, err
	}
	if _, err := overlayFiles(p); err != nil { // they are relative to this folder
		return "", err
	}
	if here, err := archive.WorkDir(); r.Dir != "" && (err != nil || here != r.Dir) {
		if err := os.Chdir(r.Dir); err != nil {
			return "", fmt.Errorf("join session %s in its folder: %w", which, err)
		}
	}
	return resumable(r.Path), nil
}

// resumable is the file of a running session as the owner has it now.
func resumable(path string) string {
	if path == "" || place.Parse(path).SQL {
		return path
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // no model has answered yet
		return path + ".draft"
	}
	return path
}

// runningBeside lists the sessions that other processes have open, for the hub.
func runningBeside(p *program) func(context.Context) ([]owner.Running, error) {
	return func(ctx context.Context) ([]owner.Running, error) {
		at, err := p.place()
		if err != nil {
			return nil, err
		}
		list, _, err := at.Running(ctx)
		for i := range list {
			list[i].Path = resumable(list[i].Path)
		}
		return list, err
	}
}

// offerRunning completes the id of a running session.
func offerRunning(p *program) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (ids []string, _ cobra.ShellCompDirective) {
		at, err := p.place()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _, _ := at.Running(cmd.Context()) // none where they can't be listed
		for _, r := range list {
			if strings.HasPrefix(r.ID, typed) && r.ID == prose.Inline(r.ID) {
				ids = append(ids, described(r.ID, string(r.State)+"  "+prose.Inline(r.Title)))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// stopCommand ends a background session.
func stopCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "stop ID",
		ValidArgsFunction: offerRunning(p),
		Short:             "End a background session",
		Long: `End a session that burin --background started. Its work and its jobs stop; the session
is kept, and --resume continues it.

  burin stop 1f9d`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return stopSession(cmd.Context(), p, args[0]) },
	}
}

func stopSession(ctx context.Context, p *program, which string) error {
	at, err := p.place()
	if err != nil {
		return err
	}
	path, err := openPath(ctx, p, which)
	if err != nil {
		return err
	}
	jobs, err := at.End(ctx, path)
	if errors.Is(err, owner.ErrNobody) {
		return fmt.Errorf("session %s is not running: burin sessions --running lists those that are", which)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, "Stopped.")
	for _, j := range jobs {
		fmt.Fprintf(p.out, "Job %s stopped with it: %s\n", j.ID, prose.Short(j.Command, 200))
	}
	return nil
}

type logsOptions struct {
	which  string
	follow bool
}

// logsCommand shows what is said in a session.
func logsCommand(p *program) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:               "logs ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Show what is said and done in a session, as text",
		Long: `Show what was said and done in a session so far, as text. With -f, continue with what
comes until the session ends, also if it is open in another terminal. Ctrl+C stops only
this command.

  burin logs 1f9d -f`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return showLogs(ctx, p, o) }),
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "continue with what comes")
	return cmd
}

func showLogs(ctx context.Context, p *program, o logsOptions) error {
	path, err := openPath(ctx, p, o.which)
	if err != nil {
		return err
	}
	at, err := p.place()
	if err != nil {
		return err
	}
	h, err := at.Glance(ctx, path)
	if errors.Is(err, owner.ErrNobody) { // nothing more comes
		return showSession(ctx, p, showOptions{which: path})
	}
	if err != nil {
		return err
	}
	defer h.Close() //nolint:errcheck // it only leaves
	feed := h.Events(session.Cursor{})
	t, shown := h.Transcript(), print.NewPast(p.out, p.color(p.out))
	seen := map[string]bool{}
	show := func(leaf string) error {
		for e, err := range branchTo(t, leaf, seen) {
			if err := shown.Entry(e, err); err != nil {
				return err
			}
		}
		return nil
	}
	if err := show(t.Leaf()); err != nil || !o.follow {
		return err
	}
	for {
		e, err := feed.Next(ctx)
		switch {
		case errors.Is(err, session.ErrClosed), errors.Is(err, session.ErrOwnerGone), ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if q, ok := e.Data.(*session.Question); ok && e.Type == session.QuestionAsked {
			err = shown.Note("Waits for an answer (" + prose.Row(owner.Asked(*q), 60) + "): burin attach " + prose.Inline(h.Facts().ID))
		} else if e.EntryID != "" {
			err = show(e.EntryID)
		}
		if err != nil {
			return err
		}
	}
}
