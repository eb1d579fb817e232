package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/quota"
	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/internal/prose"
)

// usageFlags say what burin usage shows.
type usageFlags struct {
	by, since, until string
	project, model   string
	csv              string
	json             bool
	limits           bool
}

func usageCommand(p *program) *cobra.Command {
	var f usageFlags
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what the models have cost, or what plans leave",
		Long: `Show what requests to models cost. "unknown" is a cost without a known price, "≥" a
cost with an unknown part, and "~" a cost computed from the price of a similar model.

  burin usage                          the last 30 days
  burin usage --by model --since 7d    a week, the dearest model first
  burin usage --project . --by month   this folder and those below it
  burin usage --since all --csv costs.csv
  burin usage --limits                 plans of your providers and what is left`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limits {
				return showLimits(cmd, p, f)
			}
			return showUsage(cmd.Context(), p, f)
		},
	}
	var names []string
	for _, by := range ledger.Groupings() {
		names = append(names, string(by))
	}
	flags := cmd.Flags()
	flags.StringVar(&f.by, "by", string(ledger.ByDay), "group by day, week, month, project, model, provider, session or purpose")
	flags.StringVar(&f.since, "since", "", "the first day: a date, 30d, 4w or all; default 30d, of months 365d")
	flags.StringVar(&f.until, "until", "", "the last day: a date, or as many days or weeks ago")
	flags.StringVar(&f.project, "project", "", "only this folder and those below it")
	flags.StringVar(&f.model, "model", "", "only this model: its id or provider/id; * stands for any text")
	flags.StringVar(&f.csv, "csv", "", "write comma-separated values to this file; - is standard output")
	flags.BoolVar(&f.json, "json", false, "write one JSON object")
	flags.BoolVar(&f.limits, "limits", false, "ask the providers for plans, limits and when they reset")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"by": values(names...), "since": values("7d", "30d", "365d", "all"), "model": p.offer(func(m *connect.Models) []string {
			var refs []string
			for _, model := range m.Catalog.Registry.All() {
				refs = append(refs, model.Ref())
			}
			return refs
		}),
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // a flag of that name is not registered: a mistake of this file
		}
	}
	return cmd
}

// query reads the flags.
func (f usageFlags) query(now time.Time) (q ledger.Query, err error) {
	if q.By, err = ledger.ParseBy(f.by); err != nil {
		return q, usage("--by: %w", err)
	}
	q.Model = f.model
	since := f.since
	if since == "" {
		since = "30d"
		if q.By == ledger.ByMonth {
			since = "365d"
		}
	}
	if since != "all" {
		if q.Since, err = ledger.ParseDay(since, now); err != nil {
			return q, usage("--since: %w", err)
		}
	}
	if f.until != "" {
		last, err := ledger.ParseDay(f.until, now)
		if err != nil {
			return q, usage("--until: %w", err)
		}
		q.Until = last.AddDate(0, 0, 1)
		if !q.Until.After(q.Since) {
			return q, usage("--until %s lies before --since %s", f.until, since)
		}
	}
	if f.project != "" {
		if q.Project, err = filepath.Abs(f.project); err != nil {
			return q, fmt.Errorf("find the folder %s: %w", f.project, err)
		}
		if real, err := filepath.EvalSymlinks(q.Project); err == nil {
			q.Project = real // a folder that is gone may still have cost something
		}
	}
	if f.json && f.csv != "" {
		return q, usage("--json and --csv contradict each other")
	}
	return q, nil
}

func showUsage(ctx context.Context, p *program, f usageFlags) error {
	q, err := f.query(time.Now())
	if err != nil {
		return err
	}
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	ledger, err := ledger.Open(ctx, paths.Data)
	if err != nil {
		return err
	}
	defer func() { _ = ledger.Close() }() // it was only read
	table, err := ledger.Report(ctx, q)
	if err != nil {
		return err
	}
	return writeUsage(p, f, table)
}

func writeUsage(p *program, f usageFlags, table ledger.Table) error {
	switch {
	case f.json:
		return json.NewEncoder(p.out).Encode(table)
	case f.csv == "-":
		return table.WriteCSV(p.out)
	case f.csv != "":
		return writeUsageFile(p, f.csv, table)
	case len(table.Rows) == 0:
		fmt.Fprintln(p.err, "no matching requests; --since all looks at all of them")
		return nil
	}
	style := ledger.Style{Unicode: p.isTerminal(p.out) && p.getenv("TERM") != "dumb"}
	if p.isTerminal(p.out) {
		style.Width, _, _ = term.GetSize(int(fileOf(p.out).Fd())) // 0 is the usual width
	}
	_, err := fmt.Fprint(p.out, table.Text(style))
	return err
}

// showLimits asks the providers for plans and limits.
func showLimits(cmd *cobra.Command, p *program, f usageFlags) error {
	for _, flag := range []string{"by", "since", "until", "project", "model", "csv"} {
		if cmd.Flags().Changed(flag) {
			return usage("--limits and --%s contradict each other", flag)
		}
	}
	models, err := p.models()
	if err != nil {
		return err
	}
	defer models.Close()
	now := time.Now()
	reports := models.Limits(cmd.Context())
	switch {
	case f.json:
		return json.NewEncoder(p.out).Encode(struct {
			GeneratedAt time.Time      `json:"generatedAt"`
			Reports     []quota.Report `json:"reports"`
		}{now, append([]quota.Report{}, reports...)})
	case len(reports) == 0:
		fmt.Fprintln(p.err, "no provider of yours tells its limits; those of others are known after an answer: /usage shows them in a session")
		return nil
	}
	_, err = fmt.Fprint(p.out, quota.Text(reports, now))
	return err
}

func writeUsageFile(p *program, name string, table ledger.Table) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the costs: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := table.WriteCSV(file); err != nil {
		return err
	}
	fmt.Fprintf(p.err, "wrote %s to %s\n", prose.Count(len(table.Rows), "row"), name)
	return nil
}
