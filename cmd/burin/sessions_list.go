package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/index"
)

// listOptions say which sessions are listed.
type listOptions struct {
	all     bool
	running bool
	limit   int
	json    bool
}

func (o *listOptions) register(f *pflag.FlagSet) {
	f.BoolVar(&o.all, "all", false, "sessions of all folders")
	f.IntVar(&o.limit, "limit", 0, "maximum number of sessions; 0 means all")
	f.BoolVar(&o.json, "json", false, "write a JSON list")
}

// check finds what cannot be meant.
func (o *listOptions) check() error {
	if o.limit < 0 {
		return usage("--limit: %d is less than 0", o.limit)
	}
	return nil
}

func sessionsListCommand(p *program) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [DATABASE]",
		Short: "List the sessions of this folder, newest first",
		Long: `List the sessions of this folder, newest first: id, last change, title. With the
file or the address of a database, those in that.

  burin sessions list --all --limit 20`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return listDatabase(cmd.Context(), p, args[0], o)
			}
			return listSessions(cmd.Context(), p, o)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func listSessions(ctx context.Context, p *program, o listOptions) error {
	if o.running {
		return listRunning(ctx, p, o)
	}
	if err := o.check(); err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	dir := ""
	if !o.all {
		if dir, err = archive.WorkDir(); err != nil {
			return err
		}
	}
	list, err := a.List(ctx, dir, o.limit)
	if err != nil {
		return err
	}
	return writeSessions(p, list, o)
}

// listDatabase lists the sessions in a database.
func listDatabase(ctx context.Context, p *program, file string, o listOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	list, err := a.ListDatabase(ctx, file, o.limit)
	if err != nil {
		return err
	}
	o.all = true // they belong to any folder
	return writeSessions(p, list, o)
}

func writeSessions(p *program, list []index.Info, o listOptions) error {
	if o.json {
		if list == nil {
			list = []index.Info{}
		}
		return p.writeJSON(list)
	}
	if len(list) == 0 {
		if o.all {
			fmt.Fprintln(p.err, "no sessions yet")
		} else {
			fmt.Fprintln(p.err, "no sessions of this folder yet")
		}
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t", prose.Inline(s.ID), words.Stamp(s.Modified))
		if o.all {
			fmt.Fprintf(w, "%s\t", prose.Inline(words.ShortPath(s.CWD)))
		}
		fmt.Fprintf(w, "%s%s\n", prose.Row(s.Title, 80), archive.Marks(s))
	}
	return w.Flush()
}

type searchOptions struct {
	words []string
	here  bool
	limit int
	json  bool
}

func sessionsSearchCommand(p *program) *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find sessions by what was said in them",
		Long: `Find sessions, in all folders, with a message that has all of the words. A word may be a
"quoted phrase", a prefix*, or a -word that the message must not have; put -words
after --.

  burin sessions search flaky 'log*'
  burin sessions search -- flaky -clock`,
		Args: arguments(1, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = args
			return searchSessions(cmd.Context(), p, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.here, "here", false, "only sessions of this folder")
	f.IntVar(&o.limit, "limit", 20, "maximum number of results")
	f.BoolVar(&o.json, "json", false, "write a JSON list")
	return cmd
}

// query joins the words. One that has spaces was a phrase to the shell.
func (o searchOptions) query() string {
	words := make([]string, len(o.words))
	for i, w := range o.words {
		if len(o.words) > 1 && strings.ContainsAny(w, " \t") && !strings.Contains(w, `"`) {
			w = `"` + w + `"`
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

func searchSessions(ctx context.Context, p *program, o searchOptions) error {
	if o.limit < 1 {
		return usage("--limit: %d is less than 1", o.limit)
	}
	if strings.TrimSpace(o.query()) == "" {
		return usage("say what to look for, as in burin sessions search flaky")
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	dir := ""
	if o.here {
		if dir, err = archive.WorkDir(); err != nil {
			return err
		}
	}
	found, err := a.Search(ctx, o.query(), dir, o.limit)
	if found.Stale != nil && ctx.Err() == nil {
		p.warn(words.Error(found.Stale) + "; newer messages may be missing")
	}
	if err != nil {
		return err
	}
	if o.json {
		if found.Hits == nil {
			found.Hits = []index.Hit{}
		}
		return p.writeJSON(found.Hits)
	}
	if len(found.Hits) == 0 {
		fmt.Fprintln(p.err, "no results")
		return nil
	}
	return writeHits(p, found.Hits)
}

// writeHits shows hits by session, in the order of the best of each.
func writeHits(p *program, hits []index.Hit) error {
	of := map[string][]index.Hit{}
	var order []string
	for _, h := range hits {
		if of[h.Path] == nil {
			order = append(order, h.Path)
		}
		of[h.Path] = append(of[h.Path], h)
	}
	begin, end := "", ""
	if p.color(p.out) {
		begin, end = "\x1b[1m", "\x1b[0m"
	}
	var b strings.Builder
	for _, path := range order {
		s := of[path][0].Info
		fmt.Fprintf(&b, "%s  %s  %s  %s%s\n", prose.Inline(s.ID), words.Stamp(s.Modified), prose.Inline(words.ShortPath(s.CWD)), prose.Row(s.Title, 60), archive.Marks(s))
		for _, h := range of[path] {
			fmt.Fprintf(&b, "    %s %s: %s\n", prose.Inline(h.EntryID), h.Role, painted(h, begin, end))
		}
	}
	_, err := fmt.Fprint(p.out, b.String())
	return err
}

// painted is the snippet of a hit with what was found painted.
func painted(h index.Hit, begin, end string) string {
	var b strings.Builder
	at := 0
	for _, m := range h.Marks {
		b.WriteString(prose.Inline(h.Snippet[at:m[0]]) + begin + prose.Inline(h.Snippet[m[0]:m[1]]) + end)
		at = m[1]
	}
	return b.String() + prose.Inline(h.Snippet[at:])
}
