package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// listOptions say which sessions are listed.
type listOptions struct {
	all   bool
	limit int
	json  bool
}

func (o *listOptions) register(f *pflag.FlagSet) {
	f.BoolVar(&o.all, "all", false, "those of all folders")
	f.IntVar(&o.limit, "limit", 0, "at most so many; 0 is all")
	f.BoolVar(&o.json, "json", false, "write a JSON list")
}

// check finds what cannot be meant.
func (o *listOptions) check() error {
	if o.limit < 0 {
		return usage("--limit: %d is less than 0", o.limit)
	}
	return nil
}

func (p *program) sessionsListCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [FILE.db]",
		Short: "List the sessions of this folder, newest first",
		Long: `List the sessions of this folder, newest first: id, last change, title. With a file,
those in that database.

  burin sessions list --all --limit 20`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return p.listDatabase(cmd.Context(), args[0], o)
			}
			return p.listSessions(cmd.Context(), o)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func (p *program) listSessions(ctx context.Context, o listOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	lo := index.ListOptions{Limit: o.limit}
	if !o.all {
		if lo.CWD, err = workDir(); err != nil {
			return err
		}
	}
	list, err := index.List(ctx, a.root, lo)
	if err != nil {
		return err
	}
	a.addNames(ctx, list)
	return p.writeSessions(list, o)
}

// listDatabase lists the sessions in a database.
func (p *program) listDatabase(ctx context.Context, file string, o listOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	n := place.Parse(file)
	switch {
	case !n.SQL:
		return usage("%q is no database of sessions, whose name ends with .db", file)
	case !n.Exists():
		return noDatabase(n)
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	if err := regular(n.File); err != nil {
		return err
	}
	found, err := place.List(ctx, n.File)
	if err != nil {
		return explain(n.String(), err)
	}
	var list []index.Info
	for _, f := range found {
		if o.limit > 0 && len(list) == o.limit {
			break
		}
		info := index.Info{Path: f.Name.String(), ID: f.Name.Session, Title: f.Name.Session, Created: f.Updated, Modified: f.Updated}
		l, damage, err := a.read(ctx, info.Path)
		if _, keyless := errors.AsType[keyError](err); keyless || errors.Is(err, sealed.ErrKey) {
			info.Sealed = true
		} else if err != nil {
			info.Damaged = true
		} else {
			info.CWD, info.Damaged = l.Header().CWD, damage.Serious()
			info.Title = cmp.Or(nameOf(l), info.ID)
			if at, err := time.Parse(time.RFC3339Nano, l.Header().Timestamp); err == nil {
				info.Created = at
			}
			_ = l.Close() // it was only read
		}
		list = append(list, info)
	}
	o.all = true // they belong to any folder
	return p.writeSessions(list, o)
}

func (p *program) writeSessions(list []index.Info, o listOptions) error {
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
		fmt.Fprintf(w, "%s\t%s\t", printable(s.ID), stampOf(s.Modified))
		if o.all {
			fmt.Fprintf(w, "%s\t", printable(shortPath(s.CWD)))
		}
		fmt.Fprintf(w, "%s%s\n", first(printable(s.Title), 80), marks(s))
	}
	return w.Flush()
}

// marks say what is special about a session.
func marks(s index.Info) string {
	var words []string
	if s.Draft {
		words = append(words, "draft")
	}
	if s.Damaged {
		words = append(words, "damaged")
	}
	if s.Sealed {
		words = append(words, "encrypted")
	}
	if len(words) == 0 {
		return ""
	}
	return " [" + strings.Join(words, ", ") + "]"
}

// addNames takes names from the search index, if there is one. A list is whole
// without them.
func (a *archive) addNames(ctx context.Context, list []index.Info) {
	if _, err := os.Stat(a.index); err != nil {
		return
	}
	ix, err := index.Open(ctx, a.index)
	if err != nil {
		return
	}
	defer ix.Close()
	_ = ix.Names(ctx, list)
}

type searchOptions struct {
	words []string
	here  bool
	limit int
	json  bool
}

func (p *program) sessionsSearchCommand() *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find sessions by what was said in them",
		Long: `Find sessions of all folders in which all words stand in one message. A word may be a
"phrase in quotes", a beginning*, or a -word that must not stand there; write such a
word behind --.

  burin sessions search flaky 'log*'
  burin sessions search -- flaky -clock`,
		Args: arguments(1, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = args
			return p.searchSessions(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.here, "here", false, "only those of this folder")
	f.IntVar(&o.limit, "limit", 20, "at most so many places")
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

func (p *program) searchSessions(ctx context.Context, o searchOptions) error {
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
	so := index.SearchOptions{Limit: o.limit}
	if o.here {
		if so.CWD, err = workDir(); err != nil {
			return err
		}
	}
	ix, err := index.Open(ctx, a.index)
	if err != nil {
		return fmt.Errorf("search with %s: %w", shortPath(a.index), err)
	}
	defer ix.Close()
	if err := ix.Update(ctx, a.root); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(p.err, "burin: %s; what is newer may not be found\n", oneLine(err))
	}
	hits, err := ix.Search(ctx, o.query(), so)
	if err != nil {
		return err
	}
	if o.json {
		if hits == nil {
			hits = []index.Hit{}
		}
		return p.writeJSON(hits)
	}
	if len(hits) == 0 {
		fmt.Fprintln(p.err, "nothing was found")
		return nil
	}
	return p.writeHits(hits)
}

// writeHits shows hits by session, in the order of the best of each.
func (p *program) writeHits(hits []index.Hit) error {
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
		fmt.Fprintf(&b, "%s  %s  %s  %s%s\n", printable(s.ID), stampOf(s.Modified), printable(shortPath(s.CWD)), first(printable(s.Title), 60), marks(s))
		for _, h := range of[path] {
			fmt.Fprintf(&b, "    %s %s: %s\n", printable(h.EntryID), h.Role, painted(h, begin, end))
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
		b.WriteString(printable(h.Snippet[at:m[0]]) + begin + printable(h.Snippet[m[0]:m[1]]) + end)
		at = m[1]
	}
	return b.String() + printable(h.Snippet[at:])
}
